"""The breakpoint rule: Anthropic's and OpenAI's by hand, and any figures against a list of all stored prefixes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prefixlab.engines.breakpoints import Breakpoints
from prefixlab.errors import PrefixlabError
from prefixlab.records import Namespace
from prefixlab.registry import engine_named
from tests.engines.replays import Ask, replay, text, written

MINUTE = 60.0


def sonnet(**options: object):
    return engine_named("anthropic-sonnet-4.5", options)


def gpt(**options: object):
    return engine_named("openai-gpt-5.6", options)


def turns(count: int, length: int = 100, first: int = 1500) -> tuple[list[int], tuple[int, ...]]:
    """A conversation: a first part of `first` tokens and more of `length`, with the ends of all."""
    ends = tuple(first + length * turn for turn in range(count))
    return text(1, ends[-1]), ends


def conversation(count: int, **more: object) -> Ask:
    tokens, ends = turns(count)
    return Ask(tokens, ends=ends, **more)


# --- Anthropic --------------------------------------------------------------------------------------------------------


def test_a_conversation_is_read_up_to_its_last_end():
    # Turn by turn, marked at the newest message: 1,500 written, then 1,500 read and 200 written, ...
    asks = [conversation(count, marks=(turns(count)[1][-1],)) for count in (1, 3, 5)]
    assert written(sonnet(), asks) == [(0, 1500), (1500, 200), (1700, 200)]


def test_twenty_places_back_are_looked_at_and_the_twenty_first_is_not():
    for blocks, cached in ((19, 1500), (20, 0)):
        later = conversation(1 + blocks, marks=(turns(1 + blocks)[1][-1],))
        assert replay(sonnet(), [conversation(1, marks=(1500,)), later]) == [0, cached]
    # A mark in between reaches where the last one does not.
    tokens, ends = turns(31)
    later = Ask(tokens, ends=ends, marks=(ends[15], ends[30]))
    assert replay(sonnet(), [conversation(1, marks=(1500,)), later]) == [0, 1500]


def test_five_minutes_pass_and_a_read_begins_them_anew():
    times = (0.0, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE + 1)
    asks = [conversation(1, marks=(1500,), at=at) for at in times]
    assert written(sonnet(), asks) == [(0, 1500), (1500, 0), (1500, 0), (0, 1500)]
    hour = [conversation(1, marks=(1500,), at=at) for at in (0.0, 60 * MINUTE, 121 * MINUTE)]
    assert replay(sonnet(ttl=3600), hour) == [0, 1500, 0]


def test_a_read_of_a_longer_prefix_keeps_the_marked_one_within_alive():
    system, whole = 1500, 1600
    both = Ask(text(1, whole), ends=(system, whole), marks=(system, whole))
    other = Ask(text(1, system) + text(2, 100), ends=(system, whole), marks=(system,), at=9 * MINUTE)
    asks = [both._replace(at=0.0), both._replace(at=4 * MINUTE + 59), other]
    assert replay(sonnet(), asks) == [0, 1600, 1500]


def test_the_minimum():
    for length, cached in ((1023, 0), (1024, 1024)):
        ask = Ask(text(1, length + 500), ends=(length, length + 500), marks=(length,))
        assert written(sonnet(), [ask, ask]) == [(0, cached), (cached, 0)]


def test_a_text_that_is_never_marked_is_computed_again():
    system = text(1, 2000)
    asks = [Ask(system + text(name, 50), ends=(2000, 2050)) for name in (2, 3, 4)]
    assert written(sonnet(), asks) == [(0, 2050), (0, 2050), (0, 2050)]
    marked = [ask._replace(marks=(2000,)) for ask in asks]
    assert written(sonnet(), marked) == [(0, 2000), (2000, 0), (2000, 0)]


def test_requests_without_marks():
    asks = [conversation(1), conversation(3)]
    assert replay(sonnet(), asks) == [0, 1500]
    assert replay(sonnet(automatic="never"), asks) == [0, 0]


def test_automatic_beside_marks():
    tokens, ends = turns(4)
    asks = [Ask(tokens, ends=ends, marks=(1500,)), Ask(tokens, ends=ends, marks=(1500,))]
    assert replay(sonnet(), asks) == [0, 1500]
    assert replay(sonnet(automatic="always"), asks) == [0, 1800]


def test_what_stands_behind_the_last_mark_is_neither_read_nor_written():
    ask = Ask(text(1, 2000), ends=(1500, 2000), marks=(1500,))
    assert written(sonnet(), [ask, ask]) == [(0, 1500), (1500, 0)]


def test_four_marks_at_most():
    ends = tuple(range(1100, 1700, 100))
    ask = Ask(text(1, 1600), ends=ends, marks=ends)
    early = Ask(text(1, 1100) + text(2, 100), ends=(1100, 1200), marks=(1100,))
    assert replay(sonnet(), [ask, early]) == [0, 0]
    assert replay(sonnet(max_breakpoints=6), [ask, early]) == [0, 1100]


def test_namespaces_share_nothing():
    ask = conversation(1, marks=(1500,))
    assert replay(sonnet(), [ask, ask._replace(namespace=Namespace(model="other"))]) == [0, 0]


def test_bedrock_has_no_automatic_breakpoint_and_nova_does_not_look_back():
    marked = [conversation(count, marks=(turns(count)[1][-1],)) for count in (1, 2)]
    assert replay(engine_named("bedrock-claude", {}), [conversation(1), conversation(2)]) == [0, 0]
    assert replay(engine_named("bedrock-claude", {}), marked) == [0, 1500]
    assert replay(engine_named("bedrock-nova", {}), marked) == [0, 0]
    assert replay(engine_named("bedrock-nova", {}), [marked[0], marked[0]]) == [0, 1500]


# --- OpenAI from GPT-5.6 on -------------------------------------------------------------------------------------------


def test_an_implicit_breakpoint_at_the_last_message():
    asks = [conversation(count) for count in (1, 3, 5)]
    assert written(gpt(), asks) == [(0, 1500), (1500, 200), (1700, 200)]


def test_twenty_earlier_message_ends():
    for messages, cached in ((20, 1500), (21, 0)):
        assert replay(gpt(), [conversation(1), conversation(1 + messages)]) == [0, cached]


def test_a_shared_system_text_needs_a_mark_of_its_own():
    system = text(1, 2000)
    asks = [Ask(system + text(name, 50), ends=(2000, 2050)) for name in (2, 3)]
    assert replay(gpt(), asks) == [0, 0]
    assert replay(gpt(), [ask._replace(marks=(2000,)) for ask in asks]) == [0, 2000]


def test_three_marks_are_stored_beside_the_implicit_one_and_only_that_looks_back():
    ends = tuple(range(1100, 1600, 100))
    asks = [
        Ask(text(1, 1500), ends=ends, marks=ends[:4]),
        Ask(text(1, 1100) + text(2, 100), ends=(1100, 1200)),
        Ask(text(1, 1200) + text(3, 100), ends=(1200, 1300)),
    ]
    assert replay(gpt(), asks) == [0, 0, 1200]
    # A mark finds what ends just there, but nothing ahead of it.
    far = tuple(range(1100, 1100 + 40 * 10, 10))
    tokens = text(1, far[-1])
    first = Ask(tokens[:1100], ends=far[:1])
    assert replay(gpt(), [first, Ask(tokens, ends=far, marks=(far[1],))]) == [0, 0]
    assert replay(gpt(), [first, Ask(tokens, ends=far, marks=(far[0],))]) == [0, 1100]


def test_half_an_hour():
    asks = [conversation(1, at=at) for at in (0.0, 30 * MINUTE, 61 * MINUTE)]
    assert replay(gpt(), asks) == [0, 1500, 0]


# --- what the log does not tell ---------------------------------------------------------------------------------------


def test_where_ends_are_not_known_every_stored_prefix_is_within_reach():
    asks = [Ask(text(1, 1500)), Ask(text(1, 9000)), Ask(text(1, 4000)), Ask(text(1, 1499))]
    assert replay(sonnet(), asks) == [0, 1500, 1500, 0]


def test_a_trace_of_blocks():
    asks = [
        Ask([7, 8, 9], unit=512, prompt_tokens=1300),
        Ask([7, 8, 9], unit=512, prompt_tokens=1300),
        Ask([7, 8, 9, 10], unit=512, prompt_tokens=2000),
    ]
    assert replay(sonnet(), asks) == [0, 1300, 1536]


def test_without_times_nothing_expires():
    asks = [conversation(1, marks=(1500,))] * 3
    assert replay(sonnet(), asks) == [0, 1500, 1500]
    expiry, unmarked = sonnet().notes(has_times=False)
    assert "nothing expires" in expiry
    assert "5 minutes" in expiry
    assert sonnet().notes(has_times=True) == (unmarked,)
    assert "asked for automatic caching" in unmarked
    assert "has no automatic caching" in sonnet(automatic="never").notes(has_times=True)[0]


def test_places_behind_the_end_do_not_count():
    ask = Ask(text(1, 1500), ends=(1200, 1600), marks=(1200, 1700))
    assert written(sonnet(), [ask, ask]) == [(0, 1200), (1200, 0)]


# --- against a list ---------------------------------------------------------------------------------------------------


@st.composite
def marked_asks(draw: st.DrawFn) -> Ask:
    tokens = draw(st.lists(st.integers(0, 1), min_size=1, max_size=12))
    places = st.sets(st.integers(1, len(tokens)), max_size=6).map(lambda found: tuple(sorted(found)))
    return Ask(tokens, at=draw(st.sampled_from((0.0, 1.0, 2.0, 5.0, 9.0))), ends=draw(places), marks=draw(places))


def slowly(engine: Breakpoints, asks: list[Ask]) -> list[tuple[int, int]]:
    stored: dict[tuple[int, ...], float] = {}
    found = []
    for ask in asks:
        live = {one for one, at in stored.items() if engine.ttl is None or at >= ask.at - engine.ttl}
        automatic = engine.automatic == "always" or (engine.automatic == "unmarked" and not ask.marks)
        room = engine.max_breakpoints - automatic
        own = list(ask.marks)[len(ask.marks) - room if room < len(ask.marks) else 0 :]
        if automatic:
            own = sorted({*own, ask.ends[-1] if ask.ends else len(ask.tokens)})
        places = set(own)
        if ask.ends:
            if engine.look_back_from == "last":
                places |= {*ask.marks[:2], *ask.marks[-50:]}
            for place in own if engine.look_back_from == "each" else own[-1:]:
                window = sorted({end for end in ask.ends if end < place} | {place}, reverse=True)
                places |= set(window[: engine.look_back])
        elif own:
            places = set(range(1, own[-1] + 1))
        if not own or own[-1] < engine.min_tokens:
            found.append((0, 0))
            continue
        hits = [place for place in places if tuple(ask.tokens[:place]) in live and place >= engine.min_tokens]
        cached = max(hits, default=0)
        for place in {*own, cached}:
            if place and place >= engine.min_tokens:
                stored[tuple(ask.tokens[:place])] = ask.at
        found.append((cached, max(own[-1] - cached, 0)))
    return found


@settings(max_examples=400)
@given(
    st.lists(marked_asks(), max_size=12).map(lambda asks: sorted(asks, key=lambda ask: ask.at)),
    st.builds(
        Breakpoints,
        min_tokens=st.integers(0, 5),
        ttl=st.none() | st.sampled_from((0.5, 3.0)),
        max_breakpoints=st.integers(1, 4),
        automatic=st.sampled_from(("always", "unmarked", "never")),
        look_back=st.integers(1, 4),
        look_back_from=st.sampled_from(("each", "last")),
    ),
)
def test_against_a_list(asks, engine):
    assert written(engine, asks) == slowly(engine, asks)


@given(st.lists(marked_asks(), max_size=12).map(lambda asks: sorted(asks, key=lambda ask: ask.at)))
def test_a_lifetime_takes_away_and_adds_nothing(asks):
    engine = Breakpoints(min_tokens=1, ttl=1.5)
    short, ever = replay(engine, asks), replay(engine.unlimited(), asks)
    assert all(less <= more for less, more in zip(short, ever, strict=True))
    ceiling = [engine.aligned_tokens(len(ask.tokens), len(ask.tokens)) for ask in asks]
    assert all(more <= most for more, most in zip(ever, ceiling, strict=True))


@pytest.mark.parametrize(
    "options",
    [
        {"min_tokens": -1},
        {"ttl": 0.0},
        {"max_breakpoints": 0},
        {"automatic": "sometimes"},
        {"look_back": 0},
        {"look_back_from": "first"},
    ],
)
def test_values_that_cannot_be(options):
    with pytest.raises(PrefixlabError, match="cannot be"):
        Breakpoints(**options)
