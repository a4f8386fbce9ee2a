"""Marks of requests and where parts end in tokens: on bodies of every provider, and against a count of characters."""

from hypothesis import given
from hypothesis import strategies as st

from prefixlab.cache_marks import marked_paths, message_ends, positions_of
from prefixlab.records import TEMPLATE, AnthropicChat, Chat, Location, Origin, Piece, Request, Run, Span, TokenIds
from prefixlab.served_models import ServedModels

EPHEMERAL = {"type": "ephemeral"}


def text(words: str, **more: object) -> dict[str, object]:
    return {"type": "text", "text": words, **more}


def test_anthropic_marks():
    body = AnthropicChat(
        [
            {"role": "user", "content": [text("one"), text("two", cache_control=EPHEMERAL)]},
            {"role": "assistant", "content": "plain"},
            {"role": "user", "content": [{"type": "tool_result", "content": "x", "cache_control": {"ttl": "1h"}}]},
        ],
        system=[text("rules", cache_control=EPHEMERAL), text("more")],
        tools=[{"name": "a"}, {"name": "b", "cache_control": EPHEMERAL}],
    )
    assert marked_paths(body) == ("tools[1]", "system[0]", "messages[0].content[1]", "messages[2].content[0]")


def test_marks_of_openai_and_of_proxies():
    body = Chat(
        [
            {"role": "system", "content": [text("rules", prompt_cache_breakpoint={"mode": "explicit"})]},
            {"role": "user", "content": "question", "cache_control": EPHEMERAL},
        ],
        tools=[{"type": "function", "function": {"name": "a", "cache_control": EPHEMERAL}}],
    )
    assert marked_paths(body) == ("tools[0]", "messages[0].content[0]", "messages[1].content")


def test_marks_have_the_paths_of_the_body():
    body = Chat(
        [{"role": "user", "content": [text("x", cache_control=EPHEMERAL)]}], content_paths=("input[3].content",)
    )
    assert marked_paths(body) == ("input[3].content[0]",)


def test_a_cache_point_marks_what_stands_before_it():
    body = AnthropicChat(
        [
            {"role": "user", "content": [{"text": "one"}, {"cachePoint": {"type": "default"}}]},
            {"role": "assistant", "content": "answer"},
            {"role": "user", "content": [{"cachePoint": {"type": "default"}}, {"text": "two"}]},
        ],
        system=[{"cachePoint": {}}, {"text": "rules"}, {"cachePoint": {}}],
        tools=[{"toolSpec": {}}, {"cachePoint": {}}],
    )
    # A point at the very start of the system text marks the tools before it, once.
    assert marked_paths(body) == ("tools[0]", "system[1]", "messages[0].content[0]", "messages[1].content")


def test_what_is_no_mark():
    odd = AnthropicChat(
        [{"role": "user", "content": [text("one", cache_control=None), "text", 7, None]}, {"role": "user"}],
        system="rules",
        tools=["odd"],
    )
    assert marked_paths(odd) == ()
    assert marked_paths(TokenIds(b"")) == ()
    assert marked_paths(AnthropicChat([{"role": "user", "content": [{"cachePoint": {}}]}])) == ()


def prompt_of(body: Chat | AnthropicChat, template: str = "auto"):
    request = Request("1", Location("log", 1), body)
    return ServedModels(["o200k_base"], chat_template=template).of(request).prompt(request)


def shown(prompt, places: tuple[int, ...]) -> list[str]:
    """The end of the text ahead of each token position; only for positions at the ends of runs."""
    at, text_so_far, known = 0, "", {}
    for run in [run for piece in prompt.pieces for run in piece.runs]:
        at += len(run.tokens) // 4
        text_so_far += run.text
        known[at] = text_so_far[-8:]
    return [known[place] for place in places]


def test_ends_in_a_rendered_anthropic_body():
    body = AnthropicChat(
        [
            {"role": "user", "content": [text("Hello there"), text("second block")]},
            {"role": "assistant", "content": "I am well"},
            {"role": "user", "content": "Good bye"},
        ],
        system=[text("You are X.\nBe nice."), text("More rules")],
        tools=[{"name": "a"}],
    )
    prompt = prompt_of(body)
    ends = message_ends(prompt.pieces)
    assert shown(prompt, ends) == [
        '": "a"}\n',
        "e nice.\n",
        "re rules",
        "lo there",
        "nd block",
        " am well",
        "Good bye",
    ]
    assert ends[-1] < prompt.token_count
    places = positions_of(prompt.pieces, ("messages[0].content[1]", "system[0]", "tools[0]", "messages[9].content"))
    assert places == (ends[0], ends[1], ends[4])
    assert positions_of(prompt.pieces, ("messages[0].content", "messages[2]")) == (ends[4], ends[6])


