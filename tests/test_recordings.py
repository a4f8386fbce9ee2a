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


def engine_of(name: str) -> tuple[str, dict[str, Any]]:
    """The engine of a recording and its options, from what the recording says of itself."""
    meta = meta_of(name)
    if name.startswith("vllm."):
        options = {
            "block_size": meta["block_size"],
            "num_gpu_blocks": meta["num_blocks"],
            "version": meta["version"],
            "sliding_window": meta.get("sliding_window"),
            "async_scheduling": meta.get("async_scheduling", False),
            "speculative": "eagle" if meta.get("eagle") else None,
            "max_num_batched_tokens": meta.get("max_num_batched_tokens", 8192),
        }
        return "vllm", options
    if name.startswith("sglang."):
        sizes = {"page_size": meta["page_size"], "capacity_tokens": meta["kv_capacity_tokens"]}
        return "sglang", {**sizes, "policy": meta.get("eviction_policy", "lru")}
    flags = dict(zip(meta["args"][::2], map(int, meta["args"][1::2]), strict=True))
    options = {"slots": flags["-np"], "n_ctx": flags["-c"], "bytes_per_token": 520}
    options |= {"cache_reuse": flags.get("--cache-reuse", 0), "cache_ram_mib": flags.get("--cache-ram", 8192)}
    return "llama_server", options


def test_the_recordings_are_there() -> None:
    assert len(RECORDINGS) == 49
    assert sum(len(rows_of(name)) for name in RECORDINGS) > 5000


@pytest.mark.parametrize("name", RECORDINGS)
def test_cached_tokens_are_what_the_engine_took_from_its_cache(name: str) -> None:
    engine, options = engine_of(name)
    rows = rows_of(name)
    expected = [row["cached_tokens"] for row in rows]
    assert sum(expected) > 0
    assert [outcome.cached_tokens for outcome in pl.simulate(rows, engine, **options)] == expected
    report = pl.audit(ORACLE / f"{name}.jsonl.gz", tokenizer="none", engine=engine, engine_options=options)
    assert [row.outcome.cached_tokens for row in report.requests] == expected
    assert report.observed is not None
    assert report.observed.difference == 0


LARGE = [name for name in RECORDINGS if "-n" not in name and "evict" not in name and "llamacpp" not in name]


@pytest.mark.parametrize("name", LARGE)
def test_aligned_tokens_are_those_of_a_cache_that_never_fills(name: str) -> None:
    engine, options = engine_of(name)
    unlimited = {key: value for key, value in options.items() if key not in ("num_gpu_blocks", "capacity_tokens")}
    outcomes = pl.simulate(rows_of(name), engine, **unlimited)
    expected = [row["cached_tokens"] for row in rows_of(name)]
    assert [outcome.aligned_tokens for outcome in outcomes] == expected
    if name.startswith("vllm.k-prompt-logprobs"):
        return
    assert [outcome.cached_tokens for outcome in outcomes] == expected


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
