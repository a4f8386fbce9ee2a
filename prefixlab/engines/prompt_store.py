"""Whole prompts that llama-server keeps in host memory, oldest first, and gives back to a slot.

Follows llama.cpp 7e4c0a9 (`tools/server/server-task.cpp`, `server_prompt_cache`). No stored prompt is the beginning of
another: what is the beginning of a stored one is not stored, and what a new one begins with goes. So in a list sorted
by content the prompts that share most with a given one are its neighbours, and no other has to be looked at.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import OrderedDict
from struct import Struct
from typing import Final

from prefixlab.engines.longest_prefix import shared_bytes
from prefixlab.records import TOKEN_BYTES

LEAST_KEPT: Final = 0.25
"""A stored prompt of which less than this is the beginning of the new one is left alone."""

STATE_HEADER_BYTES: Final = 48
"""What a stored prompt takes beside its tokens."""

_SINGLE: Final = Struct("<f")


def single(value: float) -> float:
    """The value in single precision, as the server computes ratios: near ties fall as they do there."""
    rounded: float = _SINGLE.unpack(_SINGLE.pack(value))[0]
    return rounded


class PromptStore:
    """Prompts are given as `bytes` that begin with one id for the namespace, which counts for nothing else.

    Args:
        max_bytes: None where memory is no limit.
        bytes_per_token: What a stored token takes.
        max_tokens: A limit on all tokens stored, for a server whose memory is no limit.
    """

    def __init__(self, max_bytes: int | None, bytes_per_token: float, max_tokens: int | None) -> None:
        self._max_bytes = max_bytes
        self._bytes_per_token = bytes_per_token
        self._max_tokens = max_tokens
        self._sorted: list[bytes] = []
        self._oldest_first: OrderedDict[bytes, int] = OrderedDict()
        self._serial = 0
        self.tokens = 0
        """Tokens of all stored prompts."""

    def __len__(self) -> int:
        return len(self._sorted)

    def save(self, prompt: bytes) -> bool:
        """Store a prompt; False where it is empty, known as the beginning of a stored one, or too large."""
        tokens = length(prompt)
        at = bisect_left(self._sorted, prompt)
        if not tokens or (at < len(self._sorted) and self._sorted[at].startswith(prompt)):
            return False
        if self._max_bytes is not None and self._bytes_of(1, tokens) > self._max_bytes:
            return False
        if at and prompt.startswith(self._sorted[at - 1]):
            self._remove(self._sorted[at - 1])
        if self._max_bytes is not None:
            while self._sorted and self._bytes_of(len(self) + 1, self.tokens + tokens) > self._max_bytes:
                self._remove(next(iter(self._oldest_first)))
        insort(self._sorted, prompt)
        self._serial += 1
        self._oldest_first[prompt] = self._serial
        self.tokens += tokens
        return True

    def trim(self) -> None:
        """Drop the oldest while there are too many tokens."""
        while self._max_tokens is not None and self._sorted and self.tokens > self._max_tokens:
            self._remove(next(iter(self._oldest_first)))

    def take(self, prompt: bytes, slot: bytes) -> bytes:
        """The content of a slot for `prompt`: a stored one, which leaves the store, or `slot`, what it has now.

        From the oldest on, one is preferred if more of it is kept and more of the prompt is covered than by the one
        preferred so far, both.
        """
        covered = shared_tokens(slot, prompt)
        kept = single(covered / length(slot)) if length(slot) else -1.0
        coverage = single(covered / length(prompt))
        best = slot
        for _, stored, shared in sorted(self._sharing_more_than(covered, prompt)):
            kept_of_it = single(shared / length(stored))
            if kept_of_it < LEAST_KEPT:
                continue
            coverage_by_it = single(shared / length(prompt))
            if kept < kept_of_it and coverage < coverage_by_it:
                kept, coverage, best = kept_of_it, coverage_by_it, stored
        if best is not slot:
            self._remove(best)
        return best

    def _sharing_more_than(self, tokens: int, prompt: bytes) -> list[tuple[int, bytes, int]]:
        """Stored prompts that share more than `tokens` tokens with `prompt`: serial, prompt, tokens shared."""
        found: list[tuple[int, bytes, int]] = []
        middle = bisect_left(self._sorted, prompt)
        for places in (range(middle, len(self._sorted)), range(middle - 1, -1, -1)):
            # Away from the prompt's own place less and less is shared, so mostly as much as with the last one.
            shared, head = -1, prompt
            for place in places:
                stored = self._sorted[place]
                if not stored.startswith(head):
                    shared = shared_tokens(stored, prompt)
                    head = prompt[: (shared + 1) * TOKEN_BYTES]
                elif shared < 0:
                    shared = length(prompt)
                if shared <= tokens:
                    break
                found.append((self._oldest_first[stored], stored, shared))
        return found

    def _bytes_of(self, prompts: int, tokens: int) -> float:
        return tokens * self._bytes_per_token + prompts * STATE_HEADER_BYTES

    def _remove(self, prompt: bytes) -> None:
        del self._oldest_first[prompt]
        del self._sorted[bisect_left(self._sorted, prompt)]
        self.tokens -= length(prompt)


def length(prompt: bytes) -> int:
    """Tokens of a prompt without its namespace id."""
    return max(len(prompt) // TOKEN_BYTES - 1, 0)


def shared_tokens(one: bytes, other: bytes) -> int:
    """Tokens that two prompts have in common from the start; none in different namespaces."""
    return max(shared_bytes(one, other) // TOKEN_BYTES - 1, 0)
