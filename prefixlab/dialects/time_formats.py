"""Texts that say how a time is written."""

from __future__ import annotations

from typing import Any

_MARKS = frozenset("YyMDdHhmsSaAzZTEGWwQQLloXx ,.:-/'[]")


_OF_GO = (
    *(("2006", "%Y"), ("January", "%B"), ("Jan", "%b"), ("Monday", "%A"), ("Mon", "%a"), ("01", "%m"), ("02", "%d")),
    *(("15", "%H"), ("03", "%I"), ("04", "%M"), ("05", "%S"), ("PM", "%p"), ("MST", "%Z"), ("-0700", "%z")),
)


def of_go(text: str) -> str:
    """A format of Go, which writes out a certain time, in the usual marks; empty where it is none."""
    made = text
    for written, mark in _OF_GO:
        made = made.replace(written, mark)
    return made if made != text else ""


def is_time_format(text: Any) -> bool:
    """Whether a text is a format such as `%H:%M` or `YYYY-MM-DD`."""
    if not isinstance(text, str) or not text:
        return False
    if "%" in text:
        return True
    return _MARKS.issuperset(text) and any([unit in text for unit in ("YY", "yy", "MM", "DD", "dd", "HH", "hh", "mm")])
