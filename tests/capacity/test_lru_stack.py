"""One pass gives for every cache size what a block table of that size reuses."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from prefixlab.capacity.lru_stack import reuses_of
from tests.capacity.block_table import Served, chains, play
from tests.capacity.workloads import BLOCK, logs


def found(requests: list[Served], block_size: int, cache_blocks: int) -> list[int]:
    """Blocks that each request finds in a cache of that size, by the one pass."""
    hits = [0] * len(requests)
    reuses = reuses_of(chains(requests, block_size))
    for _, until, blocks, least in zip(*reuses, strict=True):
        hits[until] += max(0, min(blocks, cache_blocks - least + 1))
    return hits


@given(logs(whole=False))
@settings(max_examples=300, deadline=None)
def test_every_size_is_that_of_the_block_table(log: list[Served]) -> None:
    largest = chains(log, BLOCK).largest
    for size in range(largest, largest + 40):
        played = play(log, BLOCK, size)
        assert not played.has_duplicates
        assert found(log, BLOCK, size) == played.hits


@given(logs(), st.integers(0, 30))
@settings(max_examples=200, deadline=None)
def test_duplicates_are_all_that_can_differ(log: list[Served], more: int) -> None:
    size = chains(log, BLOCK).largest + more
    played = play(log, BLOCK, size)
    if not played.has_duplicates:
        assert found(log, BLOCK, size) == played.hits


def test_long_log_with_many_owners() -> None:
    rng = random.Random(5)
    sequences: list[tuple[int, ...]] = [()]
    log = []
    for number in range(9000):
        earlier = sequences[rng.randrange(max(0, len(sequences) - 200), len(sequences))]
        kept = rng.choice((0, len(earlier), rng.randint(0, len(earlier))))
        prompt = (*earlier[: min(kept, 40)], *[1000 * number + at for at in range(rng.randint(1, 7))])
        log.append(Served(prompt))
        sequences.append(prompt)
    largest = chains(log, 1).largest
    assert found(log, 1, largest + 10**6)[:400] == [
        max(0, len(one.prompt) - new) for one, new in zip(log[:400], _new(log[:400]), strict=True)
    ]
    tail = log[:600]
    for size in (largest, 2 * largest, 5 * largest):
        played = play(tail, 1, size)
        assert sum(found(tail, 1, size)) == sum(played.hits) or played.has_duplicates


def _new(log: list[Served]) -> list[int]:
    """Tokens of each prompt behind the longest prefix seen before, the last one always among them."""
    seen: set[tuple[int, ...]] = {()}
    new = []
    for one in log:
        shared = max([at for at in range(len(one.prompt)) if one.prompt[:at] in seen])
        new.append(len(one.prompt) - shared)
        seen.update([one.prompt[:at] for at in range(len(one.prompt) + 1)])
    return new
