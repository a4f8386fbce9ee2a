"""TensorRT-LLM: a tree of blocks, the last of a sequence partly filled, over queues of free blocks by priority.

Follows the C++ KV cache manager V1 of 2026 as read, not run: `cpp/tensorrt_llm/batch_manager/kvCacheManager.cpp`
(`loadOrAllocateBlocks`, `storeBlocks`, `releaseBlocks`, `getFreeBlock`) and `evictionPolicy.cpp`; for one beam and full
attention. (From May 2026 on all that is found is claimed before any block is taken; that matters only where blocks are
copied or come back from host memory.) One request, in the manager's order:

1. Look up the prompt without its last token, block by block. A block that is not known exactly is the last one looked
   at: with partial reuse, the child that has most in common with it counts for that much. If that child is a leaf, the
   request takes it away from the tree and overwrites the rest; otherwise it is copied (`copy_on_partial_reuse`).
2. Take blocks for the rest from the free queues: lowest priority first, then the one released the longest ago. All that
   no request uses is in a queue, known or not. A block that is taken leaves the tree with all below it, unless there is
   host memory: then it moves there, if its priority is high enough, and back when it is looked up.
3. After the prompt, its whole blocks without the last token become known. Generated tokens take further blocks.
4. At the end all blocks of the prompt and the generated tokens but the last become known, the last one though it may be
   partly filled. What was known already stays as it is; the request's own copy is of no use. Then the blocks are
   released, the last one first.

Because step 1 overwrites, more memory need not mean more reuse, and even an unlimited cache forgets. A trace of block
hashes has no tokens to compare: whole blocks only. A request's priority from 1 to 100 is that of its blocks, 0 stands
for none given (35). Durations, sliding windows, several beams and the manager V2 are not modelled.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Final, Self

from prefixlab.engines import block_rule
from prefixlab.engines.longest_prefix import shared_bytes
from prefixlab.engines.option_checks import check_switch, check_whole
from prefixlab.errors import PrefixlabError
from prefixlab.records import TOKEN_BYTES

if TYPE_CHECKING:
    from prefixlab.engine_requests import EngineRequest

DEFAULT_PRIORITY: Final = 35
HIGHEST_PRIORITY: Final = 100

DEVICE: Final = 0
HOST: Final = 1


MOST_BLOCKS: Final = 1 << 20
"""More than any memory has; each is an object here."""


@dataclass(frozen=True, slots=True)
class TensorrtLlm:
    name: ClassVar[str] = "tensorrt_llm"
    summary: ClassVar[str] = "blocks of 32 tokens reused in part, evicted by priority and age; the last token computed"
    follows: ClassVar[str] = "TensorRT-LLM, KV cache manager V1 (2026), read in the source"
    block_option: ClassVar[str | None] = "tokens_per_block"
    reuses_moved_text: ClassVar[bool] = False
    min_tokens: ClassVar[int] = 0
    is_rule_exact: ClassVar[bool] = False

    tokens_per_block: int = field(default=32, metadata={"help": "tokens a block, a power of two"})
    enable_partial_reuse: bool = field(default=True, metadata={"help": "reuse the beginning of a block"})
    copy_on_partial_reuse: bool = field(
        default=True, metadata={"help": "copy a block that others need; if not, reuse parts of unused last blocks only"}
    )
    max_tokens: int | None = field(
        default=None, metadata={"help": "tokens of KV memory, cut to whole blocks; unlimited if not given"}
    )
    host_tokens: int = field(default=0, metadata={"help": "tokens of host memory (host_cache_size), in whole blocks"})
    offload_min_priority: int = field(
        default=30, metadata={"help": "lowest priority that moves to host memory (secondary_offload_min_priority)"}
    )

    def __post_init__(self) -> None:
        check_whole("tokens_per_block", self.tokens_per_block, least=1)
        check_switch("enable_partial_reuse", self.enable_partial_reuse)
        check_switch("copy_on_partial_reuse", self.copy_on_partial_reuse)
        check_whole("max_tokens", self.max_tokens, least=1, or_none=True)
        check_whole("host_tokens", self.host_tokens, least=0)
        check_whole("offload_min_priority", self.offload_min_priority, least=0)
        if self.tokens_per_block & (self.tokens_per_block - 1):
            raise PrefixlabError(
                f"TensorRT-LLM has no blocks of {self.tokens_per_block} tokens", "Give a power of two, such as 32 or 64"
            )
        for name, tokens in (("max_tokens", self.max_tokens), ("host_tokens", self.host_tokens)):
            if tokens is not None and tokens // self.tokens_per_block > MOST_BLOCKS:
                raise PrefixlabError(
                    f"{name}={tokens} is more than {MOST_BLOCKS:,} blocks", "Leave it out for a cache without limit"
                )
        if self.max_tokens is not None and self.max_tokens < self.tokens_per_block:
            raise PrefixlabError(
                f"a cache of {self.max_tokens} tokens does not hold one block of {self.tokens_per_block}",
                f"Give {self.tokens_per_block} tokens or more",
            )

    @property
    def granularity(self) -> int:
        return 1 if self.enable_partial_reuse else self.tokens_per_block

    @property
    def capacity_tokens(self) -> int | None:
        return None if self.max_tokens is None else self.max_tokens // self.tokens_per_block * self.tokens_per_block

    def aligned_tokens(self, shared_tokens: int, prompt_tokens: int) -> int:
        return block_rule.aligned_tokens(self.granularity, shared_tokens, prompt_tokens)

    def last_token_loss(self, shared_tokens: int, prompt_tokens: int) -> int:
        return block_rule.last_token_loss(self.granularity, shared_tokens, prompt_tokens)

    def with_capacity(self, cache_tokens: int | None) -> Self:
        return replace(self, max_tokens=cache_tokens)

    def unlimited(self) -> Self:
        return replace(self, max_tokens=None)

    def cache(self) -> TensorrtLlmCache:
        return TensorrtLlmCache(self)


class Block:
    """A block of memory, and its place in the tree while it is known. A root is a block without memory."""

    __slots__ = ("children", "in_order", "is_held", "key", "level", "parent", "priority")

    def __init__(self, level: int) -> None:
        self.key = b""
        """The ids last written; they stay when the block leaves the tree."""
        self.parent: Block | None = None
        self.children: dict[bytes, Block] = {}
        self.in_order: list[bytes] = []
        """The children's keys, sorted: those that share most with a given one are next to its place."""
        self.level = level
        self.priority = DEFAULT_PRIORITY
        self.is_held = False

    def attach(self, child: Block) -> None:
        self.children[child.key] = child
        insort(self.in_order, child.key)
        child.parent = self

    def detach(self) -> None:
        """Leave the tree; what is below stays below."""
        parent = self.parent
        if parent is not None:
            del parent.children[self.key]
            del parent.in_order[bisect_left(parent.in_order, self.key)]
            self.parent = None

    def detach_all(self) -> None:
        """Leave the tree, with every block below for itself."""
        self.detach()
        below = [self]
        while below:
            block = below.pop()
            for child in block.children.values():
                child.parent = None
                below.append(child)
            block.children.clear()
            block.in_order.clear()

    def most_alike(self, key: bytes, *, leaves_only: bool) -> tuple[Block | None, int]:
        """The child that has most in common with `key`, and how many bytes; of equals the next in order of content.

        Which of equals the engine takes depends on its hash table.
        """
        at = bisect_left(self.in_order, key)
        best, most = None, 0
        for places in (range(at, len(self.in_order)), range(at - 1, -1, -1)):
            for place in places:
                name = self.in_order[place]
                shared = shared_bytes(name, key)
                if shared <= most:
                    break
                child = self.children[name]
                if not leaves_only or not (child.is_held or child.children):
                    best, most = child, shared
                    break
        return best, most


