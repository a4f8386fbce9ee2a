"""What `fix` did, for a person and for a script."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import orjson

from prefixlab.findings import Totals
from prefixlab.fixed_summary import FixedStep, FixSummary
from prefixlab.number_words import counted, number, percent
from prefixlab.reporters.json_report import totals_document
from prefixlab.reporters.neutral import bulleted, cells, neutral, pad, wrapped
from prefixlab.reporters.redaction import stand_in

SCHEMA = "prefixlab.fix/1"

_PLACES = {
    "newest_user_message": "to the end of the newest user message",
    "own_text": "to the end of its own text",
    "end_of_prompt": "to the end of the prompt",
    "order_shown_first": "as it was shown first",
}
_ORDERS = {
    "tool_order": "Order of the tools",
    "tool_set": "New tools at the end of the list",
    "key_order": "Order of keys in JSON",
    "tool_result_order": "Order of results of tools called together",
    "permuted": "Order of documents or examples",
    "arguments_reserialised": "Form of tool-call arguments",
    "image_position": "Images behind the text of their message",
    "whitespace": "Blanks",
    "unicode_form": "Unicode form",
}

_WORTH_SAYING = 0.02
"""Share of the prompt tokens by which a fixed log falls short that is said."""


def text(found: FixSummary, width: int) -> bytes:
    """The answer first, the figures before and after, what was changed and what was not."""
    width = min(width, 120)
    lines = wrapped(_answer(found), width)
    if found.steps:
        lines += ["", *_figures(found), "", *_steps(found, width)]
    if found.unfixed:
        lines += ["", "Left as it was"]
        for said in _folded([f"{neutral(row.name)}: {row.why}" for row in found.unfixed]):
            lines += bulleted(f"{said}.", width)
    notes = [*found.notes]
    if found.skipped:
        kept = counted(found.skipped, "record cannot be read and was kept as it is",
                       "records cannot be read and were kept as they are")  # fmt: skip
        notes.append(f"{kept}.")
    short = found.promised_tokens - found.after.aligned_tokens
    if found.steps and short >= _WORTH_SAYING * found.after.prompt_tokens:
        promised = percent(found.promised_tokens / found.after.prompt_tokens)
        notes.append(
            f"the audit measured {promised} for the causes that a log can have fixed; not all of it was reached."
        )
    if notes:
        lines += ["", "Notes"]
        for note in notes:
            lines += bulleted(neutral(note), width)
    if found.steps:
        is_formed = any([step.kind in ("whitespace", "unicode_form") for step in found.steps])
        edited = "and none edited but for its form" if is_formed else "or edited"
        lines += ["", *wrapped(f"Both logs were replayed in the same way. No text was deleted {edited}.", width)]
    return ("\n".join(lines) + "\n").encode()


def _answer(found: FixSummary) -> str:
    log = neutral(found.log)
    if not found.steps:
        reuse = percent(found.before.aligned_reuse)
        return f"Nothing is gained by rewriting {log}: {reuse} of its prompt tokens can be reused. Nothing was written."
    records = counted(found.changed_records, "record")
    said = (
        f"{percent(found.before.aligned_reuse)} of the prompt tokens can be reused as logged, "
        f"{percent(found.after.aligned_reuse)} in the fixed log."
    )
    if found.written_to is None:
        would = counted(found.changed_records, "record")
        return f"{said} {would} of {number(found.records)} would be changed. Nothing was written: name a file with -o."
    to = "standard output" if found.written_to == "-" else neutral(found.written_to)
    are = "was" if found.changed_records == 1 else "were"
    return f"{said} {records} of {number(found.records)} {are} changed; the log was written to {to}."


def _figures(found: FixSummary) -> list[str]:
    before, after = found.before, found.after
    rows = [("Replayed", "before", "", "after", ""), _row("aligned", before, after, "aligned_tokens")]
    if found.has_cache:
        rows.append(_row("cached, in the cache given", before, after, "cached_tokens"))
    rows.append(("prompt tokens", number(before.prompt_tokens), "", number(after.prompt_tokens), ""))
    widths = [max(map(cells, column)) for column in zip(*rows, strict=True)]
    widths[0] += 2
    lines = []
    for at, row in enumerate(rows):
        name, *figures = row
        cellsof = [figure.rjust(room) for figure, room in zip(figures, widths[1:], strict=True)]
        lines.append("  ".join([pad(name if not at else f"  {name}", widths[0]), *cellsof]).rstrip())
    return lines


def _row(name: str, before: Totals, after: Totals, tokens: str) -> tuple[str, str, str, str, str]:
    figures = []
    for totals in (before, after):
        count: int = getattr(totals, tokens)
        figures += [number(count), percent(count / totals.prompt_tokens if totals.prompt_tokens else 0.0)]
    return (name, *figures)  # type: ignore[return-value]


def _steps(found: FixSummary, width: int) -> list[str]:
    lines = ["What was changed" if found.written_to is not None else "What would be changed"]
    for said in _folded([f"{_what(step)}: {counted(step.records, 'record')}{_left(step)}" for step in found.steps]):
        lines += bulleted(f"{said}.", width)
    return lines


def _folded(lines: Sequence[str]) -> list[str]:
    """Equal lines as one with their number: a log may have several values of one name."""
    return [line if count == 1 else f"{line} ({number(count)} of them)" for line, count in Counter(lines).items()]


def _what(step: FixedStep) -> str:
    if step.to == "order_shown_first":
        place = "" if step.kind in ("tool_set", "image_position") else f", {_PLACES[step.to]}"
        return f"{_ORDERS[step.kind]} ({step.kind}){place}"
    name = "A value in a tool" if step.name == step.kind else neutral(step.name)
    return f"{name} ({step.kind}) from {neutral(step.path) or 'its line'} {_PLACES[step.to]}"


def _left(step: FixedStep) -> str:
    return f"; {number(step.left)} have it where it cannot be moved" if step.left else ""


def json(found: FixSummary, width: int) -> bytes:
    """The summary with every figure as it is."""
    document = {
        "schema": SCHEMA,
        "version": found.version,
        "log": found.log,
        "written_to": found.written_to,
        "records": found.records,
        "changed_records": found.changed_records,
        "skipped": found.skipped,
        "before": totals_document(found.before),
        "after": totals_document(found.after),
        "promised_aligned_tokens": found.promised_tokens,
        "steps": [step._asdict() for step in found.steps],
        "unfixed": [row._asdict() for row in found.unfixed],
        "notes": list(found.notes),
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def redacted(found: FixSummary) -> FixSummary:
    """The summary without names that the log gave its values, and without notes that may quote it."""

    def hidden(name: str, kind: str) -> str:
        return name if name == kind else stand_in(kind, name)

    return replace(
        found,
        steps=tuple([step._replace(name=hidden(step.name, step.kind)) for step in found.steps]),
        unfixed=tuple([row._replace(name=hidden(row.name, row.kind)) for row in found.unfixed]),
        notes=(),
    )


Form = Callable[[FixSummary, int], bytes]

FORMS: dict[str, Form] = {"text": text, "json": json}
