"""A log as a fix would write it, in tokens, for whoever serves it again: the matches and lengths of its prompts."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from itertools import accumulate
from typing import NamedTuple

from prefixlab.engine_requests import BlockKeys, EngineRequest
from prefixlab.prefix_tree import Match, PrefixTree
from prefixlab.records import TOKEN_BYTES, Prompt

OfPrompt = Callable[[int], bytes | None]
"""Tokens of a prompt by its number; None where the fix does not touch it."""


class FixedReuse(NamedTuple):
    """What became of all tokens of a log with fixes. Its prompts may be a little longer or shorter than logged."""

    cached_tokens: int
    written_tokens: int
    """What a hosted provider charges for writing."""
    prompt_tokens: int


class FixedLog:
    """Prompts with values moved. What a moved value becomes in tokens is worked out only where it is asked for.

    `beginning` gives the tokens of a prompt as far as they are known without that, `whole` all of them, `piece_lengths`
    the tokens of each of its pieces.
    """

    def __init__(
        self,
        prompts: Sequence[Prompt],
        beginning: OfPrompt,
        whole: OfPrompt,
        piece_lengths: Callable[[int], list[int] | None],
    ) -> None:
        self.prompts = prompts
        self.matches: list[Match] = []
        """On one server, without an end of life."""
        self.lengths: dict[int, int] = {}
        """Tokens of those prompts that were worked out to the end."""
        self._beginning = beginning
        self._whole = whole
        self._piece_lengths = piece_lengths

    @classmethod
    def unchanged(cls, prompts: Sequence[Prompt]) -> FixedLog:
        """The log as it is."""
        return cls(prompts, lambda number: None, lambda number: None, lambda number: None)

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
        """The prompts as an engine is given them, in order: as many as there are matches."""
        keys: dict[tuple[int, int], BlockKeys] = {}
        for number, (prompt, match) in enumerate(zip(self.prompts, matches, strict=False)):
            yield EngineRequest(number, prompt, match, keys, self._whole(number), partial(self._moved, number))

    def _moved(self, number: int, places: tuple[int, ...]) -> tuple[int, ...]:
        """Places in a prompt, in tokens, as they are in the fixed one.

        Text is cut out ahead of the end of a piece, or set behind it, so a place keeps its distance from that end.
        """
        lengths = self._piece_lengths(number)
        if lengths is None:
            return places
        ends = list(accumulate([piece.token_count for piece in self.prompts[number].pieces]))
        new_ends = list(accumulate(lengths))
        moved = []
        for place in places:
            at = min(bisect_left(ends, place), len(ends) - 1)
            moved.append(max(new_ends[at] - (ends[at] - place), 0))
        return tuple(sorted(set(moved)))

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
