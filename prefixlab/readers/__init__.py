"""Log formats: files of records in, requests out, exactly as logged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import BinaryIO

from prefixlab.contracts import ReadOptions, RecordFormat
from prefixlab.readers.formats import known_formats
from prefixlab.readers.reading import Reading


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


__all__ = ["ReadOptions", "Reading", "RecordFormat", "known_formats", "read_requests"]
