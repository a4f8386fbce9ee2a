"""Parts of a text whose order may say nothing: blocks side by side that open alike, and JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from prefixlab.log_rewriting.json_splice import Span

LONGEST_TEXT = 1 << 20
"""Characters of a text that is looked into."""

MOST_ATTEMPTS = 64
"""Places of a text where JSON may begin."""

DEEPEST = 8
"""Levels of elements within elements that are looked into."""

_TAG = re.compile(r"<([A-Za-z][\w:.-]*)(?:\s[^<>]*)?>")
_EMPTY_LINES = re.compile(r"\n[ \t]*\n")
_OPENINGS = (
    (re.compile(r"#{1,6} "), "{0}"),
    (re.compile(r"[-*+•] "), "{0}"),
    (re.compile(r"\d{1,3}[.)] "), "1."),
    (re.compile(r"\[[\w. -]{1,40}\]"), "[]"),
    (re.compile(r"\*\*[^*\n]{1,60}\*\*"), "**"),
    (re.compile(r"[^\W\d_][\w ]{0,30}?(?= ?\d*:(?:\s|$))"), "{0}:"),
)
"""How a block opens, and what its opening is called."""
_LINE = re.compile(r"[^\n]*\S[^\n]*")
_JSON_START = re.compile(r"(?:^|(?<=[\s:>=(]))[{\[](?=\s*[\"{\[\]}0-9tfn-])")


def block_runs(text: str, *, lines: bool) -> Iterator[list[Span]]:
    """Runs of at least two blocks side by side that open alike: elements with the same tag, paragraphs and, where
    wanted, `lines`."""
    if len(text) > LONGEST_TEXT:
        return
    taken = 0
    for spans in _elements(text, Span(0, len(text)), DEEPEST):
        yield from _opened_alike(text, Span(taken, spans[0].start), lines)
        yield spans
        taken = spans[-1].end
    yield from _opened_alike(text, Span(taken, len(text)), lines)


class FoundJson(NamedTuple):
    """JSON in a text: where it stands, its value with keys sorted, and that with the objects of its lists sorted too.

    Objects in a list are documents or records. A list of anything else keeps its order, which may say something.
    """

    start: int
    end: int
    value: bytes
    unordered: bytes


def json_in(text: str) -> Iterator[FoundJson]:
    """Objects and lists of JSON in a text."""
    if len(text) > LONGEST_TEXT:
        return
    at = attempts = 0
    while attempts < MOST_ATTEMPTS:
        start = _JSON_START.search(text, at)
        if start is None:
            return
        attempts += 1
        try:
            value, end = _DECODER.raw_decode(text, start.start())
            forms = [json.dumps(form, sort_keys=True).encode() for form in (value, _unordered(value))]
        except (ValueError, RecursionError, TypeError):
            at = start.end()
            continue
        if value:
            yield FoundJson(start.start(), end, *forms)
        at = end


def _unordered(value: object) -> object:
    if isinstance(value, dict):
        return {key: _unordered(below) for key, below in value.items()}
    if isinstance(value, list):
        below = [_unordered(one) for one in value]
        is_of_objects = all([isinstance(one, dict) for one in below])
        return sorted(below, key=lambda one: json.dumps(one, sort_keys=True)) if is_of_objects else below
    return value


def _elements(text: str, within: Span, depth: int) -> Iterator[list[Span]]:
    """Runs of elements with the same tag and nothing but blanks between them; of one that stands alone, those in it."""
    run: list[Span] = []
    tag = ""
    unclosed: set[str] = set()
    at = within.start
    while opened := _TAG.search(text, at, within.end):
        at = opened.end()
        if opened[1] in unclosed:
            continue
        end_tag = f"</{opened[1]}>"
        close = text.find(end_tag, at, within.end)
        if close < 0:
            unclosed.add(opened[1])
            continue
        at = close + len(end_tag)
        if run and (opened[1] != tag or text[run[-1].end : opened.start()].strip()):
            yield from _run_or_within(text, run, depth)
            run = []
        tag = opened[1]
        run.append(Span(opened.start(), at))
    yield from _run_or_within(text, run, depth)


def _run_or_within(text: str, run: list[Span], depth: int) -> Iterator[list[Span]]:
    if len(run) > 1:
        yield run
    elif run and depth:
        inner = Span(text.index(">", run[0].start) + 1, run[0].end)
        yield from _elements(text, inner, depth - 1)


def _opened_alike(text: str, within: Span, lines: bool) -> Iterator[list[Span]]:
    """Runs of paragraphs that open alike, else of lines within a paragraph."""
    run: list[Span] = []
    opening = ""
    for span in _paragraphs(text, within):
        opens = _opening(text, span)
        if run and opens == opening:
            run.append(span)
            continue
        yield from _run_or_lines(text, run, lines)
        run, opening = [span], opens
        if not opens:
            yield from _run_or_lines(text, run, lines)
            run = []
    yield from _run_or_lines(text, run, lines)


def _paragraphs(text: str, within: Span) -> Iterator[Span]:
    """What stands between empty lines, without blanks at the ends."""
    at = within.start
    for gap in _EMPTY_LINES.finditer(text, *within):
        yield from _stripped(text, at, gap.start())
        at = gap.end()
    yield from _stripped(text, at, within.end)


def _stripped(text: str, start: int, end: int) -> Iterator[Span]:
    held = text[start:end]
    if held.strip():
        yield Span(start + len(held) - len(held.lstrip()), start + len(held.rstrip()))


def _run_or_lines(text: str, run: list[Span], lines: bool) -> Iterator[list[Span]]:
    if len(run) > 1:
        yield run
    elif run and lines:
        yield from _lines(text, run[0])


def _lines(text: str, within: Span) -> Iterator[list[Span]]:
    """Runs of lines that open alike."""
    run: list[Span] = []
    opening = ""
    for line in _LINE.finditer(text, *within):
        span = Span(*line.span())
        opens = _opening(text, span)
        if not (run and opens == opening):
            if len(run) > 1:
                yield run
            run, opening = [], opens
        if opens:
            run.append(span)
    if len(run) > 1:
        yield run


def _opening(text: str, span: Span) -> str:
    """What the block's opening is called; empty where it opens like any text."""
    for pattern, name in _OPENINGS:
        found = pattern.match(text, *span)
        if found:
            return name.format(found[0])
    return ""


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError
    return dict(pairs)


def _number(digits: str) -> str:
    """Numbers are the same only where they are written alike."""
    return f"\0{digits}"


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique_keys, parse_int=_number, parse_float=_number, parse_constant=_number
)
