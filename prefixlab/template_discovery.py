"""Which files are templates, and of which dialect."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path

from prefixlab.contracts import Dialect
from prefixlab.dialects.made_files import makes_another_file
from prefixlab.errors import PrefixlabError
from prefixlab.prompt_templates import PromptTemplate
from prefixlab.registry import known_dialects
from prefixlab.template_files import BadTemplate, TemplateFile

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
        wanted = list(dialects.values()) if dialect is None else [dialects[dialect]]
        files: dict[str, tuple[TemplateFile, Dialect]] = {}
        unread: list[BadTemplate] = []
        notes: list[str] = []
        data: list[str] = []
        for path in map(os.path.normpath, paths):
            folders = [Path(root) for root in roots]
            if os.path.isdir(path):
                folders.append(Path(path))
                for inside in _inside(path, exclude):
                    endings = [one for one in wanted if inside.endswith(one.endings)]
                    if not endings or inside in files:
                        continue
                    try:
                        file = TemplateFile.read(inside, folders, own_names, texts)
                    except BadTemplate as error:
                        # Where the content has to tell, what is no text is no template.
                        if any(one.recognises(TemplateFile(inside, "")) for one in endings):
                            unread.append(error)
                        else:
                            data.append(inside)
                        continue
                    kind = next((one for one in endings if one.recognises(file)), None)
                    if kind is not None and (dialect is not None or not makes_another_file(file)):
                        files[inside] = (file, kind)
                continue
            if not os.path.exists(path):
                raise PrefixlabError("there is no such file or folder", "Check the path", path=path)
            if _is_one_of(path, exclude):
                notes.append(f"{path} is excluded.")
                continue
            try:
                file = TemplateFile.read(path, folders, own_names, texts)
                file.is_named = True
                kind = wanted[0] if dialect is not None else next((one for one in wanted if one.recognises(file)), None)
                if kind is None:
                    raise BadTemplate(
                        "is of no template dialect that is known",
                        f"Name one with --dialect: {', '.join(sorted(dialects))}",
                        path=path,
                    )
                files[path] = (file, kind)
            except BadTemplate as error:
                unread.append(error)
        if data:
            more = f" and {len(data) - 3:,} more" if len(data) > 3 else ""
            notes.append(f"Left out, for they cannot be read as text or are too large: {', '.join(data[:3])}{more}.")
        return cls([files[path] for path in sorted(files)], unread, notes)

    def whole(self) -> TemplateFiles:
        """The same, if all could be read.

        Raises:
            BadTemplate: one could not.
        """
        if self.unread:
            raise self.unread[0]
        return self


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


def read_templates(file: TemplateFile, dialect: Dialect) -> list[PromptTemplate]:
    """The prompts of a file.

    Raises:
        BadTemplate: it cannot be read as what it is.
    """
    try:
        return list(dialect.templates(file))
    except RecursionError:
        raise BadTemplate("is nested too deeply", "Correct it, or leave it out", path=file.path) from None
