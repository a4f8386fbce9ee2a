"""Sizes that the makers of models have printed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.kv_memory.configs import GPT_OSS_120B, HERE, read

MODELS = {
    model["name"].split(" (")[0]: model["config"] for model in json.loads((HERE / "model_configs.json").read_text())
}
LLAMA_405B: dict[str, Any] = {
    "model_type": "llama",
    "num_hidden_layers": 126,
    "num_attention_heads": 128,
    "num_key_value_heads": 8,
    "hidden_size": 16384,
    "torch_dtype": "bfloat16",
}
QWEN_72B = {**LLAMA_405B, "num_hidden_layers": 80, "num_attention_heads": 64, "hidden_size": 8192}
GIB = 2**30


@pytest.mark.parametrize(
    ("config", "kilobytes"),
    [(MODELS["deepseek-ai/DeepSeek-V3"], 70.272), (QWEN_72B, 327.680), (LLAMA_405B, 516.096)],
)
def test_deepseeks_table(config: dict[str, Any], kilobytes: float) -> None:
    """'Insights into DeepSeek-V3' (arXiv 2505.09343), table 1: KV cache size a token in BF16, in thousands of bytes."""
    assert read(config).cost.bytes_per_token == kilobytes * 1000


@pytest.mark.parametrize(
    ("name", "gib"),
    [
        ("ai21labs/Jamba-v0.1", 4),
        ("mistralai/Mixtral-8x7B-v0.1", 32),
        ("meta-llama/Llama-2-7b-hf", 128),
        ("mistralai/Mistral-7B-v0.1", 32),
    ],
)
def test_jambas_table(name: str, gib: int) -> None:
    """'Jamba' (arXiv 2403.19887), table 1: KV cache of 256K tokens in 16 bits; Mistral's window kept whole."""
    assert read(MODELS[name]).cost.bytes_per_token_if_all_kept * 256 * 1024 == gib * GIB


@pytest.mark.parametrize(("layers", "gib"), [(24, 3.0029296875), (36, 4.50439453125)])
def test_gpt_oss_at_its_longest(layers: int, gib: float) -> None:
    """128K tokens with the windows: what a public memory estimator has for gpt-oss-20b and 120b."""
    kinds = GPT_OSS_120B["layer_types"][:layers]
    config = {**GPT_OSS_120B, "num_hidden_layers": layers, "layer_types": kinds}
    assert read(config).cost.bytes_at(128 * 1024) == gib * GIB
