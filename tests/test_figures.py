"""The worked figures that must come out of the command: tokens, shared prefix, blocks, and what fixing gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.command import prefixlab

BODY = (
    "You are a support assistant for an online bookshop. Answer in two sentences, quote the order number, and never "
    "promise a refund date. If you are unsure, ask one question."
)
TURN_1 = "User: Where is my order 1182?\nAssistant: It left the depot today. Shall I text you then?"
TURN_2 = "\nUser: Yes please, and can you also change the delivery address to my new office too?\nAssistant:"


def audited(tmp_path: Path, prompts: list[str], *options: str) -> Any:
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps({"prompt": prompt}) + "\n" for prompt in prompts))
    run = prefixlab("audit", str(log), "--format", "json", "--per-request", *options)
    assert run.returncode == 0, run.stderr.decode()
    return json.loads(run.stdout)


@pytest.mark.parametrize(("tokenizer", "tokens", "shared"), [("o200k_base", [5, 6], 0), ("cl100k_base", [6, 6], 1)])
def test_two_wordings_of_a_question(tmp_path: Path, tokenizer: str, tokens: list[int], shared: int) -> None:
    run = audited(tmp_path, ["What's your refund policy?", "What is your refund policy?"], "--tokenizer", tokenizer)
    assert [row["prompt_tokens"] for row in run["requests"]] == tokens
    assert run["requests"][1]["raw_shared_tokens"] == shared


def test_a_clock_at_the_front(tmp_path: Path) -> None:
    prompts = [f"Current time: 09:1{minute}.\n{BODY}" for minute in (4, 5)]
    run = audited(tmp_path, prompts, "--tokenizer", "o200k_base")
    assert [row["prompt_tokens"] for row in run["requests"]] == [45, 45]
    assert run["warm"]["raw_shared_tokens"] == 6
    assert run["warm"]["aligned_tokens"] == 0
    assert round(run["warm"]["raw_reuse"] * 100, 1) == 13.3
    (field,) = run["fields"]
    assert (field["name"], field["kind"], field["token_index"]) == ("Current time", "clock", 6)
    assert field["recoverable_tokens"] == run["losses"]["volatile"] == 32


def test_a_clock_at_the_end(tmp_path: Path) -> None:
    prompts = [f"{BODY}\nCurrent time: 09:1{minute}." for minute in (4, 5)]
    run = audited(tmp_path, prompts, "--tokenizer", "o200k_base")
    assert [row["prompt_tokens"] for row in run["requests"]] == [45, 45]
    assert (run["warm"]["raw_shared_tokens"], run["warm"]["aligned_tokens"]) == (43, 32)
    assert round(run["warm"]["raw_reuse"] * 100, 1) == 95.6
    assert round(run["warm"]["aligned_reuse"] * 100, 1) == 71.1
    assert run["fields"] == []


def test_the_last_token_of_a_turn_merges_with_the_next(tmp_path: Path) -> None:
    run = audited(tmp_path, [TURN_1, TURN_1 + TURN_2], "--tokenizer", "o200k_base")
    assert [row["prompt_tokens"] for row in run["requests"]] == [24, 45]
    assert run["requests"][1]["raw_shared_tokens"] == 23
    (row,) = run["breaks"]
    assert (row["kind"], row["lost_tokens"], row["recoverable_tokens"]) == ("boundary_token", 1, 0)
    assert row["evidence"] == r"'?' became '?\n'"
