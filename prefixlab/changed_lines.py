"""Which lines of which files were changed since a revision, and what these files held then, as Git tells it.

What is compared is the working tree with the last commit that it has in common with the revision: what others have
done there since is no change of ours. Files that Git does not know yet are changed all over.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from prefixlab.errors import PrefixlabError
from prefixlab.git_command import run_git
from prefixlab.prompt_templates import Place

_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_NAMED = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}


class ChangedLines:
    """Files by their real path, each with the stretches of lines that were changed or added."""

    def __init__(self) -> None:
        self._files: dict[str, list[range]] = {}
        self.notes: list[str] = []
        self.earlier = EarlierTexts()
        """The texts that changed files had."""

    @classmethod
    def since(cls, revision: str, paths: Sequence[str]) -> ChangedLines:
        """What was changed in the repositories in which paths lie.

        Raises:
            PrefixlabError: a path lies in no repository, or the revision is not known there.
        """
        if not revision or revision.startswith("-"):
            raise PrefixlabError(f"--diff {revision!r} is no revision", "Give a branch, a tag or a commit")
        changed = cls()
        for root in dict.fromkeys([_root(path) for path in paths]):
            changed._add_repository(root, revision)
        return changed

    def has(self, place: Place) -> bool:
        """Whether a place's line was changed."""
        return any(place.line in lines for lines in self._files.get(os.path.realpath(place.path), ()))

    def has_any(self, paths: Iterable[str]) -> bool:
        """Whether anything in one of these files was changed, be it only that lines were taken away."""
        return any(os.path.realpath(path) in self._files for path in paths)

    def _add_repository(self, root: str, revision: str) -> None:
        base = self._base(root, revision)
        diff = _git(
            root, "diff", "--unified=0", "--find-renames", "--text", "--no-color", "--no-ext-diff", "--no-textconv",
            "--no-relative", "--ignore-submodules", "--src-prefix=a/", "--dst-prefix=b/", base, "--",
        )  # fmt: skip
        for earlier, path, lines in _hunks(diff.split(b"\n")):
            self._files.setdefault(os.path.join(root, path), []).append(lines)
            if earlier is not None:
                self.earlier.add(os.path.join(root, path), root, f"{base}:{earlier}")
        for name in _git(root, "ls-files", "--others", "--exclude-standard", "-z").split(b"\0"):
            if name:
                self._files[os.path.join(root, os.fsdecode(name))] = [range(1, 1 << 62)]

    def _base(self, root: str, revision: str) -> str:
        """The last commit that the revision and the one that is checked out have in common."""
        wanted = f"{revision}^{{commit}}"
        commit = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", wanted, asked=revision)
        name = commit.decode("ascii").strip()
        done = run_git(root, "merge-base", name, "HEAD")
        if not done.returncode:
            return done.stdout.decode("ascii").strip()
        if _git(root, "rev-parse", "--is-shallow-repository").strip() == b"true":
            self.notes.append(f"The history is cut off: compared with {revision} itself, and what was done there.")
            return name
        raise PrefixlabError(f"--diff {revision}: it has no commit in common with what is checked out", "Give another")


class EarlierTexts(Mapping[str, str]):
    """What files held, by the real path that they have now; each is asked of Git when it is wanted."""

    def __init__(self) -> None:
        self._blobs: dict[str, tuple[str, str]] = {}
        self._texts: dict[str, str] = {}

    def add(self, path: str, root: str, blob: str) -> None:
        """A file, its repository, and what Git calls what it held."""
        self._blobs[path] = (root, blob)

    def __getitem__(self, path: str) -> str:
        if path not in self._texts:
            root, blob = self._blobs[path]
            data = _git(root, "cat-file", "blob", blob)
            self._texts[path] = data.decode("utf-8-sig", "replace")
        return self._texts[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._blobs)

    def __len__(self) -> int:
        return len(self._blobs)


def _hunks(lines: Iterable[bytes]) -> Iterable[tuple[str | None, str, range]]:
    """The stretches of a diff without context, each with its file's path before the change, if it was there, and now.

    The lines of a hunk are counted off: what is written in them may look like the head of a file.
    """
    earlier, path, left = None, None, 0
    for line in lines:
        if left and line[:1] in (b"+", b"-"):
            left -= 1
        elif line.startswith(b"--- "):
            earlier = _path(line[4:], b"a/")
        elif line.startswith(b"+++ "):
            path = _path(line[4:], b"b/")
        elif hunk := _HUNK.match(line):
            gone, start, come = hunk.groups()
            added = 1 if come is None else int(come)
            left = added + (1 if gone is None else int(gone))
            if path is not None:
                yield earlier, path, range(int(start), int(start) + added)


def _path(name: bytes, side: bytes) -> str | None:
    """The path on a side of a diff; None where the file is not there."""
    name = _unquoted(name)
    return os.fsdecode(name.removeprefix(side)) if name.startswith(side) else None


def _unquoted(name: bytes) -> bytes:
    """A file's name as Git quotes it: behind one with a blank stands a tab, one with odd characters is in quotes."""
    name = name.removesuffix(b"\t")
    if not (len(name) > 1 and name.startswith(b'"') and name.endswith(b'"')):
        return name

    def character(found: re.Match[bytes]) -> bytes:
        said = found[1]
        return bytes([int(said, 8)]) if len(said) == 3 else _NAMED.get(said, said)

    return _ESCAPE.sub(character, name[1:-1])


def _root(path: str) -> str:
    folder = path if os.path.isdir(path) else os.path.dirname(path) or "."
    return _root_of(os.path.realpath(folder))


@lru_cache(maxsize=4096)
def _root_of(folder: str) -> str:
    root = os.fsdecode(_git(folder, "rev-parse", "--show-toplevel").removesuffix(b"\n"))
    if not root:
        raise PrefixlabError(f"{folder} has no working tree", "Run --diff in a checkout")
    return os.path.realpath(root)


def _git(folder: str, *arguments: str, asked: str = "") -> bytes:
    done = run_git(folder, *arguments)
    if done.returncode == 0:
        return done.stdout
    if asked:
        raise PrefixlabError(f"--diff {asked}: Git knows no such revision here", "Fetch it, or give another one")
    said = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
    if "not a git repository" in said:
        raise PrefixlabError("--diff needs a Git repository, and this is none", "Leave --diff out", path=folder)
    raise PrefixlabError(f"--diff: git {arguments[0]} failed: {said}", "Mend that, or leave --diff out")
