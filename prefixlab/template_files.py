"""Template files: their text, and the files that they include, found where the project says."""

from __future__ import annotations

import io
import os
import sys
import tokenize
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from prefixlab.errors import PrefixlabError

MOST_BYTES = 4_000_000
"""Bytes of a template file; a larger one is data."""


STDIN = "-"
_OF_A_SHELL = ("/dev/fd/", "/proc/self/fd/", "/dev/stdin")


class BadTemplate(PrefixlabError):
    """A template file that cannot be read as what it is."""

    @classmethod
    def at(cls, place: tuple[str, int, int], what: str, todo: str) -> BadTemplate:
        """One whose fault stands at a `Place`."""
        path, line, column = place
        return cls(what, todo, path=path, line=line, column=column)


class TemplateFile:
    """A file's text, by the path that reports show."""

    def __init__(
        self,
        path: str,
        text: str,
        roots: Sequence[Path] = (),
        own_names: Collection[str] = (),
        texts: Mapping[str, str] | None = None,
    ) -> None:
        self.path = path
        self.text = text
        self.roots = tuple(roots)
        """Folders in which what it includes is looked for, beside its own."""
        self.own_names = own_names
        """Filters and tests that the project adds to Jinja2."""
        self.encoding = "utf-8"
        """What the file says of its bytes, or UTF-8."""
        self.is_named = False
        """Whether somebody asked for this file by its name."""
        self.texts = texts or {}
        """Texts that count in place of what the disk has, by real path: files before a change of theirs is written."""

    @classmethod
    def read(
        cls,
        path: str | Path,
        roots: Sequence[Path] = (),
        own_names: Collection[str] = (),
        texts: Mapping[str, str] | None = None,
    ) -> TemplateFile:
        """The file at a path.

        Raises:
            BadTemplate: it cannot be read, is not UTF-8 text, or is too large.
        """
        shown = os.fspath(path)
        if texts and (changed := texts.get(os.path.realpath(path))) is not None:
            return cls(shown, changed, roots, own_names, texts)
        try:
            # A pipe may wait for ever; those that a shell makes for us come with their text.
            if os.path.exists(path) and not (os.path.isfile(path) or shown.startswith(_OF_A_SHELL)):
                raise BadTemplate("is no regular file", "Leave it out", path=shown)
            if shown == STDIN:
                data = sys.stdin.buffer.read(MOST_BYTES + 1)
            else:
                with open(path, "rb") as stream:
                    data = stream.read(MOST_BYTES + 1)
        except OSError as error:
            raise BadTemplate(f"cannot be read: {error.strerror or error}", "Check the path", path=shown) from None
        if len(data) > MOST_BYTES:
            raise BadTemplate("is larger than 4 MB, too large for a template", "Leave it out", path=shown)
        encoding = encoding_of(data) if shown.endswith(".py") else "utf-8-sig"
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError as error:
            before = error.object[: error.start].decode()
            place = shown, before.count("\n") + 1, len(before) - before.rfind("\n")
            raise BadTemplate.at(place, "is not UTF-8 text", "Save it as UTF-8") from None
        file = cls(shown, text, roots, own_names, texts)
        file.encoding = "utf-8" if encoding == "utf-8-sig" else encoding
        return file

    def with_text(self, text: str) -> TemplateFile:
        """The same place with another text, such as one that a value of the file holds."""
        return TemplateFile(self.path, text, self.roots, self.own_names, self.texts)

    def other(self, name: str, *, in_project: bool = False) -> TemplateFile | None:
        """The file that this one calls `name`: beside it, then in its roots; None where there is none.

        A name cannot lead out of these folders; with `in_project`, not out of the project.
        """
        own = Path(self.path).parent
        for folder in (own, *self.roots):
            found = folder / name
            if _is_file_inside(found, folder):
                return TemplateFile.read(found, self.roots, self.own_names, self.texts)
        if in_project:
            found = own / name
            if any(_is_file_inside(found, folder) for folder in (_project_of(own), *self.roots)):
                plain = os.path.normpath(found)
                shown = plain if os.path.realpath(plain) == os.path.realpath(found) else os.fspath(found)
                return TemplateFile.read(shown, self.roots, self.own_names, self.texts)
        return None


_PROJECT_MARKS = (".git", "pyproject.toml")


def _project_of(folder: Path) -> Path:
    """The nearest folder from this one up that is a project's; itself where none is."""
    whole = Path(os.path.realpath(folder))
    for one in (whole, *whole.parents):
        if any((one / mark).exists() for mark in _PROJECT_MARKS):
            return one
    return whole


def encoding_of(data: bytes) -> str:
    """The encoding that the first lines of a Python module name, as Python reads them; else UTF-8."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError:
        return "utf-8-sig"
    return "utf-8-sig" if encoding == "utf-8" else encoding


def _is_file_inside(path: Path, folder: Path) -> bool:
    try:
        return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)) and path.is_file()
    except (OSError, ValueError):
        # Names that no file can have: too long, or with a null in it.
        return False
