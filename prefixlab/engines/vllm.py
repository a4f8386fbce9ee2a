"""vLLM: a table of chained block keys.

Follows vLLM 0.32 and 0.33 (`v1/core/block_pool.py`, `kv_cache_manager.py`); the rule is the same since 0.22 where the
cache never fills. A hit is the longest run of known full blocks among the first `(prompt - 1) // block_size`; generated
tokens but the last are known to later requests; the model, LoRA and `cache_salt` are part of the key.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from prefixlab.engines.block_rule import BlockRule


@dataclass(frozen=True, slots=True)
class Vllm(BlockRule):
    name: ClassVar[str] = "vllm"
    summary: ClassVar[str] = "whole blocks of 16 tokens, the last prompt token always computed"
    follows: ClassVar[str] = "vLLM 0.32 and 0.33, full-attention models"
    default_block_size: ClassVar[int] = 16


ENGINE = Vllm
