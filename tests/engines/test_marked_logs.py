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


def notes(report: dict[str, Any]) -> str:
    return " ".join(report["notes"])


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        ({"type": "ephemeral", "ttl": "1h"}, "4 requests ask for a lifetime of 1 hour, and 5 minutes count for all"),
        ({"type": "ephemeral", "ttl": "5m"}, None),
        ({"type": "ephemeral"}, None),
        ({"type": "ephemeral", "ttl": ["1h"]}, None),
        ({"type": "ephemeral", "ttl": "for ever"}, None),
    ],
)
def test_a_longer_lifetime_in_the_log_is_told(tmp_path, mark, said):
    log = write(tmp_path / "log.jsonl", cache_control=mark)
    found = notes(audited(log, "anthropic-sonnet-4.5"))
    assert (said or "lifetime of") in found if said else "lifetime of" not in found
    assert "ask for a lifetime" not in notes(audited(log, "anthropic-sonnet-4.5", "--ttl", "1h"))


@pytest.mark.parametrize(
    ("engine", "mark"),
    [
        ("anthropic-sonnet-4.5", "cache_control"),
        ("openai-gpt-5.6", "prompt_cache_breakpoint"),
        ("bedrock-claude", "cache_control"),
        ("qwen-explicit", "cache_control"),
    ],
)
def test_a_log_without_marks_is_told_what_they_give(tmp_path, engine, mark):
    """The figures are those of the log with the mark in it."""
    bare = audited(write(tmp_path / "bare.jsonl"), engine)
    marked = audited(write(tmp_path / "marked.jsonl", **{mark: {"type": "default"}}), engine)
    paid = marked["bill"]["now"] / marked["bill"]["without_cache"]
    share, bill = [f"{100 * part:.1f} %" for part in (marked["totals"]["cached_reuse"], paid)]
    named = "cache_control` or `cachePoint" if engine.startswith("bedrock") else mark
    assert marked["totals"]["cached_tokens"] > bare["totals"]["cached_tokens"] == 0
    assert f"at the end of the system text (`{named}`) {share} of the prompt tokens would be reused" in notes(bare)
    assert f"the bill would be {bill} of that without a cache" in notes(bare)
    assert "No request marks" not in notes(marked)


def test_a_mark_that_gives_nothing_is_not_told(tmp_path):
    # Below the minimum of this model, and of token ids nobody knows where the system text ends.
    assert "No request marks" not in notes(audited(write(tmp_path / "log.jsonl"), "anthropic-opus-4.5"))
    ids = tmp_path / "ids.jsonl"
    ids.write_text("".join([json.dumps({"prompt_token_ids": [*range(2000), at]}) + "\n" for at in range(5000, 5004)]))
    assert "No request marks" not in notes(audited(str(ids), "anthropic-sonnet-4.5"))


def test_a_provider_s_cache_is_no_size(tmp_path):
    log = write(tmp_path / "log.jsonl", cache_control={"type": "ephemeral"})
    run = prefixlab("audit", log, "--tokenizer", "o200k_base", "--engine", "anthropic-sonnet-4.5")
    said = " ".join(run.stdout.decode().split())
    assert "can be reused in the provider's cache with its lifetime of 5 minutes (" in said
    assert " in one that forgets nothing). " in said
    assert "`cached` counts the provider's lifetime, everything else a cache that forgets nothing." in said
    assert "cached, in the provider's cache" in said
    assert "denied by the engine's rule" in said
    assert not any(word in said for word in ("cache size", "in this cache", "rounded to blocks", "unlimited"))
    run = prefixlab("audit", log, "--tokenizer", "o200k_base", "--engine", "anthropic-sonnet-4.5", "--replicas", "2")
    assert "the provider's lifetime and the routing given" in " ".join(run.stdout.decode().split())
