"""The curve through its knots is the sum of its stretches; sizes at which it turns are found without looking at all."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from prefixlab.capacity.size_curve import SizeCurve, knee_of

STRETCHES = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 12)), max_size=8)


def total(stretches: list[tuple[int, int]], size: int) -> int:
    return sum([max(0, min(blocks, size - least + 1)) for least, blocks in stretches])


@given(STRETCHES)
def test_curve_is_the_sum_of_its_stretches(stretches: list[tuple[int, int]]) -> None:
    curve = SizeCurve(stretches)
    assert [curve.at(size) for size in range(60)] == [total(stretches, size) for size in range(60)]
    assert curve.unlimited == sum([blocks for _, blocks in stretches])
    assert curve.at(curve.flat_from) == curve.unlimited
    assert not stretches or curve.at(curve.flat_from - 1) < curve.unlimited


@given(STRETCHES, st.floats(0.01, 1))
def test_reaching_is_the_smallest_size(stretches: list[tuple[int, int]], share: float) -> None:
    curve = SizeCurve(stretches)
    wanted = share * curve.unlimited
    size = curve.reaching(wanted)
    assert curve.at(size) >= wanted
    assert not stretches or curve.at(size - 1) < wanted


@given(STRETCHES, st.integers(1, 50))
def test_knee_is_farthest_above_an_even_rise(stretches: list[tuple[int, int]], smallest: int) -> None:
    from math import log

    curve = SizeCurve(stretches)
    knee = knee_of(curve, smallest)
    assert 0 <= knee.height <= 1
    low, high, end = curve.at(smallest), curve.unlimited, curve.flat_from
    if end <= smallest or low == high:
        assert knee == (smallest, 0.0)
        return
    heights = [
        (curve.at(size) - low) / (high - low) - log(size / smallest) / log(end / smallest)
        for size in range(smallest, end + 1)
    ]
    assert knee.height >= max(heights) - 1e-9


def test_steep_rise_then_flat_has_its_knee_at_the_corner() -> None:
    curve = SizeCurve([(101, 1000), (50_000, 10)])
    assert knee_of(curve, 10).size == 1100


def test_all_at_once_is_a_knee_at_the_end() -> None:
    """A loop that is one block too long for every smaller cache."""
    curve = SizeCurve([(1000, 1)] * 500)
    assert knee_of(curve, 10).size == 1000


def test_nothing_to_reuse() -> None:
    curve = SizeCurve([])
    assert (curve.at(10**9), curve.unlimited, curve.flat_from) == (0, 0, 0)
    assert knee_of(curve, 4) == (4, 0.0)
