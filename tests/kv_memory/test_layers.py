"""What configs say of layers in ways that the table of models does not have: types, ranks, nesting, patterns."""

from __future__ import annotations

from typing import Any

import pytest

from prefixlab.errors import PrefixlabError
from tests.kv_memory.configs import GPT_OSS_120B, SEVENTY_B, read

MLA: dict[str, Any] = {
    "model_type": "deepseek_v3",
    "num_hidden_layers": 10,
    "num_attention_heads": 16,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "torch_dtype": "bfloat16",
}
SPARSE_MLA = {**MLA, "model_type": "deepseek_v32", "index_head_dim": 128}
MAMBA2: dict[str, Any] = {
    "model_type": "mamba2",
    "num_hidden_layers": 1,
    "num_heads": 32,
    "head_dim": 64,
    "state_size": 128,
    "n_groups": 1,
    "conv_kernel": 4,
    "torch_dtype": "bfloat16",
}


def rate(config: dict[str, Any], dtype: str | None = None, **options: Any) -> float:
    return float(read(config, dtype, **options).cost.bytes_per_token)


# --- types ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("quantization", "head_bytes"),
    [
        ({"kv_cache_scheme": {"num_bits": 8, "type": "float"}}, 128),
        ({"kv_cache_scheme": {"num_bits": 8, "type": "int"}}, 128 + 4),
        ({"kv_cache_quant_algo": "FP8"}, 128),
        ({"kv_cache_scheme": None}, 256),
        ({"quant_method": "mxfp4"}, 256),
    ],
)
def test_a_quantized_checkpoint_names_the_type(quantization: dict[str, Any], head_bytes: int) -> None:
    config = {**SEVENTY_B, "quantization_config": quantization}
    assert rate(config) == 80 * 2 * 8 * head_bytes
    assert rate(config, "bf16") == 80 * 2 * 8 * 256


def test_a_quantized_checkpoint_names_the_type_by_layer() -> None:
    patterns = {
        "model.layers.[0-3].self_attn.k_proj": {"output_tensors": {"dtype": "float16"}},
        "*k_proj": {"output_tensors": {"dtype": "fp8_e4m3"}},
        "*v_proj": {"output_tensors": {"dtype": "fp8_e4m3"}},
    }
    config = {**SEVENTY_B, "quantization_config": {"quant_method": "quark", "kv_cache_quant_config": patterns}}
    assert rate(config) == 8 * 128 * (80 * 2 + 4)


def test_an_unknown_cache_type_of_a_checkpoint_is_named() -> None:
    with pytest.raises(PrefixlabError, match=r"the cache is 'nf2', .* Give --dtype with one of bf16, .* or --bytes"):
        read({**SEVENTY_B, "quantization_config": {"kv_cache_quant_algo": "NF2"}})


def test_fp8_of_sparse_mla_has_vllms_layout() -> None:
    assert rate(SPARSE_MLA, "fp8") == 10 * (656 + 132)
    assert rate(MLA, "fp8") == 10 * 576
    assert rate(SPARSE_MLA, layer_dtype={"indexer": "bf16"}) == 10 * (1152 + 256)


def test_the_type_of_the_cache_is_not_that_of_states() -> None:
    hybrid = {**MAMBA2, "model_type": "falcon_h1", "num_attention_heads": 8, "num_key_value_heads": 2}
    hybrid = {**hybrid, "mamba_n_heads": 32, "mamba_d_head": 64, "mamba_d_state": 128, "mamba_d_conv": 4}
    whole, half = read(hybrid).cost, read(hybrid, "fp8").cost
    assert half.bytes_per_token * 2 == whole.bytes_per_token
    assert half.fixed_bytes == whole.fixed_bytes
    assert read(hybrid, layer_dtype={"state": "fp32"}).cost.fixed_bytes == 2 * whole.fixed_bytes


# --- ranks ------------------------------------------------------------------------------------------------------------


def test_latents_are_copied_to_every_rank() -> None:
    assert rate(MLA, ranks=8) == 8 * rate(MLA)
    assert rate(SPARSE_MLA, ranks=8) == 8 * rate(SPARSE_MLA)
    assert read(MLA, ranks=8).rank_cost.bytes_per_token == rate(MLA)


def test_one_head_is_copied_to_every_rank() -> None:
    single = {**SEVENTY_B, "num_key_value_heads": 1}
    assert rate(single, ranks=8) == 8 * rate(single)


def test_mamba_heads_are_shared_out_and_groups_copied() -> None:
    # vLLM's extra_groups_for_head_shards: one group becomes one on each of 4 ranks.
    states, channels = 32 * 64 * 128, 32 * 64
    assert read(MAMBA2).cost.fixed_bytes == 2 * (states + 3 * (channels + 2 * 128))
    assert read(MAMBA2, ranks=4).cost.fixed_bytes == 2 * (states + 3 * (channels + 2 * 4 * 128))


@pytest.mark.parametrize("ranks", [3, 7, 48])
def test_ranks_that_do_not_divide_the_heads(ranks: int) -> None:
    with pytest.raises(PrefixlabError, match=f"--tp {ranks}"):
        read(SEVENTY_B, ranks=ranks)


# --- windows and patterns ---------------------------------------------------------------------------------------------


def windows(config: dict[str, Any]) -> tuple[int, int]:
    """Layers that grow, and layers with a window."""
    cost = read({**SEVENTY_B, "head_dim": 128, **config}).cost
    counts = {layer.kind: layer.count for layer in cost.layers}
    return counts.get("full", 0), counts.get("sliding_window", 0)


