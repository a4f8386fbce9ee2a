"""The original chat templates that ours are held against. They are not shipped with the project."""

from __future__ import annotations

import json
from typing import Any

from tests.reference import reference_folder


def original(family: str) -> tuple[str, dict[str, Any]]:
    """The chat template of a family and the strings of its special tokens."""
    config = json.loads((reference_folder(family) / "tokenizer_config.json").read_text("utf-8"))
    tokens = {}
    for key, value in config.items():
        text = value.get("content") if isinstance(value, dict) else value
        if key.endswith("_token") and isinstance(text, str):
            tokens[key] = text
    return config["chat_template"], tokens
