"""Log formats: files of records in, requests out, exactly as logged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, BinaryIO

from prefixlab.contracts import ReadOptions, RecordFormat
from prefixlab.errors import BadRecord
from prefixlab.readers.formats import format_of, known_formats
from prefixlab.readers.reading import Reading
from prefixlab.records import Location, Request


def read_requests(
    paths: Sequence[str],
    options: ReadOptions | None = None,
    *,
    input_format: str | None = None,
    skip_bad: bool = False,
    limit: int | None = None,
    stdin: BinaryIO | None = None,
    digest: bool = False,
) -> Reading:
    """Reads logs: iterate the result for the requests, then ask it for `inputs`, `errors`, `skipped` and `notes`.

    `paths` are files, folders, patterns, and `-` for standard input. `skip_bad` counts bad records and goes on;
    `digest` takes the SHA-256 of each file while it is read.

    Raises:
        PrefixlabError: a path leads to nothing or cannot be read, or the format is not known.
        BadRecord: while iterating, the first record that cannot be used, unless `skip_bad`.
    """
    return Reading(
        paths,
        options or ReadOptions(),
        input_format=input_format,
        skip_bad=skip_bad,
        limit=limit,
        stdin=stdin,
        digest=digest,
    )


def requests_of(
    records: Iterable[Any],
    options: ReadOptions | None = None,
    *,
    refused: Callable[[BadRecord], None] | None = None,
) -> Iterator[Request]:
    """The requests of records that are in memory already, recognised by content; a `Request` passes as it is.

    `refused` is told of each record that cannot be used.

    Raises:
        BadRecord: a record that cannot be used, unless there is `refused`; its line is its number.
    """
    for number, record in enumerate(records, 1):
        if isinstance(record, Request):
            yield record
            continue
        where = Location("records", number)
        try:
            requests = tuple(format_of(record, where).requests(record, where, options or ReadOptions()))
        except BadRecord as error:
            if refused is None:
                raise
            refused(error)
        else:
            yield from requests


__all__ = ["ReadOptions", "Reading", "RecordFormat", "known_formats", "read_requests", "requests_of"]
