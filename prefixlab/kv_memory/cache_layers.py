"""What one layer takes of memory on one rank, in the terms that all kinds of layers share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

from prefixlab.kv_sheet import LayerGroup


class CacheLayer(NamedTuple):
    """One layer, or one part of a layer, on one rank.

    A layer without a window grows by `token_bytes`; one with a window stops there. `state_bytes` do not grow. A decode
    step reads no more than `read_tokens` of it, where an indexer chooses them.
    """

    kind: str
    token_bytes: Fraction = Fraction(0)
    window: int | None = None
    state_bytes: int = 0
    stride: int = 1
    read_tokens: int | None = None


def grouped(layers: Iterable[CacheLayer], ranks: int = 1) -> tuple[LayerGroup, ...]:
    """Layers that are alike in one group, in the order of their first; bytes of all ranks."""
    return tuple(_group(layer, count, ranks) for layer, count in Counter(layers).items())


def _group(layer: CacheLayer, count: int, ranks: int) -> LayerGroup:
    rate = layer.token_bytes * count * ranks
    states = layer.state_bytes * count * ranks
    if layer.window is None:
        return LayerGroup(layer.kind, count, rate, states, None, rate, layer.stride, layer.read_tokens)
    full = rate * layer.window
    # The last of a window may be part of a byte; memory has whole ones.
    fixed = -(-full.numerator // full.denominator) + states
    return LayerGroup(layer.kind, count, Fraction(0), fixed, layer.window, rate, layer.stride)
