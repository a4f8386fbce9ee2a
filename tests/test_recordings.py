"""Recordings of real engines: the aligned tokens of every request, and the ids of every rendered chat."""

from __future__ import annotations

import gzip
import json
import struct
from pathlib import Path
from typing import Any

import pytest

import prefixlab as pl
from prefixlab.records import Chat, Location, Request
from prefixlab.served_models import ServedModels
from tests.reference import reference_folder

ORACLE = Path(__file__).parent / "oracle"
RECORDINGS = sorted(path.name.removesuffix(".jsonl.gz") for path in ORACLE.glob("*.jsonl.gz"))


def rows_of(name: str) -> list[dict[str, Any]]:
    with gzip.open(ORACLE / f"{name}.jsonl.gz") as lines:
        return [json.loads(line) for line in lines]


def meta_of(name: str) -> dict[str, Any]:
    return dict(json.loads((ORACLE / f"{name}.meta.json").read_text()))


def test_the_recordings_are_there() -> None:
    assert len(RECORDINGS) == 22


@pytest.mark.parametrize("name", RECORDINGS)
def test_aligned_tokens_are_what_the_engine_took_from_its_cache(name: str) -> None:
    meta = meta_of(name)
    engine = name.split(".")[0]
    report = pl.audit(
        ORACLE / f"{name}.jsonl.gz", engine=engine, block_size=meta.get("block_size") or meta.get("page_size")
    )
    expected = [row["cached_tokens"] for row in rows_of(name)]
    assert [row.outcome.aligned_tokens for row in report.requests] == expected
    assert report.observed is not None
    assert report.observed.difference == 0
    assert sum(expected) > 0 or "front" in name


WITH_MESSAGES = [name for name in RECORDINGS if rows_of(name)[0].get("messages")]


@pytest.mark.parametrize("name", WITH_MESSAGES)
def test_messages_are_rendered_and_tokenized_to_the_same_ids(name: str) -> None:
    folder = str(reference_folder(meta_of(name)["tokenizer"]))
    tokenizers = [folder, "qwen3"] if meta_of(name)["tokenizer"] == "qwen3" else [folder]
    for tokenizer in tokenizers:
        models = ServedModels([tokenizer], offline=True)
        for number, row in enumerate(rows_of(name)):
            request = Request(str(number), Location(name, number + 1), Chat(row["messages"], row.get("tools")))
            ids = row["prompt_token_ids"]
            assert models.of(request).prompt(request).tokens == struct.pack(f"<{len(ids)}I", *ids)
