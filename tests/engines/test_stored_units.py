"""The unit rule: DeepSeek's own examples, and any log against a set of all stored units."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prefixlab.engines.stored_units import StoredUnits
from prefixlab.errors import PrefixlabError
from prefixlab.registry import engine_named
from tests.engines.replays import Ask, common, replay, text, written


def deepseek(**options: object):
    return engine_named("deepseek-v4", options)


def test_the_next_turn_reuses_the_whole_earlier_request():
    # The guide's first example: A + B, then A + B + C.
    assert written(deepseek(), [Ask(text(1, 300)), Ask(text(1, 450))]) == [(0, 300), (300, 150)]
    # The answer is a unit as well.
    asks = [Ask(text(1, 300), text(2, 40)), Ask(text(1, 300) + text(2, 40) + text(3, 60))]
    assert replay(deepseek(), asks) == [0, 340]


def test_a_common_beginning_is_reused_by_the_third():
    # The guide's second example: A + B, A + C, A + D.
    common_text = text(1, 500)
    asks = [Ask(common_text + text(name, 20)) for name in (2, 3, 4)]
    assert replay(deepseek(), asks) == [0, 0, 500]


def test_units_at_intervals():
    asks = [Ask(text(1, 1000)), Ask(text(1, 700) + text(2, 50))]
    assert replay(deepseek(), asks) == [0, 0]
    assert replay(deepseek(interval=128), asks) == [0, 640]


def test_a_minimum_and_a_lifetime():
    asks = [Ask(text(1, 90), at=0.0), Ask(text(1, 90), at=50.0), Ask(text(1, 90), at=151.0)]
    assert replay(deepseek(), asks) == [0, 90, 90]
    assert replay(deepseek(min_tokens=91), asks) == [0, 0, 0]
    assert replay(deepseek(ttl=100.0), asks) == [0, 90, 0]


def test_a_trace_of_blocks():
    asks = [
        Ask([7, 8, 9], unit=512, prompt_tokens=1300),
        Ask([7, 8, 10], unit=512, prompt_tokens=1536),
        Ask([7, 8], unit=512, prompt_tokens=1000),
        Ask([7, 8, 9], unit=512, prompt_tokens=1300),
    ]
    assert replay(deepseek(), asks) == [0, 0, 1000, 1300]


asks = st.lists(
    st.builds(
        lambda tokens, generated, at: Ask(tokens, generated, at),
        st.lists(st.integers(0, 1), min_size=1, max_size=12),
        st.lists(st.integers(0, 1), max_size=4),
        st.sampled_from((0.0, 1.0, 2.0, 5.0, 9.0)),
    ),
    max_size=14,
).map(lambda asks: sorted(asks, key=lambda ask: ask.at))


@settings(max_examples=300)
@given(
    asks,
    st.builds(
        StoredUnits,
        min_tokens=st.integers(0, 4),
        ttl=st.none() | st.sampled_from((0.5, 3.0)),
        interval=st.none() | st.integers(1, 5),
    ),
)
def test_against_a_set(asks, engine):
    stored: dict[tuple[int, ...], float] = {}
    expected = []
    for number, ask in enumerate(asks):
        sequence = (*ask.tokens, *ask.generated)
        live = {one for one, at in stored.items() if engine.ttl is None or at >= ask.at - engine.ttl}
        cached = max([len(one) for one in live if tuple(ask.tokens[: len(one)]) == one], default=0)
        expected.append(cached)
        shared = max([common(ask.tokens, (*one.tokens, *one.generated)) for one in asks[:number]], default=0)
        ends = {cached, shared, len(ask.tokens), len(sequence)}
        if engine.interval is not None:
            ends |= set(range(engine.interval, len(sequence) + 1, engine.interval))
        for end in ends:
            if end and end >= engine.min_tokens:
                stored[sequence[:end]] = ask.at
    assert replay(engine, asks) == expected


@given(asks)
def test_a_lifetime_takes_away_and_adds_nothing(asks):
    engine = StoredUnits(ttl=1.5)
    short, ever = replay(engine, asks), replay(engine.unlimited(), asks)
    assert all(less <= more for less, more in zip(short, ever, strict=True))


@pytest.mark.parametrize("options", [{"min_tokens": -1}, {"ttl": 0.0}, {"interval": 0}])
def test_values_that_cannot_be(options):
    with pytest.raises(PrefixlabError, match="cannot be"):
        StoredUnits(**options)
