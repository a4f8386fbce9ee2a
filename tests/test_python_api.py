"""What `import prefixlab` offers: logs, records in memory, frames."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import prefixlab as pl

RULES = "\n".join(f"Rule {n}: quote clause {n * 7} of the terms, and offer a visit on a weekday." for n in range(20))


def bodies(count: int) -> list[dict[str, Any]]:
    return [
        {
            "messages": [
                {"role": "system", "content": f"Time: 08:{n:02d}:00\n{RULES}"},
                {"role": "user", "content": f"question {n}"},
            ],
            "tenant": "ab"[n % 2],
        }
        for n in range(count)
    ]


def test_records_in_memory_are_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps(body) + "\n" for body in bodies(8)))
    read = pl.audit(log, tokenizer="qwen3", by=("tenant",))
    held = pl.audit(bodies(8), tokenizer="qwen3", by=("tenant",))
    assert held.totals == read.totals
    assert held.fields == read.fields
    assert held.by == read.by
    assert held.inputs == ()


def test_frames_have_a_row_a_request_and_a_row_a_finding() -> None:
    report = pl.audit(bodies(8), tokenizer="qwen3")
    frame = report.to_frame()
    assert len(frame) == 8
    assert int(frame["aligned_tokens"].sum()) == report.totals.aligned_tokens
    losses = frame[[name for name in frame.columns if name.startswith("loss_")]].sum(axis=1)
    assert (frame["cached_tokens"] + losses == frame["prompt_tokens"]).all()
    assert list(report.fields_frame()["name"]) == ["Time"]


def test_a_bad_record_is_named_by_its_number() -> None:
    with pytest.raises(pl.PrefixlabError, match=r"^records:2: "):
        pl.audit([bodies(1)[0], {"messages": []}], tokenizer="qwen3")
    with pytest.raises(pl.PrefixlabError, match="--block-size 0"):
        pl.audit(bodies(1), tokenizer="qwen3", block_size=0)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_thing"):
        pl.no_such_thing  # noqa: B018