class TensorrtLlmCache:
    """The blocks of one server."""

    def __init__(self, engine: TensorrtLlm) -> None:
        self._engine = engine
        self._size = engine.tokens_per_block
        self._total = None if engine.max_tokens is None else engine.max_tokens // self._size
        self._roots: dict[Hashable, Block] = {}
        self._free: tuple[dict[int, OrderedDict[Block, None]], ...] = ({}, {})
        self.device_blocks = 0
        """Blocks of KV memory that exist: all of them, or as many as were ever needed where there is no limit."""
        if self._total is not None:
            self._make_blocks(DEVICE, self._total)
            self._make_blocks(HOST, engine.host_tokens // self._size)

    def serve(self, request: EngineRequest) -> int | None:
        unit, size = request.unit, self._size
        if size % unit:
            raise PrefixlabError(
                f"TensorRT-LLM's block of {size} tokens is no multiple of the log's blocks of {unit}",
                f"Give --block-size {unit} or a power of two that is a multiple of it",
            )
        prompt, prompt_tokens = request.tokens, request.prompt_tokens
        generated = b"" if unit > 1 else request.generated
        tokens = prompt_tokens + len(generated) // TOKEN_BYTES
        needed = -(-tokens // size)
        if self._total is not None and needed > self._total:
            return None
        root = self._roots.get(request.namespace)
        if root is None:
            root = self._roots[request.namespace] = Block(DEVICE)
        priority = min(request.priority, HIGHEST_PRIORITY) if request.priority > 0 else None

        keys = self._keys(prompt + generated, tokens, unit)
        usable = max(prompt_tokens - 1, 0)
        looked_up = keys[: usable // size]
        if usable % size and unit == 1:
            looked_up.append(prompt[usable // size * size * TOKEN_BYTES : usable * TOKEN_BYTES])
        held, matched = self._load(root, looked_up, priority, unit)
        for place in range(len(held), -(-prompt_tokens // size)):
            block = self._take(priority)
            block.key = looked_up[place] if place < len(looked_up) else b""
            held.append(block)
        self._store(root, keys[: usable // size], held)
        for _ in range(len(held), needed):
            held.append(self._take(priority))
        self._store(root, keys, held)
        for block in reversed(held):
            self._release(block)
        return matched

    @property
    def free_blocks(self) -> int:
        """Blocks of KV memory that no request holds."""
        return sum(map(len, self._free[DEVICE].values()))

    def _keys(self, sequence: bytes, tokens: int, unit: int) -> list[bytes]:
        """The ids of each block of `tokens` tokens; of a last one that is not whole too, where ids are tokens."""
        step = self._size // unit * TOKEN_BYTES
        whole = tokens // self._size
        keys = [sequence[at : at + step] for at in range(0, whole * step, step)]
        if unit == 1 and tokens % self._size:
            keys.append(sequence[whole * step : tokens * TOKEN_BYTES])
        return keys

    def _load(self, root: Block, keys: list[bytes], priority: int | None, unit: int) -> tuple[list[Block], int]:
        """The blocks that hold the beginning of the prompt, claimed, and the tokens in them."""
        engine, full = self._engine, self._size // unit * TOKEN_BYTES
        held: list[Block] = []
        matched, node = 0, root
        for key in keys:
            block, shared = node.children.get(key), len(key)
            if block is None and engine.enable_partial_reuse and unit == 1:
                block, shared = node.most_alike(key, leaves_only=not engine.copy_on_partial_reuse)
            if block is None:
                break
            matched += shared // TOKEN_BYTES * unit
            if shared == full:
                self._claim(block, priority)
            elif block.children or block.is_held:
                copy = self._take(block.priority)
                copy.key = key
                block = copy
            else:
                block.detach()
                self._claim(block, priority)
            self._bring_back(block)
            held.append(block)
            if shared < full:
                break
            node = block
        return held, matched

    def _store(self, root: Block, keys: list[bytes], held: list[Block]) -> None:
        """Make the blocks known that are not; from the first of those on, none is looked for."""
        node, is_known = root, True
        for key, block in zip(keys, held):
            known = node.children.get(key) if is_known else None
            if known is None:
                is_known = False
                block.detach()
                block.key = key
                node.attach(block)
                known = block
            node = known

    def _take(self, priority: int | None) -> Block:
        """A block to write to."""
        if self._total is None:
            self._make_blocks(DEVICE, 1)
            fresh = next(reversed(self._free[DEVICE][DEFAULT_PRIORITY]))
            self._claim(fresh, DEFAULT_PRIORITY if priority is None else priority)
            return fresh
        block = self._first_free(DEVICE)
        if block is None:
            raise AssertionError("a request is only let in if there are blocks for all of it")
        if block.key and block.priority >= self._engine.offload_min_priority:
            spare = self._first_free(HOST)
            if spare is not None:
                self._drop_from_queue(block)
                self._drop_from_queue(spare)
                block.level, spare.level = HOST, DEVICE
                self._queue(block)
                self._queue(spare)
                block = spare
        block.detach_all()
        self._claim(block, DEFAULT_PRIORITY if priority is None else priority)
        return block

    def _bring_back(self, block: Block) -> None:
        """Swap a block that is in host memory with one that is not."""
        if block.level == HOST:
            spare = self._take(None)
            block.level, spare.level = DEVICE, HOST
            self._release(spare)

    def _make_blocks(self, level: int, count: int) -> None:
        for _ in range(count):
            self._queue(Block(level))
        if level == DEVICE:
            self.device_blocks += count

    def _first_free(self, level: int) -> Block | None:
        queues = self._free[level]
        lowest = min((priority for priority, queue in queues.items() if queue), default=None)
        return None if lowest is None else next(iter(queues[lowest]))

    def _claim(self, block: Block, priority: int | None) -> None:
        self._drop_from_queue(block)
        block.is_held = True
        if priority is not None:
            block.priority = priority

    def _release(self, block: Block) -> None:
        block.is_held = False
        self._queue(block)

    def _queue(self, block: Block) -> None:
        self._free[block.level].setdefault(block.priority, OrderedDict())[block] = None

    def _drop_from_queue(self, block: Block) -> None:
        del self._free[block.level][block.priority][block]


ENGINE = TensorrtLlm
