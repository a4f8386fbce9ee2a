"""What kind of value a text is: a clock, an id, a counter. Names a finding; it never decides whether there is one."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|sept|oct|nov|dec)[a-z]*\.?"
_DAY = r"(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?"
_DATE = (
    rf"(?:\d{{4}}\s?[年년]\s?\d{{1,2}}\s?[月월]\s?\d{{1,2}}\s?[日일]|\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}|\d{{1,2}}[-/.]\d{{1,2}}[-/.]\d{{2,4}}|"
    rf"(?:{_DAY}\s+)?(?:\d{{1,2}}(?:st|nd|rd|th)?\.?\s+{_MONTH},?\s+\d{{4}}|{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?,?\s+\d{{4}}))"
)
_TIME = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:\s?[ap]\.?m\.?)?"
_ZONE = r"(?:\s?(?:Z|UTC|GMT|[A-Z]{2,4}T)|\s?[+-]\d{2}:?\d{2})?"

_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        ("uuid", r"\{?[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}\}?"),
        ("email", r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
        ("age", r"(?:\d+(?:\.\d+)?\s?(?:ms|s|m|h|d|w|mo|y|sec|min|hour|day|week|month|year)[a-z]*\s?)+ago|just now"),
        ("clock", rf"(?:{_DATE}(?:[T ,]|\s+at)\s*)?{_TIME}{_ZONE}(?:,?\s+{_DATE})?"),
        ("date", _DATE),
    )
)
"""Kinds that a pattern tells, the most telling first."""

_CLOCK = dict(_PATTERNS)["clock"]
_DAY_SHOWN = re.compile(_DATE, re.IGNORECASE)

_EPOCH = re.compile(r"1\d{9}(?:\d{3}){0,3}(?:\.\d+)?")
_NUMBER = re.compile(r"[-+]?[$€£¥]?\s?\d[\d,.' ]*\s?[%$€£¥]?")
_PATH = re.compile(r"(?:[A-Za-z]:\\|~?/|\.{1,2}/)\S*|\S+(?:[/\\]\S+){2,}")
_NAME = re.compile(r"[^\W\d_a-z][\w'’.-]*(?: (?:[^\W\d_a-z][\w'’.-]*|van|von|de|da|del|la|bin|al)){0,3}")
_JSON_INSIDE = re.compile(r"""[\w -]+"\s?:\s.*""", re.DOTALL)
"""What differs of an object behind its opening brace and quote: `score": 542, "cart": 7`."""
_ID = re.compile(r"(?=\S*\d)[A-Za-z0-9][A-Za-z0-9_.:#-]{2,}|[0-9a-f]{4,}|[A-Za-z0-9_-]{16,}")


_WHOLE: tuple[re.Pattern[str], ...] = (
    re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s\"'<>`]+[\w/]", re.IGNORECASE),
    re.compile(r"\b[A-Za-z]:\\[^\s\"'<>`]+"),
    re.compile(r"(?<![A-Za-z0-9_/.])(?:~|\.{1,2})?/[\w.@+-]+(?:/[\w.@+-]+)*"),
    *(pattern for _, pattern in _PATTERNS),
    re.compile(r"(?<![\w.])[-+]?(?:[$€£¥]\s?)?\d+(?:[.,]\d+)*(?:\s?[%$€£¥])?(?!\w)"),
)
"""Texts that are one value even if only a part of them changes, the widest first."""


def widened(text: str, start: int, end: int) -> tuple[int, int]:
    """The stretch of `text` around `start:end` that is a whole address, path, date, clock, UUID, e-mail or amount."""
    left = max(0, start - 120)
    window = text[left : end + 120]
    for pattern in _WHOLE:
        for found in pattern.finditer(window):
            first, last = found.start() + left, found.end() + left
            if first < end and start < last and first <= start and end <= last:
                return first, last
    return start, end


def day_of(value: str) -> str | None:
    """A clock that shows a date, cut to that date; None for any other value."""
    shown = value.strip().strip("\"'`")
    if not _CLOCK.fullmatch(shown):
        return None
    day = _DAY_SHOWN.search(shown)
    return value.replace(shown, day[0], 1) if day else None


def kind_of(values: Sequence[str]) -> str:
    """The kind that most of the values have, in the order in which they were seen.

    One of `clock`, `date`, `age`, `uuid`, `id`, `counter`, `number`, `path`, `name`, `email`, `json`, `text`.
    """
    votes: dict[str, int] = {}
    for value in values:
        kind = _kind(value.strip().strip("\"'`"))
        votes[kind] = votes.get(kind, 0) + 1
    if not votes:
        return "text"
    kind = max(votes, key=lambda name: votes[name])
    if kind == "number" and _counts_up(values):
        return "counter"
    return kind


def _kind(value: str) -> str:
    for kind, pattern in _PATTERNS:
        if pattern.fullmatch(value):
            return kind
    if _EPOCH.fullmatch(value):
        return "clock"
    if _NUMBER.fullmatch(value):
        return "number"
    if value[:1] in "{[" and value[-1:] in "}]":
        return "json"
    if _JSON_INSIDE.fullmatch(value):
        return "json"
    if " " not in value and _PATH.fullmatch(value):
        return "path"
    if _ID.fullmatch(value):
        return "id"
    if len(value) <= 60 and _NAME.fullmatch(value):
        return "name"
    return "text"


def _counts_up(values: Sequence[str]) -> bool:
    """Whether whole numbers never go down in order of arrival and do go up."""
    try:
        numbers = [int(value.strip().replace(",", "").replace("'", "")) for value in values]
    except ValueError:
        return False
    return all(a <= b for a, b in itertools.pairwise(numbers)) and numbers[0] < numbers[-1]
