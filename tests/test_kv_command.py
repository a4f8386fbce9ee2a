"""`prefixlab kv` as it is run: the worked figures, the forms, and what it says to bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import prefixlab as pl
from prefixlab.errors import PrefixlabError
from prefixlab.reporters.kv_report import FORMS
from tests.command import prefixlab
from tests.kv_memory.configs import GPT_OSS_120B, HERE, SEVENTY_B, write

KIB, MIB, GIB = 2**10, 2**20, 2**30
K = 1024


def answer(*arguments: str) -> dict[str, Any]:
    run = prefixlab("kv", *arguments, "--format", "json")
    assert run.returncode == 0, run.stderr
    found: dict[str, Any] = json.loads(run.stdout)
    return found


def said(*arguments: str) -> str:
    run = prefixlab("kv", *arguments)
    assert run.returncode == 0, run.stderr
    text = run.stdout.decode()
    assert all(len(line) <= 80 for line in text.splitlines())
    return " ".join(text.split())


def complaint(*arguments: str) -> str:
    run = prefixlab("kv", *arguments)
    assert run.returncode == 2
    assert run.stdout == b""
    line = run.stderr.decode()
    assert line.count("\n") == 1
    assert "Traceback" not in line
    return line


@pytest.fixture
def gpt_oss(tmp_path: Path) -> str:
    return write(tmp_path, GPT_OSS_120B)


# --- the worked figures -----------------------------------------------------------------------------------------------


def test_figure_5_half_of_the_layers_have_a_window(gpt_oss: str) -> None:
    found = answer(gpt_oss)
    assert found["bytes_per_token_if_all_kept"] == 72 * KIB
    assert found["bytes_per_token"] == 36 * KIB
    assert found["fixed_bytes"] == 4.5 * MIB
    assert [(row["kind"], row["count"]) for row in found["layers"]] == [("sliding_window", 18), ("full", 18)]
    text = said(gpt_oss)
    assert "A token takes 36 KiB of KV cache, and a session 4.5 MiB that do not grow." in text
    assert "An engine that keeps windowed layers whole takes 72 KiB a token." in text


def test_figure_6_contexts(gpt_oss: str, tmp_path: Path) -> None:
    lengths = f"{4 * K},{8 * K},{32 * K},{128 * K}"
    found = answer(gpt_oss, "--context", lengths)["contexts"]
    assert [row["bytes"] for row in found] == [144 * MIB, 288 * MIB, 1.125 * GIB, 4.5 * GIB]
    assert [row["bytes_with_fixed"] - row["bytes"] for row in found] == [4.5 * MIB] * 4
    assert answer(gpt_oss, "--context", "4K,8K,32K,128K")["contexts"] == found
    text = said(gpt_oss, "--context", lengths)
    assert all(size in text for size in ("144 MiB", "288 MiB", "1.125 GiB", "4.5 GiB"))
    many = write(tmp_path, {**GPT_OSS_120B, "num_key_value_heads": 64})
    assert answer(many, "--context", "128K")["contexts"][0]["bytes"] == 36 * GIB


def test_figure_7_eighty_layers(tmp_path: Path) -> None:
    config = write(tmp_path, SEVENTY_B)
    found = answer(config, "--context", "128K")
    assert found["bytes_per_token"] == 320 * KIB
    assert found["contexts"][0]["bytes"] == 40 * GIB
    assert answer(config, "--dtype", "fp8")["bytes_per_token"] == 160 * KIB
    assert answer(config, "--dtype", "int8", "--scales", "none")["bytes_per_token"] == 160 * KIB
    assert "A token takes 320 KiB of KV cache." in said(config)


def test_figure_8_all_heads_and_one(tmp_path: Path) -> None:
    mha = answer(write(tmp_path, {**SEVENTY_B, "num_key_value_heads": 64}), "--context", "128K")
    assert mha["bytes_per_token"] == 2.5 * MIB
    assert mha["contexts"][0]["bytes"] == 320 * GIB
    assert answer(write(tmp_path, {**SEVENTY_B, "num_key_value_heads": 1}))["bytes_per_token"] == 40 * KIB


def test_figure_9_no_kv_heads_is_multi_head_attention(tmp_path: Path) -> None:
    config = {name: value for name, value in SEVENTY_B.items() if name != "num_key_value_heads"}
    path = write(tmp_path, config)
    found = answer(path)
    assert found["bytes_per_token"] == 2.5 * MIB
    assert any(
        "no num_key_value_heads: multi-head attention (MHA), 64 KV heads" in line for line in found["assumptions"]
    )
    assert "multi-head attention (MHA), 64 KV heads" in said(path)
    for kind in ("qwen2", "mistral", "gpt_oss"):
        other = {**config, "model_type": kind, "head_dim": 128}
        assert answer(write(tmp_path, other))["bytes_per_token_if_all_kept"] == 2.5 * MIB


def test_figure_10_what_two_cards_leave() -> None:
    cards = ("--gpu", "2x80GB", "--utilization", "0.92", "--weights-bytes", "65.25GB")
    found = answer(*cards)["capacity"]
    assert found["usable_bytes"] == 147.2e9
    assert found["cache_bytes"] == 81.95e9
    text = said(*cards)
    assert "76.3 GiB = 81.95 GB are left for the cache." in text
    assert "147.2 GB" in text
    with_overhead = answer(*cards, "--overhead", "5GiB")["capacity"]
    assert with_overhead["cache_bytes"] == 81.95e9 - 5 * GIB


def test_figure_11_conversations_that_fit(gpt_oss: str) -> None:
    found = answer(gpt_oss, "--kv-budget", "71GiB", "--context", "4K,8K,32K,128K")["capacity"]
    assert found["cache_bytes"] == 71 * GIB
    assert [row["sessions_growing_part"] for row in found["sessions"]] == [504, 252, 63, 15]
    assert [row["sessions"] for row in found["sessions"]] == [489, 248, 62, 15]
    assert [row["sessions_if_all_kept"] for row in found["sessions"]] == [252, 126, 31, 7]


def test_figure_12_the_cache_is_larger_than_the_weights(gpt_oss: str) -> None:
    cards = ("--gpu", "2x80GB", "--utilization", "0.92", "--weights-bytes", "65.25GB", "--overhead", "5GiB")
    row = answer(gpt_oss, *cards, "--context", "128K")["capacity"]["sessions"][0]
    assert (row["sessions_growing_part"], row["growing_bytes"]) == (15, 67.5 * GIB)
    text = said(gpt_oss, *cards, "--context", "128K")
    assert "15 sessions of 131,072 tokens take 67.5 GiB (72.5 GB) together, the growing part alone: more than" in text
    assert "more than the 65.25 GB of weights" in text


def test_figure_13_the_most_that_a_token_may_take() -> None:
    found = answer("--kv-budget", "150GiB", "--context", "900000")
    assert found["max_bytes_per_token"] == 150 * GIB / 900_000
    assert round(found["max_bytes_per_token"] / KIB, 1) == 174.8
    assert "a token may take at most 174.8 KiB" in said("--kv-budget", "150GiB", "--context", "900000")


def test_figure_14_tokens_and_sessions_in_96_gib() -> None:
    given = ("--bytes-per-token", "160KiB", "--kv-budget", "96GiB", "--context", "32768,131072,900000")
    found = answer(*given)["capacity"]
    assert found["tokens"] == 629_145
    assert [row["sessions"] for row in found["sessions"]] == [19, 4, 0]
    assert "96 GiB hold 629,145 tokens" in said(*given)


def test_figure_15_a_contiguous_reservation() -> None:
    found = answer("--bytes-per-token", "160KiB", "--reserve", "131072", "--context", "4096")
    assert found["reservation_waste"] == 0.96875
    assert found["paged_waste_tokens_below"] == 16
    text = said("--reserve", "128K", "--context", "4K")
    assert "a session of 4,096 never touches 96.9 %; in blocks of 16 tokens it wastes less than one block" in text


def test_figure_16_a_prefill_writes() -> None:
    found = answer("--bytes-per-token", "160KiB", "--prefill", "300000")
    assert found["prefill_bytes"] == 300_000 * 160 * KIB
    text = said("--bytes-per-token", "160KiB", "--prefill", "300000")
    assert "A prefill of 300,000 tokens writes 45.8 GiB before the first output token." in text


def test_figure_17_reading_the_cache(gpt_oss: str) -> None:
    found = answer("--bytes-per-token", "36KiB", "--context", "128K", "--bandwidth", "3.35TB/s")
    assert found["read_seconds"] == 4.5 * GIB / 3.35e12
    assert "4.5 GiB of cache: 1.44 ms at 3.35 TB/s" in said(gpt_oss, "--context", "128K", "--bandwidth", "3.35TB/s")


def test_figure_18_the_roofline_of_a_decode_step(tmp_path: Path) -> None:
    step = ("--weights-read", "18GB", "--bandwidth", "1092GB/s")
    assert round(answer(*step)["tokens_per_second"], 1) == 60.7
    found = answer(write(tmp_path, SEVENTY_B), "--dtype", "fp8", "--context", "128K", *step)
    assert found["contexts"][0]["bytes"] == 20 * GIB
    assert round(found["tokens_per_second"], 1) == 27.7
    assert round(found["tokens_per_second_without_cache"], 1) == 60.7
    assert "allow 60.7 tokens/s" in said(*step)


def test_figure_19_the_ridge_of_a_mixture_of_experts() -> None:
    found = answer("--experts", "4/128", "--ridge", "296")
    assert found["ridge_batch"] == 9472
    assert found["intensity_per_request"] == 0.03125
    text = said("--experts", "4/128", "--ridge", "296")
    assert "intensity is the batch x 0.03125; a ridge of 296 takes a batch of 9,472" in text


def test_figure_20_a_shared_prefix() -> None:
    found = answer("--shared-prefix", "2000", "--requests", "1000")
    assert found["resident_tokens"] == 2000
    assert found["recomputed_tokens"] == 1_998_000
    assert found["resident_tokens_unshared"] == 2_000_000
    text = said("--shared-prefix", "2000", "--requests", "1000")
    assert "computed once: 1,998,000 of 2,000,000 are not computed again." in text
    assert "2,000 tokens in place of 2,000,000" in text


def test_a_shared_prefix_makes_room(gpt_oss: str) -> None:
    given = ("--kv-budget", "71GiB", "--context", "4096,1000", "--shared-prefix", "2000")
    rows = answer(gpt_oss, *given)["capacity"]["sessions"]
    # Once 2,000 tokens of 36 KiB; then 2,096 of them and the windows a session.
    once = 2000 * 36 * KIB
    each = 2096 * 36 * KIB + 4.5 * MIB
    assert rows[0]["sessions_with_shared_prefix"] == (71 * GIB - once) // each
    # A session that is all prefix has only its windows.
    assert rows[1]["sessions_with_shared_prefix"] == (71 * GIB - 1000 * 36 * KIB) // (4.5 * MIB)


# --- options ----------------------------------------------------------------------------------------------------------


def test_weights_from_a_safetensors_index(tmp_path: Path) -> None:
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {"total_size": 65_250_000_000}, "weight_map": {}}))
    found = answer("--gpu", "2x80GB", "--utilization", "0.92", "--weights-bytes", str(index))
    assert found["capacity"]["cache_bytes"] == 81.95e9
    index.write_text("{}")
    assert "no metadata.total_size" in complaint("--gpu", "80GB", "--weights-bytes", str(index))


def test_ranks_share_heads_out_and_copy_them(tmp_path: Path) -> None:
    config = write(tmp_path, SEVENTY_B)
    assert answer(config, "--tp", "8")["bytes_per_token"] == 320 * KIB
    found = answer(config, "--tp", "16")
    assert found["bytes_per_token"] == 640 * KIB
    assert found["tp"] == {
        "ranks": 16,
        "rank": {"bytes_per_token": 40 * KIB, "bytes_per_token_if_all_kept": 40 * KIB, "fixed_bytes": 0},
    }
    assert "on each rank" in said(config, "--tp", "16")
    assert "does not divide" in complaint(config, "--tp", "3")
    assert "cannot be" in complaint(config, "--tp", "0")


def test_integer_types_have_scales_unless_told_otherwise(tmp_path: Path) -> None:
    config = write(tmp_path, SEVENTY_B)
    heads = 80 * 2 * 8
    assert answer(config, "--dtype", "int8")["bytes_per_token"] == heads * (128 + 4)
    assert answer(config, "--dtype", "int4")["bytes_per_token"] == heads * (64 + 4)
    assert answer(config, "--dtype", "int4", "--scales", "group:32")["bytes_per_token"] == heads * (64 + 4 * 2)
    assert any("4 bytes of scale" in line for line in answer(config, "--dtype", "int8")["assumptions"])


def test_one_kind_of_layer_in_another_type(gpt_oss: str) -> None:
    found = answer(gpt_oss, "--dtype", "fp8", "--layer-dtype", "sliding_window=bf16")
    assert found["bytes_per_token"] == 18 * KIB
    assert found["fixed_bytes"] == 4.5 * MIB


def test_forms_and_files(gpt_oss: str, tmp_path: Path) -> None:
    written = tmp_path / "sheet.json"
    assert prefixlab("kv", gpt_oss, "-o", str(written)).returncode == 0
    assert json.loads(written.read_text()) == answer(gpt_oss)
    assert prefixlab("kv", gpt_oss, "--format", "json").stdout == written.read_bytes()
    markdown = prefixlab("kv", gpt_oss, "--context", "4K", "--format", "markdown").stdout.decode()
    assert "| sliding window | 18 |" in markdown
    assert "there is no format 'csv'" in complaint(gpt_oss, "--format", "csv")


def test_keys_are_there_when_they_were_asked_for(gpt_oss: str) -> None:
    assert set(answer(gpt_oss)) == {
        "schema",
        "model",
        "dtype",
        "bytes_per_token",
        "bytes_per_token_if_all_kept",
        "fixed_bytes",
        "layers",
        "assumptions",
    }
    assert set(answer("--experts", "4/128", "--ridge", "296")) == {
        "schema",
        "intensity_per_request",
        "ridge_batch",
        "assumptions",
    }


def test_a_name_in_the_config_does_not_act(tmp_path: Path) -> None:
    folder = tmp_path / "a\x1b[31m`|<b>"
    folder.mkdir()
    path = write(folder, GPT_OSS_120B)
    text = prefixlab("kv", path).stdout.decode()
    assert "\x1b" not in text
    markdown = prefixlab("kv", path, "--format", "markdown").stdout.decode()
    assert "<b>" not in markdown
    assert "\x1b" not in markdown


def test_a_hub_id_is_looked_up_in_the_local_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = tmp_path / "models--some-org--some-model" / "snapshots" / "0123abc"
    snapshot.mkdir(parents=True)
    write(snapshot, SEVENTY_B)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    found = answer("some-org/some-model", "--offline")
    assert (found["model"], found["bytes_per_token"]) == ("some-org/some-model", 320 * KIB)
    assert answer(str(snapshot))["bytes_per_token"] == 320 * KIB
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert "the config of some-org/other is not in the local Hugging Face cache" in complaint("some-org/other")
    assert "has no config.json" in complaint(str(tmp_path))


# --- Python -----------------------------------------------------------------------------------------------------------


def test_from_python(gpt_oss: str) -> None:
    sheet = pl.kv(gpt_oss, dtype="bf16", context=[4096, 8192], kv_budget=71 * GIB)
    assert sheet.capacity is not None
    assert sheet.bytes_per_token == 36 * KIB
    assert sheet.bytes_per_token_if_all_kept == 72 * KIB
    assert sheet.fixed_bytes == 4.5 * MIB
    assert [layer.kind for layer in sheet.layers] == ["sliding_window", "full"]
    assert [row.sessions for row in sheet.capacity.sessions] == [489, 248]
    with pytest.raises(PrefixlabError, match="no option 'contexts'"):
        pl.kv(gpt_oss, contexts=4096)


def test_for_the_other_commands(gpt_oss: str) -> None:
    from prefixlab.kv_memory import bytes_per_token, tokens_in_budget

    assert bytes_per_token(gpt_oss) == (36 * KIB, 4.5 * MIB)
    assert bytes_per_token(gpt_oss, "fp8") == (18 * KIB, 2.25 * MIB)
    assert tokens_in_budget(gpt_oss, 71 * GIB) == 71 * GIB // (36 * KIB)
    with pytest.raises(PrefixlabError, match="smaller than one token"):
        tokens_in_budget(gpt_oss, 1000)


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"num_hidden_layers": "36"}, 'config.json:3: num_hidden_layers is "36", not a whole number'),
        ({"num_hidden_layers": 10**9}, "config.json:3: 1000000000 layers are more than any model has"),
        ({"num_key_value_heads": -8}, "config.json:5: num_key_value_heads is -8"),
        ({"head_dim": True}, "config.json:6: head_dim is true"),
        ({"head_dim": float("nan")}, "config.json:6: head_dim is NaN"),
        ({"sliding_window": [128]}, "config.json:8: sliding_window is a list of 1"),
        ({"layer_types": ["sliding_attention"]}, "config.json:10: layer_types has 1 entries for 36 layers"),
        ({"layer_types": ["psychic_attention"] * 36}, 'config.json:10: "psychic_attention" is no kind of layer'),
        ({"num_hidden_layers": None, "layer_types": None}, "the config has no num_hidden_layers"),
        ({"num_attention_heads": None, "num_key_value_heads": None}, "the config has no num_attention_heads"),
        ({"model_type": "rwkv"}, "config.json:2: what a layer of rwkv keeps is not known here"),
        ({"model_type": "bert"}, "config.json:2: bert is an encoder"),
    ],
)
def test_a_config_that_cannot_be_used(change: dict[str, Any], line: str, tmp_path: Path) -> None:
    path = write(tmp_path, {**GPT_OSS_120B, **change})
    assert line in complaint(path)


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"", ":1: not JSON"),
        (b"[]", ":1: not a JSON object"),
        (b'{\n "a": 1,\n}', ":3: not JSON"),
        (b"\xff\xfe", ":1: not UTF-8"),
        (b'{"a":' * 100_000, ":1: nested too deeply"),
        (b'{"num_hidden_layers": ' + b"9" * 5000 + b"}", ":1: a number in it has too many digits"),
        (b"{}", "the config has no num_hidden_layers, and the cache cannot be told without it"),
    ],
)
def test_a_file_that_is_no_config(content: bytes, line: str, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(content)
    assert line in complaint(str(path))


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((), "there is no model to size"),
        (("nowhere.json",), "there is no file nowhere.json"),
        (("some-org/some-model", "--offline"), "the config of some-org/some-model is not in the local"),
        (("--bytes-per-token", "many"), "--bytes-per-token 'many' is no amount of memory"),
        (("--bytes-per-token", "-1KiB"), "expected one argument"),
        (("--bytes-per-token", "0"), "is no amount of memory"),
        (("--bytes-per-token", "160KiB", "--kv-budget", "1KiB", "--context", "1"), "smaller than one token"),
        (("--bytes-per-token", "160KiB", "--context", "0"), "--context '0' is no number of tokens"),
        (("--bytes-per-token", "160KiB", "--context", "4K,"), "--context '' is no number of tokens"),
        (("--bytes-per-token", "1", "--context", "8K", "--reserve", "4K"), "does not fit in --reserve 4096"),
        (("--bytes-per-token", "1", "--dtype", "fp8"), "are for the layers of a CONFIG"),
        (("--gpu", "2x80GB", "--weights-bytes", "200GB"), "leave nothing"),
        (("--gpu", "0x80GB"), "names no cards"),
        (("--gpu", "80GB", "--utilization", "1.5"), "is more than the whole"),
        (("--kv-budget", "1GiB", "--gpu", "80GB"), "are both given"),
        (("--kv-budget", "1GiB"), "there is no model to size"),
        (("--weights-read", "18GB"), "--weights-read needs --bandwidth"),
        (("--experts", "8/4", "--ridge", "296"), "--experts '8/4' cannot be"),
        (("--experts", "4/128"), "--experts needs --ridge"),
        (("--shared-prefix", "2000"), "there is no model to size"),
        (("--bandwidth", "3.35TB/s"), "--bandwidth has nothing to read"),
        (("--prefill", "300000"), "--prefill needs the bytes that a token takes"),
    ],
)
def test_options_that_cannot_be(arguments: tuple[str, ...], line: str) -> None:
    assert line in complaint(*arguments)


def test_unknown_types_are_named(gpt_oss: str) -> None:
    assert "--dtype 'fp7' is not known. Give one of bf16, fp16" in complaint(gpt_oss, "--dtype", "fp7")
    assert "--scales 'x' is not known" in complaint(gpt_oss, "--dtype", "int8", "--scales", "x")
    assert "'psychic' is no kind of layer" in complaint(gpt_oss, "--layer-dtype", "psychic=bf16")


@pytest.mark.parametrize("width", [60, 80, 200])
def test_lines_fit(width: int, tmp_path: Path) -> None:
    asked = {"context": "4K,128K,900000", "gpu": "2x80GB", "bandwidth": "3.35TB/s", "weights_read": "18GB"}
    for model in json.loads((HERE / "model_configs.json").read_text()):
        sheet = pl.kv(write(tmp_path, model["config"]), **asked, shared_prefix=2000, requests=9, reserve="1M")
        text = FORMS["text"](sheet, width).decode()
        assert max(map(len, text.splitlines())) <= max(60, min(width, 120)), text
        assert FORMS["markdown"](sheet, width)
        assert json.loads(FORMS["json"](sheet, width))["bytes_per_token"] == sheet.bytes_per_token
