"""Requests that continue an earlier one: what they have in common is compared, not looked up segment by segment."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate, compress, count
from operator import ne

from prefixlab.records import TEMPLATE, Piece, Segment

KEPT_REQUESTS = 256

NEWEST_SEGMENTS = 12
"""So many last segments of a request are tried for the one that an earlier request ended in."""


class Conversations:
    """The latest request of each conversation, found by the last segment that is not the template's."""

    def __init__(self) -> None:
        self._requests: dict[Segment, tuple[tuple[Segment, ...], tuple[Piece, ...]]] = {}

    def known(self, segments: tuple[Segment, ...]) -> tuple[int, tuple[Piece, ...]]:
        """How many segments at the start of a request are encoded, and their pieces. Behind them is a cut.

        A piece has a span for each of its segments. The last piece with a known segment may not end where it did.
        """
        for segment in segments[: -NEWEST_SEGMENTS - 1 : -1]:
            if segment.origin != TEMPLATE and segment in self._requests:
                earlier, pieces = self._requests.pop(segment)
                break
        else:
            return 0, ()
        shared = next(compress(count(), map(ne, segments, earlier)), min(len(segments), len(earlier)))
        starts = list(accumulate([len(piece.spans) for piece in pieces], initial=0))
        known = max(bisect_left(starts, shared) - 1, 0)
        return starts[known], pieces[:known]

    def keep(self, segments: tuple[Segment, ...], pieces: tuple[Piece, ...]) -> None:
        """Takes in an encoded request."""
        if len(self._requests) >= KEPT_REQUESTS:
            del self._requests[next(iter(self._requests))]
        for segment in reversed(segments):
            if segment.origin != TEMPLATE:
                self._requests[segment] = segments, pieces
                return
