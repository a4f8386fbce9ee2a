"""The whole way of a log against the naive one: another renderer, another tokenizer, every pair of prompts compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy
import pytest

import prefixlab as pl
from benchmarks.workloads import KINDS, write
from tests.reference import reference_folder

CHATS = [kind for kind in KINDS if kind != "trace"]


def reference_ids(log: Path, folder: Path) -> list[numpy.ndarray[Any, Any]]:
    """Token ids by transformers' rendering and the tokenizers library, of whole prompts."""
    from tokenizers import Tokenizer
    from transformers.utils.chat_template_utils import render_jinja_template

    template = json.loads((folder / "tokenizer_config.json").read_text())["chat_template"]
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    ids = []
    for line in log.read_text().splitlines():
        record = json.loads(line)
        rendered, _ = render_jinja_template(
            [record["messages"]], tools=record.get("tools"), chat_template=template, add_generation_prompt=True
        )
        ids.append(numpy.array(tokenizer.encode(rendered[0], add_special_tokens=False).ids))
    return ids


def shared(one: numpy.ndarray[Any, Any], other: numpy.ndarray[Any, Any]) -> int:
    both = min(len(one), len(other))
    unlike = numpy.flatnonzero(one[:both] != other[:both])
    return int(unlike[0]) if len(unlike) else both


def check(tmp_path: Path, kind: str, requests: int) -> None:
    folder = reference_folder("qwen3")
    log = tmp_path / f"{kind}.jsonl"
    write(kind, requests, log)
    ids = reference_ids(log, folder)
    report = pl.audit(log, tokenizer=str(folder), offline=True)
    assert len(report.requests) == requests
    for number, (row, mine) in enumerate(zip(report.requests, ids, strict=True)):
        best = max((shared(mine, earlier) for earlier in ids[:number]), default=0)
        assert row.outcome.prompt_tokens == len(mine)
        assert row.outcome.raw_shared_tokens == best
        assert row.outcome.aligned_tokens == min(best // 16, (len(mine) - 1) // 16) * 16
        assert row.outcome.cached_tokens + sum(row.losses) == len(mine)


@pytest.mark.parametrize("kind", CHATS)
def test_equal_on_a_small_log(tmp_path: Path, kind: str) -> None:
    check(tmp_path, kind, 60)


@pytest.mark.full
@pytest.mark.parametrize("kind", CHATS)
def test_equal_on_two_thousand_requests(tmp_path: Path, kind: str) -> None:
    check(tmp_path, kind, 2000)


def test_equal_on_a_trace(tmp_path: Path) -> None:
    log = tmp_path / "trace.jsonl"
    write("trace", 2000, log)
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    ids = [numpy.array(row["hash_ids"]) for row in rows]
    report = pl.audit(log)
    for number, (row, record) in enumerate(zip(report.requests, rows, strict=True)):
        length = record["input_length"]
        best = min(max((shared(ids[number], earlier) for earlier in ids[:number]), default=0) * 512, length)
        assert row.outcome.raw_shared_tokens == best
        assert row.outcome.aligned_tokens == min(best // 512, (length - 1) // 512) * 512
