"""Places in Python source: of nodes, and of single characters inside string literals.

`ast` knows where a literal starts, not where the n-th character of its value is written. So the tokens of a literal are
gone over once, when somebody asks, and the places at which value and source go out of step are kept.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from functools import cache
from typing import NamedTuple

from prefixlab.prompt_templates import Place

_GAP = re.compile(r"(?:[\s()]|\\\n|#[^\n]*)*")
_OPENING = re.compile(r"(?i)([rbuft]{0,2})(\"\"\"|'''|\"|')")
_ESCAPE = r"\\(?:[0-7]{1,3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^}]*\}|[\s\S])"
_ONE_CHARACTER = frozenset("\\'\"abfnrtv01234567xuUN")
_NESTED = 20
"""Literals in fields of one another that are gone into."""


class Source:
    """The text of a module and its lines, as Python counts them."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.start = Place(path, 1, 1)
        self.text = text.replace("\r\n", "\n").replace("\r", "\n")
        self._starts = [0, *[one.end() for one in re.finditer("\n", self.text)]]
        self._is_ascii = self.text.isascii()

    def place(self, node: ast.AST) -> Place:
        """Where a node starts."""
        line: int = getattr(node, "lineno", 1)
        if self._is_ascii:
            return Place(self.path, line, getattr(node, "col_offset", 0) + 1)
        return self.place_at(self._offset(line, getattr(node, "col_offset", 0)))

    def end(self, node: ast.AST) -> Place:
        """Where a node ends."""
        return self.place_at(self.span(node)[1])

    def place_at(self, offset: int) -> Place:
        """The place of a character of the text."""
        line = bisect_right(self._starts, offset)
        return Place(self.path, line, offset - self._starts[line - 1] + 1)

    def span(self, node: ast.AST) -> tuple[int, int]:
        """The first character of a node and the one behind it."""
        end: int = getattr(node, "end_lineno", 1)
        return (
            self._offset(getattr(node, "lineno", 1), getattr(node, "col_offset", 0)),
            self._offset(end, getattr(node, "end_col_offset", 0)),
        )

    def written(self, node: ast.AST) -> str:
        """A node as it is written, on one line, cut where it is long."""
        start, end = self.span(node)
        return shortened(self.text[start : min(end, start + 400)])

    def _offset(self, line: int, column: int) -> int:
        start = self._starts[min(line, len(self._starts)) - 1]
        if not self._is_ascii:
            # `ast` counts bytes.
            line_text = self.text[start : start + column]
            if not line_text.isascii():
                column = len(line_text.encode()[:column].decode(errors="ignore"))
        return start + column


def shortened(text: str) -> str:
    """Source on one line, at most 120 characters."""
    text = " ".join(text.split())
    return text if len(text) <= 120 else text[:119] + "…"


class Literal:
    """A string literal: one token, or several that are joined because they stand side by side."""

    def __init__(self, source: Source, node: ast.AST) -> None:
        self._source = source
        self._node = node
        self._steps: list[tuple[int, int]] | None = None
        self._fields: list[tuple[int, int]] = []
        self._length = 0

    def place(self, offset: int) -> Place:
        """Where the character of the value is written."""
        if offset == 0 and self._steps is None and isinstance(self._node, ast.Constant):
            # Most texts are handed out whole; there is no need to go over them.
            start, end = self._source.span(self._node)
            opening = _OPENING.match(self._source.text, start, end)
            if opening and self._source.text[opening.end()] not in "\\'\"":
                return self._source.place_at(opening.end())
        steps = self._scanned()
        at = bisect_right(steps, (offset, 1 << 60)) - 1
        value, source = steps[max(at, 0)]
        return self._source.place_at(source + max(offset - value, 0))

    def field(self, number: int) -> tuple[Place, str]:
        """Where the n-th expression of an f-string starts, and how it is written."""
        self._scanned()
        if number >= len(self._fields):
            return self._source.place(self._node), ""
        start, end = self._fields[number]
        return self._source.place_at(start), shortened(self._source.text[start:end])

    def _scanned(self) -> list[tuple[int, int]]:
        if self._steps is None:
            start, end = self._source.span(self._node)
            self._steps = []
            self._scan(start, end)
            if not self._steps:
                self._steps.append((0, start))
        return self._steps

    def _scan(self, at: int, end: int) -> None:
        text, steps = self._source.text, self._steps or []
        self._steps = steps
        length = 0
        while at < end:
            gap = _GAP.match(text, at, end)
            at = gap.end() if gap else at
            opening = _OPENING.match(text, at, end)
            if opening is None:
                break
            prefix, quote = opening[1].lower(), opening[2]
            is_format, is_raw = "f" in prefix or "t" in prefix, "r" in prefix
            pattern = _specials(quote, is_raw, is_format)
            at = opening.end()
            steps.append((length, at))
            while True:
                special = pattern.search(text, at, end)
                if special is None:
                    return
                length += special.start() - at
                at = special.end()
                found = special[0]
                if found == quote:
                    break
                if found[0] == "\\":
                    if is_raw:
                        length += 2
                        continue
                    length += 0 if found == "\\\n" else 1 if found[1] in _ONE_CHARACTER else 2
                elif found in ("{{", "}}"):
                    length += 1
                else:
                    first, behind, at = _field_end(text, at, end, quote)
                    self._fields.append((first, behind))
                    shown = text[special.end() : behind].rstrip()
                    if shown.endswith("=") and not shown.endswith(("==", "!=", "<=", ">=")):
                        length += behind - special.end()
                steps.append((length, at))


