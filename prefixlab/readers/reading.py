"""The streaming read of a log: containers give records, formats turn them into requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple

import orjson

from prefixlab.contracts import ReadOptions, RecordFormat
from prefixlab.errors import BadRecord
from prefixlab.findings import Input
from prefixlab.readers.containers import records_of
from prefixlab.readers.diagnosis import not_json
from prefixlab.readers.formats import format_of, named_format
from prefixlab.readers.sources import Source, expand, opened
from prefixlab.records import Location, Request

KEPT_ERRORS = 5


class LoggedRecord(NamedTuple):
    """A record as it stands in a log, and the requests that are read from it."""

    line: int
    logged: Any
    """Its bytes, or what its container made of them."""
    record: Any
    """Parsed."""
    format: str
    requests: tuple[Request, ...]


class Reading:
    """Requests of several inputs in file order; iterate it once.

    When the iteration is over, `inputs` tells what each file held, `errors` the first bad records that were skipped
    (`skipped` counts all), and `notes` what a reader of the report should know about the log.
    """

    def __init__(
        self,
        paths: Sequence[str],
        options: ReadOptions,
        *,
        input_format: str | None = None,
        skip_bad: bool = False,
        limit: int | None = None,
        stdin: BinaryIO | None = None,
        digest: bool = False,
    ) -> None:
        self.paths = expand(paths)
        self.inputs: list[Input] = []
        self.errors: list[BadRecord] = []
        self.skipped = 0
        self._options = options
        self._forced = None if input_format is None else named_format(input_format)
        self._skip_bad = skip_bad
        self._limit = limit
        self._stdin = stdin
        self._digest = digest
        self._notes: Counter[str] = Counter()
        self._formats: list[str] = []

    @property
    def notes(self) -> list[str]:
        """Sentences about what the log lacks."""
        return [f"{count} request{'s' if count > 1 else ''}: {note}" for note, count in sorted(self._notes.items())]

    def __iter__(self) -> Iterator[Request]:
        left = self._limit
        for path in self.paths:
            if left is not None and left <= 0:
                return
            count, skipped_before = 0, self.skipped
            self._formats = []
            with opened(path, digest=self._digest, stdin=self._stdin) as source:
                for request in self._requests(source):
                    count += 1
                    yield request
                    if left is not None and count >= left:
                        break
                digest = source.sha256()
            left = None if left is None else left - count
            self.inputs.append(
                Input(path, ", ".join(self._formats) or "empty", count, self.skipped - skipped_before, digest)
            )

    def _requests(self, source: Source) -> Iterator[Request]:
        for record in self.records(source):
            yield from record.requests

    def records(self, source: Source) -> Iterator[LoggedRecord]:
        """The records of one input that can be used.

        Raises:
            BadRecord: one cannot, and bad ones are not to be skipped.
        """
        path, options, loads = source.path, self._options, orjson.loads
        current = self._forced
        notes_of = self._met(current) if current else None
        for line, item in records_of(source, self._forced):
            where = Location(path, line)
            logged = item
            try:
                if type(item) is bytes:
                    try:
                        item = loads(item)
                    except orjson.JSONDecodeError as error:
                        raise not_json(item, error, where) from None
                elif isinstance(item, BadRecord):
                    raise item
                if self._forced is None and (current is None or not current.recognises(item)):
                    current = format_of(item, where)
                    notes_of = self._met(current)
                assert current is not None
                requests = tuple(current.requests(item, where, options))
                if notes_of is not None:
                    self._notes.update(notes_of(item))
            except BadRecord as error:
                self._skip(error)
                continue
            yield LoggedRecord(line, logged, item, current.name, requests)

    def _met(self, current: RecordFormat) -> Any:
        """Notes that a format is met in the current input; returns its `notes` function, where it has one."""
        if current.name not in self._formats:
            self._formats.append(current.name)
        return getattr(current, "notes", None)

    def _skip(self, error: BadRecord) -> None:
        if not self._skip_bad:
            raise error
        self.skipped += 1
        if len(self.errors) < KEPT_ERRORS:
            self.errors.append(error)
