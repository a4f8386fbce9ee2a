"""Values of a JSON text changed in place: every byte that is not part of a change stays as it was logged.

A path leads through objects and lists, and through text that holds JSON itself, as some gateways log a body.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from os.path import commonprefix
from typing import Any, NamedTuple

Path = tuple[str | int, ...]
"""Keys and indices from the record to a value."""

_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_BRACKET = re.compile(rb'(?:[^"\[\]{}]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+[\[\]{}]', re.DOTALL)
"""Up to the next bracket that stands in no string."""
_SCALAR = re.compile(rb"[^\s,\]}]+")
_BLANK = re.compile(rb"[ \t\r\n]*")
_ESCAPE = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.")
_FOREIGN = re.compile(rb"\\u(?!00[0-7])")
_STYLED = {"/": "\\/", "<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "'": "\\u0027"}
"""Characters that some writers escape though they need not."""


class NotThere(Exception):
    """A path leads to nothing that can be changed in place."""


class Span(NamedTuple):
    """Where a value stands in a JSON text."""

    start: int
    end: int


class Edit(NamedTuple):
    """Characters `start:end` of a text become `text`."""

    start: int
    end: int
    text: str


# --- where values stand -----------------------------------------------------------------------------------------------


def members(raw: bytes, start: int) -> Iterator[tuple[str, Span, Span]]:
    """The members of the object that opens at `start`: key, where the member stands, where its value stands."""
    at = _after_blank(raw, start + 1)
    while raw[at : at + 1] == b'"':
        key_end = _value_end(raw, at)
        value = _after_blank(raw, _after_blank(raw, key_end) + 1)
        end = _value_end(raw, value)
        yield json.loads(raw[at:key_end]), Span(at, end), Span(value, end)
        at = _after_blank(raw, end)
        if raw[at : at + 1] == b",":
            at = _after_blank(raw, at + 1)


def elements(raw: bytes, start: int) -> list[Span]:
    """Where the elements of the list that opens at `start` stand."""
    found = []
    at = _after_blank(raw, start + 1)
    while raw[at : at + 1] not in (b"]", b""):
        end = _value_end(raw, at)
        found.append(Span(at, end))
        at = _after_blank(raw, end)
        if raw[at : at + 1] == b",":
            at = _after_blank(raw, at + 1)
    return found


def whole(raw: bytes) -> Span:
    """Where the value of a JSON text stands, without the blanks around it."""
    start = _after_blank(raw, 3 if raw.startswith(b"\xef\xbb\xbf") else 0)
    if start == len(raw):
        raise NotThere
    return Span(start, _value_end(raw, start))


def _value_end(raw: bytes, start: int) -> int:
    first = raw[start : start + 1]
    if first == b'"':
        match = _STRING.match(raw, start)
    elif first in (b"{", b"["):
        depth = 0
        for bracket in _BRACKET.finditer(raw, start):
            depth += 1 if raw[bracket.end() - 1] in b"{[" else -1
            if not depth:
                return bracket.end()
        raise NotThere
    else:
        match = _SCALAR.match(raw, start)
    if match is None:
        raise NotThere
    return match.end()


def _after_blank(raw: bytes, at: int) -> int:
    match = _BLANK.match(raw, at)
    return at if match is None else match.end()


# --- values read and changed ------------------------------------------------------------------------------------------


def changed(raw: bytes, path: Path, change: Callable[[bytes], bytes]) -> bytes:
    """The JSON text with the value at `path` put through `change`, which takes and gives the value's own JSON.

    Raises:
        NotThere: the path leads to nothing.
    """
    places = _Places(raw)
    start, end = whole(raw)
    for number in range(len(path)):
        if raw[start] == ord('"'):
            inside = partial(changed, path=path[number:], change=change)
            return raw[:start] + _within(raw[start:end], inside, raw) + raw[end:]
        start, end = places.of(path[: number + 1])
    return raw[:start] + change(raw[start:end]) + raw[end:]


def value_at(raw: bytes, path: Path) -> Any:
    """The value at `path`.

    Raises:
        NotThere: the path leads to nothing.
    """
    found: list[bytes] = []

    def take(value: bytes) -> bytes:
        found.append(value)
        return value

    changed(raw, path, take)
    return json.loads(found[0])


def with_edits(raw: bytes, path: Path, edits: Mapping[Path, Sequence[Edit]]) -> bytes:
    """The JSON text with texts below `path` edited, each at the end of its own way from there.

    Raises:
        NotThere: one of them is no text.
    """

    def edited(value: bytes) -> bytes:
        if value[:1] == b'"' and () not in edits:
            return _within(value, edited, raw)
        places = _Places(value)
        spans = [(places.of(way), way) for way in edits]
        for (start, end), way in sorted(spans, reverse=True):
            if value[start] != ord('"'):
                raise NotThere
            value = value[:start] + spliced(value[start:end], edits[way], raw) + value[end:]
        return value

    return changed(raw, path, edited)


class _Places:
    """Where the values of a JSON text stand; what was walked through for one is known for the next."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._known: dict[Path, dict[str | int, Span]] = {}

    def of(self, path: Path) -> Span:
        span = whole(self._raw)
        for number, step in enumerate(path):
            below = self._known.get(path[:number])
            if below is None:
                below = self._known[path[:number]] = self._below(span.start)
            if step not in below:
                raise NotThere
            span = below[step]
        return span

    def _below(self, start: int) -> dict[str | int, Span]:
        if self._raw[start] == ord("{"):
            # Of a key that stands twice, readers take the last.
            return {key: value for key, _, value in members(self._raw, start)}
        return dict(enumerate(elements(self._raw, start))) if self._raw[start] == ord("[") else {}


