"""JSON read with places: the scanner of the standard library for texts and numbers, and what lies between by hand."""

from __future__ import annotations

from array import array
from json.decoder import JSONDecodeError, scanstring  # type: ignore[attr-defined]
from typing import Any

from prefixlab.dialects.document_nodes import DEEPEST, Node, bad_document
from prefixlab.dialects.source_text import SourceText
from prefixlab.template_files import BadTemplate

_BLANKS = " \t\r\n"
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None}
_NUMBER = frozenset("+-0123456789.eE")


class JsonNodes:
    """Reads one JSON text."""

    def __init__(self, source: SourceText) -> None:
        self._source = source
        self._text = source.text
        self._at = 0

    def read(self) -> Node:
        """The document.

        Raises:
            BadTemplate: it is not JSON.
        """
        node = self._value(0)
        if self._next():
            raise self._bad("text behind the end")
        return node

    def _bad(self, what: str, at: int | None = None) -> BadTemplate:
        return bad_document("JSON", what, self._source.place(min(self._at if at is None else at, len(self._text))))

    def _next(self) -> str:
        """The next character that is no blank, empty at the end."""
        text = self._text
        at = self._at
        while at < len(text) and text[at] in _BLANKS:
            at += 1
        self._at = at
        return text[at : at + 1]

    def _value(self, depth: int) -> Node:
        if depth > DEEPEST:
            raise self._bad(f"values are nested more than {DEEPEST} deep")
        character = self._next()
        start = self._at
        place = self._source.place(start)
        if character == '"':
            text = self._string()
            return Node(place, text, source=self._decoded(text, start + 1, self._at - 1))
        if character == "{":
            fields = self._fields(depth)
            return Node(place, {name: node.value for name, node in fields.items()}, fields=fields)
        if character == "[":
            items = self._items(depth)
            return Node(place, [node.value for node in items], items=items)
        return Node(place, self._scalar(start))

    def _fields(self, depth: int) -> dict[str, Node]:
        fields: dict[str, Node] = {}
        self._at += 1
        if self._next() == "}":
            self._at += 1
            return fields
        while True:
            if self._next() != '"':
                raise self._bad("a name in double quotes is missing")
            name = self._string()
            if self._next() != ":":
                raise self._bad("a colon is missing")
            self._at += 1
            fields[name] = self._value(depth + 1)
            if self._ends("}"):
                return fields

    def _items(self, depth: int) -> list[Node]:
        items: list[Node] = []
        self._at += 1
        if self._next() == "]":
            self._at += 1
            return items
        while True:
            items.append(self._value(depth + 1))
            if self._ends("]"):
                return items

    def _ends(self, closing: str) -> bool:
        found = self._next()
        if found not in (",", closing) or not found:
            raise self._bad(f"a comma or {closing} is missing")
        self._at += 1
        return found == closing

    def _string(self) -> str:
        try:
            text, self._at = scanstring(self._text, self._at + 1, True)
        except JSONDecodeError as error:
            raise self._bad(error.msg[:1].lower() + error.msg[1:], error.pos) from None
        found: str = text
        if any(["\ud800" <= one <= "\udfff" for one in found]) if not found.isascii() else False:
            raise self._bad("a text holds half of a character")
        return found

    def _scalar(self, start: int) -> Any:
        for word, value in _WORDS.items():
            if self._text.startswith(word, start):
                self._at += len(word)
                return value
        end = start
        while end < len(self._text) and self._text[end] in _NUMBER:
            end += 1
        written = self._text[start:end]
        try:
            number = float(written) if len(written) > 300 or not written.lstrip("-").isdigit() else int(written)
        except ValueError:
            raise self._bad("a value is missing") from None
        self._at = end
        return number

    def _decoded(self, text: str, start: int, end: int) -> SourceText:
        """The text with the offset of each of its characters."""
        if end - start == len(text):
            return self._source.part(start, end)
        written = self._text
        offsets = array("L")
        at = start
        while at < end:
            offsets.append(at)
            if written[at] != "\\":
                at += 1
            elif written[at + 1] != "u":
                at += 2
            else:
                first = int(written[at + 2 : at + 6], 16)
                at += 6
                # Two escapes that are one character.
                if 0xD800 <= first < 0xDC00 and written.startswith("\\u", at):
                    at += 6
        offsets.append(end)
        return self._source.decoded(text, offsets)
