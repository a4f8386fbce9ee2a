"""Amounts as people write them: `71GiB`, `65.25GB`, `3.35TB/s`, `2x80GB`, `128K`. GB is 10^9 bytes, GiB is 2^30."""

from __future__ import annotations

import re
from fractions import Fraction

from prefixlab.errors import PrefixlabError

_DECIMAL = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "p": 10**15}
_BINARY = {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40, "pi": 2**50}
_SCALES = _DECIMAL | _BINARY

_AMOUNT = re.compile(r"(\d{1,24}(?:\.\d{1,12})?)\s*([kmgtp]?i?)b?", re.IGNORECASE | re.ASCII)
_TOKENS = re.compile(r"(\d{1,15})\s*([kKmM]?)", re.ASCII)
_CARDS = re.compile(r"(?:(\d{1,6})\s*[xX×])?\s*(.+)", re.ASCII)
_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,12})?", re.ASCII)

LARGEST_BYTES = 10**21
LARGEST_TOKENS = 10**12


def bytes_amount(text: str, option: str) -> Fraction:
    """Bytes, more than none: a number alone, or one with a unit. A part of a byte is allowed, for rates.

    Raises:
        PrefixlabError: it is no such amount.
    """
    found = _AMOUNT.fullmatch(text.strip())
    amount = Fraction(found[1]) * _SCALES[found[2].lower()] if found and found[2].lower() in _SCALES else Fraction(0)
    if not 0 < amount <= LARGEST_BYTES:
        raise PrefixlabError(f"{option} {text[:40]!r} is no amount of memory", "Give it as 71GiB, 65.25GB or 160KiB")
    return amount


def whole_bytes(text: str, option: str) -> int:
    """Bytes that lie in memory: a whole number of them.

    Raises:
        PrefixlabError: it is no such amount.
    """
    amount = bytes_amount(text, option)
    if amount < 1:
        raise PrefixlabError(f"{option} {text[:40]!r} is less than a byte", "Give it as 71GiB, 65.25GB or 160KiB")
    return int(amount)


def parse_bytes(text: str) -> int:
    """The bytes of a `--kv-budget`, for the commands that have one.

    Raises:
        PrefixlabError: it is no such amount.
    """
    return whole_bytes(text, "--kv-budget")


def bytes_per_second(text: str, option: str) -> int:
    """A bandwidth, with or without `/s`.

    Raises:
        PrefixlabError: it is none.
    """
    try:
        return whole_bytes(text.strip().removesuffix("/s"), option)
    except PrefixlabError:
        raise PrefixlabError(f"{option} {text[:40]!r} is no bandwidth", "Give it as 3.35TB/s or 1092GB/s") from None


def cards_bytes(text: str, option: str) -> tuple[int, int]:
    """How many cards, and the bytes of each: `2x80GB`, or `80GB` for one.

    Raises:
        PrefixlabError: it is not of that form.
    """
    found = _CARDS.fullmatch(text.strip())
    if not found or (found[1] is not None and not int(found[1])):
        raise PrefixlabError(f"{option} {text[:40]!r} names no cards", "Give it as 2x80GB")
    return int(found[1] or 1), whole_bytes(found[2], option)


def token_count(text: str, option: str) -> int:
    """Tokens, at least one. K is 1024 of them and M is 1024 K, as in `128K`.

    Raises:
        PrefixlabError: it is no such count.
    """
    found = _TOKENS.fullmatch(text.strip())
    count = int(found[1]) * 1024 ** " km".index(found[2].lower() or " ") if found else 0
    if not 0 < count <= LARGEST_TOKENS:
        raise PrefixlabError(f"{option} {text[:40]!r} is no number of tokens", "Give it as 4096 or 4K")
    return count


def token_counts(text: str, option: str) -> tuple[int, ...]:
    """Several counts with commas between them, each once, in the order given.

    Raises:
        PrefixlabError: one of them is none.
    """
    return tuple(dict.fromkeys(token_count(part, option) for part in text.split(",")))


def number(text: str, option: str) -> Fraction:
    """A plain positive number, exactly as written.

    Raises:
        PrefixlabError: it is none.
    """
    found = _NUMBER.fullmatch(text.strip())
    if not found or not Fraction(found[0]):
        raise PrefixlabError(f"{option} {text[:40]!r} is no positive number", "Give it as 296 or 0.92")
    return Fraction(found[0])


def share(text: str, option: str) -> Fraction:
    """A fraction of a whole, more than nothing and at most all.

    Raises:
        PrefixlabError: it is none.
    """
    found = number(text, option)
    if found > 1:
        raise PrefixlabError(f"{option} {text[:40]!r} is more than the whole", "Give a fraction from 0 to 1")
    return found


def active_of(text: str, option: str) -> tuple[int, int]:
    """`4/128`: so many of so many.

    Raises:
        PrefixlabError: it is not of that form.
    """
    active, slash, total = text.strip().partition("/")
    counts = (active, total)
    if not slash or not all([re.fullmatch(r"\d{1,9}", count, re.ASCII) for count in counts]):
        raise PrefixlabError(f"{option} {text[:40]!r} is not so many of so many", "Give it as 4/128")
    if not 0 < int(active) <= int(total):
        raise PrefixlabError(f"{option} {text[:40]!r} cannot be", "Give the active experts of all, as 4/128")
    return int(active), int(total)
