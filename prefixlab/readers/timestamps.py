"""Points in time as logs write them, to seconds since 1970 in UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

_LATEST = 253_402_300_800.0
"""The year 10000: no log reaches it, and no calendar function goes beyond."""


def to_seconds(value: Any) -> float | None:
    """A time stamp in seconds, or None where the value is no point in time.

    Numbers (also as text) are seconds, or milli-, micro- or nanoseconds by their magnitude; text is ISO 8601, in UTC
    where it names no zone.
    """
    kind = type(value)
    if kind is float or kind is int:
        return _scaled(value)
    if kind is str:
        return _from_text(value.strip())
    if isinstance(value, datetime):
        return _from_datetime(value)
    return None


def _scaled(number: float) -> float | None:
    if number < 1e11:
        seconds = float(number)
    elif number < 1e14:
        seconds = number / 1e3
    elif number < 1e17:
        seconds = number / 1e6
    else:
        seconds = number / 1e9
    return seconds if 0 <= seconds < _LATEST else None


def _from_text(text: str) -> float | None:
    if len(text) > 48:
        return None
    try:
        return _from_datetime(datetime.fromisoformat(text.removesuffix(" UTC")))
    except ValueError:
        pass
    try:
        return _scaled(int(text) if text.isdecimal() else float(text))
    except ValueError:
        return None


def _from_datetime(moment: datetime) -> float | None:
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    try:
        seconds = moment.timestamp()
    except (OverflowError, ValueError):
        return None
    return seconds if 0 <= seconds < _LATEST else None
