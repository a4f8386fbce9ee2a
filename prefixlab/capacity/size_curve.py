"""What a cache of every size reuses: a line through a few knots, and the sizes at which it turns."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from math import log
from typing import NamedTuple


class SizeCurve:
    """Blocks reused by cache size, in blocks. Between two knots it is straight; behind the last it is flat."""

    def __init__(self, stretches: Iterable[tuple[int, int]]) -> None:
        """`stretches` are pairs of the smallest cache that finds the first block of a stretch, and its blocks; each
        further block takes a cache of one block more."""
        turns: dict[int, int] = {}
        for least, blocks in stretches:
            turns[least - 1] = turns.get(least - 1, 0) + 1
            turns[least - 1 + blocks] = turns.get(least - 1 + blocks, 0) - 1
        self.sizes = sorted([size for size, turn in turns.items() if turn]) or [0]
        self.reused: list[int] = []
        """Blocks reused at each of `sizes`, which are the knots."""
        self._slopes: list[int] = []
        reused = slope = before = 0
        for size in self.sizes:
            reused += slope * (size - before)
            slope += turns.get(size, 0)
            before = size
            self.reused.append(reused)
            self._slopes.append(slope)

    @property
    def unlimited(self) -> int:
        """Blocks that a cache without limit reuses."""
        return self.reused[-1]

    @property
    def flat_from(self) -> int:
        """The smallest cache that reuses as much as an unlimited one."""
        return self.sizes[-1]

    def at(self, size: int) -> int:
        """Blocks that a cache of `size` blocks reuses."""
        knot = bisect_right(self.sizes, size) - 1
        return 0 if knot < 0 else self.reused[knot] + self._slopes[knot] * (size - self.sizes[knot])

    def reaching(self, reused: float) -> int:
        """The smallest cache that reuses so many blocks or more, which an unlimited one does."""
        knot = bisect_left(self.reused, reused)
        if not knot:
            return self.sizes[0]
        missing = reused - self.reused[knot - 1]
        return self.sizes[knot - 1] + -int(-missing // self._slopes[knot - 1])


class Knee(NamedTuple):
    """A cache of `size` blocks, from which on more cache pays less. `height` says how clear the knee is: how far the
    curve rises above an even rise there, from 0 (not at all) to 1."""

    size: int
    height: float


def knee_of(curve: SizeCurve, smallest: int) -> Knee:
    """The knee of the curve from `smallest` blocks on, over the logarithm of the size.

    It is the point farthest above the straight line from the curve's beginning to where it is flat (Satopää and others,
    "Finding a Kneedle in a Haystack", 2011; without their smoothing, as the curve is exact). Up to there each doubling
    of the cache gives more than the average doubling, from there on less.
    """
    smallest = max(smallest, 1)
    low, high = curve.at(smallest), curve.unlimited
    if curve.flat_from <= smallest or low == high:
        return Knee(smallest, 0.0)
    doublings = log(curve.flat_from / smallest)
    best = Knee(smallest, 0.0)
    # The curve is straight between knots and an even rise over the logarithm is bent, so no point between is higher.
    for size, reused in zip(curve.sizes, curve.reused, strict=True):
        if size > smallest:
            height = (reused - low) / (high - low) - log(size / smallest) / doublings
            if height >= best.height:
                best = Knee(size, height)
    return best
