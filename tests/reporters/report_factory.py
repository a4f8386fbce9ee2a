"""Reports built by hand, as the tests of the forms need them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from prefixlab.findings import Break, Field, Input, Losses, Observed, Outcome, Report, RequestRow, Totals

ENGINE = {"name": "vllm", "block_size": 16, "cache_tokens": None, "min_tokens": 0}


def make_field(rank: int = 1, **changes: Any) -> Field:
    values: dict[str, Any] = {
        "rank": rank,
        "name": "Current time",
        "kind": "clock",
        "path": "messages[0].content",
        "line": 1,
        "token_index": 6,
        "requests": 3,
        "distinct_values": 4,
        "examples": ("09:14", "09:15", "09:16"),
        "lost_tokens": 1200,
        "recoverable_tokens": 1088,
        "reuse_after_fix": 0.729,
        "cached_reuse_after_fix": 0.729,
        "level": "request",
        "severity": "high",
        "confidence": "high",
        "advice": "Move the clock to the end of the newest user message.",
    }
    return Field(**{**values, **changes})


def make_break(rank: int = 2, **changes: Any) -> Break:
    values: dict[str, Any] = {
        "rank": rank,
        "kind": "tool_order",
        "path": "tools",
        "requests": 2,
        "lost_tokens": 300,
        "recoverable_tokens": 200,
        "reuse_after_fix": 0.85,
        "cached_reuse_after_fix": 0.85,
        "level": "request",
        "severity": "medium",
        "confidence": "high",
        "evidence": "the same 4 tools in 3 orders",
        "advice": "Sort the tools by name.",
    }
    return Break(**{**values, **changes})


def make_row(
    line: int = 1, *, prompt: int = 400, cached: int = 0, losses: Losses | None = None, **changes: Any
) -> RequestRow:
    values: dict[str, Any] = {
        "id": f"r{line}",
        "line": line,
        "outcome": Outcome(prompt, cached, cached, cached, None if line == 1 else 0),
        "matched_id": None if line == 1 else "r1",
        "losses": losses or Losses(first_seen=prompt - cached),
        "field": None,
        "tags": {},
    }
    return RequestRow(**{**values, **changes})


def make_report(
    *,
    fields: Sequence[Field] = (),
    breaks: Sequence[Break] = (),
    rows: Sequence[RequestRow] = (),
    requests: int = 4,
    prompt: int = 1581,
    cached: int = 64,
    aligned: int | None = None,
    last_token: int = 4,
    notes: Sequence[str] = (),
    by: Mapping[str, Mapping[str, Totals]] | None = None,
    observed: Observed | None = None,
    **changes: Any,
) -> Report:
    """A report whose ladder and losses fit together; what nothing claims is first seen."""
    aligned = cached if aligned is None else aligned
    volatile = sum(row.recoverable_tokens for row in (*fields, *breaks))
    evicted = aligned - cached
    raw = min(prompt, aligned + 28)
    totals = Totals(requests, 1, prompt, raw, aligned, cached)
    warm = Totals(requests - 1, 1, max(raw, prompt - prompt // requests), raw, aligned, cached)
    losses = Losses(
        volatile=volatile,
        last_token=last_token,
        evicted=evicted,
        first_seen=prompt - cached - volatile - evicted - last_token,
    )
    values: dict[str, Any] = {
        "version": "0.1.0",
        "inputs": (Input("logs/support.jsonl", "openai chat", requests, 0, "ab" * 32),),
        "tokenizer": {"name": "o200k_base", "source": "bundled", "sha256": "446a9538cb6c" + "0" * 52},
        "chat_template": {"name": "qwen3", "sha256": "cd" * 32},
        "engine": ENGINE,
        "totals": totals,
        "warm": warm,
        "losses": losses,
        "fields": tuple(fields),
        "breaks": tuple(breaks),
        "observed": observed,
        "requests": tuple(rows),
        "notes": tuple(notes),
        "by": by or {},
    }
    return Report(**{**values, **changes})


def empty_report() -> Report:
    return make_report(
        inputs=(Input("empty.jsonl", "none", 0, 2, None),),
        totals=Totals(),
        warm=Totals(),
        losses=Losses(),
    )


HOSTILE = (
    "\x1b[31mred\x1b[0m",
    "[bold]x[/bold] | y",
    "a\nb\r\n| c | d |\n\n# head",
    "\u202eevil\u2066 \u200b\u200d\ufeff",
    "`code` ``two`` ` ",
    "<script>alert(1)</script> &amp; <!-- -->",
    "@everyone #12 https://evil.example/x www.evil.example a@b.example",
    "![img](http://x/y.png) [link](javascript:alert(1))",
    '=HYPERLINK("http://x")',
    "日本語のとても長い名前" * 8,
    "👩‍👩‍👧‍👦❤️🇩🇪",
    "e\u0301" + "\u0301" * 40,
    "x" * 5000,
    "\ud800 lone",
    "\\| \\` \\",
    "",
)
