"""The chat template that goes with a tokenizer."""

from __future__ import annotations

from pathlib import Path

import pytest

from prefixlab.rendering import BUILT_IN_NAMES
from prefixlab.tokenizers.own_templates import BUILT_IN, own_template


@pytest.mark.parametrize(
    ("asked", "template"),
    [
        ("o200k_base", "openai"),
        ("gpt-4o-2024-08-06", "openai"),
        ("gpt-oss-120b", "harmony"),
        ("openai/gpt-oss-20b", "harmony"),
        ("qwen3", "qwen3"),
        ("Qwen/Qwen3-8B", "qwen3"),
        ("Qwen/Qwen3-30B-A3B-FP8", "qwen3"),
        ("Qwen/Qwen3-Coder-30B-A3B-Instruct", None),
        ("Qwen/Qwen3-4B-Instruct-2507", None),
        ("qwen2.5", None),
        ("nobody/knows", None),
    ],
)
def test_names(asked: str, template: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    assert own_template(asked) == template


def test_built_in_names_exist() -> None:
    assert set(BUILT_IN.values()) <= set(BUILT_IN_NAMES)


def test_a_folder_and_a_hub_model_have_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    snapshot = tmp_path / "models--some--model" / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (snapshot / "tokenizer_config.json").write_text("{}")
    assert own_template("some/model") == str(snapshot)
    assert own_template(str(snapshot)) == str(snapshot)
    assert own_template(str(snapshot / "tokenizer_config.json")) == str(snapshot)
