"""What a record says beside its prompt, whatever its format: id, times, namespace, tags, observed usage."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from prefixlab.contracts import ReadOptions
from prefixlab.errors import BadRecord
from prefixlab.readers.complaints import bad_record, shown
from prefixlab.readers.envelope import Envelope, shape_of
from prefixlab.readers.json_paths import look_up
from prefixlab.readers.timestamps import to_seconds
from prefixlab.readers.usage import observed_tokens
from prefixlab.records import SERVED_PLAINLY, Body, Location, Namespace, Output, Request, Serving

_HOST = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*")
_namespace = lru_cache(maxsize=4096)(Namespace)


def make_request(
    envelope: Envelope,
    where: Location,
    options: ReadOptions,
    body: Body,
    output: Output | None = None,
    *,
    part: int | None = None,
    arrived_at: float | None = None,
    ended_at: float | None = None,
) -> Request:
    """The request of `body` with all that its record says. `part` counts the requests of one record from 1;
    times that the format knows better than the record's fields are given.

    Raises:
        BadRecord: the record has a `timestamp` that is no point in time.
    """
    name: Any = None
    arrived, ended = arrived_at, ended_at
    cached = total = None
    lora = salt = extra = ""
    serving = SERVED_PLAINLY
    tags: dict[str, str] = {}
    metadata = False
    for layer, shape in envelope.layers:
        for tag, key in shape.tags:
            if tag not in tags:
                value = layer[key]
                if tag == "route" or type(value) is not str:
                    value = _tag_value(tag, value)
                if value:
                    tags[tag] = value
        for field, key in shape.facts:
            value = layer[key]
            if value is None or value == "":
                continue
            if field == "arrived_at":
                if arrived is None:
                    arrived = to_seconds(value)
                    if arrived is None and key == "timestamp":
                        raise _bad_timestamp(value, where)
            elif field == "id":
                name = scalar(value) if name is None else name
            elif field == "ended_at":
                ended = to_seconds(value) if ended is None else ended
            elif field == "lora":
                lora = lora or _lora_name(value)
            elif field == "cache_salt":
                salt = salt or scalar(value) or ""
            elif field == "extra_key":
                extra = extra or scalar(value) or ""
            else:
                serving = _served(serving, field, value)
        if shape.has_usage and cached is None:
            cached, counted = observed_tokens(layer)
            total = counted if counted is not None else total
        metadata = metadata or shape.has_metadata
    if metadata:
        _add_metadata_tags(envelope, tags)
    if options.tags:
        _add_wanted_tags(envelope, options, tags)
    name = name or f"line {where.line}"
    return Request(
        name if part is None else f"{name}#{part}",
        where,
        body,
        arrived,
        ended,
        # SGLang keys its cache by the two joined; vLLM knows the salt alone.
        _namespace(tags.get("model", ""), lora, salt + extra),
        tags,
        output,
        cached,
        total,
        serving,
    )


def _served(serving: Serving, field: str, value: Any) -> Serving:
    """What one field says of how the request was served; values of another type than the engine's say nothing."""
    if field == "priority":
        return serving._replace(priority=value) if type(value) is int else serving
    if field == "prompt_logprobs":
        # A number of alternatives, 0 included; an answer's list of them says the same.
        return serving._replace(prompt_logprobs=value is not False)
    return serving._replace(cache_prompt=value) if type(value) is bool else serving


def scalar(value: Any) -> str | None:
    """A string or number of the log as text; None for anything else."""
    if type(value) is str:
        return value
    return str(value) if type(value) in (int, float) else None


def _tag_value(tag: str, value: Any) -> str | None:
    text = scalar(value)
    if text and tag == "route" and "://" in text:
        return _HOST.sub("", text).partition("?")[0] or "/"
    return text


def _lora_name(value: Any) -> str:
    if isinstance(value, dict):
        value = value.get("lora_name") or value.get("name") or value.get("lora_path")
    return scalar(value) or ""


def _add_metadata_tags(envelope: Envelope, tags: dict[str, str]) -> None:
    for layer, shape in envelope.layers:
        metadata = layer["metadata"] if shape.has_metadata else None
        if type(metadata) is dict:
            for tag, key in shape_of(metadata).tags:
                value = None if tag in tags or tag == "model" else _tag_value(tag, metadata[key])
                if value:
                    tags[tag] = value


def _add_wanted_tags(envelope: Envelope, options: ReadOptions, tags: dict[str, str]) -> None:
    for tag, path in options.tags.items():
        for layer, _ in envelope.layers:
            value = look_up(layer, path)
            text = str(value).lower() if type(value) is bool else scalar(value)
            if text is not None:
                tags[tag] = text
                break


def _bad_timestamp(value: Any, where: Location) -> BadRecord:
    return bad_record(
        where,
        f"timestamp {shown(value) if isinstance(value, str) else shown(str(value))} is no point in time",
        "Give ISO 8601, or seconds or milliseconds since 1970",
    )
