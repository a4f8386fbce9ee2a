"""Token ids of a log as bytes, four a token, little-endian."""

from __future__ import annotations

import sys
from array import array
from typing import Any

_WORD = "I" if array("I").itemsize == 4 else "L"


def to_token_bytes(ids: Any) -> bytes | None:
    """The ids as bytes, or None where the value is no list of token ids."""
    if type(ids) is not list:
        return None
    try:
        words = array(_WORD, ids)
    except (TypeError, OverflowError, ValueError):
        return None
    if bool in set(map(type, ids)):  # an array takes true and false for 1 and 0
        return None
    if sys.byteorder == "big":
        words.byteswap()
    return words.tobytes()
