"""LMCache: chunks of 256 tokens in CPU memory behind vLLM.

Follows LMCache 0.5.6 (`integration/vllm/vllm_v1_adapter.py`, `v1/cache_engine.py`, `v1/token_database.py`,
`v1/storage_backend/local_cpu_backend.py` and `cache_policy/`), read, not run. One request, served after the other:

1. vLLM finds its own hit. LMCache finds the longest run of known chunks from the first on; with `save_unfull_chunk` the
   rest of the prompt is one more chunk, which only a prompt that ends alike can hit.
2. What LMCache has beyond vLLM's hit is loaded, unless it is less than `min_retrieve_tokens`. Of a prompt that it has
   whole, the last token is computed. Found chunks are touched, the first of them last.
3. vLLM keeps loaded blocks as it keeps computed ones.
4. After each step of the prompt, the whole chunks that LMCache did not find are stored, and with `save_unfull_chunk`
   the rest after the last step. Room is made first: the chunk that was touched longest ago goes (`LRU`), or the one
   stored first (`FIFO`). When nothing is left to go, the remaining chunks of that step are not stored.
5. With `save_decode_cache` a chunk that generated tokens fill is stored too.

New chunks are stored first to last and chunks that are stored already are not touched then. So of a request that was
never read again the first chunk goes first, and takes the use of the others with it.

LMCache's key has the model, but neither the LoRA nor the cache salt. Here nothing is shared between namespaces.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from prefixlab.engine_requests import EngineRequest
from prefixlab.engines.option_checks import check_choice, check_number, check_switch, check_whole
from prefixlab.engines.vllm import Vllm
from prefixlab.errors import PrefixlabError
from prefixlab.records import TOKEN_BYTES, Namespace

POLICIES = ("LRU", "FIFO")

_Chunk = tuple[int, bytes]
"""The key of a whole chunk, or of the last one before an unfilled one with what that holds."""


@dataclass(frozen=True, slots=True)
class Lmcache:
    """vLLM with LMCache behind it."""

    name: ClassVar[str] = "lmcache"
    summary: ClassVar[str] = "chunks of 256 tokens behind vLLM's blocks of 16"
    follows: ClassVar[str] = "LMCache 0.5.6 with vLLM 0.33"
    block_option: ClassVar[str | None] = "block_size"
    reuses_moved_text: ClassVar[bool] = False
    min_tokens: ClassVar[int] = 0

    chunk_size: int = field(default=256, metadata={"help": "tokens a chunk of LMCache"})
    save_unfull_chunk: bool = field(
        default=False, metadata={"help": "whether a prompt's last, unfilled chunk is stored"}
    )
    save_decode_cache: bool = field(default=False, metadata={"help": "whether generated tokens are stored"})
    min_retrieve_tokens: int = field(default=0, metadata={"help": "tokens below which nothing is loaded"})
    cache_policy: str = field(default="LRU", metadata={"help": "which chunk goes first", "choices": POLICIES})
    max_local_cpu_tokens: int | None = field(
        default=None, metadata={"help": "tokens that LMCache holds; none: unlimited"}
    )
    max_local_cpu_size: float | None = field(
        default=None, metadata={"help": "the same in GiB, with bytes_per_token; LMCache's own default is 5"}
    )
    bytes_per_token: int | None = field(default=None, metadata={"help": "bytes that a token takes; see prefixlab kv"})
    block_size: int = field(default=16, metadata={"help": "tokens a block of vLLM"})
    num_gpu_blocks: int | None = field(
        default=None, metadata={"help": "blocks of vLLM, the null block included; none: unlimited"}
    )
    max_num_batched_tokens: int = field(default=8192, metadata={"help": "tokens of a prompt computed in one step"})

    def __post_init__(self) -> None:
        check_whole("chunk_size", self.chunk_size, least=1)
        check_switch("save_unfull_chunk", self.save_unfull_chunk)
        check_switch("save_decode_cache", self.save_decode_cache)
        check_whole("min_retrieve_tokens", self.min_retrieve_tokens, least=0)
        check_choice("cache_policy", self.cache_policy, POLICIES)
        check_whole("max_local_cpu_tokens", self.max_local_cpu_tokens, least=1, or_none=True)
        check_number("max_local_cpu_size", self.max_local_cpu_size, or_none=True)
        check_whole("bytes_per_token", self.bytes_per_token, least=1, or_none=True)
        if self.max_local_cpu_size is not None and self.bytes_per_token is None:
            raise PrefixlabError(
                "max_local_cpu_size alone does not say how many tokens fit", "Give bytes_per_token as well"
            )
        if self.max_local_cpu_size is not None and self.max_local_cpu_tokens is not None:
            raise PrefixlabError(
                "max_local_cpu_size and max_local_cpu_tokens both say how much LMCache holds", "Give one of them"
            )
        _ = self.vllm

    @property
    def vllm(self) -> Vllm:
        """The engine in front."""
        return Vllm(
            block_size=self.block_size,
            num_gpu_blocks=self.num_gpu_blocks,
            max_num_batched_tokens=self.max_num_batched_tokens,
        )

    @property
    def cpu_tokens(self) -> int | None:
        """Tokens that LMCache holds; None: there is no end of them."""
        if self.max_local_cpu_size is None or self.bytes_per_token is None:
            return self.max_local_cpu_tokens
        return int(self.max_local_cpu_size * 2**30) // self.bytes_per_token

    @property
    def granularity(self) -> int:
        """vLLM's block: what LMCache loads is in larger steps."""
        return self.block_size

    @property
    def capacity_tokens(self) -> int | None:
        """Of vLLM; LMCache has its own."""
        return self.vllm.capacity_tokens

    @property
    def is_rule_exact(self) -> bool:
        """A prompt that LMCache has whole is reused but for its last token, and whether it has depends on the log."""
        return False

    def aligned_tokens(self, shared_tokens: int, prompt_tokens: int) -> int:
        """A ceiling: vLLM's rule, or the chunks that may be stored, without the last token of a prompt."""
        if not prompt_tokens:
            return 0
        shared = min(shared_tokens, prompt_tokens)
        may_be_whole = self.save_unfull_chunk and shared == prompt_tokens
        chunks = shared if may_be_whole else shared // self.chunk_size * self.chunk_size
        return max(self.vllm.aligned_tokens(shared_tokens, prompt_tokens), min(chunks, prompt_tokens - 1))

    def last_token_loss(self, shared_tokens: int, prompt_tokens: int) -> int:
        whole = shared_tokens // self.block_size * self.block_size
        return max(whole - self.aligned_tokens(shared_tokens, prompt_tokens), 0)

    def with_capacity(self, cache_tokens: int | None) -> Lmcache:
        """With so much room in vLLM; LMCache's own room is `max_local_cpu_tokens`."""
        return replace(self, num_gpu_blocks=self.vllm.with_capacity(cache_tokens).num_gpu_blocks)

    def unlimited(self) -> Lmcache:
        """The same rule with room for everything, in vLLM and behind it."""
        return replace(self, num_gpu_blocks=None, max_local_cpu_tokens=None, max_local_cpu_size=None)

    def notes(self, *, has_times: bool) -> tuple[str, ...]:
        """What a size given does not limit."""
        if self.num_gpu_blocks is None or self.cpu_tokens is not None:
            return ()
        said = "The size limits vLLM's blocks alone: LMCache behind them is unlimited, unless its option"
        return (f"{said} max_local_cpu_tokens says how much it holds.",)

    def cache(self) -> LmcacheCache:
        return LmcacheCache(self)


