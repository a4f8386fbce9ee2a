"""Qwen 3, 2.5 and 2 from the packaged vocabulary: the same 151,643 ranks, each with its own list of added tokens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from prefixlab.tokenizers.byte_level import ByteLevelTokenizer
from prefixlab.tokenizers.patterns import QWEN
from prefixlab.tokenizers.vocabularies import PUBLISHED_SHA256, read_ranks

FIRST_ADDED = 151643

ADDED_TOKENS = (
    *("<|endoftext|>", "<|im_start|>", "<|im_end|>"),
    *("<|object_ref_start|>", "<|object_ref_end|>", "<|box_start|>", "<|box_end|>", "<|quad_start|>", "<|quad_end|>"),
    *("<|vision_start|>", "<|vision_end|>", "<|vision_pad|>", "<|image_pad|>", "<|video_pad|>"),
    *("<tool_call>", "</tool_call>"),
    *("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>"),
    *("<tool_response>", "</tool_response>", "<think>", "</think>"),
)
"""In the order of their ids."""

ADDED_TOKEN_COUNTS = {"qwen3": 26, "qwen2.5": 22, "qwen2": 3}
"""How many of `ADDED_TOKENS` each generation has; in the older ones a `<think>` is ordinary text."""

CONTROL_TOKENS = frozenset(ADDED_TOKENS[:14])
"""Those that Qwen's `tokenizer.json` marks as special."""


PUBLISHED_TOKENIZER_JSON = "aeb13307a71acd8fe81861d94ad54ab689df773318809eed3cbe794b4492dae4"
"""sha256 of the `tokenizer.json` of the Qwen 3 models, which the packaged vocabulary reproduces."""


PUBLISHED_TOKENIZER_JSON_BYTES = 11_422_654


# A vocabulary never changes: a notebook that asks again and again does not build it anew.
@lru_cache(maxsize=2)
def load_packaged(generation: str, *, name: str, source: str, sha256: str) -> ByteLevelTokenizer:
    """The tokenizer of a generation of Qwen."""
    ranks = read_ranks("qwen3")
    added = ADDED_TOKENS[: ADDED_TOKEN_COUNTS[generation]]
    return ByteLevelTokenizer(
        name,
        ranks,
        QWEN,
        {token: FIRST_ADDED + place for place, token in enumerate(added)},
        source=source,
        sha256=sha256,
        specials_in_content=True,
        nfc=True,
        control_tokens=CONTROL_TOKENS,
    )


class PackagedQwen:
    """The names `qwen3`, `qwen2.5` and `qwen2`."""

    name = "qwen"
    summary = "Qwen 3, 2.5 and 2 from the packaged vocabulary"

    def load(self, wanted: str, *, offline: bool) -> ByteLevelTokenizer | None:
        if wanted not in ADDED_TOKEN_COUNTS:
            return None
        return load_packaged(wanted, name=wanted, source="packaged", sha256=PUBLISHED_SHA256["qwen3"])

    def known(self) -> Iterable[Mapping[str, str]]:
        return [{"name": name, "source": "packaged", "offline": "yes"} for name in ADDED_TOKEN_COUNTS]


FAMILY = PackagedQwen()
