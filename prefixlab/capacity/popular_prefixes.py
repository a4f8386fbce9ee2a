"""The beginnings that most requests have in common, and those that carry the most tokens.

A prefix here ends where requests part: it is as long as the requests that have it agree, in whole blocks. Of two of
which one begins with the other and that for the most part the same requests have, such as the turns of a conversation,
only the first by the order asked for is listed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from prefixlab.capacity.chains import Chains

_MOST = 0.5
"""Share of the requests of a prefix from which on another on its path says nothing new."""


class Prefix(NamedTuple):
    """The first `blocks` blocks of request number `request`, the first to have them; `requests` have them in all."""

    request: int
    blocks: int
    requests: int

    @property
    def volume(self) -> int:
        """Blocks that all these requests have there together."""
        return self.blocks * self.requests


class PopularPrefixes:
    """The prefixes of a log that two requests or more have."""

    def __init__(self, chains: Chains) -> None:
        self._shared = chains.shared
        # The request that was the first with the last block that is shared, for each request that shares any.
        self._source = list(chains.partner)
        shared, source = self._shared, self._source
        for number, end in enumerate(shared):
            if end:
                source[number] = self._first_with(source[number], end)
        totals = [1] * len(shared)
        parting: dict[int, dict[int, int]] = {}
        for number in range(len(shared) - 1, -1, -1):
            end = shared[number]
            if end:
                there = parting.setdefault(source[number], {})
                there[end] = there.get(end, 0) + totals[number]
                totals[source[number]] += totals[number]
        self.all: list[Prefix] = []
        for number, ends in sorted(parting.items()):
            requests = 1
            for end in sorted(ends, reverse=True):
                requests += ends[end]
                self.all.append(Prefix(number, end, requests))

    def by_count(self, most: int) -> list[Prefix]:
        """The prefixes that most requests have, the longer first of those that as many have."""
        return self._first(most, lambda prefix: (-prefix.requests, -prefix.blocks))

    def by_volume(self, most: int) -> list[Prefix]:
        """The prefixes that carry the most tokens: length times requests."""
        return self._first(most, lambda prefix: (-prefix.volume, -prefix.requests))

    def _first(self, most: int, order: Callable[[Prefix], tuple[int, int]]) -> list[Prefix]:
        found: list[Prefix] = []
        for prefix in sorted(self.all, key=order):
            if len(found) >= most:
                break
            if not any([self._says_the_same(prefix, other) for other in found]):
                found.append(prefix)
        return found

    def _says_the_same(self, one: Prefix, other: Prefix) -> bool:
        few, many = sorted((one.requests, other.requests))
        if few < _MOST * many:
            return False
        short, long = sorted((one, other), key=lambda prefix: prefix.blocks)
        return self._first_with(long.request, short.blocks) == short.request

    def _first_with(self, request: int, end: int) -> int:
        """The request that was the first with the block before `end` of this one's chain."""
        while self._shared[request] >= end:
            request = self._source[request]
        return request
