"""Logs of hosted providers through `audit`: marks and times of the log meet the provider's rule."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.command import prefixlab

RULES = " ".join(f"Rule {n}: answer politely and check the order number first." for n in range(150))
TIMES = ("08:00:00", "08:01:00", "08:06:01", "08:06:21")
QUESTIONS = ("Where is my order?", "How do I return it?", "Is it lost?", "Thank you.")


def write(path: Path, **system: Any) -> str:
    rows = [
        {
            "timestamp": f"2026-03-17T{time}Z",
            "model": "claude-sonnet-4-5",
            "system": [{"type": "text", "text": RULES, **system}],
            "messages": [{"role": "user", "content": question}],
        }
        for time, question in zip(TIMES, QUESTIONS, strict=True)
    ]
    path.write_text("".join([json.dumps(row) + "\n" for row in rows]))
    return str(path)


def audited(log: str, engine: str, *more: str) -> dict[str, Any]:
    run = prefixlab(
        "audit", log, "--tokenizer", "o200k_base", "--engine", engine, "--per-request", "--format", "json", *more
    )
    assert run.returncode == 0, run.stderr
    report: dict[str, Any] = json.loads(run.stdout)
    return report


def cached(report: dict[str, Any]) -> list[int]:
    return [row["cached_tokens"] for row in report["requests"]]


def test_a_marked_system_text_and_five_minutes(tmp_path):
    report = audited(write(tmp_path / "log.jsonl", cache_control={"type": "ephemeral"}), "anthropic-sonnet-4.5")
    first, second, third, fourth = cached(report)
    # The third comes 301 seconds after the second.
    assert (first, third) == (0, 0)
    assert second == fourth > 1024
    assert second < report["requests"][1]["raw_shared_tokens"] < second + 20
    assert report["losses"]["expired"] == second
    hour = audited(
        write(tmp_path / "log.jsonl", cache_control={"type": "ephemeral"}), "anthropic-sonnet-4.5", "--ttl", "1h"
    )
    assert cached(hour) == [0, second, second, second]


def test_without_a_mark_each_question_ends_the_prefix(tmp_path):
    log = write(tmp_path / "log.jsonl")
    assert cached(audited(log, "anthropic-sonnet-4.5")) == [0, 0, 0, 0]
    # OpenAI's older rule needs no marks.
    assert cached(audited(log, "openai-gpt-4o"))[1] % 128 == 0
    assert min(cached(audited(log, "openai-gpt-4o"))[1:]) >= 1024


@pytest.mark.parametrize("engine", ["anthropic-opus-4.5", "gemini-3"])
def test_a_minimum_that_is_not_reached(tmp_path, engine):
    report = audited(write(tmp_path / "log.jsonl", cache_control={"type": "ephemeral"}), engine)
    assert report["totals"]["cached_tokens"] == 0
    assert report["losses"]["below_minimum"] > 0


def test_an_alias_says_what_it_stands_for(tmp_path):
    log = write(tmp_path / "log.jsonl")
    run = prefixlab("audit", log, "--tokenizer", "o200k_base", "--engine", "anthropic")
    assert b"anthropic stands for anthropic-opus-5.5" in run.stdout


def test_a_hosted_cache_has_no_size(tmp_path):
    log = write(tmp_path / "log.jsonl")
    run = prefixlab("audit", log, "--tokenizer", "o200k_base", "--engine", "anthropic", "--cache-tokens", "5000")
    assert run.returncode == 2
    assert b"anthropic is a hosted service" in run.stderr
