"""Against the figures of kvcache-simulator 0.1.3's catalogue; README.md explains the differences."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.kv_memory.configs import HERE, read

CATALOGUE = json.loads((HERE / "catalogue.json").read_text())


@pytest.mark.parametrize("entry", CATALOGUE, ids=[entry["id"] for entry in CATALOGUE])
def test_its_figures_come_out_under_its_assumptions(entry: dict[str, Any]) -> None:
    cost = read(entry["config"], layer_dtype=entry["layer_dtype"]).cost
    assert (cost.bytes_per_token, cost.fixed_bytes) == tuple(entry["catalogue"].values())


@pytest.mark.parametrize("entry", CATALOGUE, ids=[entry["id"] for entry in CATALOGUE])
def test_without_them_only_the_explained_models_differ(entry: dict[str, Any]) -> None:
    cost = read(entry["config"]).cost
    differs = (cost.bytes_per_token, cost.fixed_bytes) != tuple(entry["catalogue"].values())
    assert differs == (entry["difference"] is not None)
    assert entry["difference"] in (None, "indexer", "state")
