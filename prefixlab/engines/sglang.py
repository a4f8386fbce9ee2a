"""SGLang: a radix tree over pages of tokens.

Follows SGLang 0.5.23 (`mem_cache/radix_cache.py`, `unified_radix_cache.py`). The page is one token unless the server
was started with `--page-size` or an attention backend forces one; the last prompt token is always computed; generated
tokens but the last are known to later requests; `extra_key`, `cache_salt` and the LoRA are part of the key.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from prefixlab.engines.block_rule import BlockRule


@dataclass(frozen=True, slots=True)
class Sglang(BlockRule):
    name: ClassVar[str] = "sglang"
    summary: ClassVar[str] = "whole pages of 1 token (--page-size), the last prompt token always computed"
    follows: ClassVar[str] = "SGLang 0.5.23"
    default_block_size: ClassVar[int] = 1


ENGINE = Sglang
