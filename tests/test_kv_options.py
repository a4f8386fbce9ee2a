"""Options of `kv` by themselves: their kinds, those that would do nothing, and what is said of cards and ranks."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import prefixlab as pl
from prefixlab.errors import PrefixlabError
from prefixlab.kv_memory.question import KvQuestion
from tests.kv_memory.configs import GPT_OSS_120B, SEVENTY_B, write
from tests.test_kv_command import GIB, KIB, answer, complaint, said


@pytest.fixture
def heads(tmp_path: Path) -> str:
    return write(tmp_path, SEVENTY_B)


# --- from Python ------------------------------------------------------------------------------------------------------

ODD: list[Any] = [8, -1, 0, 1.5, float("nan"), float("inf"), 10**400, True, b"80GB", "", "x", [], ["80GB"], (4, 128)]
ODD += [{}, {"full": 8}, {"full": "fp8"}, {8: "fp8"}, Path("nowhere"), object(), range(3), (each for each in "4K")]


@pytest.mark.parametrize("name", list(KvQuestion.__dataclass_fields__))
def test_any_value_of_any_option_is_taken_or_named(name: str, heads: str) -> None:
    beside = {"context": 4096, "gpu": "80GB", "bandwidth": 10**12, "ridge": 296, "experts": "4/128", "reserve": "8K"}
    for value in ODD:
        for others in ({}, beside):
            with suppress(PrefixlabError):
                assert pl.kv(heads, **{**others, name: value}).bytes_per_token


@pytest.mark.parametrize("config", [123, b"config.json", {"model_type": "llama"}, ["a"], 1.5, True])
def test_a_config_that_is_no_path(config: Any) -> None:
    with pytest.raises(PrefixlabError, match=f"a config of type {type(config).__name__} cannot be"):
        pl.kv(config)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"dtype": 8}, "dtype=8 cannot be. Give the name of a type"),
        ({"layer_dtype": "fp8"}, r"layer_dtype='fp8' cannot be. Give a dict .* such as \{'state': 'fp32'\}"),
        ({"scales": 32}, "scales=32 cannot be. Give none, token-head or group:N"),
        ({"experts": (4, 128), "ridge": 296}, "experts=.* cannot be. Give a text such as '4/128'"),
        ({"gpu": ["80GB"]}, "gpu=.* cannot be. Give a text such as '2x80GB', or the bytes of one card"),
        ({"gpu": 80}, "--gpu '80' are cards of 80 bytes"),
        ({"offline": None}, "offline=None cannot be"),
        ({"tp": "8"}, "tp='8' cannot be"),
    ],
)
def test_the_complaint_says_what_to_give(options: dict[str, Any], said: str, heads: str) -> None:
    with pytest.raises(PrefixlabError, match=said):
        pl.kv(heads, **options)


def test_numbers_and_paths_will_do(heads: str, tmp_path: Path) -> None:
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {"total_size": 40 * 10**9}}))
    texts = pl.kv(heads, gpu="80GB", utilization="0.9", weights_bytes="40GB", context="4096,8192", bandwidth="1TB/s")
    for card in (80 * 10**9, 80e9):
        for weights in (index, str(index), tmp_path, str(tmp_path), 40e9, 40 * 10**9):
            found = pl.kv(
                Path(heads), gpu=card, utilization=0.9, weights_bytes=weights, context=[4096.0, "8K"], bandwidth=1e12
            )
            assert found == texts
    assert pl.kv(heads, layer_dtype=None) == pl.kv(heads)
    assert pl.kv(heads, context=[128, 256]).lengths == (128, 256)


# --- options that would do nothing ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--shared-prefix", "2000"), "--shared-prefix needs sessions to share it"),
        (("--shared-prefix", "2000", "--context", "4K"), "--shared-prefix needs sessions to share it"),
        (("--shared-prefix", "2000", "--kv-budget", "71GiB"), "--shared-prefix needs sessions to share it"),
        (("--scales", "group:32"), "--scales is for quantized numbers, and the cache is bf16"),
        (("--scales", "none", "--layer-dtype", "full=fp32"), "--scales is for quantized numbers"),
        (("--layer-dtype", "mla=fp8"), "--layer-dtype mla: this model has no such layers. Give one of those it has"),
        (("--layer-dtype", "state=fp32"), "--layer-dtype state: this model has no such layers"),
        (("--block-size", "16"), "--block-size needs --reserve"),
        (("--block-size", "0", "--context", "4K", "--reserve", "8K"), "--block-size 0 cannot be"),
        (("--weights-bytes", "65GB"), "--weights-bytes says what cards leave"),
        (("--weights-bytes", "65GB", "--kv-budget", "71GiB"), "compare weights with --kv-budget and --context"),
    ],
)
def test_options_without_effect_are_named(arguments: tuple[str, ...], line: str, heads: str) -> None:
    assert line in complaint(heads, *arguments)


def test_the_same_options_where_they_have_one(heads: str) -> None:
    answer(heads, "--shared-prefix", "2000", "--requests", "4")
    answer(heads, "--shared-prefix", "2000", "--context", "4K", "--gpu", "80GB")
    answer(heads, "--scales", "group:32", "--dtype", "int4")
    answer(heads, "--scales", "group:32", "--layer-dtype", "full=int4")
    assert answer(heads, "--block-size", "32", "--context", "4K", "--reserve", "8K")["paged_waste_tokens_below"] == 32


# --- how quantities are written ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--context", "4,096"), "--context '4,096' may be one number or two. Write 4096 without the comma."),
        (("--context", "900,000"), "Write 900000 without the comma."),
        (("--context", "128,256,4K"), "Write 128256 without the comma, or '128, 256' with a blank after it"),
        (("--gpu", "80"), "--gpu '80' has no unit. Give it as 80GB or 2x80GB"),
        (("--gpu", "2x80"), "--gpu '2x80' has no unit"),
        (("--gpu", "80B"), "are cards of 80 bytes"),
        (("--gpu", "1000000x80GB"), "are more cards than can be"),
        (("--gpu", "1,000GB"), "without commas"),
        (("--gpu", "80GB", "--utilization", "92"), "is more than the whole. Give a share such as 0.92 or 92%"),
        (("--gpu", "80GB", "--weights-bytes", "missing.json"), "No such file or directory). Check the path"),
        (("--gpu", "80GB", "--weights-bytes", "{folder}"), "has no model.safetensors.index.json. Give the size itself"),
        (("--gpu", "2x80GB", "--tp", "8"), "--tp 8 takes as many cards, and --gpu names 2. Give --gpu 8x80GB"),
    ],
)
def test_quantities_that_are_no_such_thing(arguments: tuple[str, ...], line: str, heads: str, tmp_path: Path) -> None:
    assert line in complaint(heads, *[each.format(folder=tmp_path) for each in arguments])


def test_lengths_that_are_two() -> None:
    for text, lengths in (
        ("4096,900", (4096, 900)),
        ("128, 256", (128, 256)),
        ("4,128K", (4, 131072)),
        ("4K,8", (4096, 8)),
    ):
        assert pl.kv(bytes_per_token="1KiB", context=text).lengths == lengths


def test_an_empty_name() -> None:
    assert "the CONFIG is an empty name" in complaint("")
    assert "the CONFIG is an empty name" in complaint(" ")


def test_no_file_that_is_read_is_written(heads: str, tmp_path: Path) -> None:
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {"total_size": 40 * 10**9}}))
    before = (Path(heads).read_bytes(), index.read_bytes())
    cards = ("--gpu", "80GB", "--weights-bytes")
    for arguments in ((heads, "-o", heads), (str(tmp_path), "-o", heads)):
        assert "is one of the files to read" in complaint(*arguments)
    for weights in (str(index), str(tmp_path)):
        assert "is one of the files to read" in complaint(heads, *cards, weights, "-o", str(index))
    assert (Path(heads).read_bytes(), index.read_bytes()) == before


# --- cards and ranks --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cards", "ranks", "line"),
    [
        ("8x141GB", 1, "the cache is held once over 8 cards; --tp 8 counts what ranks hold copies of: latents"),
        ("8x141GB", 4, "the cache of 4 ranks is held once over 8 cards"),
        ("8x141GB", 8, None),
        ("141GB", 1, None),
    ],
)
def test_how_the_cache_lies_on_the_cards(cards: str, ranks: int, line: str | None, heads: str) -> None:
    notes = answer(heads, "--gpu", cards, "--tp", str(ranks))["assumptions"]
    told = [note for note in notes if "held once over" in note]
    assert told == [] if line is None else told[0].startswith(line)


def test_the_bytes_given_lie_once_on_the_cards() -> None:
    notes = answer("--bytes-per-token", "160KiB", "--gpu", "2x80GB")["assumptions"]
    assert any("count in them what cards have copies of" in note for note in notes)
    assert not any("held once" in note for note in answer("--gpu", "2x80GB")["assumptions"])


def test_the_bandwidth_is_that_of_one_card(heads: str) -> None:
    step = ("--context", "128K", "--bandwidth", "1TB/s", "--weights-read", "80GB")
    one, eight = answer(heads, *step), answer(heads, *step, "--tp", "8")
    assert one["contexts"][0]["read_bytes"] == 40 * GIB == 8 * eight["contexts"][0]["read_bytes"]
    assert one["read_seconds"] == 40 * GIB / 1e12 == 8 * eight["read_seconds"]
    assert eight["tokens_per_second"] == pytest.approx(8 * one["tokens_per_second"])
    assert eight["tokens_per_second_without_cache"] == pytest.approx(8 * 12.5)
    assert any("the bandwidth is that of one card: each of 8 ranks" in note for note in eight["assumptions"])
    assert any("all that a step reads is read at the bandwidth given" in note for note in one["assumptions"])
    assert "reads 5 GiB of cache on each rank" in said(heads, *step, "--tp", "8")


def test_figure_12_beside_a_budget(tmp_path: Path) -> None:
    given = ("--kv-budget", "71GiB", "--context", "128K", "--weights-bytes", "65.25GB")
    config = write(tmp_path, GPT_OSS_120B)
    assert (
        "15 sessions of 131,072 tokens take 67.5 GiB (72.5 GB) together, the growing part alone: more than the 65.25 GB"
        in said(config, *given)
    )
    assert answer(config, *given)["capacity"]["weights_bytes"] == 65.25e9
    assert answer(config, *given)["capacity"]["cache_bytes"] == 71 * GIB


def test_a_prefix_that_does_not_fit() -> None:
    given = ("--bytes-per-token", "160KiB", "--kv-budget", "1GiB", "--context", "900000", "--shared-prefix", "900000")
    assert answer(*given)["capacity"]["sessions"][0]["sessions_with_shared_prefix"] == 0
    assert "any number" not in said(*given)


# --- words ------------------------------------------------------------------------------------------------------------


def test_one_is_not_many() -> None:
    text = said(
        "--bytes-per-token", "1GiB", "--kv-budget", "1GiB", "--context", "1", "--reserve", "1", "--prefill", "1"
    )
    text += said("--shared-prefix", "1", "--requests", "1")
    assert "1 tokens" not in text.replace("131,072 tokens", "")
    assert "1 session of 1 token takes 1 GiB" in text
    assert "A prefill of 1 token writes" in text


def test_the_whole_can_be_told_from_its_growing_part(tmp_path: Path) -> None:
    text = said(write(tmp_path, GPT_OSS_120B), "--context", "128K,1M")
    assert "131,072 4.5 GiB 4.504 GiB 9 GiB" in text
    assert "1,048,576 36 GiB 36.004 GiB 72 GiB" in text


@pytest.mark.parametrize("seed", range(3))
def test_times_and_speeds_are_numbers_people_write(seed: int) -> None:
    from prefixlab.reporters.kv_wording import seconds, speed

    rates = random.Random(seed)
    for _ in range(200):
        value = 10 ** rates.uniform(-9, 9)
        for told in (seconds(value), speed(value)):
            assert "e" not in told.removesuffix(" seconds").replace("under", "").replace(" no time", "")
            assert not told.startswith("0.0 ")
    assert (seconds(36_900), seconds(0.0015), seconds(0.99999), speed(0.0123)) == ("36,900 s", "1.5 ms", "1 s", "0.012")


def test_null_is_any_number(tmp_path: Path) -> None:
    state = {"model_type": "mamba2", "num_hidden_layers": 1, "num_heads": 32, "head_dim": 64, "state_size": 128}
    found = answer(write(tmp_path, state), "--kv-budget", "1GiB", "--context", "4K")["capacity"]
    assert (found["tokens"], found["tokens_if_all_kept"]) == (None, None)
    assert found["sessions"][0]["sessions_growing_part"] is None
    assert found["sessions"][0]["sessions"] > 0
    assert "tokens" not in answer("--gpu", "80GB")["capacity"]


def test_a_cache_type_of_a_checkpoint_without_a_size(tmp_path: Path) -> None:
    quantized = {**SEVENTY_B, "quantization_config": {"kv_cache_quant_algo": "NVFP4"}}
    line = complaint(write(tmp_path, quantized))
    assert "says that the cache is 'nvfp4', whose size is not known here. Give --dtype with one of bf16" in line
    assert answer(write(tmp_path, quantized), "--dtype", "fp8")["bytes_per_token"] == 160 * KIB
