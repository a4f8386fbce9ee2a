"""vLLM: a table of chained block keys over a pool of blocks.

Follows vLLM 0.32 and 0.33 (`v1/core/block_pool.py`, `kv_cache_manager.py`, `single_type_kv_cache_manager.py`), and
0.22.1 in the order of its free queue. One request, served after the other:

1. A hit is the longest run of known full blocks among the first `(prompt - 1) // block_size`: the last prompt token is
   always computed. Where log-probabilities of the prompt are asked for, nothing is read.
2. The hit blocks leave the free queue; the blocks for the rest of the prompt are taken from the queue's front, and a
   block that is taken loses its key only then.
3. Full blocks get their key, without de-duplication; so do those that generated tokens fill. The last token sampled
   has no keys and values.
4. At the end the blocks go back tail first: those without a key to the front of the queue (before 0.24: to its back),
   the others to its back. So of one request the tail is evicted before the head.

The model, the LoRA and `cache_salt` are part of the key.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

from prefixlab.contracts import EngineCache
from prefixlab.engine_requests import EngineRequest
from prefixlab.engines import block_rule
from prefixlab.engines.option_checks import check_whole
from prefixlab.engines.vllm_block_pool import BlockPool
from prefixlab.engines.vllm_sliding_window import SlidingWindowCache
from prefixlab.errors import PrefixlabError

EMPTIES_FIRST_FROM = (0, 24)
"""The version from which blocks without a key go to the front of the free queue (upstream pull request 42656)."""
LOOKAHEAD_KEYS_FROM = (0, 33)
"""The version from which speculative decoding does not drop a block but has the next token in each block's key."""
SPARSE_FROM = (0, 23)
"""The first version that may have sparse retention: it is absent in 0.22."""
MOST_GROUPS = 64
"""More than the layers of any hybrid make."""


