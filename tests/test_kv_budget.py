"""A cache given as memory: what an audit makes of it, and what it says of how it got there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import prefixlab as pl
from prefixlab.errors import PrefixlabError
from prefixlab.kv_memory.budget import budget
from tests.command import prefixlab
from tests.kv_memory.configs import GPT_OSS_120B, SEVENTY_B, write

MIB = 2**20
WINDOWS: dict[str, Any] = {**SEVENTY_B, "model_type": "mistral", "num_hidden_layers": 32, "sliding_window": 4096}
WINDOWS |= {"num_attention_heads": 32, "hidden_size": 4096}
"""Mistral 7B v0.1: every layer has a window."""
GRIFFIN: dict[str, Any] = {
    "model_type": "recurrent_gemma",
    "num_hidden_layers": 3,
    "num_attention_heads": 10,
    "num_key_value_heads": 1,
    "head_dim": 256,
    "hidden_size": 2560,
    "lru_width": 2560,
    "conv1d_width": 4,
    "attention_window_size": 2048,
    "block_types": ["recurrent", "recurrent", "attention"],
    "torch_dtype": "bfloat16",
}


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "log.jsonl"
    rows = [{"prompt_token_ids": list(range(64))}, {"prompt_token_ids": list(range(80))}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def audit(log: str, config: str, *options: str) -> dict[str, Any]:
    given = ("--tokenizer", "none", "--kv-budget", "64MiB", "--model-config", config, *options)
    run = prefixlab("audit", log, *given, "--format", "json")
    assert run.returncode == 0, run.stderr
    found: dict[str, Any] = json.loads(run.stdout)
    return found


@pytest.mark.parametrize(
    ("config", "options", "rate", "dtype"),
    [
        (SEVENTY_B, (), 320 * 1024, "bf16"),
        (SEVENTY_B, ("--dtype", "fp8"), 160 * 1024, "fp8"),
        (GPT_OSS_120B, (), 36 * 1024, "bf16"),
        (WINDOWS, (), 128 * 1024, "bf16"),
        (GRIFFIN, (), 1024, "bf16"),
    ],
)
def test_an_audit_shows_how_it_got_the_tokens(
    config: dict[str, Any], options: tuple[str, ...], rate: int, dtype: str, log: str, tmp_path: Path
) -> None:
    folder = tmp_path / "some-model"
    folder.mkdir()
    write(folder, config)
    engine = audit(log, str(folder), *options)["engine"]
    assert engine["cache_tokens"] == 64 * MIB // rate // 16 * 16
    assert engine["memory"] == {
        "budget_bytes": 64 * MIB,
        "bytes_per_token": rate,
        "model": "some-model",
        "dtype": dtype,
    }
    given = ("--tokenizer", "none", "--kv-budget", "64MiB", "--model-config", str(folder), *options)
    text = " ".join(prefixlab("audit", log, *given).stdout.decode().split())
    assert f"the 64 MiB that some-model fills with {rate // 1024} KiB a token in {dtype}" in text


def test_without_a_memory_nothing_is_said_of_one(log: str) -> None:
    run = prefixlab("audit", log, "--tokenizer", "none", "--cache-tokens", "64", "--format", "json")
    assert "memory" not in json.loads(run.stdout)["engine"]


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (SEVENTY_B, []),
        (
            GPT_OSS_120B,
            [
                "in windows and states, 4,718,592 bytes each, is not taken off",
                "keeps windowed layers whole holds 910 tokens in it.",
            ],
        ),
        (WINDOWS, ["Every attention layer of", "divided by what a token takes where windows are kept whole"]),
        (GRIFFIN, ["Every attention layer of", "in windows and states, 51,200 bytes each, is not taken off"]),
    ],
)
def test_what_is_not_counted_is_said(config: dict[str, Any], said: list[str], log: str, tmp_path: Path) -> None:
    notes = audit(log, write(tmp_path, config))["notes"]
    ours = [note for note in notes if "window" in note]
    assert bool(ours) == bool(said)
    assert all(any(part in note for note in ours) for part in said)


def test_the_memory_is_that_of_the_same_tokens(log: str, tmp_path: Path) -> None:
    """A memory is no more than another way to write a number of tokens."""
    config = write(tmp_path, WINDOWS)
    tokens = budget(config, 8 * MIB).tokens
    by_memory = pl.audit(log, tokenizer="none", kv_budget="8MiB", model_config=config)
    by_tokens = pl.audit(log, tokenizer="none", cache_tokens=tokens)
    assert (by_memory.totals, by_memory.losses) == (by_tokens.totals, by_tokens.losses)


def test_a_model_of_states_alone_has_no_tokens(log: str, tmp_path: Path) -> None:
    mamba = {"model_type": "mamba2", "num_hidden_layers": 1, "num_heads": 32, "head_dim": 64, "state_size": 128}
    with pytest.raises(PrefixlabError, match=r"no layer of .* grows with the tokens. Ask for sessions"):
        pl.audit(log, tokenizer="none", kv_budget="1GiB", model_config=write(tmp_path, mamba))


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (
            ["--model-config", "{config}"],
            "--model-config alone gives no size of a cache. Name the memory with --kv-budget",
        ),
        (["--model-config", "{config}", "--cache-tokens", "64"], "--model-config alone gives no size of a cache"),
        (["--dtype", "fp8"], "--dtype is of the cache of a model. Name its config with --model-config"),
        (["--kv-budget", "1GiB", "--model-config", ""], "the CONFIG is an empty name"),
    ],
)
def test_options_that_would_do_nothing(options: list[str], line: str, log: str, tmp_path: Path) -> None:
    config = write(tmp_path, SEVENTY_B)
    run = prefixlab("audit", log, "--tokenizer", "none", *[each.format(config=config) for each in options])
    assert run.returncode == 2
    assert line in run.stderr.decode()