@pytest.mark.parametrize(
    ("config", "layers"),
    [
        ({}, (80, 0)),
        ({"sliding_window": None}, (80, 0)),
        ({"sliding_window": 0}, (80, 0)),
        ({"sliding_window": -1}, (80, 0)),
        ({"sliding_window": 4096}, (0, 80)),
        ({"sliding_window": 4096, "use_sliding_window": False}, (80, 0)),
        ({"model_type": "qwen2", "sliding_window": 4096, "max_window_layers": 70}, (80, 0)),
        ({"sliding_window": 4096, "use_sliding_window": True, "max_window_layers": 70}, (70, 10)),
        ({"sliding_window": 4096, "sliding_window_pattern": 5}, (16, 64)),
        ({"sliding_window": 4096, "sliding_window_pattern": "LLG"}, (27, 53)),
        ({"sliding_window": 4096, "global_attn_every_n_layers": 8}, (10, 70)),
        ({"model_type": "gemma2", "sliding_window": 4096}, (40, 40)),
        ({"sliding_window": 4096, "layer_types": ["full_attention"] * 80}, (80, 0)),
        # Draft layers stand behind the others in some lists.
        ({"sliding_window": 9, "layer_types": ["sliding_attention", "full_attention"] * 41}, (40, 40)),
    ],
)
def test_which_layers_have_the_window(config: dict[str, Any], layers: tuple[int, int]) -> None:
    assert windows(config) == layers


def test_a_window_is_filled_by_the_first_tokens() -> None:
    cost = read(GPT_OSS_120B).cost
    assert cost.bytes_at(64) == 64 * 72 * 1024
    assert cost.bytes_at(128) == 128 * 72 * 1024
    assert cost.bytes_at(129) == 128 * 72 * 1024 + 36 * 1024
    assert cost.kept_bytes(1000) == 1000 * 72 * 1024


def test_a_layer_of_its_own_size() -> None:
    config = {**SEVENTY_B, "per_layer_config": {"0": {"num_key_value_heads": 4}, "1": {"head_dim": 64}}}
    assert rate(config) == 2 * 2 * (78 * 8 * 128 + 4 * 128 + 8 * 64)


def test_sliding_mla_with_a_rank_of_its_own() -> None:
    config = {**MLA, "swa_kv_lora_rank": 1024, "swa_qk_rope_head_dim": 64, "sliding_window_size": 512}
    config["layer_types"] = ["full_attention", "sliding_attention"] * 5
    cost = read(config).cost
    assert cost.bytes_per_token == 5 * 1152
    assert cost.fixed_bytes == 5 * 512 * 2 * 1088


@pytest.mark.parametrize("name", ["text_config", "llm_config", "language_config", "thinker_config"])
def test_the_language_model_of_a_multimodal_one(name: str) -> None:
    nested = {"model_type": "anything", "num_hidden_layers": 27, "vision_config": {"num_hidden_layers": 3}}
    assert rate({**nested, name: SEVENTY_B}) == rate(SEVENTY_B)


def test_what_is_assumed_is_said() -> None:
    said = " ".join(read({**SPARSE_MLA, "num_nextn_predict_layers": 1}, ranks=2).assumptions)
    for part in ("MLA", "indexer", "multi-token prediction", "all 2 ranks"):
        assert part in said
    config = {**SEVENTY_B, "torch_dtype": None}
    assert "the config names no 16-bit type: the cache is taken as bf16" in read(config).assumptions
    assert "head_dim is not in the config: 128, the hidden size over 64 heads" in read(config).assumptions


@pytest.mark.parametrize(
    ("config", "heads"),
    [
        ({"num_key_value_heads": 1}, 1),
        ({"num_key_value_heads": None}, 64),
        ({"num_key_value_heads": None, "n_kv_heads": 4}, 4),
        ({"num_key_value_heads": None, "multi_query": True}, 1),
        ({"num_key_value_heads": None, "attn_config": {"attn_type": "multiquery_attention"}}, 1),
        ({"num_key_value_heads": None, "attn_config": {"attn_type": "multihead_attention"}}, 64),
    ],
)
def test_kv_heads_under_many_names(config: dict[str, Any], heads: int) -> None:
    assert rate({**SEVENTY_B, **config}) == 80 * 2 * heads * 128 * 2


def test_a_nested_config_leaves_out_what_its_class_has() -> None:
    inner = {"model_type": "mistral", "num_hidden_layers": 10, "num_attention_heads": 64, "head_dim": 128}
    nested = {"text_config": {**inner, "sliding_window": None}, "torch_dtype": "bfloat16"}
    assert rate(nested) == 10 * 2 * 8 * 128 * 2
    assert "num_key_value_heads is not in the config: 8, the default of mistral" in read(nested).assumptions
    # A default that does not fit the query heads is not meant.
    other = read({"text_config": {**inner, "num_attention_heads": 20, "sliding_window": None}})
    assert other.cost.bytes_per_token == 10 * 2 * 20 * 128 * 2
    assert not any("the default of mistral" in said for said in other.assumptions)


def test_the_head_size_is_read_before_it_is_worked_out() -> None:
    config = {**SEVENTY_B, "model_type": "qwen3", "hidden_size": 4096}
    assert rate({**config, "head_dim": 96}) == 80 * 2 * 8 * 96 * 2
    assert rate(config) == 80 * 2 * 8 * 128 * 2
    assert rate({**config, "head_dim": None}) == 80 * 2 * 8 * 64 * 2
    assert rate({**config, "model_type": "llama"}) == 80 * 2 * 8 * 64 * 2
