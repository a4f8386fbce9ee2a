"""Texts that say how a time is written."""

from __future__ import annotations

from typing import Any

_MARKS = frozenset("YyMDdHhmsSaAzZTEGWwQQLloXx ,.:-/'[]")


def is_time_format(text: Any) -> bool:
    """Whether a text is a format such as `%H:%M`, `YYYY-MM-DD` or `2006-01-02`."""
    if not isinstance(text, str) or not text:
        return False
    if "%" in text or "2006" in text or "15:04" in text:
        return True
    return _MARKS.issuperset(text) and any([unit in text for unit in ("YY", "yy", "MM", "DD", "dd", "HH", "hh", "mm")])
