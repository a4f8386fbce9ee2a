"""Severity of causes outside of the prompt: by the tokens they deny and how often, as for those that can be fixed."""

from __future__ import annotations

from typing import Any

import pytest

import prefixlab as pl
from prefixlab.findings import Break
from prefixlab.python_api import AuditReport
from tests.attribution.test_volatile_fields import RULES

RULE_BOOK = "\n".join(RULES)
HOUR = 3600


def record(number: int, **more: Any) -> dict[str, Any]:
    """A request of its own length: rules that it shares, and a question that it does not."""
    messages = [
        {"role": "system", "content": RULE_BOOK},
        {"role": "user", "content": f"{number * 7919} is my order, where is it?"},
    ]
    return {"model": "gpt-4o", "messages": messages, **more}


def by_hand(report: AuditReport, row: Break) -> str:
    """The definition, word by word."""
    share, rate = row.lost_tokens / report.totals.prompt_tokens, row.requests / report.warm.requests
    if not row.lost_tokens:
        return "info"
    if share >= 0.10 and rate >= 0.5:
        return "high"
    return "medium" if share >= 0.02 and rate >= 0.25 else "low"


def salted(every: int) -> list[dict[str, Any]]:
    """Requests of which one in so many has a salt that only it has."""
    return [record(n, cache_salt=f"s{n}" if n % every == 0 else "all") for n in range(16)]


def later(every: int) -> list[dict[str, Any]]:
    """Requests of which one in so many comes hours behind the one before."""
    times = [n * 60 + n // every * 5 * HOUR for n in range(16)]
    return [record(n, timestamp=1_760_000_000 + at) for n, at in enumerate(times)]


CASES: dict[str, tuple[str, list[dict[str, Any]], dict[str, Any], str]] = {
    "namespace, most": ("namespace", [record(n, cache_salt=f"s{n // 2}") for n in range(16)], {}, "high"),
    "namespace, few": ("namespace", salted(8), {}, "low"),
    "expired, all": ("expired", later(1), {"ttl": "1h"}, "high"),
    "expired, a third": ("expired", later(3), {"ttl": "1h"}, "medium"),
    "expired, few": ("expired", later(8), {"ttl": "1h"}, "low"),
    "replica, most": ("replica", [record(n) for n in range(16)], {"replicas": 12, "routing": "round-robin"}, "high"),
    "replica, few": ("replica", [record(n) for n in range(16)], {"replicas": 3, "routing": "round-robin"}, "low"),
    "minimum, all": ("below_minimum", [record(n) for n in range(16)], {"engine": "openai-gpt-4o"}, "high"),
}


@pytest.mark.parametrize(("kind", "records", "options", "severity"), CASES.values(), ids=CASES)
def test_severity_goes_by_what_is_lost(
    kind: str, records: list[dict[str, Any]], options: dict[str, Any], severity: str
) -> None:
    report = pl.audit(records, tokenizer="o200k_base", **options)
    (row,) = [row for row in report.breaks if row.kind == kind]
    assert row.recoverable_tokens == 0 < row.lost_tokens
    assert row.severity == by_hand(report, row) == severity
