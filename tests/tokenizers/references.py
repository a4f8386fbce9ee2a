"""The tokenizers that ours are held to: tiktoken's own encodings, and `tokenizers` on published files."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import tiktoken
import tiktoken_ext.openai_public as published
from tokenizers import Tokenizer

from prefixlab.contracts import TextTokenizer
from prefixlab.tokenizers import load_tokenizer
from prefixlab.tokenizers.openai_encodings import PSEUDO_SPECIALS
from prefixlab.tokenizers.vocabularies import read_tokens
from tests.reference import reference_folder

HOSTED = ("o200k_base", "cl100k_base")
SERVED = ("qwen3", "llama3_1", "gptoss", "deepseek_v3", "gemma3")


@cache
def encoding(name: str) -> tiktoken.Encoding:
    """tiktoken's encoding with its own pattern, and with the ChatML marks that it lacks."""
    ranks = {token: rank for rank, token in enumerate(read_tokens(name))}
    original = published.load_tiktoken_bpe
    published.load_tiktoken_bpe = lambda *_, **__: ranks
    try:
        parts = published.ENCODING_CONSTRUCTORS[name]()
    finally:
        published.load_tiktoken_bpe = original
    parts["special_tokens"] = parts["special_tokens"] | PSEUDO_SPECIALS
    return tiktoken.Encoding(**parts)


@cache
def library_tokenizer(family: str) -> Tokenizer:
    """The `tokenizers` library on the family's published file."""
    return Tokenizer.from_file(str(reference_folder(family) / "tokenizer.json"))


@cache
def ours(name: str) -> TextTokenizer:
    """Our tokenizer of an encoding's or a family's name."""
    return load_tokenizer(name if name in HOSTED else str(reference_folder(name)))


def reference_ids(name: str) -> Callable[[str], list[int]]:
    """What the reference makes of a whole text. OpenAI's take special tokens for text."""
    if name in HOSTED:
        return encoding(name).encode_ordinary
    tokenizer = library_tokenizer(name)
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids
