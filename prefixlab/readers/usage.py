"""What the serving side reported: prompt tokens, and how many of them came from a cache.

Three conventions of the total meet here: a total that includes the cached tokens (OpenAI, DeepSeek, SGLang), one that
leaves them out (Anthropic, Langfuse), and figures beside the record (Helicone, recordings). What is not reported is
None, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

USAGE_KEYS = ("usage", "usageDetails", "usage_object", "meta_info", "metadata")
"""Where an object holds a usage report; `metadata` holds one where a gateway wrote `usage_object` into it."""
FLAT_CACHED = ("cached_tokens", "prompt_cache_read_tokens")
_DETAILS = ("prompt_tokens_details", "input_tokens_details", "input_token_details", "prompt_token_details")


def observed_tokens(layer: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Cached tokens and prompt tokens that an object of the log reports, in whichever convention."""
    for key in FLAT_CACHED:
        cached = _count(layer, key)
        if cached is not None:
            return cached, _count(layer, "prompt_tokens")
    prompt = None
    for key in USAGE_KEYS:
        report = layer.get(key)
        if key == "metadata" and isinstance(report, dict):
            report = report.get("usage_object")
        if isinstance(report, dict):
            cached, total = _of_report(report)
            if cached is not None:
                return cached, total
            prompt = total if prompt is None else prompt
    return None, prompt


def _of_report(usage: dict[str, Any]) -> tuple[int | None, int | None]:
    total = _count(usage, "prompt_tokens")
    for key in _DETAILS:
        details = usage.get(key)
        if isinstance(details, dict):
            cached = _first_count(details, "cached_tokens", "cache_read")
            if cached is not None:
                return cached, total if total is not None else _count(usage, "input_tokens")
    hit = _count(usage, "prompt_cache_hit_tokens")
    if hit is not None:
        miss = _count(usage, "prompt_cache_miss_tokens")
        return hit, total if total is not None or miss is None else hit + miss
    if "cached_tokens" in usage:
        return _count(usage, "cached_tokens"), total
    if total is not None:
        return _count(usage, "cache_read_input_tokens"), total
    return _exclusive(usage)


def _exclusive(usage: dict[str, Any]) -> tuple[int | None, int | None]:
    """Reports whose input figure leaves out what was read from, or written to, the cache."""
    cached = _first_count(usage, "cache_read_input_tokens", "input_cached_tokens", "input_cache_read")
    if "input" in usage:
        parts = [_count(usage, key) for key in usage if key.startswith(("input", "cache_"))]
    else:
        parts = [
            _count(usage, key) for key in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        ]
    known = [part for part in parts if part is not None]
    return cached, sum(known) if known else None


def _first_count(counts: dict[str, Any], *keys: str) -> int | None:
    return next((count for key in keys if (count := _count(counts, key)) is not None), None)


def _count(counts: Mapping[str, Any], key: str) -> int | None:
    value = counts.get(key)
    if type(value) is float and value.is_integer():  # a table's column of integers with gaps comes as floats
        value = int(value)
    return value if type(value) is int and 0 <= value < 1 << 53 else None
