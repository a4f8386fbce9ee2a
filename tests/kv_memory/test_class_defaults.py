"""The defaults of nested configs against the classes that have them."""

from __future__ import annotations

import dataclasses

import pytest

from prefixlab.kv_memory.config_fields import class_defaults

transformers = pytest.importorskip("transformers")


@pytest.mark.full
@pytest.mark.skipif(not transformers.__version__.startswith("5.24."), reason="the table is of transformers 5.24")
@pytest.mark.parametrize("kind", ["llama", "mistral", "gemma3_text", "gemma3n_text", "qwen3_5_text", "llama4_text"])
def test_they_are_those_of_the_classes(kind: str) -> None:
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    defaults = {field.name: field.default for field in dataclasses.fields(CONFIG_MAPPING[kind])}
    table = class_defaults()[kind]
    assert {name: defaults[name] for name in table} == dict(table)
