"""Numbers as a person reads them: `1,024`, `12.3 %`, `1 token` and `2 tokens`, `5 min`."""

from __future__ import annotations


def number(value: int) -> str:
    """A whole number, in groups of three digits."""
    return f"{value:,}"


def percent(share: float) -> str:
    """A share to a tenth of a per cent; something is never shown as nothing, nor a part as all."""
    tenths = f"{share * 100:.1f} %"
    if share > 0 and tenths == "0.0 %":
        return "<0.1 %"
    return ">99.9 %" if share < 1 and tenths == "100.0 %" else tenths


def counted(value: int, one: str, many: str = "") -> str:
    """A number with its noun: `1 field`, `2 fields`."""
    return f"{number(value)} {one if value == 1 else many or one + 's'}"


def span(seconds: float) -> str:
    """A time in the largest unit that it is a whole number of."""
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= length and seconds % length == 0:
            return counted(int(seconds // length), unit)
    return f"{seconds:g} seconds"


# --- money ------------------------------------------------------------------------------------------------------------
