"""Runs of an engine over small sequences, for tests: who writes the tokens says where messages end and marks stand."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from prefixlab.engine_requests import BlockKeys, EngineRequest
from prefixlab.prefix_tree import PrefixTree
from prefixlab.records import NO_NAMESPACE, Location, Namespace, Piece, Prompt, Run, Serving


class Ask(NamedTuple):
    """A request of a test."""

    tokens: Sequence[int]
    generated: Sequence[int] = ()
    at: float | None = None
    ends: tuple[int, ...] = ()
    marks: tuple[int, ...] = ()
    namespace: Namespace = NO_NAMESPACE
    unit: int = 1
    prompt_tokens: int | None = None


class ToldRequest(EngineRequest):
    """A request whose ends and marks are given, not found in its text."""

    __slots__ = ("breakpoints", "message_ends")


def ids(tokens: Iterable[int]) -> bytes:
    return array("I", tokens).tobytes()


def requests_of(asks: Sequence[Ask]) -> list[ToldRequest]:
    prompts = [
        Prompt(
            str(number),
            Location("test", number + 1),
            (Piece((), (Run("", ids(ask.tokens)),)),),
            namespace=ask.namespace,
            arrived_at=ask.at,
            output_tokens=ids(ask.generated),
            serving=Serving(sampled_tokens=len(ask.generated) + 1 if ask.generated else 0),
            unit=ask.unit,
            token_count=ask.prompt_tokens,
        )
        for number, ask in enumerate(asks)
    ]
    tree = PrefixTree(lambda number: prompts[number].tokens + prompts[number].output_tokens)
    keys: dict[tuple[int, int], BlockKeys] = {}
    requests = []
    for number, (prompt, ask) in enumerate(zip(prompts, asks, strict=True)):
        match = tree.add(number, prompt.tokens, prompt.output_tokens, prompt.namespace)
        request = ToldRequest(number, prompt, match, keys)
        request.message_ends = ask.ends
        request.breakpoints = ask.marks
        requests.append(request)
    return requests


def replay(engine: Any, asks: Sequence[Ask]) -> list[int | None]:
    """Cached tokens of each request."""
    cache = engine.cache()
    return [cache.serve(request) for request in requests_of(asks)]


def written(engine: Any, asks: Sequence[Ask]) -> list[tuple[int | None, int]]:
    """Cached and written tokens of each request."""
    cache = engine.cache()
    return [(cache.serve(request), cache.last_written) for request in requests_of(asks)]


def text(name: int, length: int) -> list[int]:
    """Tokens of a text that no other text begins like."""
    return [name * 1_000_000 + at for at in range(length)]


def common(one: Sequence[int], other: Sequence[int]) -> int:
    """Tokens that two sequences have in common, from the first on, one after another."""
    length = 0
    for a, b in zip(one, other):
        if a != b:
            break
        length += 1
    return length
