"""The least recently used blocks at every cache size, in one pass (Mattson's stack distances, on whole prompts).

What is followed is a block table that serves one request after another, as vLLM does: blocks that are hit leave the
queue of free blocks, the others are taken from its front, and at the end all are freed, the last block of the prompt
first. So of a request the end goes first, the blocks least recently used go before it, and what a cache of N blocks
keeps is always part of what a larger one keeps. A block last used by request s is found again by request t if for each
request r between the two

    distinct blocks used since (the block itself, those freed after it in s, all used up to and including r)
        + 1 if the last block of r is not full, in a table  <=  N

for a block that is not full takes room while its request runs and is free right after. The first part never falls from
one r to the next, so the smallest N is that of the last r, or one more if an r with as many distinct blocks has such a
block. In a store beside an engine no request runs: it holds full blocks only, of a request larger than itself the
first ones, and the first part is all there is.

**Owners.** A block belongs to the latest request that used it. Who uses a block uses all blocks ahead of it, so what a
request owns is always an end of its chain, `start` to `full`, and the blocks ahead of `start` lie on the chain of its
`above`. A request takes the blocks it shares from their owners and becomes the owner of its whole chain. This is how
link-cut trees expose a path: over a run the owners met are few for each request, whatever the number of blocks.
"""

from __future__ import annotations

from typing import NamedTuple

from prefixlab.capacity.chains import Chains

_FAN = 64
"""Requests whose counts are added up in advance, at each of two levels."""


class Reuses(NamedTuple):
    """Stretches of blocks that a request could find in the cache, as parallel lists, by request, deepest first.

    The blocks of a stretch were last used by request `since` and are used again by request `until`. The first of its
    `blocks` is found in a cache of `least` blocks, each further one in a cache of one block more.
    """

    since: list[int]
    until: list[int]
    blocks: list[int]
    least: list[int]


def reuses_of(chains: Chains) -> Reuses:
    """Every stretch of blocks that an unlimited cache would have, with the cache size it takes."""
    reuses = Reuses([], [], [], [])
    since, until, blocks, least = reuses
    full, need, limit = chains.full, chains.need, chains.limit
    count = len(full)
    start = [0] * count
    above = [0] * count
    owned = [0] * count
    owned_by_fan = [0] * (count // _FAN + 1)
    owned_by_square = [0] * (count // _FAN**2 + 1)
    # Of the requests so far: the latest whose last block is not full, and the owner of the oldest block used after it.
    partial, oldest = -1, count
    for number, (own, end, owner) in enumerate(zip(full, chains.shared, chains.partner)):
        # A new block was not used before, so it is older than all.
        first_touched = -1
        if end:
            if start[owner] >= end:
                owner = _owner(owner, end, start, above)
            if end == own:
                first_touched = owner
            may = limit[number]
            while True:
                begin = start[owner]
                if begin < may:
                    fan, square = owner // _FAN + 1, owner // _FAN**2 + 1
                    newer = sum(owned[owner + 1 : fan * _FAN])
                    newer += sum(owned_by_fan[fan : square * _FAN]) + sum(owned_by_square[square:])
                    since.append(owner)
                    until.append(number)
                    blocks.append((end if end < may else may) - begin)
                    least.append(newer + (2 if partial > owner and oldest >= owner else 1))
                moved = end - begin
                owned[owner] -= moved
                owned_by_fan[owner // _FAN] -= moved
                owned_by_square[owner // _FAN**2] -= moved
                start[owner] = end
                ahead = above[owner]
                above[owner], end = number, begin
                if not end:
                    break
                owner = ahead if start[ahead] < end else _owner(ahead, end, start, above)
        owned[number] = own
        owned_by_fan[number // _FAN] += own
        owned_by_square[number // _FAN**2] += own
        if need[number] > own:
            partial, oldest = number, count
        elif own and first_touched < oldest:
            oldest = first_touched
    return reuses


def _owner(request: int, end: int, start: list[int], above: list[int]) -> int:
    """Who owns the block before `end` on the chain of `request`, which does not own it itself."""
    owner = request
    while start[owner] >= end:
        first, limit = owner, start[owner]
        owner = above[first]
        while start[owner] >= limit:
            owner = above[owner]
        # What lay between owns nothing ahead of `limit`; where it has the same start, it may point further next time.
        while first != owner:
            following = above[first]
            if start[first] == limit:
                above[first] = owner
            first = following
    return owner
