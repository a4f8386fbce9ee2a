"""A report without the log's own words: each is replaced by its kind and its length.

Gone are names and values of fields, evidence, request ids and tag values. Figures, kinds, JSON paths, line numbers and
the names of files and settings stay. The same value gets the same stand-in everywhere, so that rows can still be told
apart and followed, and the same report always gives the same result.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from prefixlab.findings import Break, Field, Report, RequestRow

_PLAIN_PATH = re.compile(r"(?:[A-Za-z_$][\w$-]*|\[\d+\])(?:\.[A-Za-z_$][\w$-]*|\[\d+\])*", re.ASCII)
_KINDS = (
    ("uuid", re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")),
    ("number", re.compile(r"[+-]?\d+(?:[.,]\d+)*")),
    ("email", re.compile(r"[^@\s]+@[^@\s]+")),
    ("id", re.compile(r"[\w.:/-]+", re.ASCII)),
)
_SKIPPED = re.compile(r"([\d,]+ records? \w+ skipped, the first: .*?:\d+): .*", re.DOTALL)
"""The note about skipped records: where the first one stands, and then why, which may quote it."""
_REFUSED = re.compile(r"(.* fit into .*?), such as .*( with [\d,]+ prompt tokens?: .*)", re.DOTALL)
"""The note about refused requests, which has the id of the largest."""
_PLACES = re.compile(
    r"(?P<said>.*? (?:leaves out content of [\d,]+ messages?|from earlier ones))(?:: | at )(?P<places>.*)",
    re.DOTALL,
)
"""A note that lists JSON paths, whose keys may be content."""
_PLAIN_PLACES = re.compile(
    rf"{_PLAIN_PATH.pattern}(?: \(\d+\))?(?:(?:, | and ){_PLAIN_PATH.pattern}(?: \(\d+\))?)*"
    r"(?: and [\d,]+ more places?)?(?:\.|, ahead of text .*)",
    re.ASCII | re.DOTALL,
)
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"|`[^`]*`|“[^”]*”|‘[^’]*’|«[^»]*»|(?<!\w)\'(?:[^\'\\]|\\.)*\'(?!\w)', re.DOTALL)

_Figures = TypeVar("_Figures")


def stand_in(kind: str, text: str) -> str:
    """What is shown in place of a text: its kind and its length."""
    return f"‹{kind}, {len(text)} {'character' if len(text) == 1 else 'characters'}›"


def _kind(text: str) -> str:
    return next((kind for kind, pattern in _KINDS if pattern.fullmatch(text)), "text")


def _path(path: str) -> str:
    """The path as it is; from a key on that is no plain identifier, which may be content, only its length."""
    if not path or _PLAIN_PATH.fullmatch(path):
        return path
    plain = _PLAIN_PATH.match(path)
    # The last step of what looks plain may be the front of the odd key itself.
    head = plain[0].rpartition(".")[0] if plain else ""
    rest = path[len(head) :].removeprefix(".")
    return f"{head}.{stand_in('key', rest)}" if head else stand_in("key", rest)


class _Sentences:
    """Advice and notes: names and values of the log are replaced, and whatever else a sentence quotes."""

    def __init__(self, known: Mapping[str, str], kept: Iterable[str]) -> None:
        self._known = known
        self._kept = {*known.values(), *kept}
        longest_first = sorted(filter(str.strip, known), key=len, reverse=True)
        words = "|".join(map(re.escape, longest_first))
        self._words = re.compile(rf"(?<!\w)(?:{words})(?!\w)") if words else None

    def redacted(self, text: str) -> str:
        if self._words:
            text = self._words.sub(lambda found: self._known[found[0]], text)
        return _QUOTED.sub(self._unquoted, text)

    def _unquoted(self, found: re.Match[str]) -> str:
        inside = found[0][1:-1]
        return found[0] if inside in self._kept else stand_in("text", inside)


class _Numbered:
    """Stand-ins that tell equal values from different ones: numbered in the order they are met."""

    def __init__(self) -> None:
        self._seen: dict[str, str] = {}

    def __call__(self, value: str) -> str:
        if value and value not in self._seen:
            self._seen[value] = stand_in(f"{_kind(value)} {len(self._seen) + 1}", value)
        return self._seen.get(value, value)


def _without_quotes_of_the_log(note: str) -> str:
    """A note without what it repeats of a record, its id, and without JSON paths that are not plain."""
    refused = _REFUSED.fullmatch(note)
    if refused:
        return f"{refused[1]}, such as one{refused[2]}"
    skipped = _SKIPPED.fullmatch(note)
    if skipped:
        return f"{skipped[1]}."
    listing = _PLACES.fullmatch(note)
    if listing and not _PLAIN_PLACES.fullmatch(listing["places"]):
        return f"{listing['said']}."
    return note


def _field_name(row: Field) -> str:
    return f"field {row.rank}"


def _known(rows: Iterable[Field]) -> dict[str, str]:
    known: dict[str, str] = {}
    for row in sorted(rows, key=lambda row: row.rank):
        label = f"{_field_name(row)} ({row.kind})"
        known.setdefault(row.name, label)
        known.setdefault(repr(row.name), label)
        for example in row.examples:
            known.setdefault(example, stand_in(row.kind, example))
    return known


def redact(report: Report) -> Report:
    """The report with every text that came from a prompt, an id or a tag replaced by its kind and length."""
    names: dict[str, str] = {}
    for row in sorted(report.fields, key=lambda row: row.rank):
        names.setdefault(row.name, _field_name(row))
    kinds = {row.kind for row in report.breaks}
    paths = [_path(row.path) for row in report.fields] + [_path(row.path) for row in report.breaks]
    sentences = _Sentences(_known(report.fields), paths)
    request_id = _Numbered()
    tags: dict[str, _Numbered] = {}

    def tag_value(tag: str, value: str) -> str:
        return tags.setdefault(tag, _Numbered())(value)

    def cause_name(cause: str) -> str:
        return cause if cause in kinds else names.get(cause) or stand_in("text", cause)

    def request(row: RequestRow) -> RequestRow:
        return replace(
            row,
            id=request_id(row.id),
            matched_id=None if row.matched_id is None else request_id(row.matched_id),
            field=None if row.field is None else cause_name(row.field),
            tags={tag: tag_value(tag, value) for tag, value in row.tags.items()},
        )

    def groups(by: Mapping[str, Mapping[str, _Figures]]) -> dict[str, dict[str, _Figures]]:
        return {tag: {tag_value(tag, value): each for value, each in values.items()} for tag, values in by.items()}

    def causes(counts: Mapping[str, int]) -> dict[str, int]:
        # Two names of one length have one stand-in.
        found: Counter[str] = Counter()
        for cause, count in counts.items():
            found[cause_name(cause)] += count
        return dict(found)

    return replace(
        report,
        fields=tuple(_field(row, sentences) for row in report.fields),
        breaks=tuple(_break(row, sentences) for row in report.breaks),
        requests=tuple(request(row) for row in report.requests),
        notes=tuple(sentences.redacted(_without_quotes_of_the_log(note)) for note in report.notes),
        by=groups(report.by),
        by_losses=groups(report.by_losses),
        by_causes={
            tag: {value: causes(counts) for value, counts in values.items()}
            for tag, values in groups(report.by_causes).items()
        },
    )


def _field(row: Field, sentences: _Sentences) -> Field:
    return replace(
        row,
        name=_field_name(row),
        path=_path(row.path),
        examples=tuple(dict.fromkeys(stand_in(row.kind, example) for example in row.examples)),
        advice=sentences.redacted(row.advice),
    )


def _break(row: Break, sentences: _Sentences) -> Break:
    evidence = row.evidence and stand_in("text", row.evidence)
    return replace(row, path=_path(row.path), evidence=evidence, advice=sentences.redacted(row.advice))