class LmcacheCache:
    """vLLM's block table, and the chunks behind it in the order in which they go."""

    def __init__(self, engine: Lmcache) -> None:
        self._engine = engine
        self._vllm = engine.vllm.cache()
        self._chunks: OrderedDict[_Chunk, int] = OrderedDict()
        """Tokens of each chunk."""
        self._namespaces: dict[Namespace, int] = {}
        self._room = float("inf") if engine.cpu_tokens is None else engine.cpu_tokens

    def serve(self, request: EngineRequest) -> int | None:
        engine, chunks = self._engine, self._chunks
        # A trace's own blocks cannot be cut: the chunk is the whole number of them that holds it.
        size = -(-engine.chunk_size // request.unit) * request.unit
        keys = request.block_keys(size)
        own_hit = self._vllm.serve(request)
        if own_hit is None:
            return None
        prompt = self._prompt_chunks(request, keys, size)
        hits = 0
        while hits < len(prompt) and prompt[hits][0] in chunks:
            hits += 1
        if engine.cache_policy == "LRU":
            for chunk, _ in reversed(prompt[:hits]):
                chunks.move_to_end(chunk)
        found = sum([tokens for _, tokens in prompt[:hits]])
        loaded = found - own_hit - (found == request.prompt_tokens)
        is_read = loaded > 0 and loaded >= engine.min_retrieve_tokens and not request.prompt_logprobs
        cached = own_hit + loaded if is_read else own_hit
        for step in self._steps(prompt[hits:], found, cached, request.prompt_tokens, size):
            self._store(step)
        if engine.save_decode_cache:
            for key in keys[request.prompt_tokens // size :]:
                self._store([((key, b""), size)])
        return cached

    def _prompt_chunks(self, request: EngineRequest, keys: Sequence[int], size: int) -> list[tuple[_Chunk, int]]:
        """The prompt's chunks with their tokens; the unfilled one is there where such are stored."""
        whole = min(request.prompt_tokens // size, len(keys))
        chunks = [((key, b""), size) for key in keys[:whole]]
        rest = request.prompt_tokens - whole * size
        if self._engine.save_unfull_chunk and rest:
            text = request.tokens[whole * size // request.unit * TOKEN_BYTES :]
            # A prompt without a whole chunk has no key that tells its namespace.
            start = -1 - self._namespaces.setdefault(request.namespace, len(self._namespaces))
            last = keys[whole - 1] if whole else start
            chunks.append(((last, text), rest))
        return chunks

    def _steps(
        self, missing: list[tuple[_Chunk, int]], found: int, computed: int, prompt_tokens: int, size: int
    ) -> Iterator[list[tuple[_Chunk, int]]]:
        """The chunks that each step of the prompt has to store."""
        if found and prompt_tokens < (found // size + 1) * size:
            return  # Nothing is saved of a prompt that ends before the next whole chunk, not even an unfilled one.
        stored = 0
        while stored < len(missing):
            computed = min(computed + self._engine.max_num_batched_tokens, prompt_tokens)
            done = max(computed - found, 0) // size if computed < prompt_tokens else len(missing)
            yield missing[stored:done]
            stored = max(stored, done)

    def _store(self, step: list[tuple[_Chunk, int]]) -> None:
        """Make room for all chunks of a step first, then put them in, the first one first."""
        chunks = self._chunks
        placed = 0
        for _, tokens in step:
            while self._room < tokens and chunks:
                self._room += chunks.popitem(last=False)[1]
            if self._room < tokens:
                break
            self._room -= tokens
            placed += 1
        for chunk, tokens in step[:placed]:
            if chunk in chunks:
                self._room += tokens
            else:
                chunks[chunk] = tokens


ENGINE = Lmcache
