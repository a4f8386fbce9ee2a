"""A law of the rows: no lost token stands in two of them, whatever breaks a log and whatever serves it."""

from __future__ import annotations

from typing import Any

import pytest

import prefixlab as pl
from tests.planted.generator import SMALL_SEEDS, holes_log
from tests.planted.structural import structural_log

OUTER = ("namespace", "replica", "expired", "below_minimum")
RULES = " ".join([f"Rule {number} of the house says that parcel {number} is kept for a week." for number in range(30)])


def check(records: list[dict[str, Any]], **options: Any) -> pl.AuditReport:
    report = pl.audit(records, tokenizer="o200k_base", offline=True, **options)
    rows = [*report.fields, *report.breaks]
    outcomes = [row.outcome for row in report.requests]
    assert all(row.lost_tokens >= 0 for row in rows)
    assert sum(row.lost_tokens for row in rows) <= sum(one.prompt_tokens - one.cached_tokens for one in outcomes)
    inner = sum(row.lost_tokens for row in rows if row.kind not in OUTER)
    assert inner <= sum(one.prompt_tokens - one.raw_shared_tokens for one in outcomes)
    return report


@pytest.mark.parametrize("engine", ["vllm", "anthropic"])
@pytest.mark.parametrize("seed", range(SMALL_SEEDS, SMALL_SEEDS + 20))
def test_no_lost_token_stands_in_two_rows(seed: int, engine: str) -> None:
    check(structural_log(seed).records(), engine=engine)
    check(holes_log(seed).records(), engine=engine)


def documents(number: int, clock_at: int) -> dict[str, Any]:
    """Five documents in another order each time, with a clock between them."""
    blocks = [f"[Doc {at}] " + " ".join([f"Fact {at}.{line} holds." for line in range(40)]) for at in range(5)]
    turned = blocks[number % 5 :] + blocks[: number % 5]
    turned.insert(clock_at, f"Retrieved at 2026-03-01 10:{number:02}:17")
    system = "\n\n".join(["Answer from these.", *turned, RULES])
    return {
        "model": "m",
        "messages": [{"role": "system", "content": system}, {"role": "user", "content": f"Q{number}?"}],
    }


@pytest.mark.parametrize("clock_at", [0, 1, 2, 5])
def test_an_order_and_a_value_share_no_request(clock_at: int) -> None:
    report = check([documents(number, clock_at) for number in range(10)])
    assert {"permuted", "clock"} <= {row.kind for row in (*report.fields, *report.breaks)}


def test_what_another_namespace_has_is_not_lost_at_a_value() -> None:
    records = []
    for number in range(8):
        system = f"Time: 2026-03-01 10:{number // 2:02}\n{RULES}"
        messages = [{"role": "system", "content": system}, {"role": "user", "content": f"Q{number}?"}]
        records.append({"model": "m", "messages": messages, "cache_salt": f"tenant {number % 2}"})
    report = check(records)
    assert {row.kind for row in (*report.fields, *report.breaks)} == {"clock", "namespace"}
