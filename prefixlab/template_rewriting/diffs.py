"""Unified diffs that `patch -p1` and `git apply` take."""

from __future__ import annotations

import os
from collections.abc import Iterable
from difflib import unified_diff

MARK = "\ufeff"


def mark_of(path: str) -> str:
    """The mark that a file begins with, which is no part of its text; empty where it has none."""
    with open(path, "rb") as stream:
        return MARK if stream.read(3) == MARK.encode() else ""


def unified(changes: Iterable[tuple[str, str, str]]) -> str:
    """The differences of files: path, text before and text after; empty where there are none.

    Paths are those from the current folder. Where a file is outside of it they are those from the folder above that
    has all of them, for neither program follows a path that goes up, and a line ahead says where to apply it. A file's
    mark stands ahead of its first line in the diff as well.
    """
    changed = [(_from_here(path), before, after) for path, before, after in changes if before != after]
    above = os.sep.join([os.pardir] * max([_steps_up(path) for path, _, _ in changed], default=0))
    made = []
    for path, before, after in changed:
        name = (os.path.relpath(path, above) if above else path).replace(os.sep, "/").lstrip("/")
        # Without a tab behind it a name ends at its first blank.
        ends = "\t" if " " in name else ""
        mark = mark_of(path) if os.path.isfile(path) else ""
        for line in unified_diff(_lines(mark + before), _lines(mark + after), f"a/{name}{ends}", f"b/{name}{ends}"):
            made.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    if above and made:
        folder = above.replace(os.sep, "/")
        made.insert(
            0, f"# Paths are those from {folder}: apply it with git -C {folder} apply, or patch -p1 -d {folder}\n"
        )
    return "".join(made)


def _from_here(path: str) -> str:
    try:
        return os.path.relpath(path)
    except ValueError:
        # Another drive.
        return path


def _steps_up(path: str) -> int:
    parts = path.split(os.sep)
    return next((number for number, part in enumerate(parts) if part != os.pardir), len(parts))


def _lines(text: str) -> list[str]:
    """The lines with their ends; a carriage return is a part of its line."""
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]
