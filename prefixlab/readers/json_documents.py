"""JSON documents: an array of records, an object that holds them, or pretty-printed objects one after another.

The text is walked for the borders of the records only, so that each has its true line and a broken one spoils no other.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator

import orjson

from prefixlab.readers.envelope import shape_of

LIST_KEYS = ("data", "requests", "records", "items", "rows", "entries", "logs", "traces", "observations")
"""Where an object that is no record itself keeps its records."""

_STRING, _BREAK, _COMMA, _OPEN, _CLOSE = b'"', b"\n", b",", b"[{", b"]}"
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|\[[0-9, \t\r]*+\]|[\[\]{}]|\n|,', re.DOTALL)
_NOT_BLANK = re.compile(rb"[^ \t\r\n]")

Element = tuple[int, bytes | None]
"""The line where a record starts, and its bytes; None where the document ends before it should."""


def document_records(data: bytes, line: int) -> Iterator[Element]:
    """The records of a document whose first byte stands on `line`."""
    position = 0
    while True:
        start = _after_blanks(data, position)
        if start == len(data):
            return
        line += data.count(b"\n", position, start)
        if data[start] in b"[":
            position, line = yield from _elements(data, start + 1, line)
        elif data[start] in b"{":
            end, after = _end_of_object(data, start, line)
            if end is None:
                yield line, None
                return
            yield from _object_records(data[start:end], line)
            position, line = end, after
        else:
            yield line, data[start:]
            return


def _object_records(data: bytes, line: int) -> Iterator[Element]:
    """The object itself, or the records in the list that it holds."""
    for opening, opening_line in _list_openings(data, line):
        yield from _elements(data, opening, opening_line)
        return
    yield line, data


def _list_openings(data: bytes, line: int) -> Iterator[tuple[int, int]]:
    """Where the list of records opens in an object that is no record."""
    try:
        parsed = orjson.loads(data)
    except orjson.JSONDecodeError:
        return
    if shape_of(parsed).prompts:
        return
    key = next((key for key in LIST_KEYS if _holds_records(parsed.get(key))), None)
    if key is None:
        return
    wanted, depth = orjson.dumps(key), 0
    for token in _TOKEN.finditer(data):
        text = token.group()
        if text == wanted and depth == 1 and (colon := re.compile(rb"\s*:\s*\[").match(data, token.end())):
            yield colon.end(), line + data.count(b"\n", token.end(), colon.end())
            return
        if text == _BREAK:
            line += 1
        elif len(text) == 1:
            depth += (text in _OPEN) - (text in _CLOSE)


def _holds_records(value: object) -> bool:
    return type(value) is list and bool(value) and all(type(each) is dict for each in value)


def _elements(data: bytes, position: int, line: int) -> Generator[Element, None, tuple[int, int]]:
    """The elements of the array that opens before `position`; returns where and on which line it closes."""
    depth, begin, begin_line = 1, position, line
    for token in _TOKEN.finditer(data, position):
        text = token.group()
        if text == _BREAK:
            line += 1
        elif len(text) > 1:
            line += text.count(b"\n")
        elif text in _OPEN:
            depth += 1
        elif text == _COMMA:
            if depth == 1:
                yield _element(data, begin, token.start(), begin_line)
                begin, begin_line = token.end(), line
        else:
            depth -= 1
            if depth == 0:
                if _after_blanks(data, begin) < token.start() or begin != position:
                    yield _element(data, begin, token.start(), begin_line)
                return token.end(), line
    yield begin_line + data.count(b"\n", begin, _after_blanks(data, begin)), None
    return len(data), line


def _element(data: bytes, begin: int, end: int, line: int) -> Element:
    start = _after_blanks(data, begin)
    return line + data.count(b"\n", begin, start), data[start:end]


def _end_of_object(data: bytes, start: int, line: int) -> tuple[int | None, int]:
    depth = 0
    for token in _TOKEN.finditer(data, start):
        text = token.group()
        if text == _BREAK:
            line += 1
        elif len(text) > 1:
            line += text.count(b"\n")
        elif text in _OPEN:
            depth += 1
        elif text in _CLOSE:
            depth -= 1
            if depth == 0:
                return token.end(), line
    return None, line


def _after_blanks(data: bytes, position: int) -> int:
    match = _NOT_BLANK.search(data, position)
    return match.start() if match else len(data)
