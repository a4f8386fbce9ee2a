"""The forms of a reuse curve, by the name that `--format` has for them; JSON and CSV are made here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any

from prefixlab.findings import Losses, Report, Totals
from prefixlab.reporters.curve_html import render_html
from prefixlab.reporters.curve_markdown import render_markdown
from prefixlab.reporters.curve_text import render_text
from prefixlab.reporters.neutral import without_surrogates
from prefixlab.reporters.redaction import redact, stand_in
from prefixlab.reuse_curve import CurvePoint, PopularPrefix, ReuseCurve, TagCurve

SCHEMA = "prefixlab.curve/1"


def _point(found: ReuseCurve, point: CurvePoint) -> dict[str, Any]:
    return {
        "cache_tokens": point.cache_tokens,
        "bytes": found.axis.bytes_of(point.cache_tokens) if found.axis else None,
        "reuse": found.share(point.reused_tokens),
        "clairvoyant_reuse": found.share(point.clairvoyant_tokens),
        "reused_tokens": point.reused_tokens,
        "clairvoyant_tokens": point.clairvoyant_tokens,
        "refused_requests": point.refused,
    }


def _group(found: ReuseCurve, group: TagCurve) -> dict[str, Any]:
    whole = group.prompt_tokens or 1
    return {
        "requests": group.requests,
        "prompt_tokens": group.prompt_tokens,
        "unlimited_reuse": group.unlimited_tokens / whole,
        "flat_tokens": group.flat_tokens,
        "flat_bytes": found.axis.bytes_of(group.flat_tokens) if found.axis and group.flat_tokens is not None else None,
        "reuse": [tokens / whole for tokens in group.reused_tokens],
    }


def _prefix(prefix: PopularPrefix) -> dict[str, Any]:
    return {
        "requests": prefix.requests,
        "tokens": prefix.tokens,
        "volume": prefix.volume,
        "first_id": prefix.id,
        "first_line": prefix.line,
        "path": prefix.path,
        "role": prefix.role,
        "starts": prefix.starts,
        "ends": prefix.ends,
    }


def as_document(found: ReuseCurve) -> dict[str, Any]:
    """The curve as plain values, in the order of the schema."""
    knee = found.knee
    return {
        "schema": SCHEMA,
        "version": found.version,
        "inputs": [asdict(each) for each in found.inputs],
        "tokenizer": dict(found.tokenizer),
        "chat_template": None if found.chat_template is None else dict(found.chat_template),
        "engine": dict(found.engine),
        "requests": found.requests,
        "prompt_tokens": found.prompt_tokens,
        "largest_request_tokens": found.largest_tokens,
        "points": [_point(found, point) for point in found.points],
        "unlimited_reuse": found.share(found.unlimited_tokens),
        "unlimited_from_tokens": found.all_tokens,
        "flat_tokens": found.flat_tokens,
        "knee_tokens": knee and knee.cache_tokens,
        "knee_bytes": found.axis.bytes_of(knee.cache_tokens) if knee and found.axis else None,
        "knee_reuse": knee and found.share(knee.reused_tokens),
        "knee_height": knee and knee.height,
        "across_conversations": found.share(found.across_tokens),
        "within_conversations": found.share(found.within_tokens),
        "conversations": found.conversations,
        "conversations_are_sessions": found.conversations_are_sessions,
        "by": {tag: {group.value: _group(found, group) for group in groups} for tag, groups in found.by.items()},
        "prefixes": {
            "by_count": [_prefix(prefix) for prefix in found.most_sent],
            "by_volume": [_prefix(prefix) for prefix in found.most_tokens],
        },
        "memory": None if found.axis is None else found.axis._asdict(),
        "notes": list(found.notes),
    }


def render_json(found: ReuseCurve, width: int) -> bytes:
    import json

    return (without_surrogates(json.dumps(as_document(found), ensure_ascii=False, indent=1)) + "\n").encode()


def render_csv(found: ReuseCurve, width: int) -> bytes:
    """One row a cache size."""
    rows = [_point(found, point) for point in found.points]
    names = list(_point(found, CurvePoint(0, 0, 0)))
    lines = [names, *[["" if value is None else str(value) for value in row.values()] for row in rows]]
    return "".join([",".join(line) + "\n" for line in lines]).encode()


FORMS: Mapping[str, Callable[[ReuseCurve, int], bytes]] = {
    "text": render_text,
    "json": render_json,
    "markdown": render_markdown,
    "html": render_html,
    "csv": render_csv,
}
"""Each makes the whole document of a curve for a width in columns, which only text needs."""

ENDINGS: Mapping[str, tuple[str, ...]] = {
    "text": (".txt",),
    "json": (".json",),
    "markdown": (".md", ".markdown"),
    "html": (".html", ".htm"),
    "csv": (".csv",),
}
"""File endings that choose a form."""


# --- without the log's words ------------------------------------------------------------------------------------------


def redacted(found: ReuseCurve) -> ReuseCurve:
    """The curve with the log's own words replaced by their kind and length: texts, request ids, values of tags."""
    names: dict[str, str] = {}

    def name(kind: str, text: str) -> str:
        # Values of one length are told apart by their order.
        return names.setdefault(f"{kind} {text}", stand_in(f"{kind} {len(names) + 1}", text))

    def prefix(one: PopularPrefix) -> PopularPrefix:
        return one._replace(
            id=name("request", one.id),
            starts=one.starts and stand_in("text", one.starts),
            ends=one.ends and stand_in("text", one.ends),
        )

    return replace(
        found,
        most_sent=tuple([prefix(one) for one in found.most_sent]),
        most_tokens=tuple([prefix(one) for one in found.most_tokens]),
        by={
            tag: tuple([group._replace(value=name("value", group.value)) for group in groups])
            for tag, groups in found.by.items()
        },
        notes=_redacted_notes(found.notes),
    )


def _redacted_notes(notes: tuple[str, ...]) -> tuple[str, ...]:
    """Notes are the same sentences as those of an audit, and are redacted with one."""
    report = Report(
        version="",
        inputs=(),
        tokenizer={},
        chat_template=None,
        engine={},
        totals=Totals(),
        warm=Totals(),
        losses=Losses(),
        fields=(),
        breaks=(),
        observed=None,
        requests=(),
        notes=notes,
    )
    return redact(report).notes
