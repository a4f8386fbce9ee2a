"""Texts that say how a time is written."""

from __future__ import annotations

from typing import Any

_MARKS = frozenset("YyMDdHhmsSaAzZTEGWwQQLloXx ,.:-/'[]")


def is_time_format(text: Any) -> bool:
    """Whether a text is a format such as `%H:%M` or `YYYY-MM-DD`."""
    if not isinstance(text, str) or not text:
        return False
    if "%" in text:
        return True
    return _MARKS.issuperset(text) and any([unit in text for unit in ("YY", "yy", "MM", "DD", "dd", "HH", "hh", "mm")])
