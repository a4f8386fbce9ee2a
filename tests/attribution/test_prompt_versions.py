"""A new version of the prompt is one row that nothing is to be done about; what changes again stays a field."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import prefixlab as pl
from prefixlab.python_api import AuditReport
from tests.attribution.test_volatile_fields import RULES

OLD = "\n".join(RULES)
NEW = OLD
for rule in (3, 8, 14):
    NEW = NEW.replace(RULES[rule], RULES[rule].replace("the customer", "callers"))


def audited(system: Callable[[int], str], count: int = 20, *, more: Callable[[int], dict[str, Any]] | None = None,
            options: dict[str, Any] | None = None) -> AuditReport:  # fmt: skip
    records = []
    for number in range(count):
        messages = [
            {"role": "system", "content": system(number)},
            {"role": "user", "content": f"What about bicycle {number * 7919}?"},
        ]
        records.append({"model": "gpt-4o", "messages": messages, **({} if more is None else more(number))})
    return pl.audit(records, tokenizer="o200k_base", **(options or {}))


def test_a_deploy_is_one_row() -> None:
    report = audited(lambda number: OLD if number < 9 else NEW)
    assert report.fields == ()
    (row,) = report.breaks
    assert (row.kind, row.path, row.severity) == ("prompt_version", "messages[0].content", "info")
    assert (row.requests, row.recoverable_tokens, report.losses.volatile) == (1, 0, 0)
    assert row.evidence.startswith(f"from {report.requests[9].id} on 3 values are others")
    assert "'the customer' became 'callers'" in row.evidence
    outcome = report.requests[9].outcome
    assert row.lost_tokens == outcome.prompt_tokens - outcome.raw_shared_tokens
    assert [at for at, one in enumerate(report.requests) if one.field == "prompt_version"] == [9]


def test_each_deploy_has_its_row() -> None:
    newest = NEW.replace("Rule 9: quote", "Rule 9: cite").replace("Rule 11: quote", "Rule 11: cite")
    report = audited(lambda number: OLD if number < 6 else NEW if number < 13 else newest)
    since = [row.evidence.split(" on ")[0] for row in report.breaks if row.kind == "prompt_version"]
    assert since == [f"from {report.requests[at].id}" for at in (6, 13)]
    assert report.fields == ()


def test_a_clock_beside_it_stays_a_field() -> None:
    report = audited(lambda number: f"Time: 10:{number + 10}\n{OLD if number < 9 else NEW}")
    assert [(field.name, field.kind) for field in report.fields] == [("Time", "clock")]
    assert [row.kind for row in report.breaks] == ["prompt_version"]
    assert report.fields[0].recoverable_tokens == report.losses.volatile > 0


NOT_ONE = {
    "back again": lambda number: NEW if 6 <= number < 13 else OLD,
    "now this, now that": lambda number: NEW if number % 2 else OLD,
    "one value": lambda number: OLD if number < 9 else OLD.replace("Rule 5: quote", "Rule 5: cite"),
    "at the end of the log": lambda number: OLD if number < 18 else NEW,
    "two days": lambda number: f"Today: 2026-03-{16 + number // 10}\n{OLD}\nDue: 2026-04-{16 + number // 10}\n{OLD}",
}


@pytest.mark.parametrize("system", NOT_ONE.values(), ids=NOT_ONE)
def test_what_is_no_deploy(system: Callable[[int], str]) -> None:
    report = audited(system)
    assert "prompt_version" not in [row.kind for row in report.breaks]
    assert report.fields


@pytest.mark.parametrize("tag", ["user", "session_id", "tenant"])
def test_what_one_has_and_another_has_not(tag: str) -> None:
    """Two users one after the other: their texts differ, and that of the first may come again."""
    report = audited(lambda number: OLD if number < 9 else NEW, more=lambda number: {tag: "a" if number < 9 else "b"})
    assert "prompt_version" not in [row.kind for row in report.breaks]
    across = audited(lambda number: OLD if number < 9 else NEW, more=lambda number: {tag: "ab"[number % 2]})
    assert [row.kind for row in across.breaks] == ["prompt_version"]


def test_a_known_version() -> None:
    report = audited(lambda number: OLD if number < 9 else NEW, options={"ignore": ["prompt_version"]})
    (row,) = report.breaks
    assert row.ignored
