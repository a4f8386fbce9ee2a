"""Heads of few lines that have no line in common: of one family still if most of their words stand side by side in both.

A prompt of one line with a clock in it is another line in every request. Only heads that no line tells are looked at,
and they are compared with the families met last, so that a log of texts that have nothing in common costs little.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from prefixlab.records import Namespace, Piece, Run

ALIKE = 0.5
"""Part of the longer head, in characters, whose pairs of neighbouring words the other has too."""

FEW_LINES = 4
"""Lines up to which a head may have a value in each of them."""

MOST_CHARS = 3000
"""Characters of a head that are compared. A longer one has lines, or is cut at its words."""

MOST_COMPARED = 16
"""Families with which a head is compared."""

LEAST_CHARS = 60
"""Characters in common below which two heads are no template."""

_WORD = re.compile(r"[^\W_]+")

Pairs = dict[tuple[str, str], int]
"""Neighbouring words, with the characters of both."""


class AlikeHeads:
    """The families met last, by the words of the heads that began them."""

    def __init__(self) -> None:
        self._latest: dict[Namespace, dict[int, tuple[Pairs, int]]] = {}

    def family(self, namespace: Namespace, pairs: Pairs) -> int | None:
        """The family with most of these words."""
        latest = self._latest.get(namespace, {})
        weight = sum(pairs.values())
        for family in reversed(latest):
            others, other_weight = latest[family]
            common = sum([pairs[pair] for pair in pairs.keys() & others.keys()])
            if common >= LEAST_CHARS and common >= ALIKE * max(weight, other_weight):
                latest[family] = latest.pop(family)
                return family
        return None

    def keep(self, namespace: Namespace, pairs: Pairs, family: int) -> None:
        """Take in the head that began a family."""
        latest = self._latest.setdefault(namespace, {})
        latest[family] = pairs, sum(pairs.values())
        if len(latest) > MOST_COMPARED:
            del latest[next(iter(latest))]


def is_of_few_lines(runs: Mapping[Run, int]) -> bool:
    """Whether a head, given as its runs with their tokens, has few lines or one that is most of it."""
    return len(runs) <= FEW_LINES or 2 * max(runs.values()) >= sum(runs.values())


def word_pairs(pieces: Sequence[Piece]) -> Pairs:
    """The neighbouring words at the beginning of a head."""
    text = ""
    for piece in pieces:
        for run in piece.runs:
            text += run.text[:MOST_CHARS]
            if len(text) >= MOST_CHARS:
                break
    words = _WORD.findall(text[:MOST_CHARS])
    return {(one, other): len(one) + len(other) for one, other in pairwise(words)}