def with_order(raw: bytes, path: Path, first: int, order: Sequence[int]) -> bytes:
    """The JSON text with elements of the list at `path`, from number `first` on, in another order.

    What stands between them stays where it is.

    Raises:
        NotThere: there is no such list.
    """

    def ordered(value: bytes) -> bytes:
        if value[:1] != b"[":
            raise NotThere
        spans = elements(value, 0)[first : first + len(order)]
        return _reordered(value, spans, [value[slice(*spans[number])] for number in order])

    return changed(raw, path, ordered)


def with_key_order(value: bytes, shown: Any) -> bytes:
    """A JSON value with the members of its objects in the order of `shown`, which is equal but for that."""
    if value[:1] == b"{" and isinstance(shown, dict):
        found = list(members(value, 0))
        parts = {key: (member, inner) for key, member, inner in found}
        if not len(found) == len(parts) == len(shown) or any(key not in parts for key in shown):
            raise NotThere
        spans = [member for _, member, _ in found]
        texts = []
        for key, below in shown.items():
            member, inner = parts[key]
            texts.append(value[member.start : inner.start] + with_key_order(value[slice(*inner)], below))
        return _reordered(value, spans, texts)
    if value[:1] == b"[" and isinstance(shown, list):
        spans = elements(value, 0)
        if len(spans) != len(shown):
            raise NotThere
        return _reordered(
            value, spans, [with_key_order(value[slice(*span)], below) for span, below in zip(spans, shown, strict=True)]
        )
    return value


def _reordered(value: bytes, spans: Sequence[Span], texts: Sequence[bytes]) -> bytes:
    """The value with `texts` at the places of `spans`."""
    parts = []
    at = 0
    for (start, end), text in zip(spans, texts, strict=True):
        parts += [value[at:start], text]
        at = end
    return b"".join([*parts, value[at:]])


# --- the characters of a JSON string ----------------------------------------------------------------------------------


def spliced(logged: bytes, edits: Sequence[Edit], around: bytes = b"") -> bytes:
    """A JSON string with some of its characters changed; the others keep the escapes that they were logged with.

    What is new is escaped as the string is, or else as the text `around` it.
    """
    text = logged[1:-1].decode()
    ordered = sorted(edits, key=lambda edit: edit[:2])
    places = iter(_places(text, sorted([place for edit in ordered for place in edit[:2]])))
    ends: list[str] = []
    at = 0
    for edit in ordered:
        start, end = next(places), next(places)
        ends += [text[at:start], _escaped(edit.text, logged, around)]
        at = end
    return b'"' + "".join([*ends, text[at:]]).encode() + b'"'


def _places(text: str, wanted: Sequence[int]) -> list[int]:
    """Places in the characters that a JSON string stands for, in ascending order, as places in its own."""
    places: list[int] = []
    longer = 0
    for escape in _ESCAPE.finditer(text):
        while len(places) < len(wanted) and wanted[len(places)] + longer <= escape.start():
            places.append(wanted[len(places)] + longer)
        if len(places) == len(wanted):
            return places
        longer += escape.end() - escape.start() - 1
    return places + [place + longer for place in wanted[len(places) :]]


def _escaped(text: str, logged: bytes, around: bytes) -> str:
    """New characters in the style of the string."""
    sample = logged if _FOREIGN.search(logged) or not logged.isascii() else around
    ascii_only = sample.isascii() and _FOREIGN.search(sample) is not None
    try:
        text.encode()
    except UnicodeEncodeError:
        ascii_only = True
    escaped = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
    for character, form in _STYLED.items():
        if character in escaped:
            seen = logged if character.encode() in logged or form.encode() in logged.lower() else around
            written = seen.lower().count(form.encode())
            bare = seen.count(character.encode()) - (written if character == "/" else 0)
            if written and not bare:
                escaped = escaped.replace(character, form)
    return escaped


def _difference(before: str, after: str) -> Edit:
    """The one stretch in which two texts differ."""
    head = len(commonprefix([before, after]))  # noqa: RUF071 - texts, not paths
    rest, other = before[head:], after[head:]
    tail = len(commonprefix([rest[::-1], other[::-1]]))  # noqa: RUF071
    return Edit(head, len(before) - tail, after[head : len(after) - tail])


def _within(logged: bytes, change: Callable[[bytes], bytes], around: bytes) -> bytes:
    """A JSON string that holds a document, with that changed; the rest keeps the escapes that it has."""
    text = json.loads(logged)
    try:
        data = text.encode()
        json.loads(data)
    except (ValueError, RecursionError):
        raise NotThere from None
    return spliced(logged, [_difference(text, change(data).decode())], around)
