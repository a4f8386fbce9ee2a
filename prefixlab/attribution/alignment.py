"""Two prompts aligned: piece by piece, by text wherever it stands, and run by run where two stand in one place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from itertools import accumulate, pairwise
from typing import NamedTuple

from prefixlab.attribution.differences import unlike_runs
from prefixlab.records import Piece, Run

MOST_PIECES = 4000
"""Pieces between the common head and tail of two prompts that are still aligned."""


class Region(NamedTuple):
    """Runs `start:end` of a prompt, counted over all its pieces, stand where the other has `other_start:other_end`."""

    start: int
    end: int
    other_start: int
    other_end: int
    kind: str | None = None
    path: str = ""
    evidence: str = ""
    moved: str = ""
    """Text ahead of the rest of its message that a fix sets behind it."""


class Whole(NamedTuple):
    """Pieces that changed as a whole: `first:end` of a prompt, `other_first:other_end` of the other."""

    first: int
    end: int
    other_first: int
    other_end: int
    kind: str
    path: str
    evidence: str


class Runs:
    """The runs of a prompt in one list."""

    __slots__ = ("firsts", "pieces", "runs")

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self.pieces = pieces
        self.runs: list[Run] = [run for piece in pieces for run in piece.runs]
        self.firsts = [0, *accumulate([len(piece.runs) for piece in pieces])]
        """The number of each piece's first run, and of the end."""

    def text(self, start: int, end: int) -> str:
        return "".join([run.text for run in self.runs[start:end]])

    def piece_at(self, run: int) -> int:
        """The piece that holds a run; the last one for the end."""
        low, high = 0, len(self.pieces) - 1
        while low < high:
            middle = (low + high + 1) // 2
            if self.firsts[middle] <= run:
                low = middle
            else:
                high = middle - 1
        return low


def aligned(mine: Runs, yours: Runs, whole: Sequence[Whole] = ()) -> list[Region]:
    """The regions of two prompts; stretches in `whole` are one region each, and what is around them is aligned."""
    regions: list[Region] = []
    i = j = 0
    for one in sorted(whole):
        if one.first < i or one.other_first < j:
            continue
        regions += _between(mine, yours, i, one.first, j, one.other_first)
        regions.append(
            Region(
                mine.firsts[one.first],
                mine.firsts[one.end],
                yours.firsts[one.other_first],
                yours.firsts[one.other_end],
                one.kind,
                one.path,
                one.evidence,
            )
        )
        i, j = one.end, one.other_end
    # What the template writes behind the older prompt's last message is where an answer began, and no text that the
    # newer prompt has at its own end again.
    end = len(yours.pieces)
    while end > j and not any([span.origin.path for span in yours.pieces[end - 1].spans]):
        end -= 1
    regions += _between(mine, yours, i, len(mine.pieces), j, end)
    if end < len(yours.pieces):
        mine_end, yours_end = len(mine.runs), len(yours.runs)
        if regions and regions[-1].end == mine_end and regions[-1].other_end == yours.firsts[end]:
            regions[-1] = regions[-1]._replace(other_end=yours_end)
        else:
            regions.append(Region(mine_end, mine_end, yours.firsts[end], yours_end))
    return regions


def _between(mine: Runs, yours: Runs, i: int, our_end: int, j: int, their_end: int) -> list[Region]:
    """The regions of some pieces."""
    ours, theirs = mine.pieces, yours.pieces
    first = i
    while i < our_end and j < their_end and ours[i] is theirs[j]:
        i, j = i + 1, j + 1
    # What the template writes ahead of a text goes with it, also where it is the first that differs.
    while i > first and not any([span.origin.path for span in ours[i - 1].spans]):
        i, j = i - 1, j - 1
    if max(our_end - i, their_end - j) > MOST_PIECES:
        return [_region(mine, yours, i, our_end, j, their_end)]
    # By text, wherever it stands: a message that moved is the same message. What the template writes ahead of it goes
    # with it, for that is the same ahead of many.
    our_units, their_units = _units(ours, i, our_end), _units(theirs, j, their_end)
    our_texts = [[piece.runs for piece in ours[start:end]] for start, end in pairwise(our_units)]
    their_texts = [[piece.runs for piece in theirs[start:end]] for start, end in pairwise(their_units)]
    matcher = SequenceMatcher(None, list(map(tuple, our_texts)), list(map(tuple, their_texts)), autojunk=False)
    regions: list[Region] = []
    for tag, u1, u2, v1, v2 in matcher.get_opcodes():
        if tag == "equal":
            continue
        i1, i2, j1, j2 = our_units[u1], our_units[u2], their_units[v1], their_units[v2]
        while i1 < i2 and j1 < j2 and _is_same_place(ours[i1], theirs[j1]):
            first, other_first = mine.firsts[i1], yours.firsts[j1]
            for start, end, other_start, other_end in unlike_runs(ours[i1].runs, theirs[j1].runs):
                regions.append(Region(first + start, first + end, other_first + other_start, other_first + other_end))
            i1, j1 = i1 + 1, j1 + 1
        if i1 < i2 or j1 < j2:
            regions.append(_region(mine, yours, i1, i2, j1, j2))
    return regions


def _units(pieces: Sequence[Piece], start: int, end: int) -> list[int]:
    """Where stretches of template text with the text behind them begin, and the end."""
    firsts = [start]
    for number in range(start, end):
        if any([span.origin.path for span in pieces[number].spans]):
            firsts.append(number + 1)
    if firsts[-1] < end:
        firsts.append(end)
    return firsts


def _is_same_place(piece: Piece, other: Piece) -> bool:
    """Whether two pieces hold text of the same paths, as that of one message in two wordings."""
    return [span.origin for span in piece.spans] == [span.origin for span in other.spans]


def _region(mine: Runs, yours: Runs, i1: int, i2: int, j1: int, j2: int, kind: str | None = None, path: str = "",
            evidence: str = "") -> Region:  # fmt: skip
    """The region of some pieces."""
    return Region(mine.firsts[i1], mine.firsts[i2], yours.firsts[j1], yours.firsts[j2], kind, path, evidence)


def joined(regions: Iterable[Region], new: Region) -> list[Region]:
    """The regions with all that touch the new one in either prompt joined into it."""
    kept = []
    start, end, other_start, other_end = new[:4]
    for region in regions:
        apart = region.end <= start and region.other_end <= other_start
        apart = apart or (region.start >= end and region.other_start >= other_end)
        if apart:
            kept.append(region)
        else:
            start, end = min(start, region.start), max(end, region.end)
            other_start, other_end = min(other_start, region.other_start), max(other_end, region.other_end)
    kept.append(Region(start, end, other_start, other_end, *new[4:]))
    return sorted(kept)


def without(regions: Iterable[Region], start: int, end: int, other_start: int, other_end: int) -> list[Region]:
    """The regions with what lies in a stretch of both prompts taken out of them."""
    kept: list[Region] = []
    for region in regions:
        if region.end <= start or region.start >= end:
            kept.append(region)
        elif region.end > end or region.other_end > other_end:
            starts = max(region.start, end), max(region.other_start, other_end)
            kept.append(Region(starts[0], max(region.end, end), starts[1], max(region.other_end, other_end)))
    return kept
