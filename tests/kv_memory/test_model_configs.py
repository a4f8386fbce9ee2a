"""Public models of all kinds of layers against arithmetic that stands in the table, not in the program."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from prefixlab.kv_memory.layer_plan import LAYER_COUNTS
from tests.kv_memory.configs import HERE, read

MODELS = json.loads((HERE / "model_configs.json").read_text())
KINDS = {
    "full",
    "sliding_window",
    "chunked",
    "mla",
    "indexer",
    "compressed",
    "mamba1",
    "mamba2",
    "gated_delta_net",
    "kimi_delta",
    "lightning",
    "recurrent",
    "short_conv",
    "shared",
    "cross_attention",
    "no_cache",
}
_OPERATORS: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: lambda left, right: left + right,
    ast.Mult: lambda left, right: left * right,
    ast.Div: lambda left, right: left / right,
}


def worked_out(arithmetic: str) -> Fraction:
    """`2 * (3 + 4)`, exactly."""

    def value(node: ast.expr) -> Fraction:
        if isinstance(node, ast.BinOp):
            return _OPERATORS[type(node.op)](value(node.left), value(node.right))
        assert isinstance(node, ast.Constant)
        return Fraction(node.value)

    return value(ast.parse(arithmetic, mode="eval").body)


@pytest.mark.parametrize("model", MODELS, ids=[model["name"].split(" (")[0] for model in MODELS])
def test_bytes_of_a_public_model(model: dict[str, Any]) -> None:
    cost = read(model["config"]).cost
    kept = model.get("bytes_per_token_if_all_kept", model["bytes_per_token"])
    assert cost.bytes_per_token == worked_out(model["bytes_per_token"])
    assert cost.fixed_bytes == worked_out(model["fixed_bytes"])
    assert cost.bytes_per_token_if_all_kept == worked_out(kept)


def test_the_table_has_enough_models_of_every_kind() -> None:
    assert len(MODELS) >= 25
    met = {layer.kind for model in MODELS for layer in read(model["config"]).cost.layers}
    assert met == KINDS
    assert all(model["source"] for model in MODELS)


@pytest.mark.parametrize("model", MODELS, ids=[model["name"].split(" (")[0] for model in MODELS])
def test_no_layer_is_forgotten(model: dict[str, Any]) -> None:
    """A layer has a row, or a row for each thing it keeps."""
    config = model["config"]
    for name in ("thinker_config", "text_config", "llm_config", "language_config"):
        config = config.get(name, config)
    layers = next(config[name] for name in LAYER_COUNTS if name in config)
    assert sum(layer.count for layer in read(model["config"]).cost.layers) >= layers
