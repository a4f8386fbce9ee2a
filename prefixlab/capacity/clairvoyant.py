"""The most that any cache of a size could reuse if it knew all requests to come (Belady's bound, on whole prompts).

To reuse a block that was last used by request s in request t is to keep it all the while between the two. At each
request all its own blocks must be there, so what is kept across it can be no more than the cache less what the request
needs. Which blocks to keep is then a choice of intervals under a limit that is known at every point. Going through the
requests in order and letting go of what is used again last, whenever more is kept than fits, keeps as many as can be;
of the blocks that one request will use again the last of its prompt go first, so what is left can be reused without a
gap. The bound holds for every policy that serves the requests in this order, least recently used among them.
"""

from __future__ import annotations

from heapq import heappop, heappush

from prefixlab.capacity.chains import Chains
from prefixlab.capacity.lru_stack import Reuses


class Clairvoyant:
    """The bound for one log; asked once for each size."""

    def __init__(self, chains: Chains, reuses: Reuses) -> None:
        self._need = chains.need
        self._last = len(chains.need)
        kept_by_start: list[list[tuple[int, int]] | None] = [None] * self._last
        for since, until, blocks in zip(reuses.since, reuses.until, reuses.blocks, strict=True):
            kept = kept_by_start[since]
            if kept is None:
                kept_by_start[since] = [(until, blocks)]
            else:
                kept.append((until, blocks))
        self._kept_by_start = kept_by_start
        self.unlimited = sum(reuses.blocks)
        """Blocks that a cache without limit reuses."""
        self.enough = self._most_held()
        """The smallest cache, in blocks, that reuses as much."""

    def blocks(self, cache_blocks: int) -> int:
        """Blocks that could be reused with a cache of `cache_blocks`, which no request is larger than."""
        if cache_blocks >= self.enough:
            return self.unlimited
        until_of = [0] * self._last
        furthest: list[int] = []
        kept = reused = 0
        for request, (need, starting) in enumerate(zip(self._need, self._kept_by_start, strict=True)):
            back = until_of[request]
            if back:
                kept -= back
                reused += back
            over = kept + need - cache_blocks
            if over > 0:
                kept -= over
                while over > 0:
                    until = -furthest[0]
                    blocks = until_of[until]
                    if blocks > over:
                        until_of[until] = blocks - over
                        break
                    over -= blocks
                    until_of[until] = 0
                    heappop(furthest)
            if starting is not None:
                for until, blocks in starting:
                    if not until_of[until]:
                        heappush(furthest, -until)
                    until_of[until] += blocks
                    kept += blocks
        return reused

    def _most_held(self) -> int:
        """Blocks held at the fullest moment if everything is kept that is used again."""
        ending = [0] * self._last
        kept = most = 0
        for request, (need, starting) in enumerate(zip(self._need, self._kept_by_start, strict=True)):
            kept -= ending[request]
            if kept + need > most:
                most = kept + need
            if starting is not None:
                for until, blocks in starting:
                    ending[until] += blocks
                    kept += blocks
        return most
