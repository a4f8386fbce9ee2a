"""The prefixes that are listed are those that counting every beginning of every request finds."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings

from prefixlab.capacity.popular_prefixes import PopularPrefixes
from tests.capacity.block_table import Served, chains
from tests.capacity.workloads import BLOCK, logs


@given(logs(most=20))
@settings(max_examples=200, deadline=None)
def test_counts_are_those_of_all_beginnings(log: list[Served]) -> None:
    sequences = [one.prompt + one.generated for one in log]
    counted: Counter[tuple[int, ...]] = Counter()
    for sequence in sequences:
        counted.update({sequence[:end] for end in range(BLOCK, len(sequence) + 1, BLOCK)})
    shared = {prefix: count for prefix, count in counted.items() if count > 1}
    ends = {
        prefix: count
        for prefix, count in shared.items()
        if not any([len(other) == len(prefix) + BLOCK and other[: len(prefix)] == prefix and same == count
                    for other, same in shared.items()])
    }  # fmt: skip
    popular = PopularPrefixes(chains(log, BLOCK))
    listed = {sequences[prefix.request][: prefix.blocks * BLOCK]: prefix.requests for prefix in popular.all}
    # Requests that end inside a longer one are places where requests part as well.
    assert {prefix: listed[prefix] for prefix in ends} == ends
    assert all(counted[prefix] == requests for prefix, requests in listed.items())
    by_count = popular.by_count(3)
    assert [prefix.requests for prefix in by_count] == sorted([prefix.requests for prefix in by_count], reverse=True)
    if shared:
        assert by_count[0].requests == max(shared.values())
        most = max(len(prefix) // BLOCK * count for prefix, count in shared.items())
        assert popular.by_volume(1)[0].volume == most
        first = sequences.index(next(s for s in sequences if s[: by_count[0].blocks * BLOCK] ==
                                     sequences[by_count[0].request][: by_count[0].blocks * BLOCK]))  # fmt: skip
        assert first == by_count[0].request


def test_nearly_the_same_requests_are_listed_once() -> None:
    log = [Served((1, 2, 3, 4, 5, 6, *([7, 8, 9] if at else [9, 9, 9]), 100 + at)) for at in range(10)]
    prefixes = PopularPrefixes(chains(log, BLOCK))
    assert [(prefix.requests, prefix.blocks) for prefix in prefixes.by_count(5)] == [(10, 2)]
    assert [(prefix.requests, prefix.blocks) for prefix in prefixes.by_volume(5)] == [(9, 3)]


def test_the_turns_of_a_conversation_are_listed_once() -> None:
    """Each turn begins with all earlier ones; another conversation shares the head with them."""
    turns = [Served((1, 1, 1, *range(10, 10 + 3 * at), 500 + at)) for at in range(1, 5)]
    others = [Served((1, 1, 1, *range(100, 100 + 3 * at), 600 + at)) for at in range(1, 5)]
    prefixes = PopularPrefixes(chains([*turns, *others], BLOCK))
    assert [(prefix.requests, prefix.blocks) for prefix in prefixes.by_count(2)] == [(8, 1), (3, 3)]
