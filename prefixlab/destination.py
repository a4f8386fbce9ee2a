"""Where a report goes: standard output, a file that is put in place whole, or a pipe or device that is written to."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from prefixlab.errors import PrefixlabError
from prefixlab.readers.sources import STDIN, expand

_STDOUT = ("-", "/dev/stdout")


class Destination:
    """What `-o` names, checked before any log is read.

    Raises:
        PrefixlabError: nothing can be written there, or it is one of `logs`, the files that are read.
    """

    def __init__(self, named: str, logs: Sequence[str], option: str = "-o") -> None:
        self.named = named
        self._option = option
        self.is_stdout = named in _STDOUT
        self.is_stream = self.is_stdout
        """Whether it takes bytes as they come; else it is a regular file, there already or not."""
        if self.is_stdout:
            return
        if not named:
            raise PrefixlabError(f"{option} names no file", "Give a file, or - for standard output")
        found = self._found()
        if found is None:
            if named.endswith(os.sep) or not os.path.isdir(os.path.dirname(os.path.realpath(named))):
                raise PrefixlabError(
                    f"the folder of {named} does not exist", f"Make it first, or give another file to {option}"
                )
            return
        if stat.S_ISDIR(found.st_mode):
            raise PrefixlabError(f"{named} is a folder", f"Give a file to {option}")
        self.is_stream = not stat.S_ISREG(found.st_mode)
        self.refuse(expand(logs) if logs else ())

    def refuse(self, read: Iterable[str]) -> None:
        """Check that it is none of the files that are read.

        Raises:
            PrefixlabError: it is one.
        """
        found = None if self.is_stdout else self._found()
        if found is not None and not stat.S_ISCHR(found.st_mode) and any([_is(path, found) for path in read]):
            raise PrefixlabError(f"{self.named} is one of the files to read", f"Give another file to {self._option}")

    def write(self, document: bytes) -> None:
        """Writes the whole document, or nothing: a file is put in place only when it is complete.

        Raises:
            PrefixlabError: the system does not let us.
        """
        if self.is_stdout:
            sys.stdout.buffer.write(document)
            sys.stdout.buffer.flush()
            return
        try:
            if self.is_stream:
                with open(self.named, "wb") as stream:
                    stream.write(document)
            else:
                _put(document, os.path.realpath(self.named))
        except BrokenPipeError:
            raise
        except OSError as error:
            raise self._unwritable(error) from error

    @contextmanager
    def staged(self, ending: str) -> Iterator[tuple[str, Callable[[], None]]]:
        """A file to fill and look at, and what puts it in place; without that nothing is written.

        Its name ends like the destination's, or with `ending` where that is no file.

        Raises:
            PrefixlabError: the system does not let us.
        """
        try:
            if self.is_stream:
                with tempfile.TemporaryDirectory(prefix="prefixlab-") as folder:
                    path = os.path.join(folder, f"staged{ending}")
                    yield path, lambda: self._copy(path)
                return
            target = os.path.realpath(self.named)
            folder, name = os.path.split(target)
            path = os.path.join(folder, f".{os.getpid()}.part.{name[-200:]}")
            try:
                yield path, lambda: _replace(path, target)
            finally:
                if os.path.exists(path):
                    os.unlink(path)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise self._unwritable(error) from error

    def _copy(self, path: str) -> None:
        """Sends a file's bytes to the stream."""
        with open(path, "rb") as staged:
            if self.is_stdout:
                shutil.copyfileobj(staged, sys.stdout.buffer)
                sys.stdout.buffer.flush()
            else:
                with open(self.named, "wb") as stream:
                    shutil.copyfileobj(staged, stream)

    def _found(self) -> os.stat_result | None:
        try:
            return os.stat(self.named)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> PrefixlabError:
        return PrefixlabError(f"cannot write {self.named}: {error.strerror}", f"Give another file to {self._option}")


def write_over(path: str, document: bytes) -> None:
    """Writes a file that is there anew, whole or not at all.

    Raises:
        PrefixlabError: the system does not let us.
    """
    try:
        _put(document, os.path.realpath(path))
    except OSError as error:
        raise PrefixlabError(f"cannot be written: {error.strerror}", "Make it writable", path=path) from error


def _is(log: str, found: os.stat_result) -> bool:
    """Whether a log is the file that was found, by whatever name."""
    try:
        return os.path.samestat(os.fstat(sys.stdin.fileno()) if log == STDIN else os.stat(log), found)
    except OSError:
        return False


def _put(document: bytes, target: str) -> None:
    """Puts a file in place in one step. It keeps the rights of the one it replaces."""
    folder, name = os.path.split(target)
    part = os.path.join(folder, f".{name[:200]}.{os.getpid()}.part")
    with open(part, "xb") as file:
        try:
            file.write(document)
            file.flush()
            _replace(part, target)
        except BaseException:
            os.unlink(part)
            raise


def _replace(part: str, target: str) -> None:
    """The part takes the target's place and its rights."""
    if os.path.exists(target):
        shutil.copymode(target, part)
    os.replace(part, target)
