"""What holds the records: lines of JSON, a JSON document, a table, lines of text.

A container gives pairs of a line and what stands there: `bytes` that are yet to be parsed, a parsed record, or the
`BadRecord` that the place amounts to. It streams; only a JSON document and a Parquet file from a pipe are read whole.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

from prefixlab.contracts import RecordFormat
from prefixlab.errors import BadRecord, PrefixlabError
from prefixlab.readers.complaints import bad_record
from prefixlab.readers.diagnosis import not_utf8
from prefixlab.readers.sources import DamagedArchive, Source, ending, unreadable
from prefixlab.records import Location

Item = tuple[int, Any]

LONGEST_LINE = 1 << 29
_BOM = b"\xef\xbb\xbf"


def records_of(source: Source, forced: RecordFormat | None) -> Iterator[Item]:
    """The records of a source, by the ending of its name, else by its first bytes."""
    line = 0
    try:
        for line, item in _chosen(source, forced):
            yield line, item
    except (DamagedArchive, EOFError, zlib.error) as error:
        what = str(error) if isinstance(error, DamagedArchive) else "the gzip stream is cut or damaged"
        yield line + 1, bad_record(Location(source.path, line + 1), what, "Compress the log again, or use --skip-bad")
    except OSError as error:  # gzip's own complaint about a damaged header is one
        raise unreadable(source.path, error) from None


def _chosen(source: Source, forced: RecordFormat | None) -> Iterator[Item]:
    kind = ending(source.path)
    if kind == ".txt" or (forced is not None and forced.name == "plain" and not _looks_like_json(source)):
        return _text_lines(source)
    return _json_lines(source)


def _looks_like_json(source: Source) -> bool:
    return source.stream.peek(1024).removeprefix(_BOM).lstrip()[:1] in (b"{", b"[")


def numbered_lines(source: Source) -> Iterator[Item]:
    """Lines with their numbers, blank ones left out; a line break is a line feed and nothing else."""
    readline = source.stream.readline
    number = 1
    line = readline(LONGEST_LINE).removeprefix(_BOM)
    while line:
        if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
            where = Location(source.path, number)
            yield number, bad_record(where, f"a line of more than {LONGEST_LINE >> 20} MiB", "Use --skip-bad")
            while line and not line.endswith(b"\n"):
                line = readline(LONGEST_LINE)
        elif not line.isspace():
            yield number, line
        line = readline(LONGEST_LINE)
        number += 1


def _json_lines(source: Source) -> Iterator[Item]:
    return numbered_lines(source)


def _text_lines(source: Source) -> Iterator[Item]:
    """Prompts, one a line, without their line break."""
    for number, line in numbered_lines(source):
        if isinstance(line, BadRecord):
            yield number, line
            continue
        bad = not_utf8(line, Location(source.path, number))
        yield number, bad or line.decode().removesuffix("\n").removesuffix("\r")


__all__ = ["Item", "PrefixlabError", "records_of"]
