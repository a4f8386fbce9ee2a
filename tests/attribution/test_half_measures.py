"""Half-measures: equal to audits of logs in which the value was cut, held or left out by hand."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import prefixlab as pl
from prefixlab.attribution import half_measures
from prefixlab.attribution.value_kinds import day_of
from prefixlab.findings import Alternative
from prefixlab.python_api import AuditReport
from tests.attribution.test_volatile_fields import RULES

BLOCK = 16
CONVERSATIONS, TURNS = 5, 4

Write = Callable[[int, int], str]
"""The system line's value for a conversation and a turn."""


def clock(conversation: int, turn: int) -> str:
    """A clock that goes on over two days, from request to request."""
    number = turn * CONVERSATIONS + conversation
    return f"2026-03-{16 + number // 13:02d}T{8 + number % 13:02d}:14:{number * 2:02d}Z"


def said(seed: int) -> list[str]:
    rng = random.Random(seed)
    return [" ".join(rng.choice(RULES).split()[:9]) + f" {rng.randint(100, 999)}." for _ in range(2 * TURNS)]


def log(write: Write, *, session: bool = False, label: str = "Current time", also: Write | None = None) -> list[Any]:
    """Conversations in turn, whose system message has the value in its second line, and maybe another behind it."""
    records = []
    for turn in range(TURNS):
        for conversation in range(CONVERSATIONS):
            lines = [RULES[0], f"{label}: {write(conversation, turn)}"]
            lines += [] if also is None else [f"Request: {also(conversation, turn)}"]
            messages = [{"role": "system", "content": "\n".join([*lines, *RULES[1:]])}]
            for number, text in enumerate(said(conversation)[: 2 * turn + 1]):
                messages.append({"role": ("user", "assistant")[number % 2], "content": text})
            record: dict[str, Any] = {"model": "gpt-4o", "messages": messages}
            if session:
                record["metadata"] = {"session_id": f"s{conversation}"}
            records.append(record)
    return records


def audited(records: Sequence[Any], **options: Any) -> AuditReport:
    return pl.audit(list(records), tokenizer="o200k_base", **options)


def aligned(report: AuditReport) -> list[int]:
    return [row.outcome.aligned_tokens for row in report.requests]


def won_by_hand(report: AuditReport, written: Sequence[Any], before: Sequence[int] | None = None) -> int:
    """What the log wins if it is written otherwise: for each request no less than it has, no more than it can."""
    best = aligned(report) if before is None else before
    won = 0
    for row, has, now in zip(report.requests, best, aligned(audited(written)), strict=True):
        most = (row.outcome.prompt_tokens - 1) // BLOCK * BLOCK
        won += max(has, min(now, most)) - has
    return won


def tokens_of(alternatives: Sequence[Alternative]) -> dict[str, int]:
    return {one.what: one.recoverable_tokens for one in alternatives}


def test_a_clock_in_conversations() -> None:
    report = audited(log(clock))
    (field,) = report.fields
    written = {
        "date": log(lambda conversation, turn: clock(conversation, turn)[:10]),
        "once_a_session": log(lambda conversation, turn: clock(conversation, 0)),
        "tool_call": log(lambda conversation, turn: ""),
    }
    by_hand = {what: won_by_hand(report, records) for what, records in written.items()}
    assert tokens_of(field.alternatives) == by_hand
    assert by_hand["tool_call"] > field.recoverable_tokens > by_hand["once_a_session"] > 0
    for one in field.alternatives:
        reached = report.totals.aligned_tokens + one.recoverable_tokens
        assert one.reuse_after == one.cached_reuse_after == reached / report.totals.prompt_tokens
    cost = by_hand["tool_call"] - field.recoverable_tokens
    assert f"A turn later it is gone from there, so each turn computes the last exchange again: {cost:,} tokens." in (
        field.advice
    )


