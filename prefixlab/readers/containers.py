"""What holds the records: lines of JSON, a JSON document, a table, lines of text.

A container gives pairs of a line and what stands there: `bytes` that are yet to be parsed, a parsed record, or the
`BadRecord` that the place amounts to. It streams; only a JSON document and a compressed Parquet file are read whole.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from typing import Any

import orjson

from prefixlab.contracts import RecordFormat
from prefixlab.errors import BadRecord
from prefixlab.readers.complaints import bad_record
from prefixlab.readers.diagnosis import not_utf8
from prefixlab.readers.server_lines import request_lines, tells_of_requests
from prefixlab.readers.sources import DamagedArchive, Source, ending, unreadable
from prefixlab.records import Location

Item = tuple[int, Any]

LONGEST_LINE = 1 << 29
_BOM = b"\xef\xbb\xbf"
_PARQUET = b"PAR1"
_SNIFFED = 1 << 16
_CLOCK = re.compile(rb"\[\d{4}-\d\d-\d\d")


def records_of(source: Source, forced: RecordFormat | None) -> Iterator[Item]:
    """The records of a source; its container is told by the ending of its name, else by its first bytes.

    Raises:
        PrefixlabError: the source cannot be read at all.
    """
    line = 0
    try:
        for line, item in _chosen(source, forced):
            yield line, item
    except (DamagedArchive, EOFError, zlib.error, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise unreadable(source.path, error) from None
        # An OSError that no system call made is gzip's complaint about a header.
        what = str(error) if isinstance(error, DamagedArchive) else "the gzip stream is cut or damaged"
        yield line + 1, bad_record(Location(source.path, line + 1), what, "Compress the log again, or use --skip-bad")


def container_of(source: Source, forced: RecordFormat | None) -> str:
    """What a source is by the ending of its name, else by its first bytes: `parquet`, `csv`, `text`, `json_lines`,
    `document`, `server_log` or `lines`."""
    kind = ending(source.path)
    start = source.stream.peek(_SNIFFED).removeprefix(_BOM).lstrip()
    if kind == ".parquet" or start.startswith(_PARQUET):
        return "parquet"
    if kind in (".csv", ".tsv"):
        return "csv"
    if kind == ".txt" and (forced is None or forced.name == "plain"):
        return "text"
    if start.startswith(b"{"):
        return "json_lines"
    if start.startswith(b"[") and not _CLOCK.match(start):
        return "document"
    if (kind == ".log" and start) or tells_of_requests(start):
        return "server_log"
    return "text" if forced is not None and forced.name == "plain" else "lines"


def _chosen(source: Source, forced: RecordFormat | None) -> Iterator[Item]:
    container = container_of(source, forced)
    if container == "parquet":
        from prefixlab.readers.tables import parquet_records

        return parquet_records(source.stream, source.path, seekable=source.seekable)
    if container == "csv":
        from prefixlab.readers.tables import csv_records

        separator = "," if ending(source.path) == ".csv" else "\t"
        return csv_records(_numbered_lines(source, blank=True), source.path, separator)
    if container == "text":
        return _text_lines(source)
    if container == "json_lines":
        return _json_lines(source)
    if container == "document":
        return _document(source.stream.read().removeprefix(_BOM), 1, source)
    return _server_lines(source) if container == "server_log" else _numbered_lines(source)


def _numbered_lines(source: Source, *, blank: bool = False) -> Iterator[Item]:
    """Lines with their numbers, `blank` ones only if wanted; a line feed ends a line and nothing else does."""
    readline = source.stream.readline
    number = 1
    line = readline(LONGEST_LINE).removeprefix(_BOM)
    while line:
        if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
            where = Location(source.path, number)
            yield number, bad_record(where, f"a line of more than {LONGEST_LINE >> 20} MiB", "Use --skip-bad")
            while line and not line.endswith(b"\n"):
                line = readline(LONGEST_LINE)
        elif blank or not line.isspace():
            yield number, line
        line = readline(LONGEST_LINE)
        number += 1


def _json_lines(source: Source) -> Iterator[Item]:
    """A record a line, unless the first line shows a pretty-printed document."""
    lines = _numbered_lines(source)
    for number, line in lines:
        if type(line) is bytes and opens_document(line):
            yield from _document(line + source.stream.read(), number, source)
        else:
            yield number, line
        break
    yield from lines


def opens_document(line: bytes) -> bool:
    """Whether a log's first line shows that its JSON is spread over lines."""
    return line.rstrip().endswith((b"{", b"[", b",", b":")) and not _is_json(line)


def _is_json(line: bytes) -> bool:
    try:
        orjson.loads(line)
    except orjson.JSONDecodeError:
        return False
    return True


def _document(data: bytes, line: int, source: Source) -> Iterator[Item]:
    from prefixlab.readers.json_documents import document_records

    for number, element in document_records(data, line):
        if element is None:
            where = Location(source.path, number)
            yield number, bad_record(where, "the JSON is cut", "Complete the document, or use --skip-bad")
        else:
            yield number, element


def _text_lines(source: Source) -> Iterator[Item]:
    """Prompts, one a line, without their line break."""
    for number, line in _numbered_lines(source):
        if isinstance(line, BadRecord):
            yield number, line
        else:
            bad = not_utf8(line, Location(source.path, number))
            yield number, bad or line.decode().removesuffix("\n").removesuffix("\r")


def _server_lines(source: Source) -> Iterator[Item]:
    """The lines of a server's log that tell of requests.

    Yields a `BadRecord` for a log that has none: it was written at a level that leaves them out.
    """
    told = False
    for item in request_lines(_numbered_lines(source)):
        told = True
        yield item
    if not told:
        yield (
            1,
            bad_record(
                Location(source.path, 1),
                "a text log that tells of no request",
                "vLLM writes them with --enable-log-requests at DEBUG, SGLang with --log-requests-level 3",
            ),
        )
