"""Amounts as people write them: `71GiB`, `65.25GB`, `3.35TB/s`, `2x80GB`, `128K`. GB is 10^9 bytes, GiB is 2^30."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from prefixlab.errors import PrefixlabError

_DECIMAL = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "p": 10**15}
_BINARY = {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40, "pi": 2**50}
_SCALES = _DECIMAL | _BINARY

_PLAIN = r"(?:\d{1,24}\.?\d{0,24}|\.\d{1,24})(?:e[+-]?\d{1,2})?"
"""A number as it is written: `92`, `.92`, `1e-3`."""

_AMOUNT = re.compile(rf"({_PLAIN})\s*([kmgtp]?i?)(b?)", re.IGNORECASE | re.ASCII)
_TOKENS = re.compile(r"(\d{1,15})\s*([kKmM]?)", re.ASCII)
_CARDS = re.compile(r"(?:(\d{1,15})\s*[xX×])?\s*(.+)", re.ASCII)
_NUMBER = re.compile(_PLAIN, re.IGNORECASE | re.ASCII)
_AFTER_A_COMMA = re.compile(r"(?<!\d)\d{1,3},\d{3}(?!\w)", re.ASCII)
"""`4,096`: a number with a separator of thousands, or two lengths. A blank after the comma makes two of them."""

LARGEST_BYTES = 10**21
LARGEST_TOKENS = 10**12
MOST_CARDS = 100_000
_SMALLEST_CARD = 10**6
"""Bytes of memory. What is less is 80 written for 80GB."""

Amount = str | int | float
"""A quantity as people write it, or a plain number."""


def _written(amount: Amount) -> str:
    """A quantity as text; a float that is a whole number as that."""
    if isinstance(amount, float) and amount.is_integer():
        amount = int(amount)
    return str(amount)


def bytes_amount(given: Amount, option: str) -> Fraction:
    """Bytes, more than none: a number alone, or one with a unit. A part of a byte is allowed, for rates.

    Raises:
        PrefixlabError: it is no such amount.
    """
    text = _written(given)
    found = _AMOUNT.fullmatch(text.strip())
    amount = Fraction(found[1]) * _SCALES[found[2].lower()] if found and found[2].lower() in _SCALES else Fraction(0)
    if not 0 < amount <= LARGEST_BYTES:
        todo = "Give it as 71GiB, 65.25GB or 160KiB" + (", without commas" if "," in text else "")
        raise PrefixlabError(f"{option} {text[:40]!r} is no amount of memory", todo)
    return amount


def whole_bytes(given: Amount, option: str) -> int:
    """Bytes that lie in memory: a whole number of them.

    Raises:
        PrefixlabError: it is no such amount.
    """
    amount = bytes_amount(given, option)
    if amount < 1:
        raise PrefixlabError(
            f"{option} {_written(given)[:40]!r} is less than a byte", "Give it as 71GiB, 65.25GB or 160KiB"
        )
    return int(amount)


def parse_bytes(text: str) -> int:
    """The bytes of a `--kv-budget`, for the commands that have one.

    Raises:
        PrefixlabError: it is no such amount.
    """
    return whole_bytes(text, "--kv-budget")


def bytes_per_second(given: Amount, option: str) -> int:
    """A bandwidth, with or without `/s`.

    Raises:
        PrefixlabError: it is none.
    """
    text = _written(given)
    try:
        return whole_bytes(text.strip().removesuffix("/s"), option)
    except PrefixlabError:
        raise PrefixlabError(f"{option} {text[:40]!r} is no bandwidth", "Give it as 3.35TB/s or 1092GB/s") from None


def cards_bytes(given: Amount, option: str) -> tuple[int, int]:
    """How many cards, and the bytes of each: `2x80GB`, or `80GB` for one. A number is the bytes of one card.

    Raises:
        PrefixlabError: it is not of that form, or has no unit.
    """
    text = _written(given)
    found = _CARDS.fullmatch(text.strip())
    if not found or (found[1] is not None and not int(found[1])):
        raise PrefixlabError(f"{option} {text[:40]!r} names no cards", "Give it as 2x80GB")
    cards, each = int(found[1] or 1), whole_bytes(found[2], option)
    amount = _AMOUNT.fullmatch(found[2].strip())
    if isinstance(given, str) and amount and not amount[2] + amount[3]:
        raise PrefixlabError(f"{option} {text[:40]!r} has no unit", "Give it as 80GB or 2x80GB")
    if each < _SMALLEST_CARD:
        raise PrefixlabError(f"{option} {text[:40]!r} are cards of {each} bytes", "Give it as 80GB or 2x80GB")
    if cards > MOST_CARDS:
        raise PrefixlabError(f"{option} {text[:40]!r} are more cards than can be", f"Give at most {MOST_CARDS}")
    return cards, each


def token_count(given: Amount, option: str) -> int:
    """Tokens, at least one. K is 1024 of them and M is 1024 K, as in `128K`.

    Raises:
        PrefixlabError: it is no such count.
    """
    text = _written(given)
    found = _TOKENS.fullmatch(text.strip())
    count = int(found[1]) * 1024 ** " km".index(found[2].lower() or " ") if found else 0
    if not 0 < count <= LARGEST_TOKENS:
        raise PrefixlabError(f"{option} {text[:40]!r} is no number of tokens", "Give it as 4096 or 4K")
    return count


def token_counts(given: Amount | Sequence[Amount], option: str) -> tuple[int, ...]:
    """Several counts, or text of several with commas between them, each once, in the order given.

    Raises:
        PrefixlabError: one of them is none, or a comma may be one between thousands.
    """
    if not isinstance(given, str | int | float):
        return tuple(dict.fromkeys([token_count(each, option) for each in given]))
    text = _written(given)
    doubtful = _AFTER_A_COMMA.search(text)
    if doubtful:
        one, two = doubtful[0].split(",")
        otherwise = "" if two.startswith("0") else f", or '{one}, {two}' with a blank after it"
        raise PrefixlabError(
            f"{option} {doubtful[0]!r} may be one number or two", f"Write {one}{two} without the comma{otherwise}"
        )
    return tuple(dict.fromkeys(token_count(part, option) for part in text.split(",")))


def number(given: Amount, option: str) -> Fraction:
    """A positive number, exactly as written.

    Raises:
        PrefixlabError: it is none.
    """
    text = _written(given)
    found = _NUMBER.fullmatch(text.strip())
    if not found or not 0 < Fraction(found[0]) <= LARGEST_BYTES:
        raise PrefixlabError(f"{option} {text[:40]!r} is no positive number", "Give it as 296 or 0.92")
    return Fraction(found[0])


def share(given: Amount, option: str) -> Fraction:
    """A fraction of a whole, also in per cent: more than nothing and at most all.

    Raises:
        PrefixlabError: it is none.
    """
    text = _written(given).strip()
    found = number(text.removesuffix("%"), option) / (100 if text.endswith("%") else 1)
    if found > 1:
        raise PrefixlabError(f"{option} {text[:40]!r} is more than the whole", "Give a share such as 0.92 or 92%")
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
