"""The requests of a report as Parquet, for data tools."""

from __future__ import annotations

from typing import Any

from prefixlab.errors import MissingExtra
from prefixlab.findings import Report
from prefixlab.reporters.neutral import without_surrogates
from prefixlab.reporters.tables import request_columns


def _value(value: Any) -> Any:
    return without_surrogates(value) if isinstance(value, str) else value


class ParquetReport:
    """`--format parquet`: one row a request."""

    name = "parquet"
    endings: tuple[str, ...] = (".parquet",)

    def render(self, report: Report, *, per_request: bool, width: int) -> bytes:
        """The whole file.

        Raises:
            MissingExtra: pyarrow is not installed.
        """
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise MissingExtra("A Parquet report", "parquet") from None

        columns = request_columns(report)
        arrays = [
            pyarrow.array(map(_value, each.values), type=pyarrow.int64() if each.is_number else pyarrow.string())
            for each in columns
        ]
        table = pyarrow.Table.from_arrays(arrays, names=[without_surrogates(each.name) for each in columns])
        out = pyarrow.BufferOutputStream()
        pyarrow.parquet.write_table(table, out)
        return bytes(out.getvalue().to_pybytes())


REPORTER = ParquetReport()
