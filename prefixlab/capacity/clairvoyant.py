"""The most that any cache of a size could reuse if it knew all requests to come (Belady's bound, on whole prompts).

To reuse a block that was last used by request s in request t is to keep it all the while between the two. At each
request all its own blocks must be there, so what is kept across it can be no more than the cache less what the request
needs. Which blocks to keep is then a choice of intervals under a limit that is known at every point. Going through the
requests in order and letting go of what is used again last, whenever more is kept than fits, keeps as many as can be;
of the blocks that one request will use again the last of its prompt go first, so what is left can be reused without a
gap. The bound holds for every policy that serves the requests in this order, least recently used among them.

A store beside an engine need hold nothing for a request to run, and may pass over what is not worth its room: there
what is kept between two requests can be no more than the cache. That is a step of its own behind each request.
"""

from __future__ import annotations

from heapq import heappop, heappush

from prefixlab.capacity.chains import Chains
from prefixlab.capacity.lru_stack import Reuses

_Step = tuple[int, int, int, list[tuple[int, int]] | None]
"""A request: the blocks it needs; of the first stretch that can be kept from it on the request that uses it again and
its blocks, 0 where there is none; the same of further stretches."""


class Clairvoyant:
    """The bound for one log; asked once for each size."""

    def __init__(self, chains: Chains, reuses: Reuses, *, is_store: bool = False) -> None:
        count = len(chains.need)
        first_until, first_blocks = [0] * count, [0] * count
        more: list[list[tuple[int, int]] | None] = [None] * count
        for since, until, blocks in zip(reuses.since, reuses.until, reuses.blocks, strict=True):
            further = more[since]
            if not first_blocks[since]:
                first_until[since], first_blocks[since] = until, blocks
            elif further is None:
                more[since] = [(until, blocks)]
            else:
                further.append((until, blocks))
        steps: list[_Step] = list(zip(chains.need, first_until, first_blocks, more, strict=True))
        self._steps = _with_gaps(steps) if is_store else steps
        self.unlimited = sum(reuses.blocks)
        """Blocks that a cache without limit reuses."""
        self.enough = self._most_held()
        """The smallest cache, in blocks, that reuses as much."""

    def blocks(self, cache_blocks: int) -> int:
        """Blocks that could be reused with a cache of `cache_blocks`, which no request is larger than."""
        if cache_blocks >= self.enough:
            return self.unlimited
        # Blocks kept, by the request that uses them again; the loop reads each entry when it comes to that request.
        held = [0] * len(self._steps)
        furthest: list[int] = []
        kept = reused = 0
        for (need, until, blocks, more), back in zip(self._steps, held, strict=True):
            if back:
                kept -= back
                reused += back
            over = kept + need - cache_blocks
            if over > 0:
                kept -= over
                while over:
                    last = -furthest[0]
                    there = held[last]
                    if there > over:
                        held[last] = there - over
                        break
                    held[last] = 0
                    heappop(furthest)
                    over -= there
            if blocks:
                kept += blocks
                if held[until]:
                    held[until] += blocks
                else:
                    held[until] = blocks
                    heappush(furthest, -until)
                for until, blocks in more or ():
                    kept += blocks
                    if not held[until]:
                        heappush(furthest, -until)
                    held[until] += blocks
        return reused

    def _most_held(self) -> int:
        """Blocks held at the fullest moment if everything is kept that is used again."""
        ending = [0] * len(self._steps)
        kept = most = 0
        for (need, until, blocks, more), back in zip(self._steps, ending, strict=True):
            kept -= back
            if kept + need > most:
                most = kept + need
            if blocks:
                ending[until] += blocks
                kept += blocks
                for until, blocks in more or ():
                    ending[until] += blocks
                    kept += blocks
        return most


def _with_gaps(steps: list[_Step]) -> list[_Step]:
    """The steps with one behind each, in which nothing is used and what is kept must fit."""
    spread: list[_Step] = []
    for need, until, blocks, more in steps:
        further = None if more is None else [(2 * then, count) for then, count in more]
        spread += [(need, 2 * until, blocks, further), (0, 0, 0, None)]
    return spread
