"""llama-server: slots that each keep the last sequence they served, and whole prompts stored in host memory.

Follows llama.cpp 7e4c0a9: `tools/server/server-context.cpp` (`get_available_slot`, `process_single_task`, the start of
a slot in `pre_decode`) and `tools/server/server-task.cpp` (`server_prompt_cache`, in `prompt_store.py`).

One request, in the server's order:

1. Pick the slot that covers the most of the prompt, the first of equals, if it covers more than a tenth. If none does,
   pick the slot whose last use is the longest ago, the last of equals.
2. If the picked slot would lose more than half of what it has, or was picked by age: save its content to the store, and
   look there for a prompt that suits the new one better.
3. Save what the other slots have to the store (`--cache-idle-slots`). With one KV buffer for all they are emptied.
4. What the slot's content and the prompt share from the start is reused. `--cache-reuse N` goes on from there: each run
   of N tokens or more that is found further on in the slot's content is moved to where the prompt has it.
5. At least one token is evaluated. Then the slot holds the prompt and all generated tokens but the last.

There are no blocks and no tree: a stored prompt is loaded whole, and not at all where less than a quarter of it fits.
A prompt that a slot's context cannot hold is refused. The server stores and loads for it all the same, before it finds
that out; here nothing changes.

The namespace keeps requests apart, though the server itself knows only the LoRA. Models whose memory cannot be cut at
any token (sliding windows without `--swa-full`, hybrid and recurrent ones) reuse less, up to a context checkpoint;
that, images, speculative decoding and a request's own `id_slot` are not modelled.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from struct import Struct
from typing import TYPE_CHECKING, ClassVar, Final, Self

from prefixlab.engines.longest_prefix import shared_bytes
from prefixlab.engines.option_checks import check_number, check_switch, check_whole
from prefixlab.engines.prompt_store import PromptStore, length, shared_tokens, single
from prefixlab.errors import PrefixlabError
from prefixlab.records import TOKEN_BYTES

if TYPE_CHECKING:
    from prefixlab.engine_requests import EngineRequest

SLOTS_IF_NOT_GIVEN: Final = 4
MOST_SLOTS: Final = 256
"""`LLAMA_MAX_SEQ`: with more the server does not start."""
LEAST_SIMILARITY: Final = single(0.1)
"""`--slot-prompt-similarity`."""
MOST_LOST: Final = 0.5
CONTEXT_STEP: Final = 256
"""llama.cpp rounds contexts up to a multiple of it."""
MEBIBYTE: Final = 1024 * 1024

_ID: Final = Struct("<I")


@dataclass(frozen=True, slots=True)
class LlamaServer:
    name: ClassVar[str] = "llama_server"
    summary: ClassVar[str] = "slots with their last sequence, whole prompts in host memory; the last token computed"
    follows: ClassVar[str] = "llama.cpp 7e4c0a9 (November 2026)"
    block_option: ClassVar[str | None] = None
    min_tokens: ClassVar[int] = 0
    is_rule_exact: ClassVar[bool] = False

    slots: int | None = field(
        default=None, metadata={"help": "slots (-np); 4 with one KV buffer for all if not given, as the server has it"}
    )
    cache_ram_mib: int = field(
        default=8192, metadata={"help": "host memory for prompts (--cache-ram); 0 none, -1 without limit"}
    )
    cache_reuse: int = field(
        default=0, metadata={"help": "shortest run of tokens that is moved into place (--cache-reuse); 0 none"}
    )
    n_ctx: int | None = field(
        default=None,
        metadata={"help": "tokens of KV memory of all slots (-c), rounded up to 256 each; no limit if not given"},
    )
    kv_unified: bool | None = field(
        default=None, metadata={"help": "one KV buffer for all slots (-kvu); if not given, where slots is not either"}
    )
    cache_idle_slots: bool = field(
        default=True, metadata={"help": "store what other slots have when a request starts (--cache-idle-slots)"}
    )
    bytes_per_token: float | None = field(
        default=None,
        metadata={"help": "what a token takes in host memory; if not given, all prompts fit into cache_ram_mib"},
    )

    def __post_init__(self) -> None:
        check_whole("slots", self.slots, least=1, most=MOST_SLOTS, or_none=True)
        check_whole("cache_ram_mib", self.cache_ram_mib, least=-1)
        check_whole("cache_reuse", self.cache_reuse, least=0)
        check_whole("n_ctx", self.n_ctx, least=1, or_none=True)
        if self.kv_unified is not None:
            check_switch("kv_unified", self.kv_unified)
        check_switch("cache_idle_slots", self.cache_idle_slots)
        check_number("bytes_per_token", self.bytes_per_token, or_none=True)

    @property
    def slot_count(self) -> int:
        return SLOTS_IF_NOT_GIVEN if self.slots is None else self.slots

    @property
    def is_unified(self) -> bool:
        return self.slots is None if self.kv_unified is None else self.kv_unified

    @property
    def capacity_tokens(self) -> int | None:
        """The context of all slots, as the server rounds it; None without limit."""
        slot = self.slot_tokens
        return slot if slot is None or self.is_unified else slot * self.slot_count

    @property
    def slot_tokens(self) -> int | None:
        """The context of one slot; None without limit."""
        if self.n_ctx is None:
            return None
        tokens = -(-self.n_ctx // CONTEXT_STEP) * CONTEXT_STEP
        return tokens if self.is_unified else -(-(tokens // self.slot_count) // CONTEXT_STEP) * CONTEXT_STEP

    @property
    def granularity(self) -> int:
        return 1

    @property
    def reuses_moved_text(self) -> bool:
        """Whether more can be reused than is shared from the start."""
        return self.cache_reuse > 0

    def aligned_tokens(self, shared_tokens: int, prompt_tokens: int) -> int:
        return min(shared_tokens, max(prompt_tokens - 1, 0))

    def last_token_loss(self, shared_tokens: int, prompt_tokens: int) -> int:
        return shared_tokens - self.aligned_tokens(shared_tokens, prompt_tokens)

    def with_capacity(self, cache_tokens: int | None) -> Self:
        """So many tokens of KV memory; without limit, host memory has none either, where there is any."""
        if cache_tokens is None and self.cache_ram_mib:
            return replace(self, n_ctx=None, cache_ram_mib=-1)
        return replace(self, n_ctx=cache_tokens)

    def unlimited(self) -> Self:
        """Host memory without limit, which is what the server can be given; slots are as many as they are."""
        return replace(self, n_ctx=None, cache_ram_mib=-1)

    def notes(self, *, has_times: bool) -> tuple[str, ...]:
        """What a size given does not limit, and what it is rounded up to."""
        if self.n_ctx is None or self.capacity_tokens is None:
            return ()
        said = []
        if self.capacity_tokens != self.n_ctx:
            step = f"{CONTEXT_STEP}" if self.is_unified else f"{CONTEXT_STEP} for each of {self.slot_count} slots"
            said.append(
                f"llama-server rounds contexts up to a multiple of {step}: {self.n_ctx:,} tokens are "
                f"{self.capacity_tokens:,}."
            )
        if self.cache_ram_mib > 0 and self.bytes_per_token is None:
            said.append(
                f"The size limits the slots alone: without the engine's option bytes_per_token all prompts fit into "
                f"the {self.cache_ram_mib:,} MiB of host memory behind them."
            )
        return tuple(said)

    def cache(self) -> LlamaServerCache:
        return LlamaServerCache(self)


class _Slot:
    """A slot between two requests. `content` begins with the id of its namespace, or is empty."""

    __slots__ = ("content", "last_used")

    def __init__(self) -> None:
        self.content = b""
        self.last_used = 0


class LlamaServerCache:
    """The slots and the store of one server."""

    def __init__(self, engine: LlamaServer) -> None:
        self._engine = engine
        self._slots = [_Slot() for _ in range(engine.slot_count)]
        self._store = _store_of(engine)
        self._namespaces: dict[Hashable, bytes] = {}
        self._now = 0

    def serve(self, request: EngineRequest) -> int | None:
        if request.unit != 1:
            raise PrefixlabError(
                "llama-server reuses single tokens, and a block-hash trace has none",
                "Give a log with text or token ids, or another --engine",
            )
        engine, prompt_tokens = self._engine, request.prompt_tokens
        room = engine.slot_tokens
        if room is not None and prompt_tokens + len(request.generated) // TOKEN_BYTES >= room:
            return None
        if not prompt_tokens:
            return 0
        prompt = self._namespace_id(request.namespace) + request.tokens
        slot = self._pick(prompt)
        self._save_idle(slot)
        cached = 0
        if request.cache_prompt:
            cached = shared_tokens(slot.content, prompt)
            if engine.cache_reuse:
                cached += _moved_tokens(slot.content, prompt, cached, engine.cache_reuse)
        slot.content = prompt + request.generated
        self._now += 1
        slot.last_used = self._now
        self._clear_for(slot)
        return min(cached, prompt_tokens - 1)

    @property
    def used_tokens(self) -> int:
        """Tokens in the KV memory of all slots."""
        return sum(length(slot.content) for slot in self._slots)

    @property
    def stored_tokens(self) -> int:
        """Tokens in host memory."""
        return 0 if self._store is None else self._store.tokens

    def _namespace_id(self, namespace: Hashable) -> bytes:
        known = self._namespaces.get(namespace)
        if known is None:
            known = self._namespaces[namespace] = _ID.pack(len(self._namespaces))
        return known

    def _pick(self, prompt: bytes) -> _Slot:
        """The slot for a prompt, with the content that it starts from."""
        tokens = length(prompt)
        picked, best = None, 0.0
        for slot in self._slots:
            similarity = single(shared_tokens(slot.content, prompt) / tokens)
            if similarity > best and similarity > LEAST_SIMILARITY:
                picked, best = slot, similarity
        if picked is not None and single(single(best * tokens) / length(picked.content)) >= MOST_LOST:
            return picked
        if picked is None:
            picked = min(reversed(self._slots), key=lambda slot: slot.last_used)
        if self._store is not None:
            self._store.save(picked.content)
            picked.content = self._store.take(prompt, picked.content)
            self._store.trim()
        return picked

    def _save_idle(self, busy: _Slot) -> None:
        if self._store is None or not self._engine.cache_idle_slots:
            return
        for slot in self._slots:
            if slot is busy:
                continue
            if self._store.save(slot.content):
                self._store.trim()
            if self._engine.is_unified:
                slot.content = b""

    def _clear_for(self, busy: _Slot) -> None:
        """Empty other slots, in their order, until one buffer for all has room for what `busy` has grown to."""
        room = self._engine.capacity_tokens
        if not self._engine.is_unified or room is None:
            return
        over = self.used_tokens - room
        for slot in self._slots:
            if over <= 0:
                return
            if slot is not busy and slot.content:
                over -= length(slot.content)
                slot.content = b""


def _store_of(engine: LlamaServer) -> PromptStore | None:
    if engine.cache_ram_mib == 0:
        return None
    if engine.cache_ram_mib < 0:
        return PromptStore(None, 1.0, engine.capacity_tokens)
    if engine.bytes_per_token is None:
        return PromptStore(None, 1.0, None)
    return PromptStore(engine.cache_ram_mib * MEBIBYTE, engine.bytes_per_token, None)


def _moved_tokens(content: bytes, prompt: bytes, shared: int, shortest: int) -> int:
    """Tokens of runs of `shortest` or more that `content` has further on than `prompt`, behind their shared start."""
    moved = 0
    in_content = in_prompt = (shared + 1) * TOKEN_BYTES
    run = shortest * TOKEN_BYTES
    while in_prompt + run <= len(prompt):
        wanted = prompt[in_prompt : in_prompt + run]
        in_content = content.find(wanted, in_content)
        while in_content > 0 and in_content % TOKEN_BYTES:
            in_content = content.find(wanted, in_content + 1)
        if in_content < 0:
            break
        length_of_run = shared_bytes(content[in_content:], prompt, in_prompt)
        moved += length_of_run // TOKEN_BYTES
        in_content += length_of_run
        in_prompt += length_of_run
    return moved


ENGINE = LlamaServer
