"""A block table played through block by block, as plainly as can be: what the fast passes must agree with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from prefixlab.capacity.chains import Chains, chains_of
from prefixlab.intake import match_prompts
from prefixlab.records import TOKEN_BYTES, Location, Piece, Prompt, Run


class Served(NamedTuple):
    """A request: its prompt's ids and the generated ones but the last."""

    prompt: tuple[int, ...]
    generated: tuple[int, ...] = ()


def ids(tokens: Sequence[int]) -> bytes:
    return b"".join([token.to_bytes(TOKEN_BYTES, "little") for token in tokens])


def prompts_of(requests: Sequence[Served]) -> list[Prompt]:
    return [
        Prompt(
            str(number),
            Location("log", number + 1),
            (Piece((), (Run("", ids(request.prompt)),)),),
            output_tokens=ids(request.generated),
        )
        for number, request in enumerate(requests)
    ]


def chains(requests: Sequence[Served], block_size: int) -> Chains:
    prompts = prompts_of(requests)
    return chains_of(prompts, match_prompts(prompts), block_size)


class Played(NamedTuple):
    hits: list[int]
    """Blocks taken from the cache, a request each."""
    has_duplicates: bool
    """Whether a block was computed while another with the same key was there."""


def play(requests: Sequence[Served], block_size: int, cache_blocks: int) -> Played:
    """Requests one after another through a table of `cache_blocks` blocks, by the rules of vLLM."""
    free: list[int] = list(range(cache_blocks))
    key_of: dict[int, tuple[int, ...]] = {}
    hits = []
    has_duplicates = False
    for request in requests:
        sequence = request.prompt + request.generated
        known = {key: block for block, key in reversed(key_of.items())}
        held: list[int] = []
        for end in range(block_size, len(request.prompt), block_size):
            block = known.get(sequence[:end])
            if block is None:
                break
            held.append(block)
        hits.append(len(held))
        for block in held:
            free.remove(block)
        for begin in range(len(held) * block_size, len(sequence), block_size):
            block = free.pop(0)
            key_of.pop(block, None)
            held.append(block)
            key = sequence[: begin + block_size]
            if len(key) == begin + block_size:
                has_duplicates = has_duplicates or key in key_of.values()
                key_of[block] = key
        for block in reversed(held):
            if block in key_of:
                free.append(block)
            else:
                free.insert(0, block)
    return Played(hits, has_duplicates)