def test_ends_move_on_with_a_conversation():
    turns = [{"role": "user" if n % 2 == 0 else "assistant", "content": f"message {n}"} for n in range(5)]
    earlier, later = prompt_of(AnthropicChat(turns[:3])), prompt_of(AnthropicChat(turns))
    assert message_ends(later.pieces)[:3] == message_ends(earlier.pieces)
    assert later.tokens.startswith(earlier.tokens[: message_ends(earlier.pieces)[-1] * 4])


def test_parts_of_a_chat_with_tools():
    call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}
    body = Chat(
        [
            {"role": "system", "content": "Rules."},
            {"role": "user", "content": [text("Look"), text("twice")]},
            {"role": "assistant", "content": "Yes.", "tool_calls": [call, {**call, "id": "2"}]},
            {"role": "tool", "tool_call_id": "1", "content": "seen"},
        ],
        tools=[{"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": {}}}],
    )
    prompt = prompt_of(body, "qwen3")
    ends = message_ends(prompt.pieces)
    assert len(ends) >= 7
    assert list(ends) == sorted(set(ends))
    assert positions_of(prompt.pieces, ("messages[3].content",)) == (ends[-1],)


def test_prompts_without_text_have_no_ends():
    ids = Piece((), (Run("", b"abcd" * 7),))
    assert message_ends((ids,)) == ()
    assert positions_of((ids,), ("messages[0].content",)) == ()
    assert message_ends(()) == ()


ONE, OTHER = Origin("messages[0].content", "user"), Origin("messages[1].content", "user")


def piece(spans: list[tuple[Origin, int]], runs: list[tuple[int, int]]) -> Piece:
    """Spans as (origin, characters) and runs as (characters, tokens)."""
    return Piece(
        tuple(Span(origin, chars) for origin, chars in spans),
        tuple(Run("x" * chars, b"abcd" * tokens) for chars, tokens in runs),
    )


def test_a_run_that_goes_on_behind_the_part():
    # Only template text follows in the run: it counts whole.
    assert message_ends([piece([(ONE, 10), (TEMPLATE, 2)], [(6, 3), (6, 2)])]) == (5,)
    # Text of another message follows in it: it does not count.
    assert message_ends([piece([(ONE, 8), (OTHER, 4)], [(6, 3), (6, 2)])]) == (3, 5)
    assert message_ends([piece([(ONE, 8), (TEMPLATE, 1), (OTHER, 3)], [(6, 3), (6, 2)])]) == (3, 5)
    # The run ends with the part.
    assert message_ends([piece([(ONE, 6), (OTHER, 6)], [(6, 3), (6, 2)])]) == (3, 5)


@given(
    st.lists(st.tuples(st.sampled_from((ONE, OTHER, TEMPLATE)), st.integers(1, 5)), min_size=1, max_size=8),
    st.lists(st.tuples(st.integers(1, 4), st.integers(1, 3)), min_size=1, max_size=30),
)
def test_ends_against_a_count_of_characters(spans, runs):
    total = sum(chars for _, chars in spans)
    tiled: list[tuple[int, int]] = []
    for chars, tokens in runs * total:
        chars = min(chars, total - sum(c for c, _ in tiled))
        if chars:
            tiled.append((chars, tokens))
    owners = [origin for origin, chars in spans for _ in range(chars)]
    starts = [sum(c for c, _ in tiled[:n]) for n in range(len(tiled) + 1)]

    def position(char: int) -> int:
        n = next(n for n in range(len(tiled)) if starts[n] < char <= starts[n + 1])
        rest = owners[char : starts[n + 1]]
        return sum(t for _, t in tiled[: n + 1 if all(one is TEMPLATE for one in rest) else n])

    for origin in (ONE, OTHER):
        last = max((at + 1 for at, owner in enumerate(owners) if owner is origin), default=0)
        expected = (position(last),) if last and position(last) else ()
        assert positions_of([piece(spans, tiled)], (origin.path,)) == expected
    ends, before = [], None
    for at, owner in enumerate([*owners, None]):
        if owner is TEMPLATE:
            continue
        if before is not None and owner is not before[0]:
            ends.append(position(before[1]))
        before = None if owner is None else (owner, at + 1)
    assert message_ends([piece(spans, tiled)]) == tuple(sorted({end for end in ends if end}))
