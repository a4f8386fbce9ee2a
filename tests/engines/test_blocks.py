"""The generic block cache: against a list that is searched from its start, and what a stack of blocks promises."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prefixlab.engines.blocks import Blocks
from prefixlab.errors import PrefixlabError
from tests.engines.replays import Ask, replay, text, written

asks = st.lists(
    st.builds(
        lambda tokens, generated, at: Ask(tokens, generated, at),
        st.lists(st.integers(0, 1), min_size=1, max_size=14),
        st.lists(st.integers(0, 1), max_size=5),
        st.sampled_from((0.0, 1.0, 2.0, 5.0, 9.0)),
    ),
    max_size=12,
).map(lambda asks: sorted(asks, key=lambda ask: ask.at))


def slowly(engine: Blocks, asks: list[Ask]) -> list[int]:
    """Prefixes as tuples in a list, the next to go first."""
    known: list[tuple[tuple[int, ...], float]] = []
    cached = []
    for ask in asks:
        if engine.ttl is not None:
            known = [one for one in known if one[1] >= ask.at - engine.ttl]
        sequence = [*ask.tokens, *ask.generated] if engine.outputs else list(ask.tokens)
        prefixes = [tuple(sequence[:end]) for end in range(engine.block_size, len(sequence) + 1, engine.block_size)]
        hits = 0
        while hits < len(prefixes) and prefixes[hits] in [prefix for prefix, _ in known]:
            hits += 1
        usable = len(ask.tokens) - 1 if engine.last_token else len(ask.tokens)
        reused = min(hits, usable // engine.block_size) * engine.block_size
        cached.append(reused if reused >= engine.min_tokens else 0)
        for prefix in reversed(prefixes):
            there = [one for one in known if one[0] == prefix]
            if there and engine.policy == "fifo":
                continue
            known = [one for one in known if one[0] != prefix] + [(prefix, ask.at)]
        if engine.capacity_blocks is not None:
            known = known[max(len(known) - engine.capacity_blocks, 0) :]
    return cached


@settings(max_examples=300)
@given(
    asks,
    st.builds(
        Blocks,
        block_size=st.integers(1, 4),
        capacity_blocks=st.none() | st.integers(1, 12),
        policy=st.sampled_from(("lru", "fifo")),
        last_token=st.booleans(),
        min_tokens=st.integers(0, 5),
        ttl=st.none() | st.sampled_from((0.5, 3.0)),
        outputs=st.booleans(),
    ),
)
def test_against_a_list(asks, engine):
    assert replay(engine, asks) == slowly(engine, asks)


@given(asks, st.integers(1, 4), st.integers(1, 10))
def test_more_room_never_reuses_less(asks, block_size, blocks):
    smaller = replay(Blocks(block_size=block_size, capacity_blocks=blocks), asks)
    larger = replay(Blocks(block_size=block_size, capacity_blocks=blocks + 1), asks)
    assert all(less <= more for less, more in zip(smaller, larger, strict=True))


@given(asks, st.integers(1, 4), st.booleans(), st.integers(0, 6))
def test_the_rule_is_what_an_unlimited_cache_gives(asks, block_size, last_token, least):
    engine = Blocks(block_size=block_size, last_token=last_token, min_tokens=least)
    assert engine.is_rule_exact
    expected = []
    for number, ask in enumerate(asks):
        shared = 0
        for earlier in asks[:number]:
            sequence = [*earlier.tokens, *earlier.generated]
            while shared < len(ask.tokens) and sequence[: shared + 1] == ask.tokens[: shared + 1]:
                shared += 1
        expected.append(engine.aligned_tokens(shared, len(ask.tokens)))
    assert replay(engine, asks) == expected


def test_worked_by_hand():
    prompt = text(1, 40)
    assert replay(Blocks(), [Ask(prompt), Ask(prompt), Ask(prompt[:32])]) == [0, 32, 16]
    assert replay(Blocks(last_token=False), [Ask(prompt), Ask(prompt[:32])]) == [0, 32]
    assert Blocks().last_token_loss(32, 32) == 16
    assert Blocks(last_token=False).last_token_loss(32, 32) == 0
    # Two blocks hold the head of three, and a request in between takes both.
    assert replay(Blocks(capacity_blocks=2), [Ask(text(1, 50)), Ask(text(1, 50))]) == [0, 32]
    assert replay(Blocks(capacity_blocks=2), [Ask(prompt), Ask(text(2, 40)), Ask(prompt)]) == [0, 0, 0]
    assert written(Blocks(), [Ask(prompt), Ask(text(1, 60))]) == [(0, 32), (32, 16)]


def test_a_trace_of_blocks():
    ask = Ask([7, 8, 9], unit=512, prompt_tokens=1300)
    assert replay(Blocks(block_size=512), [ask, ask]) == [0, 1024]
    # Blocks of 700 tokens cannot be cut out of 512s: two of those are one.
    assert replay(Blocks(block_size=700), [ask, ask]) == [0, 700]


def test_without_times_nothing_expires():
    prompt = text(1, 40)
    assert replay(Blocks(ttl=5.0), [Ask(prompt), Ask(prompt)]) == [0, 32]
    assert replay(Blocks(ttl=5.0), [Ask(prompt, at=0.0), Ask(prompt, at=5.0), Ask(prompt, at=10.1)]) == [0, 32, 0]


def test_sizes():
    assert Blocks().with_capacity(100).capacity_blocks == 6
    assert Blocks().with_capacity(100).capacity_tokens == 96
    assert Blocks(capacity_blocks=3).with_capacity(None) == Blocks()
    assert Blocks(capacity_blocks=3, ttl=1.0).unlimited() == Blocks()
    with pytest.raises(PrefixlabError, match="holds no block of 16"):
        Blocks().with_capacity(15)


@pytest.mark.parametrize(
    "options",
    [
        {"block_size": 0},
        {"block_size": True},
        {"block_size": 1.5},
        {"capacity_blocks": 0},
        {"policy": "mru"},
        {"last_token": 1},
        {"min_tokens": -1},
        {"ttl": 0},
        {"ttl": float("nan")},
        {"ttl": float("inf")},
        {"ttl": "5m"},
        {"outputs": None},
    ],
)
def test_values_that_cannot_be(options):
    with pytest.raises(PrefixlabError, match="cannot be"):
        Blocks(**options)
