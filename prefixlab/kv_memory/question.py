"""What is asked of `kv`, checked at the door: each option is of its kind, and none is given that would do nothing."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields

from prefixlab.errors import PrefixlabError
from prefixlab.kv_memory.quantities import Amount

BLOCK_SIZE = 16
"""Tokens a block where none are given."""

_LARGEST = 10**30
"""No number of anything in here."""


@dataclass(frozen=True, slots=True)
class KvQuestion:
    """What is asked. Quantities are as on the command line: `71GiB`, `2x80GB`, `4096,32768`; numbers will do too.

    Raises:
        PrefixlabError: an option is not of its kind.
    """

    dtype: str | None = None
    layer_dtype: Mapping[str, str] | None = field(default_factory=dict)
    scales: str | None = None
    tp: int = 1
    bytes_per_token: Amount | None = None
    context: Amount | Sequence[Amount] | None = None
    kv_budget: Amount | None = None
    gpu: Amount | None = None
    """`2x80GB`; a number is the bytes of one card."""
    utilization: Amount | None = None
    weights_bytes: Amount | os.PathLike[str] | None = None
    """An amount, or the safetensors index that states it, or the folder that has one."""
    overhead: Amount | None = None
    bandwidth: Amount | None = None
    weights_read: Amount | None = None
    reserve: Amount | None = None
    block_size: int | None = None
    prefill: Amount | None = None
    experts: str | None = None
    ridge: Amount | None = None
    shared_prefix: Amount | None = None
    requests: Amount | None = None
    offline: bool = False

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            fits, wanted = _KINDS.get(each.name, (_is_amount, "a number, or a text such as '71GiB' or '4K'"))
            if not (fits(value) or (value is None and each.name not in ("tp", "offline"))):
                raise PrefixlabError(f"{each.name}={_beginning(value)} cannot be", f"Give {wanted}")
        for option, ranks in (("--tp", self.tp), ("--block-size", self.block_size)):
            if ranks is not None and ranks < 1:
                raise PrefixlabError(f"{option} {ranks} cannot be", "Give a number, at least 1")


def _beginning(value: object) -> str:
    """Of a long list or text its beginning says enough; Python does not write numbers of any length."""
    return "a very large number" if type(value) is int and abs(value) >= _LARGEST else repr(value)[:60]


def _is_amount(value: object) -> bool:
    return isinstance(value, str) or _is_whole(value) or (isinstance(value, float) and math.isfinite(value))


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_whole(value: object) -> bool:
    return type(value) is int and abs(value) < _LARGEST


def _is_switch(value: object) -> bool:
    return isinstance(value, bool)


def _is_weights(value: object) -> bool:
    return _is_amount(value) or isinstance(value, os.PathLike)


def _are_amounts(value: object) -> bool:
    several = isinstance(value, Sequence) and not isinstance(value, str | bytes) and all(map(_is_amount, value))
    return _is_amount(value) or (several and bool(value))


def _are_types(value: object) -> bool:
    return isinstance(value, Mapping) and all(map(_is_text, (*value, *value.values())))


_KINDS: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "dtype": (_is_text, "the name of a type, such as 'fp8'"),
    "layer_dtype": (_are_types, "a dict of kinds of layers and types, such as {'state': 'fp32'}"),
    "scales": (_is_text, "none, token-head or group:N, such as 'group:32'"),
    "tp": (_is_whole, "a whole number of ranks"),
    "context": (_are_amounts, "a number of tokens, a list of them, or a text such as '4K,32K'"),
    "gpu": (_is_amount, "a text such as '2x80GB', or the bytes of one card"),
    "weights_bytes": (_is_weights, "a size such as '65.25GB', or the path of a safetensors index"),
    "block_size": (_is_whole, "a whole number of tokens"),
    "experts": (_is_text, "a text such as '4/128'"),
    "offline": (_is_switch, "True or False"),
}
"""What each option must be, for callers from Python; those that are not here are quantities."""


def check(config: str | None, asked: KvQuestion) -> None:
    """Options that need each other, or exclude each other.

    Raises:
        PrefixlabError: one would do nothing, or there is nothing to answer.
    """
    has_rate = config is not None or asked.bytes_per_token is not None
    if config is not None and asked.bytes_per_token is not None:
        raise PrefixlabError("CONFIG and --bytes-per-token are both given", "Give one of them")
    if asked.kv_budget is not None and asked.gpu is not None:
        raise PrefixlabError("--kv-budget and --gpu are both given", "Give one of them")
    _check_memory(asked)
    of_model = (asked.dtype, asked.layer_dtype or None, asked.scales, None if asked.tp == 1 else asked.tp)
    if config is None and any([each is not None for each in of_model]):
        raise PrefixlabError(
            "--dtype, --layer-dtype, --scales and --tp are for the layers of a CONFIG", "Give a CONFIG"
        )
    pairs = (
        ("--weights-read", asked.weights_read, "--bandwidth", asked.bandwidth),
        ("--reserve", asked.reserve, "--context", asked.context),
        ("--block-size", asked.block_size, "--reserve", asked.reserve),
        ("--experts", asked.experts, "--ridge", asked.ridge),
        ("--ridge", asked.ridge, "--experts", asked.experts),
        ("--requests", asked.requests, "--shared-prefix", asked.shared_prefix),
    )
    for name, value, other, wanted in pairs:
        if value is not None and wanted is None:
            raise PrefixlabError(f"{name} needs {other}", f"Give {other} too")
    if asked.prefill is not None and not has_rate:
        raise PrefixlabError("--prefill needs the bytes that a token takes", "Give a CONFIG or --bytes-per-token")
    if asked.bandwidth is not None and asked.weights_read is None and (asked.context is None or not has_rate):
        raise PrefixlabError("--bandwidth has nothing to read", "Give a CONFIG with --context, or --weights-read")
    has_memory = asked.kv_budget is not None or asked.gpu is not None
    alone = (asked.gpu, asked.weights_read, asked.experts, asked.reserve, asked.requests)
    if not has_rate and not any([each is not None for each in alone]) and not (asked.kv_budget and asked.context):
        raise PrefixlabError("there is no model to size", "Give a CONFIG (file, folder or hub id) or --bytes-per-token")
    sized = has_rate and has_memory and asked.context is not None
    if asked.shared_prefix is not None and asked.requests is None and not sized:
        raise PrefixlabError(
            "--shared-prefix needs sessions to share it",
            "Give --requests, or --context with --kv-budget or --gpu, for the sessions that fit",
        )


def _check_memory(asked: KvQuestion) -> None:
    for name, value in (("--utilization", asked.utilization), ("--overhead", asked.overhead)):
        if value is not None and asked.gpu is None:
            raise PrefixlabError(f"{name} says what cards leave, and there are none", "Name them with --gpu, as 2x80GB")
    if asked.weights_bytes is not None and asked.gpu is None and (asked.kv_budget is None or asked.context is None):
        raise PrefixlabError(
            "--weights-bytes says what cards leave, and there are none",
            "Name them with --gpu, as 2x80GB, or compare weights with --kv-budget and --context",
        )
