"""A report as tables: one row a request, one row a field or break; frames for pandas, columns for files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from prefixlab.findings import Break, Field, Report

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: whole numbers, or text with None where there is none."""

    name: str
    is_number: bool
    values: list[Any]


def request_columns(report: Report) -> list[Column]:
    """One row a request, in the order of the report; losses as `loss_*`, tags as `tag_*`."""
    rows = report.requests
    columns = [
        Column("id", False, [row.id for row in rows]),
        Column("line", True, [row.line for row in rows]),
        Column("prompt_tokens", True, [row.outcome.prompt_tokens for row in rows]),
        Column("raw_shared_tokens", True, [row.outcome.raw_shared_tokens for row in rows]),
        Column("aligned_tokens", True, [row.outcome.aligned_tokens for row in rows]),
        Column("cached_tokens", True, [row.outcome.cached_tokens for row in rows]),
        Column("matched_id", False, [row.matched_id for row in rows]),
    ]
    for at, name in enumerate(report.losses._fields):
        columns.append(Column(f"loss_{name}", True, [row.losses[at] for row in rows]))
    columns.append(Column("field", False, [row.field for row in rows]))
    for tag in dict.fromkeys(tag for row in rows for tag in row.tags):
        columns.append(Column(f"tag_{tag}", False, [row.tags.get(tag) for row in rows]))
    return columns


def to_frame(report: Report) -> pandas.DataFrame:
    """One row a request: tokens, what it was matched with, losses by cause, field and tags."""
    import pandas

    columns = request_columns(report)
    return pandas.DataFrame(
        {each.name: pandas.Series(each.values, dtype="int64" if each.is_number else "object") for each in columns},
        columns=[each.name for each in columns],
    )


def fields_frame(report: Report) -> pandas.DataFrame:
    """One row a field or break, by rank; what only the other kind has is missing (`<NA>` or None)."""
    import pandas

    rows: list[Field | Break] = [*report.fields, *report.breaks]
    rows.sort(key=lambda row: row.rank)
    kinds = {
        "rank": "int64",
        "name": "object",
        "kind": "object",
        "path": "object",
        "line": "Int64",
        "token_index": "Int64",
        "requests": "int64",
        "distinct_values": "Int64",
        "examples": "object",
        "lost_tokens": "int64",
        "recoverable_tokens": "int64",
        "reuse_after_fix": "float64",
        "cached_reuse_after_fix": "float64",
        "level": "object",
        "severity": "object",
        "confidence": "object",
        "evidence": "object",
        "advice": "object",
        "ignored": "bool",
    }
    frame: dict[str, Any] = {
        "cause": pandas.Series(["field" if isinstance(row, Field) else "break" for row in rows], dtype="object")
    }
    for name, kind in kinds.items():
        frame[name] = pandas.Series([getattr(row, name, None) for row in rows], dtype=kind)
    return pandas.DataFrame(frame)
