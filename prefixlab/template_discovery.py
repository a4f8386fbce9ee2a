"""Which files are templates, and of which dialect."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path

from prefixlab.contracts import Dialect
from prefixlab.dialects.documents import document
from prefixlab.dialects.made_files import makes_another_file
from prefixlab.errors import PrefixlabError
from prefixlab.prompt_templates import PromptTemplate
from prefixlab.registry import known_dialects
from prefixlab.template_files import STDIN, BadTemplate, TemplateFile

_SKIPPED = frozenset(
    (".git", ".hg", ".svn", ".venv", "venv", "node_modules", "__pycache__", ".tox", ".mypy_cache", ".ruff_cache",
     "site-packages", "build", "dist", ".eggs")
)  # fmt: skip
"""Folders in which nobody keeps prompts of their own."""

MOST_FILES = 100_000


class TemplateFiles:
    """Files with their dialects, in order of their paths."""

    def __init__(
        self,
        files: Sequence[tuple[TemplateFile, Dialect]],
        unread: Sequence[BadTemplate] = (),
        notes: Sequence[str] = (),
    ) -> None:
        self._files = files
        self.unread = tuple(unread)
        """What is wrong with files that are templates by their names and cannot be read."""
        self.notes = tuple(notes)

    def __len__(self) -> int:
        return len(self._files)

    def __iter__(self) -> Iterator[tuple[TemplateFile, Dialect]]:
        return iter(self._files)

    @classmethod
    def found(
        cls,
        paths: Sequence[str],
        *,
        dialect: str | None = None,
        roots: Sequence[str] = (),
        own_names: Sequence[str] = (),
        exclude: Sequence[str] = (),
        texts: Mapping[str, str] | None = None,
    ) -> TemplateFiles:
        """The templates at paths. A file that is named is read whatever it is called; in a folder those are taken
        that a dialect recognises. `texts` count in place of what the disk has, by real path.

        Raises:
            PrefixlabError: a path is not there, or a file that is named is of no dialect.
        """
        dialects = known_dialects()
        if dialect is not None and dialect not in dialects:
            raise PrefixlabError(f"there is no dialect {dialect!r}", f"Known: {', '.join(sorted(dialects))}")
        for root in roots:
            if not os.path.isdir(root):
                raise PrefixlabError("there is no such folder to search", "Check the path", path=root)
        search = _Search(dialect, [Path(root) for root in roots], own_names, exclude, texts)
        for path in map(os.path.normpath, paths):
            if os.path.isdir(path):
                search.folder(path)
            else:
                search.named(path)
        return cls([search.files[path] for path in sorted(search.files)], search.unread, search.notes)

    def whole(self) -> TemplateFiles:
        """The same, if all could be read.

        Raises:
            BadTemplate: one could not.
        """
        if self.unread:
            raise self.unread[0]
        return self


class _Search:
    """A search for templates, and what it found so far."""

    def __init__(
        self,
        dialect: str | None,
        roots: Sequence[Path],
        own_names: Sequence[str],
        exclude: Sequence[str],
        texts: Mapping[str, str] | None,
    ) -> None:
        self._known = known_dialects()
        self._dialect = dialect
        self._wanted = list(self._known.values()) if dialect is None else [self._known[dialect]]
        self._roots, self._own_names, self._exclude, self._texts = roots, own_names, exclude, texts
        self.files: dict[str, tuple[TemplateFile, Dialect]] = {}
        self.unread: list[BadTemplate] = []
        self._notes: list[str] = []
        self._data: list[str] = []

    def folder(self, folder: str) -> None:
        """All files that a dialect recognises."""
        roots = [*self._roots, Path(folder)]
        for path in _inside(folder, self._exclude):
            endings = [one for one in self._wanted if path.endswith(one.endings)]
            # A pipe would be waited for.
            if not endings or path in self.files or not (os.path.isfile(path) or os.path.islink(path)):
                continue
            try:
                file = TemplateFile.read(path, roots, self._own_names, self._texts)
            except BadTemplate as error:
                # Where the content has to tell, what is no text is no template.
                if any(one.recognises(TemplateFile(path, "")) for one in endings):
                    self.unread.append(error)
                else:
                    self._data.append(path)
                continue
            kind = next((one for one in endings if one.recognises(file)), None)
            if kind is not None and (self._dialect is not None or not makes_another_file(file)):
                self.files[path] = (file, kind)

    def named(self, path: str) -> None:
        """A file, whatever it is called.

        Raises:
            PrefixlabError: it is not there.
        """
        if path != STDIN and not os.path.exists(path):
            raise PrefixlabError("there is no such file or folder", "Check the path", path=path)
        if _is_one_of(path, self._exclude):
            self._notes.append(f"{path} is excluded.")
            return
        try:
            file = TemplateFile.read(path, self._roots, self._own_names, self._texts)
            file.is_named = True
            recognised = (one for one in self._wanted if one.recognises(file))
            kind = self._wanted[0] if self._dialect is not None else next(recognised, None)
            if kind is None:
                if path.endswith((".json", ".yaml", ".yml")):
                    # One that does not parse is of no dialect for that reason.
                    document(file)
                raise BadTemplate(
                    "is of no template dialect that is known",
                    f"Name one with --dialect: {', '.join(sorted(self._known))}",
                    path=path,
                )
            self.files[path] = (file, kind)
        except BadTemplate as error:
            self.unread.append(error)

    @property
    def notes(self) -> list[str]:
        """What was left out."""
        if not self._data:
            return self._notes
        more = f" and {len(self._data) - 3:,} more" if len(self._data) > 3 else ""
        said = ", ".join(self._data[:3])
        return [*self._notes, f"Left out, for they cannot be read as text or are too large: {said}{more}."]


def _is_one_of(path: str, patterns: Sequence[str]) -> bool:
    """Whether a pattern has the path, the file's name, or a folder that it is in."""
    if not patterns:
        return False
    names = set()
    for whole in (os.path.relpath(path), os.path.abspath(path)):
        parts = whole.split(os.sep)
        names |= {os.sep.join(parts[:depth]) for depth in range(1, len(parts) + 1)}
    names |= set(os.path.relpath(path).split(os.sep))
    return any(fnmatch(name, pattern.rstrip("/")) for pattern in patterns for name in names)


def _inside(folder: str, exclude: Sequence[str]) -> list[str]:
    """All files of a folder and of those in it, except in hidden and generated ones."""
    found = []
    for root, folders, names in os.walk(folder):
        folders[:] = sorted([one for one in folders if one not in _SKIPPED and not one.startswith(".")])
        for name in sorted(names):
            path = os.path.normpath(os.path.join(root, name))
            if not _is_one_of(path, exclude):
                found.append(path)
        if len(found) > MOST_FILES:
            raise PrefixlabError(f"holds more than {MOST_FILES:,} files", "Name a folder with templates", path=folder)
    return found


def read_templates(file: TemplateFile, dialect: Dialect) -> Iterator[PromptTemplate]:
    """The prompts of a file, one after another: those ahead of one that cannot be read come first.

    Raises:
        BadTemplate: it cannot be read as what it is.
    """
    try:
        yield from dialect.templates(file)
    except RecursionError:
        raise BadTemplate("is nested too deeply", "Correct it, or leave it out", path=file.path) from None
