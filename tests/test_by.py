"""`--by TAG`: losses and causes of each value of a tag."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import prefixlab as pl
from prefixlab.findings import Losses
from prefixlab.reporters.json_report import report_from_json
from tests.command import prefixlab
from tests.test_audit import audited, chat, written

RULES = "\n".join(f"Rule {n}: quote clause {n * 7} of the terms, and offer a visit on a weekday." for n in range(20))

IDS = st.lists(st.integers(0, 3), min_size=1, max_size=30)


def log_of(tmp_path: Path) -> str:
    """Two customers: the one's system text begins with a clock, the other's is always the same."""
    records = []
    for n in range(16):
        top = f"Time: {10 + n // 4}:{10 + n}:07\n" if n % 2 else ""
        record = chat(f"Question number {n}: where is it?", tenant="clocked" if n % 2 else "plain")
        record["messages"][0]["content"] = top + RULES
        records.append(record)
    return written(tmp_path / "log.jsonl", records)


def test_each_value_has_its_losses_and_causes(tmp_path: Path) -> None:
    run = audited(log_of(tmp_path), "--tokenizer", "qwen3", "--by", "tenant")
    clocked, plain = run["by"]["tenant"]["clocked"], run["by"]["tenant"]["plain"]
    assert list(clocked)[-2:] == ["losses", "causes"]
    assert list(clocked["losses"]) == list(run["losses"])
    (field,) = run["fields"]
    assert clocked["causes"] == {field["name"]: 7}
    assert plain["causes"] == {}
    assert plain["losses"]["volatile"] == 0
    assert clocked["losses"]["volatile"] == run["losses"]["volatile"] > 0


def test_losses_of_the_values_add_up(tmp_path: Path) -> None:
    run = audited(
        log_of(tmp_path), "--tokenizer", "qwen3", "--by", "tenant", "--by", "nothing", "--cache-tokens", "900"
    )
    assert run["losses"]["evicted"] > 0
    for groups in run["by"].values():
        for name, tokens in run["losses"].items():
            assert sum(group["losses"][name] for group in groups.values()) == tokens
        for group in groups.values():
            assert group["cached_tokens"] + sum(group["losses"].values()) == group["prompt_tokens"]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["a", "b", None]), IDS), min_size=1, max_size=12))
def test_losses_add_up_whatever_the_log(drawn: list[tuple[str | None, list[int]]]) -> None:
    records = [{"prompt_token_ids": ids, **({"tenant": tag} if tag else {})} for tag, ids in drawn]
    report = pl.audit(records, by=["tenant"], block_size=4, cache_tokens=40)
    whole = Losses(*[sum(column) for column in zip(*report.by_losses["tenant"].values(), strict=True)])
    assert whole == report.losses
    ending = sum(sum(causes.values()) for causes in report.by_causes["tenant"].values())
    assert ending == sum(row.field is not None for row in report.requests)


def test_a_saved_run_comes_back_whole(tmp_path: Path) -> None:
    run = prefixlab("audit", log_of(tmp_path), "--tokenizer", "qwen3", "--by", "tenant", "--format", "json").stdout
    report = report_from_json(run)
    assert report.by_causes["tenant"]["plain"] == {}
    assert sum(report.by_losses["tenant"]["clocked"]) > 0
    # What an earlier version saved has neither.
    document = json.loads(run)
    for group in document["by"]["tenant"].values():
        del group["losses"], group["causes"]
    earlier = report_from_json(json.dumps(document).encode())
    assert (earlier.by_losses, earlier.by_causes) == ({}, {})
    assert earlier.by == report.by


@pytest.mark.parametrize("limits", [(), ("--cache-tokens", "5000")])
def test_a_person_sees_the_largest_loss_and_the_cause(tmp_path: Path, limits: tuple[str, ...]) -> None:
    asked = ("audit", log_of(tmp_path), "--tokenizer", "qwen3", "--by", "tenant", *limits)
    lines = prefixlab(*asked).stdout.decode().splitlines()
    at = next(at for at, line in enumerate(lines) if line.startswith("By tenant"))
    assert lines[at].split()[:6] == ["By", "tenant", "lost", "to", "broken", "by"]
    assert lines[at + 1].split()[:3] == ["clocked", "volatile", "Time"]
    assert lines[at + 2].split()[:4] == ["plain", "first", "seen", "-"]
    assert max(map(len, lines)) <= 80
    table = prefixlab(*asked, "--format", "markdown").stdout.decode()
    assert "| largest loss | broken by |" in table
    (row,) = [line for line in table.splitlines() if line.startswith("| `clocked`")]
    assert row.endswith("| `Time` |")
    assert "| volatile " in row


def test_redacted_causes_are_those_of_the_rows(tmp_path: Path) -> None:
    run: Any = audited(log_of(tmp_path), "--tokenizer", "qwen3", "--by", "tenant", "--redact")
    causes = [group["causes"] for group in run["by"]["tenant"].values()]
    assert sorted(causes, key=len) == [{}, {"field 1": 7}]
    assert {name[:7] for name in run["by"]["tenant"]} == {"‹id 1, ", "‹id 2, "}
