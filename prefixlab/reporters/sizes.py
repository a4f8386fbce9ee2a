"""Bytes in words: powers of 1024 for what lies in memory, powers of 1000 for what is sold."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_DECIMAL = ("B", "kB", "MB", "GB", "TB", "PB")
_EXACT_PLACES = 3
_WIDE = 10
"""From here on a tenth says enough."""
_MOST_MORE = 7


def _scaled(amount: Fraction, base: int, units: Sequence[str], more: int = 0) -> str:
    power = 0
    while power + 1 < len(units) and amount >= base ** (power + 1):
        power += 1
    value = amount / base**power
    if (value * 10**_EXACT_PLACES).denominator == 1:
        # Exact to few places: all of them, as 1.125 GiB.
        return f"{float(value):,.{_EXACT_PLACES}f}".rstrip("0").rstrip(".") + f" {units[power]}"
    if value >= _WIDE:
        return f"{float(value):,.{1 + more}f} {units[power]}"
    return f"{float(value):.{2 + more}f}".rstrip("0").rstrip(".") + f" {units[power]}"


def size(amount: Fraction | int) -> str:
    """Bytes in powers of 1024, exact where three places do, else to three figures or a tenth."""
    return _scaled(Fraction(amount), 1024, _BINARY)


def size_beside(amount: Fraction | int, other: Fraction | int) -> str:
    """A size that stands beside another one: with as many digits more as tell the two apart."""
    for more in range(_MOST_MORE):
        said = _scaled(Fraction(amount), 1024, _BINARY, more)
        if amount == other or _value(said) != _value(size(other)):
            break
    return said


def _value(said: str) -> tuple[float, str]:
    """A size as it was written: 36.0 GiB and 36 GiB are one."""
    figures, unit = said.split()
    return float(figures.replace(",", "")), unit


def decimal_size(amount: Fraction | int) -> str:
    """Bytes in powers of 1000, as cards and weights are sold."""
    return _scaled(Fraction(amount), 1000, _DECIMAL)
