"""Configs written to files, and read as the program reads them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prefixlab.kv_memory.config_source import Document
from prefixlab.kv_memory.engine_rules import EngineRules, number_type
from prefixlab.kv_memory.model_config import ModelCache, read_model

HERE = Path(__file__).parent


def document(config: Mapping[str, Any]) -> Document:
    return Document("model", "config.json", json.dumps(config, indent=1), dict(config))


def read(
    config: Mapping[str, Any],
    dtype: str | None = None,
    *,
    ranks: int = 1,
    layer_dtype: Mapping[str, str] | None = None,
) -> ModelCache:
    rules = EngineRules()
    exceptions = {kind: number_type(name, rules) for kind, name in (layer_dtype or {}).items()}
    kind = None if dtype is None else number_type(dtype, rules)
    return read_model(document(config), EngineRules(dtype=kind, layer_dtypes=exceptions, ranks=ranks))


def write(folder: Path, config: Mapping[str, Any]) -> str:
    path = folder / "config.json"
    path.write_text(json.dumps(config, indent=1))
    return str(path)


GPT_OSS_120B: dict[str, Any] = {
    "model_type": "gpt_oss",
    "num_hidden_layers": 36,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "hidden_size": 2880,
    "sliding_window": 128,
    "torch_dtype": "bfloat16",
    "layer_types": ["sliding_attention", "full_attention"] * 18,
}
SEVENTY_B: dict[str, Any] = {
    "model_type": "llama",
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "hidden_size": 8192,
    "torch_dtype": "bfloat16",
}
