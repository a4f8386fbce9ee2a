"""Configs whose size would be a guess: each is refused, at the line of the field, with the way that is left."""

from __future__ import annotations

from typing import Any

import pytest

from prefixlab.errors import PrefixlabError
from tests.kv_memory.configs import SEVENTY_B, read

ENCODERS = (
    *("albert", "bert", "camembert", "deberta", "deberta-v2", "distilbert", "electra", "modernbert", "mpnet"),
    *("nomic_bert", "roberta", "xlm-roberta"),
    *("vit", "vit_mae", "dinov2", "swin", "clip", "clip_text_model", "siglip", "siglip2_text_model"),
    *("internvl_vision", "llama4_vision_model", "gemma4_audio", "parakeet_encoder", "instructblip_qformer", "xclip"),
    *("wav2vec2", "wav2vec2-bert", "hubert"),
)
PLAIN = {**SEVENTY_B, "model_type": "some_model"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hybrid_block_layout", ["t", "m2"] * 40),
        ("attn_layer_idxs", [1, 3]),
        ("hyena_layer_idxs", [0, 2]),
        ("global_attn_idx", [0, 15]),
        ("kv_reuse_group", [[1, 2], [3, 4]]),
        ("kv_source_layer_ids", [0, 0]),
        ("ssm_cfg", {"d_state": 64}),
        ("mamba_d_state", 16),
        ("mamba_expand", 2),
        ("linear_num_value_heads", 32),
        ("conv_L_cache", 3),
        ("local_layer_ids", [1]),
        ("swa_layers", [1, 2]),
        ("full_attention_layer_ids", [1, 2]),
        ("loop_num", 2),
        ("mean_recurrence", 32),
    ],
)
def test_fields_that_say_what_is_not_read(name: str, value: Any) -> None:
    with pytest.raises(PrefixlabError, match=rf"config.json:8: what {name} .* known here. Use --bytes-per-token"):
        read({**PLAIN, name: value})


@pytest.mark.parametrize(
    "config",
    [
        {"kv_reuse_group": []},
        {"hybrid_block_layout": None},
        {"ssm_cfg": {}},
        {"loop_num": 1},
        {"total_ut_steps": 1},
        # Layers that are listed one by one leave nothing to ask.
        {"layer_types": ["full_attention"] * 80, "mamba_d_state": 128},
        {"architectures": ["X"], "mlp_only_layers": [1, 2], "deepstack_visual_indexes": [3]},
    ],
)
def test_fields_that_say_nothing(config: dict[str, Any]) -> None:
    assert read({**PLAIN, **config}).cost == read(PLAIN).cost


@pytest.mark.parametrize("kind", ["rwkv", "rwkv5", "RWKV7", "stripedhyena", "hyena", "evo_hyena_2", "xlstm", "retnet"])
def test_models_of_an_unknown_state(kind: str) -> None:
    with pytest.raises(PrefixlabError, match=f"what a layer of {kind} keeps is not known here. Use --bytes-per-token"):
        read({**PLAIN, "model_type": kind})


@pytest.mark.parametrize("kind", ENCODERS)
def test_encoders(kind: str) -> None:
    with pytest.raises(PrefixlabError, match=f"{kind} is an encoder. Give the config of a decoder model"):
        read({**PLAIN, "model_type": kind})


@pytest.mark.parametrize(
    "kind", ["t5", "mt5", "bart", "mbart", "whisper", "m2m_100", "pegasus", "vision-encoder-decoder", "t5gemma"]
)
def test_encoders_with_a_decoder(kind: str) -> None:
    with pytest.raises(PrefixlabError, match=f"{kind} is an encoder with a decoder"):
        read({"model_type": kind, "encoder_layers": 6, "decoder_layers": 6})
    with pytest.raises(PrefixlabError, match=f"{kind} is an encoder with a decoder"):
        read({**PLAIN, "model_type": kind})


@pytest.mark.parametrize(
    "config", [{"model_type": "vita"}, {"model_type": "modernbert-decoder"}, {"model_type": "opt"}]
)
def test_decoders_with_names_like_them(config: dict[str, Any]) -> None:
    assert read({**PLAIN, **config}).cost == read(PLAIN).cost


def test_an_encoder_may_be_used_as_a_decoder() -> None:
    assert read({**PLAIN, "model_type": "bert", "is_decoder": True}).cost == read(PLAIN).cost


@pytest.mark.parametrize(
    "config",
    [
        {"num_key_value_heads": 3},
        {"num_key_value_heads": 128},
        {"num_key_value_heads": [8] * 79 + [3]},
        {"num_key_value_heads": None, "n_kv_heads": 7},
        {"num_query_heads": [64] * 80, "num_attention_heads": None, "num_key_value_heads": [8] * 79 + [128]},
    ],
)
def test_kv_heads_that_do_not_divide_the_heads(config: dict[str, Any]) -> None:
    with pytest.raises(PrefixlabError, match=r"config.json:\d+: .*KV heads, which do not divide 64 query heads"):
        read({**PLAIN, **config})


@pytest.mark.parametrize("zero", ["v_head_dim", "kv_lora_rank", "head_dim", "total_ut_steps"])
def test_a_size_of_0_is_none(zero: str) -> None:
    assert read({**PLAIN, zero: 0}).cost == read(PLAIN).cost


def test_layers_that_run_several_times() -> None:
    once, four = read(PLAIN), read({**PLAIN, "total_ut_steps": 4})
    assert four.cost.bytes_per_token == 4 * once.cost.bytes_per_token
    assert any("every layer runs 4 times a token" in said for said in four.assumptions)
