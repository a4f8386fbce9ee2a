"""How a cached number is stored: its bits, and the scales that stand beside quantized ones."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from prefixlab.errors import PrefixlabError

_BITS = {"bf16": 16, "fp16": 16, "fp32": 32, "fp8": 8, "int8": 8, "int4": 4}
_ALIASES = {
    "bfloat16": "bf16",
    "float16": "fp16",
    "half": "fp16",
    "float32": "fp32",
    "float": "fp32",
    "fp8_e4m3": "fp8",
    "fp8_e5m2": "fp8",
    "fp8_e4m3fn": "fp8",
    "float8_e4m3fn": "fp8",
    "float8_e5m2": "fp8",
}
TYPE_NAMES = tuple(_BITS)

_GROUP = re.compile(r"group:(\d{1,5})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Scales:
    """Where the scales of quantized vectors are: `bytes` for each `group` numbers, or for each vector (`group` 0)."""

    bytes: int
    group: int
    said: str

    def bytes_of(self, length: int) -> int:
        """What the scales of a vector take: the key or the value of one token and head."""
        return self.bytes * (-(-length // self.group) if self.group else 1)


NO_SCALES = Scales(0, 0, "no scales are counted")
TOKEN_HEAD = Scales(
    4, 0, "4 bytes of scale for each key and each value of a token and head, as vLLM's *_per_token_head"
)
_NAMED = {"none": NO_SCALES, "token-head": TOKEN_HEAD}


def scale_layout(text: str) -> Scales:
    """`none`, `token-head`, or `group:32`: a 2-byte scale for each 32 numbers.

    Raises:
        PrefixlabError: it is none of these.
    """
    found = _GROUP.fullmatch(text)
    if found and int(found[1]):
        return Scales(2, int(found[1]), f"2 bytes of scale for each {int(found[1])} numbers")
    if text not in _NAMED:
        raise PrefixlabError(
            f"--scales {text[:40]!r} is not known", "Give none, token-head or group:N, such as group:32"
        )
    return _NAMED[text]


@dataclass(frozen=True, slots=True)
class ElementType:
    """A type of cached numbers with its scales."""

    name: str
    bits: int
    scales: Scales = NO_SCALES

    def vector_bytes(self, length: int) -> int:
        """Bytes of a vector that is stored by itself: numbers packed to whole bytes, then its scales."""
        return -(-length * self.bits // 8) + self.scales.bytes_of(length)

    def array_bytes(self, length: int) -> Fraction:
        """Bytes of an array without scales, such as a recurrent state."""
        return Fraction(length * self.bits, 8)


def element_type(name: str, option: str, scales: Scales | None = None) -> ElementType:
    """The type of that name. Integers have scales for each token and head unless `scales` says otherwise.

    Raises:
        PrefixlabError: there is no such type.
    """
    known = _ALIASES.get(name.lower(), name.lower())
    if known not in _BITS:
        raise PrefixlabError(f"{option} {name[:40]!r} is not known", f"Give one of {', '.join(TYPE_NAMES)}")
    if scales is None:
        scales = TOKEN_HEAD if known.startswith("int") else NO_SCALES
    return ElementType(known, _BITS[known], scales if _BITS[known] < 16 else NO_SCALES)
