"""Mustache cut into texts and tags, as its specification says; lines with nothing but a tag fall out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from prefixlab.dialects.embedded import DEEPEST, too_deep
from prefixlab.dialects.source_text import SourceText
from prefixlab.template_files import BadTemplate

_KINDS = frozenset("!#^/>=&<$")


class _Tag(NamedTuple):
    kind: str
    """`#`, `^`, `/`, `>`, `!`, `=`; `&` for a value as it is, empty for one that is escaped."""
    name: str
    start: int
    end: int


@dataclass(slots=True)
class Tag:
    """A piece of the template: a text (kind `text`), a value (empty or `&`), a section (`#`, `^`) or a partial."""

    kind: str
    name: str
    start: int
    end: int
    """Of a section the end of its opening tag."""
    body: list[Tag] = field(default_factory=list)
    indent: str = ""
    """Of a partial alone on its line: what stands before it."""


class MustacheTags:
    """Reads one text."""

    def __init__(self, source: SourceText) -> None:
        self._source = source
        self._text = source.text

    def read(self) -> list[Tag]:
        """The pieces.

        Raises:
            BadTemplate: a tag or a section is not closed.
        """
        root: list[Tag] = []
        stack: list[Tag] = []
        at = 0
        for tag in self._tags():
            inside = stack[-1].body if stack else root
            before, after, indent = tag.start, tag.end, ""
            if tag.kind and tag.kind != "&":
                before, after, indent = self._alone(at, tag)
            if before > at:
                inside.append(Tag("text", "", at, before))
            at = after
            if tag.kind in ("#", "^"):
                if len(stack) >= DEEPEST:
                    raise too_deep(self._source.place(tag.start))
                stack.append(Tag(tag.kind, tag.name, tag.start, tag.end))
                inside.append(stack[-1])
            elif tag.kind == "/":
                if not stack or stack[-1].name != tag.name:
                    wanted = f", where {stack[-1].name!r} is open" if stack else ", which was never opened"
                    raise self._bad(f"{tag.name!r} is closed{wanted}", tag.start)
                stack.pop()
            elif tag.kind not in ("!", "="):
                inside.append(Tag(tag.kind, tag.name, tag.start, tag.end, indent=indent))
        if stack:
            raise self._bad(f"the section {stack[-1].name!r} is never closed", stack[-1].start)
        if at < len(self._text):
            root.append(Tag("text", "", at, len(self._text)))
        return root

    def _bad(self, what: str, at: int) -> BadTemplate:
        return BadTemplate.at(self._source.place(at), f"is not mustache: {what}", "Correct it")

    def _tags(self) -> Iterator[_Tag]:
        text = self._text
        opening, closing = "{{", "}}"
        at = 0
        while True:
            start = text.find(opening, at)
            if start < 0:
                return
            inner = start + len(opening)
            kind = text[inner : inner + 1]
            ending = closing
            if kind == "{":
                ending = "}" + closing
            elif kind == "=":
                ending = "=" + closing
            end = text.find(ending, inner)
            if end < 0:
                raise self._bad("a tag is never closed", start)
            at = end + len(ending)
            if kind == "{":
                kind = "&"
                name = text[inner + 1 : end]
            elif kind in _KINDS:
                name = text[inner + 1 : end]
            else:
                kind, name = "", text[inner:end]
            name = name.strip()
            if kind in ("<", "$"):
                raise self._bad("parents and blocks of mustache are not known here", start)
            if kind == "=":
                marks = name.split()
                if len(marks) != 2 or "=" in name:
                    raise self._bad("delimiters are two marks with a blank between", start)
                opening, closing = marks
            elif not name and kind != "!":
                raise self._bad("a tag is empty", start)
            yield _Tag(kind, name, start, at)

    def _alone(self, at: int, tag: _Tag) -> tuple[int, int, str]:
        """Where the text before a tag ends and the one behind it starts; of a tag alone on its line without the line.

        `at` is where the text before starts.
        """
        text = self._text
        line = text.rfind("\n", at, tag.start) + 1
        if line == 0 and at > 0 and text[at - 1] != "\n":
            return tag.start, tag.end, ""
        line = max(line, at)
        indent = text[line : tag.start]
        if indent.strip(" \t"):
            return tag.start, tag.end, ""
        after = tag.end
        while after < len(text) and text[after] in " \t":
            after += 1
        if after == len(text):
            return line, after, indent
        if text.startswith("\r\n", after):
            return line, after + 2, indent
        if text[after] == "\n":
            return line, after + 1, indent
        return tag.start, tag.end, ""
