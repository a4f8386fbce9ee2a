"""The block rule of hosted providers: OpenAI's by hand, any figures against a search through all earlier prompts."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prefixlab.engines.hosted_blocks import HostedBlocks
from prefixlab.errors import PrefixlabError
from prefixlab.records import Namespace
from prefixlab.registry import engine_named
from tests.engines.replays import Ask, common, replay, text, written

MINUTE = 60.0


def gpt_4o(**options: object):
    return engine_named("openai-gpt-4o", options)


@pytest.mark.parametrize(
    ("shared", "cached"),
    [(0, 0), (1023, 0), (1024, 1024), (1151, 1024), (1152, 1152), (1300, 1280), (2000, 1920), (2049, 2048)],
)
def test_1024_and_128_after_that(shared, cached):
    first, second = text(1, 4000), text(1, shared) + text(2, 4000 - shared)
    assert replay(gpt_4o(), [Ask(first), Ask(second)]) == [0, cached]
    assert gpt_4o().aligned_tokens(shared, 4000) == cached


def test_a_short_prompt_is_not_stored():
    assert replay(gpt_4o(), [Ask(text(1, 1023)), Ask(text(1, 1023))]) == [0, 0]
    assert replay(gpt_4o(), [Ask(text(1, 1024)), Ask(text(1, 1024))]) == [0, 1024]


def test_ten_minutes_from_the_last_use():
    prompt = text(1, 1200)
    times = [0.0, 10 * MINUTE, 20 * MINUTE, 30 * MINUTE + 1, 35 * MINUTE]
    assert replay(gpt_4o(), [Ask(prompt, at=at) for at in times]) == [0, 1152, 1152, 0, 1152]
    # A shorter prompt keeps only what it shares alive.
    longer = text(1, 1500)
    asks = [Ask(longer, at=0.0), Ask(prompt, at=9 * MINUTE), Ask(longer, at=12 * MINUTE)]
    assert replay(gpt_4o(), asks) == [0, 1152, 1152]


def test_answers_are_stored_where_that_is_said():
    asks = [Ask(text(1, 1024), text(2, 300)), Ask(text(1, 1024) + text(2, 300) + text(3, 50))]
    assert replay(gpt_4o(), asks) == [0, 1024]
    assert replay(gpt_4o(outputs=True), asks) == [0, 1280]


def test_a_prompt_sent_again_counts_whole_on_moonshot():
    kimi = engine_named("moonshot-kimi-k3", {})
    prompt = text(1, 800)
    assert replay(kimi, [Ask(prompt), Ask(prompt), Ask(prompt[:700]), Ask(prompt[:700])]) == [0, 800, 512, 700]
    assert not kimi.is_rule_exact


def test_places_counted_with_hidden_text():
    # Places at 2,048 and 4,096 of a text that begins with 100 tokens of the provider's own: 1,948 and 3,996 of ours,
    # reported as 1,920 and 3,968.
    engine = engine_named("openai-gpt-5.5", {"hidden_tokens": 100})
    for shared, cached in ((1947, 0), (1948, 1920), (3995, 1920), (3996, 3968), (5000, 3968)):
        asks = [Ask(text(1, 6000)), Ask(text(1, shared) + text(2, 500))]
        assert replay(engine, asks) == [0, cached]


def test_namespaces_share_nothing():
    prompt = text(1, 1200)
    asks = [Ask(prompt), Ask(prompt, namespace=Namespace(salt="x")), Ask(prompt, namespace=Namespace(salt="x"))]
    assert replay(gpt_4o(), asks) == [0, 0, 1152]


def test_a_trace_of_blocks():
    ask = Ask([7, 8, 9, 10], unit=512, prompt_tokens=1800)
    assert replay(gpt_4o(), [ask, ask]) == [0, 1792]


def test_what_was_written():
    asks = [Ask(text(1, 1500)), Ask(text(1, 1500)), Ask(text(1, 500))]
    assert written(gpt_4o(), asks) == [(0, 1500), (1408, 92), (0, 0)]


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
        HostedBlocks,
        min_tokens=st.integers(0, 6),
        granularity=st.integers(1, 4),
        ttl=st.none() | st.sampled_from((0.5, 3.0)),
        outputs=st.booleans(),
        whole_repeat=st.booleans(),
        interval=st.none() | st.integers(1, 7),
    ),
)
def test_against_a_search(asks, engine):
    expected = []
    for number, ask in enumerate(asks):
        length = len(ask.tokens)
        earlier = [
            one
            for one in asks[:number]
            if len(one.tokens) >= engine.min_tokens and (engine.ttl is None or one.at >= ask.at - engine.ttl)
        ]
        sequences = [[*one.tokens, *one.generated] if engine.outputs else one.tokens for one in earlier]
        shared = max([common(ask.tokens, one) for one in sequences], default=0)
        if engine.interval is not None:
            shared = shared // engine.interval * engine.interval
        cached = shared // engine.granularity * engine.granularity
        cached = cached if cached >= engine.min_tokens else 0
        if engine.whole_repeat and ask.tokens in [one.tokens for one in earlier]:
            cached = length
        expected.append(cached if length >= engine.min_tokens else 0)
    assert replay(engine, asks) == expected


@given(asks, st.integers(0, 6), st.integers(1, 4))
def test_the_rule_is_what_an_unlimited_cache_gives(asks, least, step):
    engine = HostedBlocks(min_tokens=least, granularity=step, outputs=True)
    assert engine.is_rule_exact
    prompts = [ask._replace(generated=()) for ask in asks]
    shared = [
        max([common(ask.tokens, one.tokens) for one in prompts[:number]], default=0)
        for number, ask in enumerate(prompts)
    ]
    # A prompt below the minimum leaves nothing behind, but it has nothing that reaches the minimum either.
    assert replay(engine, prompts) == [engine.aligned_tokens(one, len(ask.tokens)) for one, ask in zip(shared, prompts)]


@pytest.mark.parametrize(
    "options",
    [
        {"granularity": 0},
        {"min_tokens": -1},
        {"ttl": -1.0},
        {"outputs": "yes"},
        {"whole_repeat": 2},
        {"interval": 0},
        {"hidden_tokens": -1},
    ],
)
def test_values_that_cannot_be(options):
    with pytest.raises(PrefixlabError, match="cannot be"):
        HostedBlocks(**options)


def test_hidden_tokens_need_an_interval():
    with pytest.raises(PrefixlabError, match="needs an interval"):
        HostedBlocks(hidden_tokens=5)


def test_a_hosted_cache_has_no_size_of_ones_own():
    assert gpt_4o().with_capacity(None) == gpt_4o()
    with pytest.raises(PrefixlabError, match="openai-gpt-4o is a hosted service"):
        gpt_4o().with_capacity(1000)
    assert gpt_4o().unlimited().ttl is None
