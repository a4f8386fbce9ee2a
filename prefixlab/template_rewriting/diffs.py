"""Unified diffs that `patch -p1` and `git apply` take."""

from __future__ import annotations

import os
from difflib import unified_diff


def unified(path: str, before: str, after: str) -> str:
    """The difference of two texts of a file; empty where there is none."""
    name = path.replace(os.sep, "/").lstrip("/")
    made = []
    for line in unified_diff(_lines(before), _lines(after), f"a/{name}", f"b/{name}"):
        made.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return "".join(made)


def _lines(text: str) -> list[str]:
    """The lines with their ends; a carriage return is a part of its line."""
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]
