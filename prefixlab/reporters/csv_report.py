"""The requests of a report as CSV, for a spreadsheet."""

from __future__ import annotations

from typing import Any

from prefixlab.findings import Report
from prefixlab.reporters.neutral import neutral
from prefixlab.reporters.tables import request_columns

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def _cell(value: Any) -> Any:
    """A value as a cell that no spreadsheet takes for a formula."""
    if not isinstance(value, str):
        return value
    # Blanks in front do not stop a spreadsheet from evaluating what follows them.
    risky = value.startswith(_FORMULA_STARTS) or value.lstrip().startswith(_FORMULA_STARTS)
    return neutral(f"'{value}" if risky else value)


class CsvReport:
    """`--format csv`: one row a request."""

    name = "csv"
    endings: tuple[str, ...] = (".csv",)

    def render(self, report: Report, *, per_request: bool, width: int) -> bytes:
        import csv
        import io

        columns = request_columns(report)
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([_cell(each.name) for each in columns])
        writer.writerows([_cell(value) for value in row] for row in zip(*[each.values for each in columns]))
        return out.getvalue().encode()


REPORTER = CsvReport()