@cache
def _specials(quote: str, is_raw: bool, is_format: bool) -> re.Pattern[str]:
    """What in a token is no character that stands for itself."""
    kinds = [r"\\[\s\S]" if is_raw else _ESCAPE, re.escape(quote)]
    if is_format:
        kinds += [r"\{\{", r"\}\}", r"\{"]
    return re.compile("|".join(kinds))


_IN_FIELD = re.compile(r"[\"'(\[{}\])]|!(?=[rsa][:}])|:(?!=)|#")


def _field_end(text: str, at: int, end: int, quote: str, depth: int = 0) -> tuple[int, int, int]:
    """The first character of a field's expression, the one behind the expression, and the one behind the field."""
    while at < end and text[at].isspace():
        at += 1
    first, behind, brackets = at, -1, 0
    while at < end:
        found = _IN_FIELD.search(text, at, end)
        if found is None:
            break
        mark, at = found[0], found.end()
        if behind < 0 and mark in "\"'":
            at = _string_end(text, found.start(), end, depth)
        elif mark == "#":
            continue
        elif mark in "([{":
            if behind >= 0 and mark == "{":
                at = _field_end(text, at, end, quote, depth + 1)[2] if depth < _NESTED else at
            else:
                brackets += 1
        elif mark == "}" and (brackets == 0 or behind >= 0):
            return first, _trimmed(text, first, found.start() if behind < 0 else behind), at
        elif mark in ")]}":
            brackets -= 1
        elif brackets == 0 and behind < 0:
            behind = found.start()
    return first, end, end


def _trimmed(text: str, first: int, behind: int) -> int:
    return first + len(text[first:behind].rstrip()) if text[first:behind].rstrip()[-1:] != "=" else behind


def _string_end(text: str, at: int, end: int, depth: int) -> int:
    """The character behind a string inside a field. Newer Pythons allow the quotes of the outer string there."""
    opening = _OPENING.match(text, at, end)
    if opening is None:
        return at + 1
    is_format = "f" in text[max(at - 2, 0) : at].lower()
    pattern = _specials(opening[2], False, is_format and depth < _NESTED)
    at = opening.end()
    while True:
        special = pattern.search(text, at, end)
        if special is None:
            return end
        at = special.end()
        if special[0] == opening[2]:
            return at
        if special[0] == "{":
            at = _field_end(text, at, end, opening[2], depth + 1)[2]


class Spot(NamedTuple):
    """A text that is worked out: all of it stands where its expression does."""

    at: Place

    def place(self, _offset: int) -> Place:
        """The same for each character."""
        return self.at


class Lines(NamedTuple):
    """A text whose lines are those of a literal, from a character on, while their ends may be cut."""

    literal: Literal | Spot
    start: int

    def place(self, offset: int) -> Place:
        """Only known for the first character; `Piece.place` counts lines."""
        return self.literal.place(self.start)


class Piece(NamedTuple):
    """Text with its places. It becomes `Text` when a prompt is handed out."""

    text: str
    written: Literal | Spot | Lines
    start: int = 0

    def place(self, offset: int = 0) -> Place:
        """Where one of its characters is written."""
        if isinstance(self.written, Lines):
            first = self.written.place(0)
            lines = self.text.count("\n", 0, offset)
            return first if not lines else Place(first.path, first.line + lines, 1)
        return self.written.place(self.start + offset)

    def cut(self, start: int, end: int) -> Piece:
        """A piece of the piece."""
        if isinstance(self.written, Lines):
            return Piece(self.text[start:end], Spot(self.place(start)))
        return Piece(self.text[start:end], self.written, self.start + start)
