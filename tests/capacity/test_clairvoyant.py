"""The bound is what the best of all decisions reaches, is never below LRU and never falls when the cache grows."""

from __future__ import annotations

from functools import cache
from itertools import combinations

from hypothesis import given, settings

from prefixlab.capacity.chains import Chains, chains_of
from prefixlab.capacity.clairvoyant import Clairvoyant
from prefixlab.capacity.lru_stack import reuses_of
from prefixlab.intake import match_prompts
from tests.capacity.block_table import Served, chains, prompts_of
from tests.capacity.test_lru_stack import found
from tests.capacity.workloads import BLOCK, logs


def best(log: list[Served], block_size: int, cache_blocks: int) -> int:
    """The most blocks that any way to keep and drop blocks reuses: all ways are tried."""
    sequences = [one.prompt + one.generated for one in log]

    @cache
    def most(at: int, kept: frozenset[tuple[int, ...]]) -> int:
        if at == len(log):
            return 0
        sequence = sequences[at]
        ends = range(block_size, len(log[at].prompt), block_size)
        hits = next((hit for hit, end in enumerate(ends) if sequence[:end] not in kept), len(ends))
        own = {sequence[:end] for end in range(block_size, len(sequence) + 1, block_size)}
        needed = -(-len(sequence) // block_size)
        room = cache_blocks - needed
        assert room >= 0
        others = kept - own
        useful = {
            later[:end]
            for number, later in enumerate(sequences[at + 1 :], at + 1)
            for end in range(block_size, len(log[number].prompt), block_size)
        }
        wanted = sorted(others & useful)
        held = min(len(wanted), room)
        return hits + max(
            most(at + 1, frozenset(own & useful) | frozenset(chosen)) for chosen in combinations(wanted, held)
        )

    return most(0, frozenset())


@given(logs(most=7))
@settings(max_examples=150, deadline=None)
def test_bound_is_the_best_of_all_decisions(log: list[Served]) -> None:
    of = chains(log, BLOCK)
    bound = Clairvoyant(of, reuses_of(of))
    for size in range(of.largest, of.largest + 6):
        assert bound.blocks(size) == best(log, BLOCK, size)


def best_of_store(log: list[Served], block_size: int, store_blocks: int) -> int:
    """The most blocks that any way to keep and drop blocks between requests reuses: all ways are tried."""
    sequences = [one.prompt + one.generated for one in log]

    @cache
    def most(at: int, kept: frozenset[tuple[int, ...]]) -> int:
        if at == len(log):
            return 0
        sequence = sequences[at]
        ends = range(block_size, len(log[at].prompt), block_size)
        hits = next((hit for hit, end in enumerate(ends) if sequence[:end] not in kept), len(ends))
        own = {sequence[:end] for end in range(block_size, len(sequence) + 1, block_size)}
        useful = {
            later[:end]
            for number, later in enumerate(sequences[at + 1 :], at + 1)
            for end in range(block_size, len(log[number].prompt), block_size)
        }
        wanted = sorted((kept | own) & useful)
        held = min(len(wanted), store_blocks)
        return hits + max(most(at + 1, frozenset(chosen)) for chosen in combinations(wanted, held))

    return most(0, frozenset())


@given(logs(most=6))
@settings(max_examples=150, deadline=None)
def test_bound_of_a_store_is_the_best_of_all_decisions(log: list[Served]) -> None:
    prompts = prompts_of(log)
    of = chains_of(prompts, match_prompts(prompts), BLOCK, is_store=True)
    bound = Clairvoyant(of, reuses_of(of), is_store=True)
    for size in range(1, 7):
        assert bound.blocks(size) == best_of_store(log, BLOCK, size)


@given(logs(most=25))
@settings(max_examples=150, deadline=None)
def test_bound_never_below_lru_and_never_falls(log: list[Served]) -> None:
    of: Chains = chains(log, BLOCK)
    bound = Clairvoyant(of, reuses_of(of))
    before = 0
    for size in range(of.largest, of.largest + 40):
        now = bound.blocks(size)
        assert now >= before
        assert now >= sum(found(log, BLOCK, size))
        before = now
    assert bound.blocks(bound.enough) == bound.unlimited
    if bound.enough > of.largest:
        assert bound.blocks(bound.enough - 1) < bound.unlimited
