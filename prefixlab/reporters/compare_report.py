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

_WORD = {"better": "Better", "worse": "Worse", "same": "No change"}
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
    if lacking := [side for side in (found.before, found.after) if side.lacking]:
        said = " and ".join([_lacking(side) for side in lacking])
        return f"Not measured: the rows of values lack {said}. What is lacking may render as nothing."
    if found.verdict == "unmeasured":
        side = found.before if not found.before.warm.requests else found.after
        wanted = "rows of values" if side.what == "template" else "requests"
        return (
            f"Not measured: no {_noun(side)} of {neutral(side.name)} is warm, for none has another before it. "
            f"Give at least two {wanted}."
        )
    before, after = found.before.warm, found.after.warm
    word = _WORD[found.verdict]
    if found.decided_by == "raw_reuse":
        shared = _from_to("is shared with one before it", before.raw_reuse, after.raw_reuse)
        return f"{word} token by token: {shared} {_reused(found)}"
    said = f"{word}: {_from_to('can be reused', before.cached_reuse, after.cached_reuse)}"
    if found.verdict == "same":
        if abs(found.cached_delta) > 0:
            said += f" The difference is below --min-delta {found.min_delta:g}."
        elif not after.cached_tokens and after.raw_shared_tokens:
            said += f" {_reused(found)}"
    return said


def _lacking(side: Side) -> str:
    return f"{', '.join([neutral(name) for name in side.lacking])}, which {neutral(side.name)} reads"


def _from_to(what: str, before: float, after: float) -> str:
    was, now = percent(before), percent(after)
    # Two shares that are shown as one are told by how far they are apart.
    apart = f" ({(after - before) * 100:+.1g} points)" if was == now and abs(after - before) > 1e-12 else ""
    return f"{now} of a warm prompt {what}, {was} before{apart}."


def _reused(found: Comparison) -> str:
    """What is reused of what is shared, and why that is nothing."""
    before, after = found.before, found.after
    if before.warm.cached_tokens or after.warm.cached_tokens:
        return _from_to("can be reused", before.warm.cached_reuse, after.warm.cached_reuse)
    least, block = after.engine.get("min_tokens"), after.engine.get("block_size")
    shared = max([side.warm.raw_shared_tokens / side.warm.requests for side in (before, after)])
    if least and shared < least:
        why = f"{after.engine.get('name')} caches from {counted(least, 'token')} on"
    elif not after.warm.aligned_tokens and block:
        why = f"no whole block of {counted(block, 'token')} is shared"
    else:
        why = "the cache given keeps none of it"
    return f"None of it is reused on either side: {why}."


def _noun(side: Side) -> str:
    return "rendering" if side.what == "template" else "request"


def _footing(found: Comparison) -> str:
    requests = found.after.warm.requests
    noun = _noun(found.after)
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
    if _is_limited(before) or _is_limited(after):
        sizes = {side.engine.get("cache_tokens") for side in (before, after)}
        size = sizes.pop() if len(sizes) == 1 else None
        label = f"in a cache of {counted(size, 'token')}" if size is not None else "in the cache given"
        rows.append((label, _share(before.warm, "cached"), _share(after.warm, "cached")))
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


def _is_limited(side: Side) -> bool:
    """Whether a cache can hold less than all that was ever computed."""
    limits = [side.engine.get(key) for key in ("cache_tokens", "replicas")]
    return any([each is not None for each in limits]) or side.warm.cached_tokens != side.warm.aligned_tokens


def _share(totals: Totals, name: str) -> str:
    if not totals.requests:
        return "-"
    return percent(getattr(totals, f"{name}_reuse"))


def _mean(totals: Totals) -> str:
    return f"{totals.prompt_tokens / totals.requests:,.1f}" if totals.requests else "-"


def _computed(totals: Totals) -> str:
    return f"{(totals.prompt_tokens - totals.cached_tokens) / totals.requests:,.1f}" if totals.requests else "-"


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
        "decided_by": found.decided_by,
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
        "lacking": list(side.lacking),
        "engine": dict(side.engine),
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
    before, after = [
        side._replace(lacking=tuple([stand_in("variable", name) for name in side.lacking]))
        for side in (found.before, found.after)
    ]
    return replace(found, before=before, after=after, changes=tuple(changes), notes=())


Form = Callable[[Comparison, int], bytes]

FORMS: dict[str, Form] = {"text": text, "json": json, "markdown": markdown}