def test_the_session_is_what_the_log_says() -> None:
    """Requests that continue nothing are one session by their tag alone; a value is held at the first of it."""

    def first_turns(write: Write, *, session: bool) -> list[Any]:
        return [record | {"messages": record["messages"][:2]} for record in log(write, session=session)]

    report = audited(first_turns(clock, session=True))
    (field,) = report.fields
    held = won_by_hand(report, first_turns(lambda conversation, turn: clock(conversation, 0), session=True))
    assert tokens_of(field.alternatives)["once_a_session"] == held > 0
    (untold,) = audited(first_turns(clock, session=False)).fields
    # With the same question asked again, a request does not go on with the one before.
    assert list(tokens_of(untold.alternatives)) == ["date"]


def test_a_value_that_wins_only_with_the_next_one() -> None:
    """Two values in one block: the day alone wins nothing as long as the other one stands behind it."""

    def request(conversation: int, turn: int) -> str:
        return f"{conversation * 7919 + turn * 104729 + 1:08x}-{turn:04x}"

    report = audited(log(clock, also=request))
    time, other = report.fields
    assert (time.name, time.recoverable_tokens, other.name) == ("Current time", 0, "Request")
    assert other.recoverable_tokens > 0
    days = log(lambda conversation, turn: clock(conversation, turn)[:10], also=request)
    for record, of_value in zip(days, log(clock, also=request), strict=True):
        system, *_, newest = record["messages"]
        line = of_value["messages"][0]["content"].split("\n")[2]
        system["content"] = system["content"].replace(f"{line}\n", "")
        newest["content"] += f"\n{line}"
    assert tokens_of(time.alternatives)["date"] == won_by_hand(report, days) > 0


@pytest.mark.parametrize("write", [lambda conversation, turn: f"{9 + turn}:{14 + conversation}", lambda *_: "noon"])
def test_nothing_is_said_where_nothing_is_won(write: Write) -> None:
    """A clock without a date has no day, and a value that stays is no field."""
    (*fields,) = audited([record | {"messages": record["messages"][:2]} for record in log(write)]).fields
    assert [field.alternatives for field in fields] == [()] * len(fields)


def test_a_value_that_is_the_same_all_through_its_session() -> None:
    """What is given once a session already has no half-measure of that name."""
    (field,) = audited(log(lambda conversation, turn: f"user{conversation:02d}@example.org", label="Customer")).fields
    assert "once_a_session" not in tokens_of(field.alternatives)
    assert "date" not in tokens_of(field.alternatives)


def test_in_a_cache_with_a_size_the_cached_share_is_served_again() -> None:
    report = audited(log(clock), cache_tokens=1_000)
    (field,) = report.fields
    (day,) = [one for one in field.alternatives if one.what == "date"]
    served = audited(log(lambda conversation, turn: clock(conversation, turn)[:10]), cache_tokens=1_000)
    assert day.cached_reuse_after * report.totals.prompt_tokens == pytest.approx(served.totals.cached_tokens)
    assert day.cached_reuse_after < day.reuse_after


def test_few_replays_of_a_large_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(half_measures, "MOST_REPLAYED", 2 * CONVERSATIONS * TURNS)
    (field,) = audited(log(clock)).fields
    assert list(tokens_of(field.alternatives)) == ["date", "once_a_session"]
    monkeypatch.setattr(half_measures, "MOST_REPLAYED", 1)
    (field,) = audited(log(clock)).fields
    assert list(tokens_of(field.alternatives)) == ["date"]


@pytest.mark.parametrize(
    ("value", "day"),
    [
        ("2026-03-17T08:00:38Z", "2026-03-17"),
        (' "2026-03-17 08:00"', ' "2026-03-17"'),
        ("Tue, 17 Mar 2026 08:00:38 GMT", "Tue, 17 Mar 2026"),
        ("08:00, 17 March 2026", "17 March 2026"),
        ("08:00:38", None),
        ("1773734400", None),
        ("2026-03-17", None),
        ("call 2026-03-17 08:00 back", None),
    ],
)
def test_the_day_of_a_clock(value: str, day: str | None) -> None:
    assert day_of(value) == day
