"""The comments of a template file, in whatever language it is written: text of the prompt is none, though it may look
like one.

A comment is about its own line; where nothing else stands on it, about the next. Where a string begins or ends on that
line, it is about all lines of the string.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from typing import NamedTuple

from prefixlab.file_lines import FileLines
from prefixlab.template_files import TemplateFile

_MARKED = re.compile(
    r"\{#.*?#\}|\{\{~?!--.*?--~?\}\}|\{\{~?!.*?\}\}|\{\{-?\s*/\*.*?\*/\s*-?\}\}"
    r"|\{%-?\s*comment\s*-?%\}.*?\{%-?\s*endcomment\s*-?%\}",
    re.DOTALL,
)
"""Comments of Jinja2, Handlebars, mustache, Go and Liquid."""
_OF_A_LINE = re.compile(r"(?m)(?:^|(?<=[ \t]))#[^\n]*")
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n.*?^---[ \t]*$", re.DOTALL | re.MULTILINE)
_QUOTED = re.compile(r'""".*?"""', re.DOTALL)


class Comment(NamedTuple):
    """A comment."""

    text: str
    at: int
    """Offset of its first character."""
    lines: frozenset[int]
    """What it is about, counted from 1."""


class _Span(NamedTuple):
    start: int
    end: int


def comments_of(file: TemplateFile) -> list[Comment]:
    """All comments of a file, front to back."""
    text = file.text
    marked, strings = _spans(file)
    place = FileLines(file.path, text).place
    long = [(place(one.start).line, place(max(one.end - 1, one.start)).line) for one in strings]
    found = []
    for span in sorted(marked):
        first, last = place(span.start).line, place(max(span.end - 1, span.start)).line
        ahead = text[text.rfind("\n", 0, span.start) + 1 : span.start]
        behind = text[span.end :].partition("\n")[0]
        about = {last + 1} if not (ahead.strip() or behind.strip()) else {first, last}
        for start, end in long:
            if start != end and not about.isdisjoint((start, end)):
                about |= set(range(start, end + 1))
        found.append(Comment(text[span.start : span.end], span.start, frozenset(about)))
    return found


def _spans(file: TemplateFile) -> tuple[list[_Span], list[_Span]]:
    """Where comments are, and where strings are."""
    text = file.text
    if file.path.endswith((".py", ".pyi")):
        return _of_python(text)
    marked = [_Span(*found.span()) for found in _MARKED.finditer(text)]
    strings: list[_Span] = []
    of_lines = ""
    if file.path.endswith((".yaml", ".yml")):
        of_lines = text
        strings = list(_yaml_scalars(text))
    elif file.path.endswith((".prompty", ".prompt")) and (front := _FRONT_MATTER.match(text)):
        of_lines = front[0]
        strings = list(_yaml_scalars(of_lines[: of_lines.rindex("---")]))
    elif file.path.lower().endswith("modelfile"):
        of_lines = text
        strings = [_Span(*found.span()) for found in _QUOTED.finditer(text)]
    for found in _OF_A_LINE.finditer(of_lines):
        if not any(one.start <= found.start() < one.end for one in (*strings, *marked)):
            marked.append(_Span(*found.span()))
    return marked, strings


def _of_python(text: str) -> tuple[list[_Span], list[_Span]]:
    starts = FileLines("", text).starts

    def span(start: tuple[int, int], end: tuple[int, int]) -> _Span:
        return _Span(starts[start[0] - 1] + start[1], starts[end[0] - 1] + end[1])

    marked, strings = [], []
    opened: list[tuple[int, int]] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            kind = tokenize.tok_name[token.type]
            if kind == "COMMENT":
                marked.append(span(token.start, token.end))
            elif kind == "STRING":
                strings.append(span(token.start, token.end))
            elif kind == "FSTRING_START":
                opened.append(token.start)
            elif kind == "FSTRING_END":
                strings.append(span(opened.pop(), token.end))
    except (tokenize.TokenError, SyntaxError, IndexError):
        # Its faults are named where it is read.
        pass
    return marked, strings


def _yaml_scalars(text: str) -> Iterator[_Span]:
    import yaml

    try:
        for token in yaml.scan(text, Loader=yaml.SafeLoader):
            if isinstance(token, yaml.ScalarToken):
                yield _Span(token.start_mark.index, token.end_mark.index)
    except yaml.YAMLError:
        return
