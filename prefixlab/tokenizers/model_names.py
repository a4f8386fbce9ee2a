"""Which tokenizer a served model's name stands for, where that is known for sure.

Only exact matches of vocabulary *and* added tokens are listed: a model that shares the ranks of another but has further
special tokens is left to its own files on the hub.
"""

from __future__ import annotations

import re

MODEL_NAMES = (
    (r"gpt-oss-(20b|120b).*|openai/gpt-oss-(20b|120b)", "o200k_harmony"),
    (r"(chatgpt-4o|gpt-4o|gpt-4\.1|gpt-4\.5|gpt-5)([-.].*)?", "o200k_base"),
    (r"o[134](-.*)?", "o200k_base"),
    (r"(gpt-4|gpt-3\.5|gpt-35)(-.*)?", "cl100k_base"),
    (r"text-embedding-(ada-002|3-small|3-large)", "cl100k_base"),
    (r"(Qwen/)?Qwen3-(\d[\w.]*B|Coder-\d[\w.]*B|Next-\d[\w.]*B)(-.*)?", "qwen3"),
    (r"(Qwen/)?Qwen2\.5-(Coder-|Math-)?\d[\w.]*B(-.*)?", "qwen2.5"),
    (r"(Qwen/)?Qwen2-(Math-)?\d[\w.]*B(-.*)?", "qwen2"),
)
"""Patterns of whole names without a fine-tuning suffix, and the tokenizer's name; the first match counts."""

_COMPILED = [(re.compile(pattern, re.IGNORECASE), name) for pattern, name in MODEL_NAMES]


def tokenizer_of_model(model: str) -> str | None:
    """The tokenizer's name for a model's, or None where it is not known."""
    plain = model.removeprefix("ft:").split(":", 1)[0]
    for pattern, name in _COMPILED:
        if pattern.fullmatch(plain):
            return name
    return None
