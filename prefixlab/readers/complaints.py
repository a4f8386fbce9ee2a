"""Complaints about a record: said with its place, quoting little, and nothing that a terminal would obey."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from prefixlab.errors import BadRecord
from prefixlab.records import Location

LONGEST = 60
_KINDS = {
    dict: "an object",
    list: "a list",
    int: "a number",
    float: "a number",
    bool: "a truth value",
    type(None): "null",
}


def bad_record(where: Location, what: str, todo: str = "Correct the record, or use --skip-bad") -> BadRecord:
    """The error of the record at `where`."""
    return BadRecord(what, todo, path=where.path, line=where.line)


def shown(value: Any) -> str:
    """A value of the log for an error message: at most sixty characters, control characters escaped."""
    if not isinstance(value, str):
        return _KINDS.get(type(value), f"a {type(value).__name__}")
    text = str(value)
    short = text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
    escaped = repr(short) if short.isprintable() else ascii(short)
    return escaped if len(escaped) <= LONGEST + 2 else escaped[: LONGEST - 3] + "..."


def listed(names: Iterable[Any], limit: int = 8) -> str:
    """Keys of a log's record, for an error message."""
    all_names = list(names)
    quoted = [
        key if key.isascii() and key.isidentifier() and len(key) <= 30 else shown(key[:20])
        for key in map(str, all_names[:limit])
    ]
    more = ", ..." if len(all_names) > limit else ""
    return ", ".join(quoted) + more if quoted else "none"