@dataclass(frozen=True, slots=True)
class Vllm:
    name: ClassVar[str] = "vllm"
    summary: ClassVar[str] = "whole blocks of 16 tokens, the last prompt token always computed"
    follows: ClassVar[str] = "vLLM 0.32 and 0.33"
    block_option: ClassVar[str | None] = "block_size"
    reuses_moved_text: ClassVar[bool] = False
    min_tokens: ClassVar[int] = 0

    block_size: int = field(default=16, metadata={"help": "tokens a block"})
    num_gpu_blocks: int | None = field(
        default=None, metadata={"help": "blocks, the null block included, as the server logs them; none: unlimited"}
    )
    version: str = field(default="0.33", metadata={"help": "version of vLLM"})
    sliding_window: int | None = field(
        default=None, metadata={"help": "window of the sliding layers of a hybrid model (Gemma, gpt-oss)"}
    )
    sliding_groups: int = field(default=1, metadata={"help": "groups of sliding layers beside the one of full layers"})
    retention_interval: int | None = field(
        default=0, metadata={"help": "tokens between kept windows of sliding layers; 0: sparse, none: dense"}
    )
    speculative: str | None = field(
        default=None, metadata={"help": "speculative decoding with hidden states", "choices": ("eagle",)}
    )
    async_scheduling: bool = field(default=False, metadata={"help": "the scheduler runs a step ahead"})
    max_num_batched_tokens: int = field(default=8192, metadata={"help": "tokens of a prompt computed in one step"})

    def __post_init__(self) -> None:
        if self.block_size < 1:
            raise PrefixlabError(f"a block of {self.block_size} tokens cannot be", "Give --block-size 1 or more")
        if self.num_gpu_blocks is not None and self.num_gpu_blocks < 2:
            raise PrefixlabError(
                f"num_gpu_blocks={self.num_gpu_blocks} leaves no block to use", "Give 2 or more: one is the null block"
            )
        if self.sliding_window is not None and self.sliding_window < 1:
            raise PrefixlabError(f"sliding_window={self.sliding_window} cannot be", "Give 1 token or more")
        check_whole("sliding_groups", self.sliding_groups, least=1, most=MOST_GROUPS)
        if self.retention_interval is not None and (
            self.retention_interval < 0 or self.retention_interval % self.block_size
        ):
            raise PrefixlabError(
                f"retention_interval={self.retention_interval} cannot be", "Give none, 0 or a multiple of the block"
            )
        if self.max_num_batched_tokens < 1:
            raise PrefixlabError(f"max_num_batched_tokens={self.max_num_batched_tokens} cannot be", "Give 1 or more")
        if self.sliding_window is not None and self.speculative:
            raise PrefixlabError(
                "speculative decoding of a sliding-window hybrid is not modelled", "Leave one of the two out"
            )
        _ = self.release

    @property
    def release(self) -> tuple[int, ...]:
        """The version as numbers."""
        parts = self.version.removeprefix("v").split(".")[:3]
        if not all([part.isdecimal() for part in parts]) or len(parts) < 2:
            raise PrefixlabError(f"version={self.version} cannot be", "Give it as 0.33 or 0.33.1")
        return tuple([int(part) for part in parts])

    @property
    def granularity(self) -> int:
        return self.block_size

    @property
    def usable_blocks(self) -> int | None:
        """Blocks, the null block not counted; None where there is no end of them."""
        return None if self.num_gpu_blocks is None else self.num_gpu_blocks - 1

    @property
    def capacity_tokens(self) -> int | None:
        return None if self.num_gpu_blocks is None else (self.num_gpu_blocks - 1) * self.block_size

    @property
    def is_rule_exact(self) -> bool:
        return self.sliding_window is None

    @property
    def lookahead(self) -> int:
        """Tokens behind a block that are part of its key."""
        return int(self.speculative is not None and self.release >= LOOKAHEAD_KEYS_FROM)

    @property
    def dropped_blocks(self) -> int:
        """Blocks that every hit is short of, because the drafting head needs their hidden states."""
        return int(self.speculative is not None and self.release < LOOKAHEAD_KEYS_FROM)

    def aligned_tokens(self, shared_tokens: int, prompt_tokens: int) -> int:
        shared = max(shared_tokens - self.lookahead, 0)
        aligned = block_rule.aligned_tokens(self.block_size, shared, prompt_tokens)
        return max(aligned - self.dropped_blocks * self.block_size, 0)

    def last_token_loss(self, shared_tokens: int, prompt_tokens: int) -> int:
        return block_rule.last_token_loss(self.block_size, shared_tokens, prompt_tokens)

    def with_capacity(self, cache_tokens: int | None) -> Vllm:
        if cache_tokens is None:
            return replace(self, num_gpu_blocks=None)
        blocks = cache_tokens // self.block_size
        if not blocks:
            raise PrefixlabError(
                f"a cache of {cache_tokens} tokens has no block of {self.block_size}", "Give more, or a smaller block"
            )
        return replace(self, num_gpu_blocks=blocks + 1)

    def unlimited(self) -> Vllm:
        return replace(self, num_gpu_blocks=None)

    def cache(self) -> EngineCache:
        pool = BlockPool(self.usable_blocks, empties_first=self.release >= EMPTIES_FIRST_FROM)
        if self.sliding_window is None:
            return BlockTable(self, pool)
        return SlidingWindowCache(
            pool,
            usable=self.usable_blocks,
            block_size=self.block_size,
            window=self.sliding_window,
            groups=self.sliding_groups,
            retention_interval=self.retention_interval if self.release >= SPARSE_FROM else None,
            step_tokens=self.max_num_batched_tokens,
        )


class BlockTable:
    """The cache of a model whose layers all have full attention."""

    def __init__(self, engine: Vllm, pool: BlockPool) -> None:
        self._pool = pool
        self._block_size = engine.block_size
        self._usable = engine.usable_blocks
        self._lookahead = engine.lookahead
        self._dropped = engine.dropped_blocks
        self._is_async = engine.async_scheduling
        self._draft_slots = int(engine.speculative is not None)

    def serve(self, request: EngineRequest) -> int | None:
        size = self._block_size
        keys = request.block_keys(size, self._lookahead)
        blocks = -(-(request.sequence_tokens + self._slots_ahead(request)) // size)
        if self._usable is not None and blocks > self._usable:
            return None
        pool = self._pool
        known = pool.known
        hit = 0
        if not request.prompt_logprobs:
            for key in keys[: (request.prompt_tokens - 1) // size]:
                if key not in known:
                    break
                hit += 1
            hit = max(hit - self._dropped, 0)
        held = pool.touch(keys[:hit])
        pool.take(blocks - hit)
        held += pool.register(keys[hit:])
        pool.give_back(held, blocks - len(held))
        return hit * size

    def _slots_ahead(self, request: EngineRequest) -> int:
        """Slots that are taken for tokens that never come: a step ahead of an end, or drafts."""
        ahead = self._draft_slots
        if self._is_async and request.generated_tokens and request.finish_reason != "length":
            ahead += 1
        return ahead


ENGINE = Vllm
