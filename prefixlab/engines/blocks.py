"""A generic block cache: whole blocks of any size, for engines that are not modelled by name.

It is a store beside an engine, not its working memory: it refuses nothing. Of a request with more blocks than the store
holds, the first ones stay (`lru`), as nothing that stands behind a missing block can be used. With `lru` the cache is a
stack: what a smaller one holds, a larger one holds too.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Self

from prefixlab.engines.option_checks import check_choice, check_number, check_switch, check_whole
from prefixlab.errors import PrefixlabError

if TYPE_CHECKING:
    from prefixlab.engine_requests import EngineRequest

POLICIES = ("lru", "fifo")


@dataclass(frozen=True, slots=True)
class Blocks:
    """Whole blocks, known by all tokens up to their end."""

    name: ClassVar[str] = "blocks"
    summary: ClassVar[str] = "a generic store of whole blocks, of any size and number"
    follows: ClassVar[str] = "no engine in particular"
    block_option: ClassVar[str | None] = "block_size"

    block_size: int = field(default=16, metadata={"help": "tokens a block"})
    capacity_blocks: int | None = field(default=None, metadata={"help": "blocks that the store holds; unlimited"})
    policy: str = field(
        default="lru",
        metadata={"help": "what goes first: unused longest, tail first; or stored first", "choices": POLICIES},
    )
    last_token: bool = field(
        default=True, metadata={"help": "whether the last prompt token is always computed, as engines do"}
    )
    min_tokens: int = field(default=0, metadata={"help": "shortest prefix, in tokens, that counts as cached"})
    ttl: float | None = field(default=None, metadata={"help": "seconds that an unused block is kept; for ever"})
    outputs: bool = field(default=True, metadata={"help": "whether the blocks of answers are stored as well"})

    def __post_init__(self) -> None:
        check_whole("block_size", self.block_size, least=1)
        check_whole("capacity_blocks", self.capacity_blocks, least=1, or_none=True)
        check_choice("policy", self.policy, POLICIES)
        check_switch("last_token", self.last_token)
        check_whole("min_tokens", self.min_tokens, least=0)
        check_number("ttl", self.ttl, or_none=True)
        check_switch("outputs", self.outputs)

    @property
    def granularity(self) -> int:
        return self.block_size

    @property
    def capacity_tokens(self) -> int | None:
        return None if self.capacity_blocks is None else self.capacity_blocks * self.block_size

    @property
    def reuses_moved_text(self) -> bool:
        return False

    @property
    def is_rule_exact(self) -> bool:
        """Shared tokens count those of answers, so the rule alone is not exact where answers are not stored."""
        return self.outputs

    def aligned_tokens(self, shared_tokens: int, prompt_tokens: int) -> int:
        usable = max(prompt_tokens - 1, 0) if self.last_token else prompt_tokens
        return self._counted(min(shared_tokens, usable) // self.block_size * self.block_size)

    def last_token_loss(self, shared_tokens: int, prompt_tokens: int) -> int:
        whole = self._counted(min(shared_tokens, prompt_tokens) // self.block_size * self.block_size)
        return whole - self.aligned_tokens(shared_tokens, prompt_tokens)

    def with_capacity(self, cache_tokens: int | None) -> Self:
        if cache_tokens is None:
            return replace(self, capacity_blocks=None)
        blocks = cache_tokens // self.block_size
        if blocks < 1:
            raise PrefixlabError(
                f"a cache of {cache_tokens} tokens holds no block of {self.block_size}",
                f"Give {self.block_size} tokens or more",
            )
        return replace(self, capacity_blocks=blocks)

    def unlimited(self) -> Self:
        """The same rule with room and time for everything."""
        return replace(self, capacity_blocks=None, ttl=None)

    def cache(self) -> BlocksCache:
        return BlocksCache(self)

    def _counted(self, tokens: int) -> int:
        return tokens if tokens >= self.min_tokens else 0


class BlocksCache:
    """The blocks that are known, in the order in which they go.

    With `lru` what was used longest ago goes first, and of one request the tail goes first, so a block never outlives
    what stands before it. With `fifo` what was stored first goes first, and a hit refreshes nothing. Both are orders of
    time, so blocks whose lifetime is over stand at the front: a step costs the same, however many blocks there are.

    `last_written` is the prompt tokens of the latest request that were stored anew.
    """

    __slots__ = ("_blocks", "_engine", "_now", "last_written")

    def __init__(self, engine: Blocks) -> None:
        self._engine = engine
        self._blocks: OrderedDict[int, float] = OrderedDict()
        self._now = float("-inf")
        self.last_written = 0

    def serve(self, request: EngineRequest) -> int:
        engine, blocks = self._engine, self._blocks
        # A trace's own blocks cannot be cut: the block is the whole number of them that holds it.
        block_size = -(-engine.block_size // request.unit) * request.unit
        keys = request.block_keys(block_size)
        of_prompt = min(request.prompt_tokens // block_size, len(keys))
        if not engine.outputs:
            keys = keys[:of_prompt]
        now = self._advance(request.arrived_at)
        hits = 0
        for key in keys:
            if key not in blocks:
                break
            hits += 1
        hits = min(hits, of_prompt)
        refreshes = engine.policy == "lru"
        for key in reversed(keys):
            if key not in blocks:
                blocks[key] = now
            elif refreshes:
                blocks[key] = now
                blocks.move_to_end(key)
        if engine.capacity_blocks is not None:
            while len(blocks) > engine.capacity_blocks:
                blocks.popitem(last=False)
        self.last_written = (of_prompt - hits) * block_size
        return engine.aligned_tokens(hits * block_size, request.prompt_tokens)

    def _advance(self, arrived_at: float | None) -> float:
        """The time now, once all whose lifetime is over is gone. Without a time of its own a request comes when the one
        before it came."""
        if arrived_at is not None and arrived_at > self._now:
            self._now = arrived_at
        if self._engine.ttl is not None:
            blocks, oldest = self._blocks, self._now - self._engine.ttl
            while blocks:
                key = next(iter(blocks))
                if blocks[key] >= oldest:
                    break
                del blocks[key]
        return self._now


ENGINE = Blocks
