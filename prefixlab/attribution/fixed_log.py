"""A log as a fix would write it, in tokens, for whoever serves it again: the matches and lengths of its prompts."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence

from prefixlab.engine_requests import BlockKeys, EngineRequest
from prefixlab.prefix_tree import Match, PrefixTree
from prefixlab.records import TOKEN_BYTES, Prompt

OfPrompt = Callable[[int], bytes | None]
"""Tokens of a prompt by its number; None where the fix does not touch it."""


class FixedLog:
    """Prompts with values moved. What a moved value becomes in tokens is worked out only where it is asked for.

    `beginning` gives the tokens of a prompt as far as they are known without that, `whole` all of them.
    """

    def __init__(self, prompts: Sequence[Prompt], beginning: OfPrompt, whole: OfPrompt) -> None:
        self.prompts = prompts
        self.matches: list[Match] = []
        """On one server, without an end of life."""
        self.lengths: dict[int, int] = {}
        """Tokens of those prompts that were worked out to the end."""
        self._beginning = beginning
        self._whole = whole

    def tree(self) -> PrefixTree:
        """An empty tree for these prompts."""
        return PrefixTree(self._known, self._rest)

    def add(self, tree: PrefixTree, number: int, namespace: Hashable, alive_from: int = 0) -> Match:
        """Match a prompt with those that were added before, then add it."""
        beginning = self._beginning(number)
        if beginning is None:
            prompt = self.prompts[number]
            return tree.add(number, prompt.tokens, prompt.output_tokens, namespace, alive_from)
        return tree.add(number, beginning, b"", namespace, alive_from)

    def requests(self, matches: Sequence[Match]) -> Iterator[EngineRequest]:
        """The prompts as an engine is given them, in order."""
        keys: dict[tuple[int, int], BlockKeys] = {}
        for number, (prompt, match) in enumerate(zip(self.prompts, matches, strict=True)):
            tokens = self._whole(number)
            yield EngineRequest(number, prompt, match, keys, tokens)

    def _known(self, number: int) -> bytes:
        beginning = self._beginning(number)
        if beginning is not None:
            return beginning
        return self.prompts[number].tokens + self.prompts[number].output_tokens

    def _rest(self, number: int) -> tuple[bytes, int] | None:
        tokens = self._whole(number)
        if tokens is None:
            return None
        self.lengths[number] = len(tokens) // TOKEN_BYTES
        return tokens + self.prompts[number].output_tokens, len(tokens)
