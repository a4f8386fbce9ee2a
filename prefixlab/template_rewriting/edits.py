"""Stretches of a text that are written otherwise, and why one is not."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from prefixlab.prompt_templates import Place

_LINE_BREAK = re.compile("\r\n|\r|\n")


class Refused(Exception):
    """Why nothing is rewritten: half a sentence."""


class Edit(NamedTuple):
    """The text between two offsets, and what takes its place."""

    start: int
    end: int
    text: str


def applied(text: str, edits: Iterable[Edit]) -> str:
    """The text with the edits, which do not overlap; all else stays as it is."""
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def offset_of(text: str, place: Place) -> int:
    """The offset of a place.

    Raises:
        Refused: the text has no such place.
    """
    starts = [0, *[found.end() for found in _LINE_BREAK.finditer(text)]]
    if not 0 < place.line <= len(starts) or starts[place.line - 1] + place.column - 1 > len(text):
        raise Refused("its place is not in the file")
    return starts[place.line - 1] + place.column - 1
