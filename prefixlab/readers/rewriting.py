"""A log read so that it can be written again: its records with what stands between them, byte for byte."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import orjson

from prefixlab.contracts import ReadOptions
from prefixlab.errors import PrefixlabError
from prefixlab.readers.containers import container_of, opens_document
from prefixlab.readers.envelope import as_object, envelope_of
from prefixlab.readers.formats import named_format
from prefixlab.readers.reading import LoggedRecord, Reading
from prefixlab.readers.sources import STDIN, expand, opened
from prefixlab.records import Location, Request

CONTAINERS = ("json_lines", "document", "text", "lines")
FORMATS = ("openai_chat", "openai_responses", "openai_batch", "anthropic", "plain", "langfuse")

Change = Callable[[int, LoggedRecord], bytes | None]
"""The new bytes of a record, which comes with its number from 0; None where it stays as it is."""


class WritableLog:
    """One log that is read several times, and can be written with some of its records changed.

    Raises:
        PrefixlabError: it is not one file, or of a kind whose texts have no place of their own in the file.
    """

    def __init__(
        self,
        path: str,
        options: ReadOptions,
        *,
        input_format: str | None = None,
        skip_bad: bool = False,
        stdin: BinaryIO | None = None,
    ) -> None:
        files = expand([path])
        if len(files) > 1:
            raise PrefixlabError(f"{path} is {len(files):,} files", "Give one log at a time")
        self.path = files[0]
        self.skipped = 0
        """Bad records of the newest pass."""
        self._options = options
        self._input_format = input_format
        self._skip_bad = skip_bad
        self._data = stdin.read() if self.path == STDIN and stdin is not None else None
        with self._opened() as source:
            self.container = container_of(source, None if input_format is None else named_format(input_format))
        if self.container not in CONTAINERS:
            kind = {"parquet": "Parquet", "csv": "CSV", "server_log": "a server's log"}[self.container]
            raise PrefixlabError(
                f"{kind} cannot be written back text by text",
                "Fix a log of JSON lines, a JSON array or a .txt file",
                path=self.path,
            )

    def records(self) -> Iterator[LoggedRecord]:
        """The records that can be used.

        Raises:
            BadRecord: one cannot, and bad ones are not to be skipped.
            PrefixlabError: one is of a format whose texts have no place of their own.
        """
        reading = Reading([self.path], self._options, input_format=self._input_format, skip_bad=self._skip_bad)
        with self._opened() as source:
            for record in reading.records(source):
                if record.format not in FORMATS:
                    raise PrefixlabError(
                        f"{record.format} cannot be written back text by text",
                        f"Fix a log of {', '.join(FORMATS)}",
                        path=self.path,
                        line=record.line,
                    )
                yield record
        self.skipped = reading.skipped

    def written(self, change: Change) -> Iterator[bytes]:
        """The log's bytes, decompressed, with records changed."""
        if self.container == "document":
            with self._opened() as source:
                yield from self._document(source.stream.read(), change)
            return
        with self._opened() as source:
            line = source.stream.readline()
            if self.container == "json_lines" and opens_document(line.removeprefix(b"\xef\xbb\xbf")):
                yield from self._document(line + source.stream.read(), change)
                return
            records = enumerate(self.records())
            number, record = next(records, (0, None))
            at = 1
            while line:
                if record is not None and record.line == at:
                    yield _with_record(line, record, change(number, record))
                    number, record = next(records, (0, None))
                else:
                    yield line
                line = source.stream.readline()
                at += 1

    def requests_of(self, record: LoggedRecord, new: bytes) -> tuple[Request, ...]:
        """The requests of a record with other bytes."""
        parsed: Any = new.decode() if isinstance(record.record, str) else orjson.loads(new)
        kind = named_format(record.format)
        return tuple(kind.requests(parsed, Location(self.path, record.line), self._options))

    def at(self, path: str) -> WritableLog:
        """The log at another path, read in the same way."""
        return WritableLog(path, self._options, input_format=self._input_format, skip_bad=self._skip_bad)

    def _document(self, data: bytes, change: Change) -> Iterator[bytes]:
        at = 0
        for number, record in enumerate(self.records()):
            start = data.index(bytes_of(record), at)
            yield data[at:start]
            at = start + len(bytes_of(record))
            new = change(number, record)
            yield data[start:at] if new is None else new
        yield data[at:]

    def _opened(self) -> Any:
        return opened(self.path, digest=False, stdin=None if self._data is None else io.BytesIO(self._data))


def _with_record(line: bytes, record: LoggedRecord, new: bytes | None) -> bytes:
    """The line with its record changed; the byte-order mark and the line's end stay."""
    if new is None:
        return line
    start = line.index(bytes_of(record))
    return line[:start] + new + line[start + len(bytes_of(record)) :]


def bytes_of(record: LoggedRecord) -> bytes:
    """A record as it stands in the log."""
    return record.logged if isinstance(record.logged, bytes) else str(record.logged).encode()


def body_of(record: Any) -> tuple[tuple[str, ...], Any]:
    """The keys from a parsed record to its body, and the body."""
    if type(record) is not dict:
        return (), record
    envelope = envelope_of(record)
    return envelope.body_path(), envelope.body


def value_in(record: Any, keys: tuple[str, ...]) -> Any:
    """The object at the end of some keys, also where a log holds one as text."""
    for key in keys:
        record = (as_object(record) or {}).get(key)
    return as_object(record) or record
