"""Configs that nobody would write: they end in an answer or in one line, never in a crash or a wait."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prefixlab.errors import PrefixlabError
from tests.kv_memory.configs import HERE, read

MODELS = json.loads((HERE / "model_configs.json").read_text())
NAMES = [
    *sorted({name for model in MODELS for name in model["config"]} - {"text_config", "vision_config"}),
    "text_config",
    "quantization_config",
    "compress_ratios",
    "per_layer_config",
    "indexer_types",
    "index_topk_freq",
    "index_topk",
    "index_topk_blocks",
    "sparse_attention_config",
    "global_attn_idx",
    "loop_num",
    "num_kv_shared_layers",
    "max_window_layers",
    "attn_layer_period",
    "mamba_ssm_dtype",
]
JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.integers()
    | st.floats()
    | st.sampled_from(["", "auto", "full_attention", "fp8", "M*-", "\x1b[31m", "9" * 50])
    | st.just(10**40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=8,
)


def accepts_or_complains(config: dict[str, Any], ranks: int, dtype: str | None) -> None:
    try:
        cost = read(config, dtype, ranks=ranks).cost
    except PrefixlabError as error:
        said = str(error)
        assert "\n" not in said
        assert len(said) < 500
        return
    assert cost.bytes_per_token_if_all_kept >= cost.bytes_per_token >= 0
    assert cost.bytes_at(0) <= cost.bytes_at(1) <= cost.bytes_at(4096)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(NAMES), JUNK, max_size=12), st.sampled_from([1, 2, 8]))
def test_junk(config: dict[str, Any], ranks: int) -> None:
    accepts_or_complains(config, ranks, None)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(MODELS),
    st.dictionaries(st.sampled_from(NAMES), JUNK, min_size=1, max_size=3),
    st.sets(st.sampled_from(NAMES), max_size=2),
    st.sampled_from([1, 2, 4, 64]),
    st.sampled_from([None, "fp8", "int4"]),
)
def test_a_real_config_with_fields_changed_or_gone(
    model: dict[str, Any], changed: dict[str, Any], gone: set[str], ranks: int, dtype: str | None
) -> None:
    config = {name: value for name, value in {**model["config"], **changed}.items() if name not in gone}
    inner = config.get("text_config")
    if isinstance(inner, dict):
        config["text_config"] = {name: value for name, value in {**inner, **changed}.items() if name not in gone}
    accepts_or_complains(config, ranks, dtype)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(MODELS), st.integers(1, 300_000), st.integers(1, 300_000))
def test_longer_sessions_take_no_less(model: dict[str, Any], one: int, other: int) -> None:
    cost = read(model["config"]).cost
    short, long = sorted((one, other))
    assert cost.bytes_at(short) <= cost.bytes_at(long)
    assert cost.growing_bytes(long) <= cost.bytes_at(long) <= cost.kept_bytes(long)
    assert cost.bytes_at(long) <= cost.growing_bytes(long) + cost.fixed_bytes
