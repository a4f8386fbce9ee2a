"""An addition at the head of the newest message: what it costs is told by other logs, in which it stands elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

import prefixlab as pl

RULES = " ".join([f"Rule {number} of the house says that parcel {number} is kept for a week." for number in range(12)])
TURNS = 6


def question(turn: int) -> str:
    return f"Where is parcel {turn * 37} that I sent to the island of the blue gulls?"


def answer(turn: int) -> str:
    return " ".join([f"Parcel {turn * 37} left hall {part} in good order." for part in range(6)])


def log(addition: str, place: str, has_answers: bool) -> list[dict[str, Any]]:
    """One conversation; the addition stands ahead of the newest question, behind it, or ahead of all of them."""
    records = []
    for newest in range(TURNS):
        messages = [{"role": "system", "content": RULES}]
        for turn in range(newest + 1):
            said = question(turn)
            if place == "kept" or (place == "ahead" and turn == newest):
                said = f"{addition.format(turn)}\n{said}"
            elif place == "behind" and turn == newest:
                said = f"{said}\n{addition.format(turn)}"
            messages.append({"role": "user", "content": said})
            if turn < newest:
                messages.append({"role": "assistant", "content": answer(turn)})
        record: dict[str, Any] = {"request": {"model": "m", "messages": messages}}
        if has_answers:
            record["response"] = {"choices": [{"message": {"role": "assistant", "content": answer(newest)}}]}
        records.append(record)
    return records


def outcomes(records: list[dict[str, Any]]) -> list[Any]:
    return [row.outcome for row in pl.audit(records, tokenizer="o200k_base", chat_template="chatml").requests]


@pytest.mark.parametrize("addition", ["<note>Be brief and kind to all of them.</note>", "<note>It is 10:0{}.</note>"])
@pytest.mark.parametrize("has_answers", [False, True])
def test_the_better_of_two_ways_counts_what_the_request_has(addition: str, has_answers: bool) -> None:
    sent = log(addition, "ahead", has_answers)
    report = pl.audit(sent, tokenizer="o200k_base", chat_template="chatml")
    now = [row.outcome for row in report.requests]
    behind = [
        max(one.aligned_tokens, other.aligned_tokens)
        for one, other in zip(now, outcomes(log(addition, "behind", has_answers)), strict=True)
    ]
    kept = []
    for one, other in zip(now, outcomes(log(addition, "kept", has_answers)), strict=True):
        own = other.raw_shared_tokens - (other.prompt_tokens - one.prompt_tokens)
        kept.append(max(one.aligned_tokens, min(own, one.prompt_tokens - 1) // 16 * 16))
    is_kept = sum(kept) > sum(behind) + 16 * (TURNS - 1)
    assert is_kept == has_answers
    row = next(row for row in report.breaks if row.kind == "moving_suffix")
    assert row.recoverable_tokens == sum(kept if is_kept else behind) - sum([one.aligned_tokens for one in now])
