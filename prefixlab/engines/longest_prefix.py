"""How much of two token sequences is equal from the start, by comparing memory instead of tokens."""

from __future__ import annotations

from typing import Final

from prefixlab.records import TOKEN_BYTES

FIRST_STEP: Final = 64


def shared_bytes(one: bytes, other: bytes, at: int = 0) -> int:
    """Bytes, in whole tokens, that `one` has in common with `other` from its byte `at` on."""
    limit = min(len(one), len(other) - at)
    low, step = 0, FIRST_STEP
    while low + step <= limit and one[low : low + step] == other[at + low : at + low + step]:
        low += step
        step *= 2
    high = min(low + step, limit)
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[at + low : at + middle]:
            low = middle
        else:
            high = middle - 1
    return low - low % TOKEN_BYTES
