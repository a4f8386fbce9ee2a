"""Where the fields of format strings stand: of `str.format`, `string.Template`, `%` and mustache."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from typing import NamedTuple


class Field(NamedTuple):
    """A field of a format string, or text that stands for itself."""

    start: int
    end: int
    text: str = ""
    """Text that stands for itself, as it is rendered; empty of a field."""
    name: str | None = None
    """What is filled in: `user.name`, `0`; empty where the next positional value is meant."""
    conversion: str = ""
    spec: str = ""
    kind: str = ""
    """Of mustache: `#`, `^`, `/`, `&`."""


class NoFormat(ValueError):
    """A text that is no format string."""


_BRACE = re.compile(r"[{}]")


def brace_fields(text: str) -> list[Field]:
    """Of `str.format` and LangChain's `f-string`.

    Raises:
        NoFormat: a brace is alone.
    """
    fields: list[Field] = []
    at = 0
    while True:
        found = _BRACE.search(text, at)
        start = len(text) if found is None else found.start()
        if start > at:
            fields.append(Field(at, start, text[at:start]))
        if found is None:
            return fields
        if text.startswith(found[0] * 2, start):
            fields.append(Field(start, start + 2, found[0]))
            at = start + 2
            continue
        if found[0] == "}":
            raise NoFormat("a single } stands in the text")
        end = _closing(text, start + 1)
        inner = text[start + 1 : end]
        name, _, spec = inner.partition(":")
        name, _, conversion = name.partition("!")
        fields.append(Field(start, end + 1, "", name, conversion, spec))
        at = end + 1


def _closing(text: str, at: int) -> int:
    depth = 1
    for found in _BRACE.finditer(text, at):
        depth += 1 if found[0] == "{" else -1
        if depth == 0:
            return found.start()
    raise NoFormat("a { is never closed")


def dollar_fields(text: str) -> list[Field]:
    """Of `string.Template`; what is malformed stays as it is."""
    fields: list[Field] = []
    at = 0
    for found in string.Template.pattern.finditer(text):
        name = found["named"] or found["braced"]
        if name is None and found["escaped"] is None:
            continue
        if found.start() > at:
            fields.append(Field(at, found.start(), text[at : found.start()]))
        fields.append(Field(found.start(), found.end(), "" if name else "$", name))
        at = found.end()
    if at < len(text):
        fields.append(Field(at, len(text), text[at:]))
    return fields


_PERCENT = re.compile(
    r"%(?:\((?P<name>[^)]*)\))?(?P<spec>[#0 +-]*(?:\*|\d+)?(?:\.(?:\*|\d+))?)[hlL]?(?P<kind>[diouxXeEfFgGcrsa%])"
)


def percent_fields(text: str) -> list[Field]:
    """Of the `%` operator.

    Raises:
        NoFormat: a `%` begins no field.
    """
    fields: list[Field] = []
    at = 0
    while True:
        start = text.find("%", at)
        if start < 0:
            break
        found = _PERCENT.match(text, start)
        if found is None:
            raise NoFormat("a single % stands in the text")
        if start > at:
            fields.append(Field(at, start, text[at:start]))
        if found["kind"] == "%":
            fields.append(Field(start, found.end(), "%"))
        else:
            kind = found["kind"]
            spec = "" if kind in "sdi" and not found["spec"] else "%" + found["spec"] + kind
            fields.append(Field(start, found.end(), "", found["name"] or "", "%" if spec else "", spec))
        at = found.end()
    if at < len(text):
        fields.append(Field(at, len(text), text[at:]))
    return fields


_MUSTACHE = re.compile(r"\{\{\{\s*(?P<raw>[^{}]*?)\s*\}\}\}|\{\{(?P<kind>[#^/&!>=]?)\s*(?P<name>[^{}]*?)\s*\}\}")


def mustache_fields(text: str) -> list[Field]:
    """Of LangChain's `mustache`. Tags of sections that stand alone on a line take the line with them.

    Raises:
        NoFormat: a section is closed that was not opened, or never closed.
    """
    fields = list(_mustache_fields(text))
    opened: list[str | None] = []
    for field in fields:
        if field.kind in ("#", "^"):
            opened.append(field.name)
        elif field.kind == "/" and (not opened or opened.pop() != field.name):
            raise NoFormat("a section is closed that was not opened")
    if opened:
        raise NoFormat(f"the section {opened[-1]!r} is never closed")
    return fields


def _mustache_fields(text: str) -> Iterator[Field]:
    at = 0
    for found in _MUSTACHE.finditer(text):
        start, end = found.span()
        if start < at:
            continue
        raw, kind = found["raw"], found["kind"] or ""
        if raw is None and kind and kind not in "&":
            line = text.rfind("\n", at, start) + 1 or at
            behind = re.compile(r"[ \t]*(\n|$)").match(text, end)
            if behind and not text[line:start].strip(" \t") and (line == 0 or text[line - 1] == "\n"):
                start, end = line, behind.end()
        if start > at:
            yield Field(at, start, text[at:start])
        if raw is not None or kind == "&":
            yield Field(start, end, "", raw if raw is not None else found["name"], kind="&")
        elif kind in ("", "#", "^", "/"):
            yield Field(start, end, "", found["name"], kind=kind)
        at = end
    if at < len(text):
        yield Field(at, len(text), text[at:])
