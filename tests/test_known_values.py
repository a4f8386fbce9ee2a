"""`audit --ignore`: a known cause keeps its row and its tokens, is fixed last, and nothing is asked for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import prefixlab as pl
from prefixlab.errors import PrefixlabError
from tests.command import prefixlab
from tests.test_audit import audited, refused, written

LOG = str(Path(__file__).parents[1] / "samples" / "support_clock_on_top.jsonl")
"""A clock on line 2 of the system text and a session's id on line 3."""
RULES = "\n".join(f"Rule {n}: quote clause {n * 7} of the terms, and offer a visit on a weekday." for n in range(20))


def rows(run: Any) -> dict[str, Any]:
    return {row.get("name", row["kind"]): row for row in [*run["fields"], *run["breaks"]]}


def said(*arguments: str) -> str:
    """The report for people, unwrapped."""
    run = prefixlab("audit", LOG, *arguments)
    assert run.returncode == 0, run.stderr.decode()
    return " ".join(run.stdout.decode().split())


def of_tools(tmp_path: Path) -> str:
    """Requests whose tools stand in another order each time, under a rule book and a clock."""
    tools = [
        {"type": "function", "function": {"name": f"tool_{n}", "description": f"Does thing number {n} of all."}}
        for n in range(4)
    ]
    records = [
        {
            "messages": [{"role": "system", "content": RULES}, {"role": "user", "content": f"Question {n}?"}],
            "tools": [*tools[n % 4 :], *tools[: n % 4]],
        }
        for n in range(12)
    ]
    return written(tmp_path / "tools.jsonl", records)


@pytest.mark.parametrize("name", ["Current time", "current TIME", "kind:clock", " Kind:Clock "])
def test_a_known_value_keeps_its_row_and_the_sums_hold(name: str) -> None:
    run = audited(LOG, "--ignore", name)
    known = rows(run)["Current time"]
    assert list(known)[-1] == "ignored"
    assert (known["ignored"], known["severity"]) == (True, "info")
    assert known["lost_tokens"] == rows(audited(LOG))["Current time"]["lost_tokens"]
    assert not rows(run)["Session"]["ignored"]
    won = sum(row["recoverable_tokens"] for row in rows(run).values())
    assert won == run["losses"]["volatile"] > 0


def test_what_is_left_is_measured_without_the_known_fix() -> None:
    # The session stands behind the clock: while the clock stays, moving the session wins nothing.
    run = audited(LOG, "--ignore", "Current time")
    session, clock = rows(run)["Session"], rows(run)["Current time"]
    assert (session["rank"], session["recoverable_tokens"]) == (1, 0)
    assert session["reuse_after_fix"] == run["totals"]["aligned_reuse"]
    assert clock["rank"] == 2
    assert "pays only together" not in session["advice"]
    assert said("--ignore", "Current time").startswith(
        "3.9 % of the prompt tokens can be reused. What would win more is ignored: 1 known cause."
    )


def test_the_headline_and_the_advice_leave_it_out() -> None:
    both = said()
    assert 'fixing 2 fields, "Current time" and "Session", makes it' in both
    report = said("--ignore", "Session")
    clock = rows(audited(LOG, "--ignore", "Session"))["Current time"]
    assert f'fixing 1 field, "Current time", makes it {clock["reuse_after_fix"]:.1%}'.replace("%", " %") in report
    todo = report[report.index("What to do") : report.index("Measured on")]
    assert "Move 'Current time'" in todo
    assert "Session" not in todo
    assert report.count("known, ignored") == 1
    none = said("--ignore", "Session", "--ignore", "Current time")
    assert "What to do" not in none
    assert "Worth knowing" not in none
    assert "What would win more is ignored: 2 known causes." in none
    markdown = prefixlab("audit", LOG, "--ignore", "Session", "--format", "markdown").stdout.decode()
    assert "info, ignored" in markdown


def test_a_known_cause_does_not_trip_the_gate(tmp_path: Path) -> None:
    assert prefixlab("audit", LOG, "--fail-on", "low").returncode == 1
    assert prefixlab("audit", LOG, "--fail-on", "low", "--ignore", "current time").returncode == 0
    assert prefixlab("audit", LOG, "--fail-on", "low", "--ignore", "session").returncode == 1
    log = of_tools(tmp_path)
    gate = ("audit", log, "--tokenizer", "qwen3", "--fail-on", "low")
    assert prefixlab(*gate).returncode == 1
    for name in ("tool_order", "kind:tool_order"):
        assert prefixlab(*gate, "--ignore", name).returncode == 0
    (known,) = audited(log, "--tokenizer", "qwen3", "--ignore", "tool_order")["breaks"]
    assert (known["ignored"], known["severity"]) == (True, "info")
    assert known["recoverable_tokens"] > 0


def test_a_name_that_no_row_has_is_told() -> None:
    notes = audited(LOG, "--ignore", "Curent time", "--ignore", "tool_set", "--ignore", "kind:clock")["notes"]
    told = [note for note in notes if "ignored" in note]
    assert told == [
        "To be ignored, but not in this report: no field and no kind is called 'Curent time' or 'tool_set'."
    ]
    one = audited(LOG, "--ignore", "x")["notes"][-1]
    assert one == "To be ignored, but not in this report: no field and no kind is called 'x'."
    assert "ignored" not in " ".join(audited(LOG)["notes"])
    # A kind of values is named with `kind:`; without it, it is a name.
    assert not rows(audited(LOG, "--ignore", "clock"))["Current time"]["ignored"]


def test_without_names_nothing_changes() -> None:
    assert all(row["ignored"] is False for row in rows(audited(LOG)).values())
    assert "ignored" not in said()


def test_a_name_without_a_letter_is_refused() -> None:
    assert "--ignore '' names nothing" in refused("audit", LOG, "--ignore", " ")


def test_from_python() -> None:
    report = pl.audit(LOG, ignore=["Current time"])
    assert [row.ignored for row in report.fields] == [False, True]
    assert list(report.fields_frame()["ignored"]) == [False, True]
    with pytest.raises(PrefixlabError, match="list of names"):
        pl.audit(LOG, ignore="Current time")


def test_a_saved_run_keeps_the_mark() -> None:
    from prefixlab.reporters.json_report import report_from_json

    run = prefixlab("audit", LOG, "--ignore", "Session", "--format", "json").stdout
    assert [row.ignored for row in report_from_json(run).fields] == [
        row["ignored"] for row in json.loads(run)["fields"]
    ]
