"""What `compare` found, for a person, for a script, and for a pull request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import orjson

from prefixlab.comparison import CauseChange, Comparison, Side
from prefixlab.findings import Break, Field, Totals
from prefixlab.number_words import counted, number, percent
from prefixlab.reporters.json_report import totals_document
from prefixlab.reporters.neutral import bulleted, cells, neutral, pad, wrapped
from prefixlab.reporters.redaction import stand_in

SCHEMA = "prefixlab.compare/1"

_SAID = {
    "better": "Better: {after} of a warm prompt can be reused, {before} before.",
    "worse": "Worse: {after} of a warm prompt can be reused, {before} before.",
    "same": "No change: {after} of a warm prompt can be reused, {before} before.",
}
_STATUS = {
    "gone": "costs nothing any more",
    "new": "costs reuse now",
    "more": "costs more than before",
    "less": "costs less than before",
    "same": "costs what it did",
}


def text(found: Comparison, width: int) -> bytes:
    """The verdict, the figures, which values moved."""
    width = min(width, 120)
    lines = wrapped(_answer(found), width)
    lines += ["", *_table(found)]
    if found.changes:
        lines += ["", "Values and breaks"]
        for change in found.changes:
            lines += bulleted(_change(change, neutral), width)
    if found.notes:
        lines += ["", "Notes"]
        for note in found.notes:
            lines += bulleted(neutral(note), width)
    lines += ["", *wrapped(_footing(found), width)]
    return ("\n".join(lines) + "\n").encode()


def _answer(found: Comparison) -> str:
    before, after = found.before.warm, found.after.warm
    said = _SAID[found.verdict].format(before=percent(before.cached_reuse), after=percent(after.cached_reuse))
    if found.verdict == "same" and abs(found.cached_delta) > 0:
        said += f" The difference is below --min-delta {found.min_delta:g}."
    return said


def _footing(found: Comparison) -> str:
    requests = found.after.warm.requests
    noun = "rendering" if found.after.what == "template" else "request"
    if not requests:
        return f"No {noun} is warm: none has another before it."
    what = counted(requests, noun)
    first = "the first" if found.after.totals.families == 1 else "the first of each family"
    each = "each against those" if requests > 1 else "against what is"
    return f"Warm: {what}, {each} before it; {first} is left out."


def _rows(found: Comparison) -> list[tuple[str, str, str]]:
    before, after = found.before, found.after
    rows = [
        ("shared, token by token", _share(before.warm, "raw"), _share(after.warm, "raw")),
        ("reusable in blocks", _share(before.warm, "aligned"), _share(after.warm, "aligned")),
    ]
    if (before.warm.cached_tokens, after.warm.cached_tokens) != (before.warm.aligned_tokens, after.warm.aligned_tokens):
        rows.append(("in the cache given", _share(before.warm, "cached"), _share(after.warm, "cached")))
    rows.append(("tokens a prompt", _mean(before.warm), _mean(after.warm)))
    rows.append(("computed a prompt", _computed(before.warm), _computed(after.warm)))
    if before.stable_tokens is not None and after.stable_tokens is not None:
        rows.append(("tokens that all begin with", number(before.stable_tokens), number(after.stable_tokens)))
    return rows


def _table(found: Comparison) -> list[str]:
    rows = [("", "before", "after"), *_rows(found)]
    widths = [max(map(cells, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join([pad(row[0], widths[0]), *[one.rjust(width) for one, width in zip(row[1:], widths[1:], strict=True)]])
        for row in rows
    ]


def _share(totals: Totals, name: str) -> str:
    return percent(getattr(totals, f"{name}_reuse"))


def _mean(totals: Totals) -> str:
    return f"{totals.prompt_tokens / totals.requests:,.1f}" if totals.requests else "0"


def _computed(totals: Totals) -> str:
    return f"{(totals.prompt_tokens - totals.cached_tokens) / totals.requests:,.1f}" if totals.requests else "0"


def _change(change: CauseChange, show: Callable[[str], str]) -> str:
    one = change.before or change.after
    assert one is not None
    said = f"{show(change.name)} ({change.kind}) at {show(change.path) or 'the prompt'} {_STATUS[change.status]}"
    figures = []
    for side, row in (("before", change.before), ("after", change.after)):
        if row is not None:
            where = f" from token {number(row.token_index)}" if isinstance(row, Field) else ""
            won = counted(row.recoverable_tokens, "token") if row.recoverable_tokens else "nothing by itself"
            figures.append(f"{side} {won}{where}")
    return f"{said}: {', '.join(figures)}."


def markdown(found: Comparison, width: int) -> bytes:
    """A comment for a pull request."""
    lines = [f"**prefixlab** {_answer(found)}", "", "| | before | after |", "|---|---:|---:|"]
    lines += [f"| {name} | {before} | {after} |" for name, before, after in _rows(found)]
    if found.changes:
        lines += [""] + [f"- {_change(change, _code)}" for change in found.changes]
    if found.notes:
        lines += [""] + [f"- {_escaped(note)}" for note in found.notes]
    lines += ["", f"<sub>{_footing(found)}</sub>"]
    return ("\n".join(lines) + "\n").encode()


def _code(value: str) -> str:
    value = neutral(value).replace("`", "'").replace("|", "\\|")
    return f"`{value}`" if value else ""


def _escaped(value: str) -> str:
    return "".join([f"\\{one}" if one in "\\`*_{}[]<>()#+-.!|@" else one for one in neutral(value)])


def json(found: Comparison, width: int) -> bytes:
    """Every figure as it is."""
    document = {
        "schema": SCHEMA,
        "before": _side(found.before),
        "after": _side(found.after),
        "delta": {
            "raw_reuse": found.raw_delta,
            "aligned_reuse": found.aligned_delta,
            "cached_reuse": found.cached_delta,
        },
        "fields": [_row(change) for change in found.changes],
        "verdict": found.verdict,
        "min_delta": found.min_delta,
        "notes": list(found.notes),
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _side(side: Side) -> dict[str, Any]:
    return {
        "name": side.name,
        "what": side.what,
        "totals": totals_document(side.totals),
        "warm": totals_document(side.warm),
        "losses": side.losses._asdict(),
        "stable_tokens": side.stable_tokens,
    }


def _row(change: CauseChange) -> dict[str, Any]:
    return {
        "name": change.name,
        "kind": change.kind,
        "path": change.path,
        "status": change.status,
        "before": None if change.before is None else asdict(change.before),
        "after": None if change.after is None else asdict(change.after),
    }


def redacted(found: Comparison) -> Comparison:
    """The comparison without names and values of the log."""

    def hidden(row: Field | Break | None) -> Field | Break | None:
        if isinstance(row, Field):
            return replace(row, name=stand_in(row.kind, row.name), examples=(), advice="")
        return None if row is None else replace(row, evidence="", advice="")

    changes = []
    for change in found.changes:
        is_field = isinstance(change.before or change.after, Field)
        name = stand_in(change.kind, change.name) if is_field else change.name
        changes.append(change._replace(name=name, before=hidden(change.before), after=hidden(change.after)))
    return replace(found, changes=tuple(changes), notes=())


Form = Callable[[Comparison, int], bytes]

FORMS: dict[str, Form] = {"text": text, "json": json, "markdown": markdown}
