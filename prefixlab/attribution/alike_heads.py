"""Heads of few lines that have no line in common: of one family still if most of their words stand side by side in
both, or if their longest lines begin and end alike.

A prompt of one line with a clock in it is another line in every request. Only heads that no line tells are looked at,
and they are compared with the families met last, so that a log of texts that have nothing in common costs little.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from prefixlab.attribution.line_template import in_common
from prefixlab.records import Namespace, Piece, Run

ALIKE = 0.5
"""Part of the longer head, in characters, whose pairs of neighbouring words the other has too; or of the longer line
that both have at their ends."""

FEW_LINES = 4
"""Lines up to which a head may have a value in each of them."""

MOST_CHARS = 3000
"""Characters of a head that are compared. A longer one has lines, or is cut at its words."""

MOST_COMPARED = 16
"""Families with which a head is compared."""

LEAST_CHARS = 60
"""Characters in common below which two heads are no template."""

_WORD = re.compile(r"[^\W_]+")


class Head(NamedTuple):
    """What is compared of a head."""

    pairs: dict[tuple[str, str], int]
    """Neighbouring words, with the characters of both."""
    chars: int
    """The characters of all of them."""
    line: str
    """The longest line."""


class AlikeHeads:
    """The families met last, by the heads that began them."""

    def __init__(self) -> None:
        self._latest: dict[Namespace, dict[int, Head]] = {}

    def family(self, namespace: Namespace, head: Head) -> int | None:
        """The newest family that begins alike."""
        latest = self._latest.get(namespace, {})
        for family in reversed(latest):
            if _are_alike(head, latest[family]):
                latest[family] = latest.pop(family)
                return family
        return None

    def keep(self, namespace: Namespace, head: Head, family: int) -> None:
        """Take in the head that began a family."""
        latest = self._latest.setdefault(namespace, {})
        latest[family] = head
        if len(latest) > MOST_COMPARED:
            del latest[next(iter(latest))]


def _are_alike(one: Head, other: Head) -> bool:
    common = sum([one.pairs[pair] for pair in one.pairs.keys() & other.pairs.keys()])
    if common >= LEAST_CHARS and common >= ALIKE * max(one.chars, other.chars):
        return True
    common = in_common(one.line, other.line)
    return common >= LEAST_CHARS and common >= ALIKE * max(len(one.line), len(other.line))


def is_of_few_lines(runs: Mapping[Run, int]) -> bool:
    """Whether a head, given as its runs with their tokens, has few lines or one that is most of it."""
    return len(runs) <= FEW_LINES or 2 * max(runs.values()) >= sum(runs.values())


def head_of(pieces: Sequence[Piece]) -> Head:
    """What is compared of a head: its beginning, and its longest line."""
    text = ""
    for piece in pieces:
        for run in piece.runs:
            text += run.text[:MOST_CHARS]
            if len(text) >= MOST_CHARS:
                break
    words = _WORD.findall(text[:MOST_CHARS])
    pairs = {(one, other): len(one) + len(other) for one, other in pairwise(words)}
    line = max([run.text for piece in pieces for run in piece.runs], key=len)
    return Head(pairs, sum(pairs.values()), line)
