"""The geometry of a reuse curve's plot: cache size over a logarithmic axis, shares over an even one."""

from __future__ import annotations

from math import ceil, floor, log
from typing import NamedTuple

from prefixlab.reporters.curve_wording import clear_knee, compact
from prefixlab.reuse_curve import ReuseCurve

_STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)

_FLAT = 0.005
"""Between the ends of a line that hardly rises."""


class Frame(NamedTuple):
    """The part of the plane that is drawn. Positions are 0..1 from the left and from the bottom."""

    left: int
    right: int
    bottom: float
    top: float
    step: float
    """Between two labels of the upright axis."""

    def x(self, tokens: float) -> float:
        if self.right <= self.left:
            return 0.5
        return log(max(tokens, 1) / self.left) / log(self.right / self.left)

    def y(self, share: float) -> float:
        return (share - self.bottom) / (self.top - self.bottom)

    def levels(self) -> list[float]:
        """The shares that have a label, from the bottom up."""
        count = round((self.top - self.bottom) / self.step)
        return [self.bottom + at * self.step for at in range(count + 1)]


def frame_of(found: ReuseCurve, labels: int) -> Frame:
    """A frame that holds the curve and its bound, with about `labels` labels at its side."""
    sizes = [tokens for tokens, _ in found.line] + [point.cache_tokens for point in found.points]
    reused = [tokens for _, tokens in found.line]
    reused += [tokens for point in found.points for tokens in (point.reused_tokens, point.clairvoyant_tokens)]
    low, high = found.share(min(reused)), found.share(max(reused))
    # Where all of it lies far up, an axis from nothing would show a straight line. One that is flat is shown so.
    low = 0.0 if low < high / 2 or high - low < _FLAT else low
    step = next((step for step in _STEPS if (high - low) / step <= labels), _STEPS[-1])
    bottom, top = floor(low / step + 1e-9) * step, ceil(high / step - 1e-9) * step
    if top <= bottom:
        bottom, top = max(bottom - step, 0.0), bottom + step
    return Frame(max(min(sizes), 1), max(sizes), bottom, top, step)


def ticks(frame: Frame) -> list[int]:
    """Cache sizes to label: powers of ten, round ones between them where they are few, else the ends as well."""
    found: list[int] = []
    for factors in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9)):
        found = [
            int(factor * 10**power)
            for power in range(16)
            for factor in factors
            if frame.left <= factor * 10**power <= frame.right
        ]
        if len(found) >= 4:
            return found
    return sorted({frame.left, *found, frame.right})


def level_label(share: float, step: float) -> str:
    return f"{share * 100:.{1 if step < 0.01 else 0}f} %"


def character_plot(found: ReuseCurve, width: int, height: int) -> list[str]:
    """The plot in lines of at most `width` characters: `*` the curve, `o` the bound, `|` the knee."""
    frame = frame_of(found, labels=height // 2)
    names = {share: level_label(share, frame.step) for share in frame.levels()}
    side = max(map(len, names.values())) + 2
    columns = width - side
    rows = [[" "] * columns for _ in range(height)]

    def row_of(share: float) -> int:
        return height - 1 - round(frame.y(share) * (height - 1))

    def column_of(tokens: float) -> int:
        return round(frame.x(tokens) * (columns - 1))

    knee = clear_knee(found)
    if knee:
        at = column_of(knee.cache_tokens)
        for row in rows[row_of(found.share(knee.reused_tokens)) :]:
            row[at] = "|"
    before: int | None = None
    reused_by_column = {column_of(tokens): found.share(reused) for tokens, reused in found.line}
    share = next(iter(reused_by_column.values()))
    for column in range(min(reused_by_column), max(reused_by_column) + 1):
        share = reused_by_column.get(column, share)
        at = row_of(share)
        for row_number in range(at, at + 1 if before is None else max(before, at + 1)):
            rows[row_number][column] = "*"
        before = at
    for point in found.points:
        row = rows[row_of(found.share(point.clairvoyant_tokens))]
        if row[column_of(point.cache_tokens)] != "*":
            row[column_of(point.cache_tokens)] = "o"
        # Where requests are refused, the point is not on the line.
        rows[row_of(found.share(point.reused_tokens))][column_of(point.cache_tokens)] = "*"
    labels = {row_of(share): name for share, name in names.items()}
    lines = [f"{labels.get(at, ''):>{side - 2}} |{''.join(row)}".rstrip() for at, row in enumerate(rows)]
    lines.append(" " * (side - 1) + "+" + "-" * columns)
    lines.append(" " * side + _ruler(frame, columns))
    return lines


def _ruler(frame: Frame, columns: int) -> str:
    """Labels of the level axis, each under its place, as many as do not touch."""
    ruler = [" "] * columns
    free_from = 0
    for tokens in ticks(frame):
        name = compact(tokens)
        begin = min(max(round(frame.x(tokens) * (columns - 1)) - len(name) // 2, 0), columns - len(name))
        if begin >= free_from:
            ruler[begin : begin + len(name)] = name
            free_from = begin + len(name) + 2
    return "".join(ruler).rstrip()
