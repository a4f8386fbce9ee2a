"""Vocabularies: rendered segments in, pieces of token ids out.

`load_tokenizer` takes what a person or a log calls a tokenizer (an encoding, a model, a folder, a file, a hub id) and
asks each family of this folder; `SegmentEncoder` puts it to work on rendered requests.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from prefixlab.contracts import TextTokenizer, TokenizerFamily
from prefixlab.errors import PrefixlabError
from prefixlab.tokenizers.model_names import tokenizer_of_model
from prefixlab.tokenizers.segment_encoder import SegmentEncoder

USUAL_FAMILIES = ("packaged_qwen", "openai_encodings", "huggingface")
"""Modules that are asked before the others: a name is of one family at most, so the order only spares imports."""


def load_tokenizer(name_or_path: str, *, offline: bool = False) -> TextTokenizer:
    """The tokenizer that a name or a path stands for.

    Raises:
        PrefixlabError: nothing of that name is known, or its vocabulary cannot be had; names the ways out.
    """
    wanted = name_or_path
    if not wanted.strip():
        raise PrefixlabError(
            "the name of the tokenizer is empty", "Name one, such as qwen3, or a folder with its tokenizer.json"
        )
    if not Path(wanted).exists():
        wanted = tokenizer_of_model(wanted) or wanted
    for family in families():
        tokenizer = family.load(wanted, offline=offline)
        if tokenizer is not None:
            return tokenizer
    if Path(wanted).is_dir():
        raise PrefixlabError(
            "this folder holds no tokenizer: no tokenizer.json, no tekken.json, no tokenizer.model",
            "With transformers, AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER) writes a tokenizer.json",
            path=wanted,
        )
    if Path(wanted).is_file():
        raise PrefixlabError("not a tokenizer's file", "Name a tokenizer.json, tekken.json or *.model", path=wanted)
    import difflib

    names = [row["name"] for row in known_tokenizers()]
    close = difflib.get_close_matches(wanted, names, n=3, cutoff=0.5) or ["o200k_base", "cl100k_base", "qwen3"]
    raise PrefixlabError(
        f"no tokenizer is called {name_or_path}",
        f"Use {', '.join(close)}, a hub id such as meta-llama/Llama-3.1-8B-Instruct, or a path to a tokenizer.json "
        "or a model folder",
    )


def known_tokenizers() -> list[Mapping[str, str]]:
    """A row for each tokenizer that has a name: `name`, `source`, `offline` (yes, no, cached)."""
    return [row for family in families() for row in family.known()]


def families() -> Iterator[TokenizerFamily]:
    """The families in this folder: every module with the constant `FAMILY`, imported when its turn comes."""
    found = [module.name for module in pkgutil.iter_modules(__path__)]
    for name in (*USUAL_FAMILIES, *[name for name in found if name not in USUAL_FAMILIES]):
        module = importlib.import_module(f"{__name__}.{name}")
        if hasattr(module, "FAMILY"):
            yield module.FAMILY


__all__ = ["SegmentEncoder", "families", "known_tokenizers", "load_tokenizer"]
