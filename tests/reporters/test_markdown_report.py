"""The Markdown report: the same content, and nothing from a log acts as markup."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from report_factory import HOSTILE, empty_report, make_field, make_report, make_row
from test_text_report import hostile_report

from prefixlab.findings import Alternative, Report
from prefixlab.reporters.markdown import REPORTER, code, prose

PARSER = MarkdownIt("commonmark", {"html": True}).enable("table")
ALLOWED_HTML = re.compile(r"</?(?:code|details|summary)>|<details>\n<summary>[^<>]*</summary>\n?|</details>\n?")


def markdown(report: Report, *, per_request: bool = True) -> str:
    return REPORTER.render(report, per_request=per_request, width=80).decode()


def tokens(said: str) -> Iterator[Token]:
    for block in PARSER.parse(said):
        yield block
        yield from block.children or ()


def outside_code(said: str) -> str:
    """The text that GitHub looks through for mentions, links and references."""
    out = []
    depth = 0
    for token in tokens(said):
        if token.type == "html_inline":
            depth += {"<code>": 1, "</code>": -1}[token.content]
        elif token.type == "text" and not depth:
            out.append(token.content)
    return "\n".join(out)


def shape(said: str) -> list[str]:
    return [token.type for token in PARSER.parse(said) if token.type not in ("inline",)]


def test_the_content_is_that_of_the_text_report() -> None:
    said = markdown(make_report(fields=[make_field()], rows=[make_row(1)], notes=["3 messages were left out."]))
    assert "**4.0 % of the prompt tokens can be reused; fixing 1 field, `Current time`, makes it 72.9 %.**" in said
    assert (
        "| 1 | high | `Current time` (clock) | `messages[0].content`, line 1, token 6 "
        "| 3 of 4, 4 values: `09:14`, `09:15`, `09:16` | 1,200 | 1,088 | 72.9 % |"
    ) in said
    assert "- **1** Move the clock to the end of the newest user message." in said
    assert "- 3 messages were left out." in said
    assert said.endswith("</details>\n")


def test_an_empty_log_and_a_healthy_one() -> None:
    assert "**There are no requests in this log" in markdown(empty_report())
    assert "No volatile value was found." in markdown(make_report(cached=1200, requests=5))


def assert_harmless(said: str) -> None:
    for token in tokens(said):
        assert token.type not in ("link_open", "image", "em_open", "s_open", "fence", "code_block"), token
        if token.type in ("html_block", "html_inline"):
            assert ALLOWED_HTML.fullmatch(token.content), token.content
    plain = outside_code(said)
    assert not re.search(r"@|://|www\.|#\d|GH-\d|mailto:", plain), plain
    assert "\x1b" not in said


@pytest.mark.parametrize("word", [*HOSTILE, "0` @`", "- - a", "1) a", "+ @a", "`` @a", "` @a", "a`b @c`d"])
def test_hostile_text_is_only_shown(word: str) -> None:
    said = markdown(hostile_report([word]))
    assert_harmless(said)
    # A row without advice has none to print.
    assert not word or shape(said) == shape(markdown(hostile_report(["x"])))


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.text(min_size=1, max_size=40) | st.text(alphabet="`|\\<>*_[]()!#@&~-+1. \n:/wGH", min_size=1, max_size=30),
        min_size=1,
        max_size=3,
    )
)
def test_any_text_leaves_the_shape_alone(words: list[str]) -> None:
    said = markdown(hostile_report(words))
    assert_harmless(said)
    # Same names make one group of `by`; as many different plain words make the same shape.
    names = {word: f"x{at}" for at, word in enumerate(dict.fromkeys(words))}
    assert shape(said) == shape(markdown(hostile_report([names[word] for word in words])))


@given(st.text(alphabet="ab`|\\ &<>", min_size=1, max_size=20))
def test_code_shows_the_text_itself(word: str) -> None:
    inline = PARSER.parseInline(f"a {code(word)} z")[0].children or []
    said = "".join(token.content for token in inline if token.type in ("text", "code_inline"))
    expected = word if word.strip() else "(blank)"
    assert re.sub(" +", " ", said).split() == f"a {expected} z".split() or expected in said


def test_prose_keeps_plain_words_and_codes_the_rest() -> None:
    assert prose("Move `Current time` (or tool_order) behind messages[0].content.") == (
        "Move `Current time` (or `tool_order`) behind `messages[0].content`."
    )
    assert prose("ask @someone about deadbeef1 and #12") == "ask `@someone` about `deadbeef1` and `#12`"
    assert prose("1. no list", starts_line=True) == "`1.` no list"
    assert prose("3 messages", starts_line=True) == "3 messages"


def test_half_measures_stand_behind_the_values() -> None:
    field = make_field(alternatives=(Alternative("date", 1000, 0.7, 0.6),))
    assert "`09:16`; instead: the day alone 1,000 (70.0 `%`) |" in markdown(make_report(fields=[field]))
