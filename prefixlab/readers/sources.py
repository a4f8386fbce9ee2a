"""From what the user named to open streams: files, folders, globs, standard input, compressed or not."""

from __future__ import annotations

import glob
import io
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

from prefixlab.errors import PrefixlabError
from prefixlab.readers.complaints import shown

STDIN = "-"
LOG_ENDINGS = (".jsonl", ".ndjson", ".json", ".csv", ".parquet", ".txt", ".log")
_COMPRESSED_ENDINGS = (".gz", ".zst")
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_BUFFER = 1 << 18


Stream = Any  # an io.BufferedReader; what lies below it differs


class DamagedArchive(Exception):
    """A compressed stream that is cut or not what it says; what was read before it is sound."""


def expand(paths: Sequence[str]) -> list[str]:
    """The files that the paths mean: folders by their log files, patterns that the shell left by their matches.

    Raises:
        PrefixlabError: a path leads to nothing.
    """
    files: list[str] = []
    for path in paths:
        if path == STDIN or (os.path.exists(path) and not os.path.isdir(path)):
            files.append(path)
        elif os.path.isdir(path):
            files += _in_folder(path)
        else:
            files += _matching(path)
    if not files:
        raise PrefixlabError("no log given", "Name a file, a folder, or - for standard input")
    return files


def _in_folder(path: str) -> list[str]:
    found = []
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [
            os.path.join(folder, name)
            for name in sorted(names)
            if not name.startswith(".") and ending(name) in LOG_ENDINGS
        ]
    if not found:
        raise PrefixlabError(
            "the folder holds no log",
            f"Log files end with {', '.join(LOG_ENDINGS)}, perhaps with .gz or .zst",
            path=path,
        )
    return found


def _matching(path: str) -> list[str]:
    if not glob.has_magic(path):
        raise PrefixlabError("no such file or folder", "Check the path", path=path)
    matches = sorted(glob.glob(path, recursive=True))
    if not matches:
        raise PrefixlabError("the pattern matches no file", "Check the path", path=path)
    return [file for match in matches for file in (_in_folder(match) if os.path.isdir(match) else [match])]


def ending(path: str) -> str:
    """The ending that tells a file's form, without that of its compression."""
    stem, last = os.path.splitext(path.lower())
    return os.path.splitext(stem)[1] if last in _COMPRESSED_ENDINGS else last


class Source:
    """An open input: `stream` gives its decompressed bytes, `sha256()` the digest of the file as it lies."""

    def __init__(self, path: str, raw: Stream, digest: _Digesting | None) -> None:
        self.path = path
        self.stream = _decompressed(raw, path)
        self._raw = raw
        self._digest = digest

    @property
    def seekable(self) -> bool:
        """Whether the file's own bytes are at hand, in any order."""
        return self.stream is self._raw and self._digest is None and bool(self._raw.seekable())

    def sha256(self) -> str | None:
        """The digest, if it was asked for; reads what nobody has read yet."""
        if self._digest is None:
            return None
        while self._raw.read(_BUFFER):
            pass
        return self._digest.hash.hexdigest()


@contextmanager
def opened(path: str, *, digest: bool, stdin: BinaryIO | None) -> Iterator[Source]:
    """The source at `path`, closed in the end unless it is standard input.

    Raises:
        PrefixlabError: the file cannot be read.
    """
    try:
        file = (stdin or sys.stdin.buffer) if path == STDIN else open(path, "rb", buffering=0)  # noqa: SIM115
    except OSError as error:
        raise unreadable(path, error) from None
    digesting = _Digesting(file) if digest else None
    raw = io.BufferedReader(cast("io.RawIOBase", digesting or file), _BUFFER)
    try:
        yield Source(path, raw, digesting)
    finally:
        if path == STDIN:
            raw.detach()
        else:
            raw.close()
            file.close()


def unreadable(path: str, error: OSError) -> PrefixlabError:
    """The complaint about a file that the system does not let us read."""
    return PrefixlabError(f"cannot be read: {error.strerror or shown(str(error))}", "Check the path", path=path)


def _decompressed(raw: Stream, path: str) -> Stream:
    try:
        start = raw.peek(4)
    except OSError as error:
        raise unreadable(path, error) from None
    if start.startswith(_GZIP):
        import gzip

        return io.BufferedReader(cast("io.RawIOBase", gzip.GzipFile(fileobj=raw)), _BUFFER)
    if start.startswith(_ZSTD):
        return io.BufferedReader(_Zstd(raw), _BUFFER)
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise PrefixlabError("the text is UTF-16", "Convert it to UTF-8", path=path)
    return raw


class _Digesting(io.RawIOBase):
    """Passes bytes through and takes their digest."""

    def __init__(self, file: io.RawIOBase | BinaryIO) -> None:
        import hashlib

        self._file = file
        self.hash = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        data = self._file.read(len(buffer)) or b""
        buffer[: len(data)] = data
        self.hash.update(data)
        return len(data)


class _Zstd(io.RawIOBase):
    """Decompressed frames; unlike the library's own reader it notices a stream that is cut.

    Little is fed at a time, so that a bomb cannot unfold in memory at once.
    """

    _FEED = 1024

    def __init__(self, raw: Stream) -> None:
        import zstandard

        self._error = zstandard.ZstdError
        self._decompressor = zstandard.ZstdDecompressor(max_window_size=1 << 31)
        self._frame = self._decompressor.decompressobj()
        self._raw = raw
        self._ready = memoryview(b"")
        self._unused = b""
        self._inside = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        while not self._ready:
            data = self._unused or self._raw.read(self._FEED)
            self._unused = b""
            if not data:
                if self._inside:
                    raise DamagedArchive("the zstd stream is cut")
                return 0
            if not self._inside:
                self._frame = self._decompressor.decompressobj()
            try:
                self._ready = memoryview(self._frame.decompress(data))
            except self._error:
                raise DamagedArchive("the zstd stream is damaged") from None
            self._inside = not self._frame.eof
            self._unused = self._frame.unused_data
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count
