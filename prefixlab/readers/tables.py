"""Tables: CSV and Parquet files with a prompt or messages column; a row is a record."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from prefixlab.errors import BadRecord, MissingExtra
from prefixlab.readers.complaints import bad_record, listed, shown
from prefixlab.records import Location

_JSON_COLUMNS = frozenset(
    ("messages", "tools", "functions", "documents", "chat_template_kwargs", "conversations", "conversation", "hash_ids",
     "prompt_token_ids", "input_ids", "output_token_ids", "request", "body", "params", "request_body", "response",
     "response_body", "usage", "usageDetails", "metadata", "model_parameters", "proxy_server_request", "obj", "out",
     "add_generation_prompt", "continue_final_message")
)  # fmt: skip
_MAYBE_JSON_COLUMNS = frozenset(("system", "input", "output"))
"""Text in some tables, blocks or items in others."""
_INTEGER_COLUMNS = frozenset(
    ("input_length", "output_length", "block_size", "chat_id", "parent_chat_id", "cached_tokens", "prompt_tokens")
)
_LONGEST_FIELD = 1 << 29
_ROWS_AT_ONCE = 64


def csv_records(
    lines: Iterable[tuple[int, bytes | BadRecord]], path: str, separator: str
) -> Iterator[tuple[int, dict[str, Any] | BadRecord]]:
    """The rows below the header, each on the line where it starts.

    A quote that is never closed ends the reading: nobody can say where the rows behind it begin.
    """
    import csv

    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_FIELD))
    started: list[int] = []
    row_text: list[str] = []

    def text_lines() -> Iterator[str]:
        for number, line in lines:
            if isinstance(line, BadRecord):
                raise line
            started.append(number)
            row_text.append(line.decode("utf-8", "surrogateescape"))
            yield row_text[-1]

    rows = csv.reader(text_lines(), delimiter=separator, strict=True)
    header: list[str] | None = None
    while True:
        started.clear()
        row_text.clear()
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            number = started[0] if started else 1
            opening = _open_quote("".join(row_text), separator)
            if opening is None:
                yield number, bad_record(Location(path, number), f"no row of a table: {error}", "Correct the file")
            else:
                number += opening
                what = "the quote that opens here is not closed where a cell ends"
                todo = "Close it, and write a quote inside a cell twice"
                yield number, bad_record(Location(path, number), what, todo)
            return
        number = started[0]
        if header is None:
            header = row
            twice = [name for name, count in Counter(header).items() if count > 1]
            if twice:
                what = f"the header names a column twice: {listed(twice)}"
                yield number, bad_record(Location(path, number), what, "Give each column a name of its own")
                return
        elif row and len(row) != len(header):
            what = f"the row has {len(row)} cell{'s' if len(row) > 1 else ''}, the header {len(header)}"
            yield number, bad_record(Location(path, number), what, "Quote cells that hold a comma, or use --skip-bad")
        elif row:
            yield number, _of_text(dict(zip(header, row)), Location(path, number))


def _open_quote(text: str, separator: str) -> int | None:
    """The line, from 0, of the first quote of a row that no cell's end follows."""
    cell = re.compile(rf'(?:"[^"]*+(?:""[^"]*+)*+"|[^"{separator}\r\n][^{separator}\r\n]*+)?(?:{separator}|\r?\n|$)')
    position = 0
    while position < len(text):
        found = cell.match(text, position)
        if found is None:
            return text.count("\n", 0, position) if text[position] == '"' else None
        position = found.end()
    return None


def _of_text(row: dict[str, str], where: Location) -> dict[str, Any] | BadRecord:
    """A row whose JSON and integer columns are parsed; empty cells are left out."""
    record: dict[str, Any] = {}
    for column, cell in row.items():
        if not cell and column not in ("prompt", "text"):
            continue
        try:
            cell.encode()
        except UnicodeEncodeError:
            return bad_record(where, f"column {shown(column)} is not UTF-8", "Convert the table to UTF-8")
        try:
            record[column] = _parsed(column, cell)
        except orjson.JSONDecodeError:
            return bad_record(where, f"column {shown(column)} holds no JSON: {shown(cell[:30])}", "Correct the cell")
    return record


def _parsed(column: str, cell: str) -> Any:
    if column in _JSON_COLUMNS or (column in _MAYBE_JSON_COLUMNS and cell.startswith(("[{", "{"))):
        return orjson.loads(cell)
    if column in _INTEGER_COLUMNS and cell.isdecimal() and cell.isascii() and len(cell) < 20:
        return int(cell)
    return cell


def parquet_records(stream: Any, path: str, *, seekable: bool) -> Iterator[tuple[int, dict[str, Any] | BadRecord]]:
    """The rows of a Parquet file, counted from 1.

    Raises:
        MissingExtra: pyarrow is not installed.
        BadRecord: the file is no Parquet file.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra("reading Parquet", "parquet") from None
    try:
        file = pyarrow.parquet.ParquetFile(stream if seekable else io.BytesIO(stream.read()))
        twice = [name for name, count in Counter(file.schema_arrow.names).items() if count > 1]
        if twice:
            what = f"two columns have the same name: {listed(twice)}"
            yield 1, bad_record(Location(path, 1), what, "Give each column a name of its own")
            return
        number = 0
        for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE):
            for row in batch.to_pylist():
                number += 1
                yield number, _of_columns(row, Location(path, number))
    except (pyarrow.ArrowException, OSError) as error:
        raise BadRecord(f"no readable Parquet file: {shown(str(error))}", "Check the file", path=path) from None


def _of_columns(row: dict[str, Any], where: Location) -> dict[str, Any] | BadRecord:
    record = {}
    for column, value in row.items():
        if value is None:
            continue
        try:
            record[column] = _parsed(column, value) if type(value) is str else _without_gaps(value)
        except orjson.JSONDecodeError:
            return bad_record(where, f"column {shown(column)} holds no JSON: {shown(value[:30])}", "Correct the cell")
    return record


def _without_gaps(value: Any) -> Any:
    """A nested value without the nulls that a column's type puts where the log had no key; content stays."""
    if type(value) is dict:
        return {key: _without_gaps(each) for key, each in value.items() if each is not None or key == "content"}
    if type(value) is list and value and type(value[0]) in (dict, list):
        return [_without_gaps(each) for each in value]
    return value
