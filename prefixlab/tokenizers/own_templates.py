"""Which chat template goes with a tokenizer, for `--chat-template auto`: that of the model it belongs to."""

from __future__ import annotations

import re
from pathlib import Path

from prefixlab.tokenizers.huggingface import cached_file
from prefixlab.tokenizers.model_names import tokenizer_of_model

BUILT_IN = {
    "o200k_base": "openai",
    "cl100k_base": "openai",
    "p50k_base": "openai",
    "p50k_edit": "openai",
    "r50k_base": "openai",
    "o200k_harmony": "harmony",
    "qwen3": "qwen3",
}
"""Tokenizer to the name of a built-in template or layout."""

_PLAIN_QWEN3 = re.compile(r"(Qwen/)?Qwen3-[\d.]+B(-A[\d.]+B)?(-(FP8|AWQ|GPTQ\S*|GGUF))?", re.IGNORECASE)
"""The models whose template is the built-in `qwen3`; Qwen 3's Coder, Next and 2507 models have others."""


def own_template(name_or_path: str) -> str | None:
    """A built-in name, or the folder that holds the model's template; None where it is not known.

    `name_or_path` is what `load_tokenizer` takes.
    """
    path = Path(name_or_path)
    if path.exists():
        return str(path if path.is_dir() else path.parent)
    if name_or_path in BUILT_IN:
        return BUILT_IN[name_or_path]
    config = cached_file(name_or_path, "tokenizer_config.json") or cached_file(name_or_path, "chat_template.jinja")
    if config is not None:
        return str(config.parent)
    tokenizer = tokenizer_of_model(name_or_path)
    if tokenizer == "qwen3" and not _PLAIN_QWEN3.fullmatch(name_or_path):
        return None
    return BUILT_IN.get(tokenizer or "")
