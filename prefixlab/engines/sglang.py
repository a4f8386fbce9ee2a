"""SGLang: a radix tree over pages of tokens, and a pool of pages that it shares with the request at work.

Follows SGLang 0.5.23: `mem_cache/unified_radix_cache.py` (match, checkpoint, release), `mem_cache/allocation.py` and
`mem_cache/allocator/` (what is asked of the pool), `managers/schedule_batch.py` and `managers/scheduler.py` (limits).

One request, in the engine's order:

1. Match the prompt without its last token, in whole pages. Where the prompt's own log-probabilities are wanted, nothing
   is matched. What was matched is pinned.
2. Ask the pool for the rest of the prompt, with more than one token a page for one page more than that. While the pool
   has less, leaves are dropped, whole.
3. If the request goes on after its first token, insert the whole pages of the prompt and pin them; pages that the tree
   had already go back to the pool. Each further token asks the pool for one page (dropping leaves likewise), whether it
   needs a new page or not.
4. At the end insert the whole pages of the prompt and of all generated tokens but the last; it has no keys and values.
   Where that ends behind the prompt's whole pages, the prompt alone is inserted once more with a priority one higher,
   which cuts the edge where the output begins. The rest goes back to the pool.

The scheduler's own look-ups in the waiting queue, chunked prefill, retraction of running requests and the host tier
(HiCache) are not modelled: requests come one after another.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Final, Self

from prefixlab.engines import block_rule
from prefixlab.engines.option_checks import check_choice, check_whole
from prefixlab.engines.radix_tree import POLICIES, RadixTree
from prefixlab.errors import PrefixlabError
from prefixlab.records import TOKEN_BYTES

if TYPE_CHECKING:
    from prefixlab.engine_requests import EngineRequest

INPUT_MARGIN: Final = 6
"""A prompt must be shorter than the pool by more than this (`max_req_input_len`)."""


@dataclass(frozen=True, slots=True)
class Sglang:
    name: ClassVar[str] = "sglang"
    summary: ClassVar[str] = "radix tree of whole pages (1 token by default), whole leaves evicted; last token computed"
    follows: ClassVar[str] = "SGLang 0.5.23"
    block_option: ClassVar[str | None] = "page_size"
    reuses_moved_text: ClassVar[bool] = False
    min_tokens: ClassVar[int] = 0
    is_rule_exact: ClassVar[bool] = True

    page_size: int = field(default=1, metadata={"help": "tokens a page (--page-size)"})
    capacity_tokens: int | None = field(
        default=None,
        metadata={"help": "tokens of KV memory (max_total_num_tokens), cut to whole pages; unlimited if not given"},
    )
    policy: str = field(
        default="lru",
        metadata={"help": "what is evicted first (--radix-eviction-policy)", "choices": tuple(POLICIES)},
    )

    def __post_init__(self) -> None:
        check_whole("page_size", self.page_size, least=1)
        check_whole("capacity_tokens", self.capacity_tokens, least=1, or_none=True)
        check_choice("policy", self.policy, tuple(POLICIES))
        if self.capacity_tokens is not None and self.capacity_tokens < self.page_size:
            raise PrefixlabError(
                f"a cache of {self.capacity_tokens} tokens does not hold one page of {self.page_size}",
                f"Give {self.page_size} tokens or more",
            )

    @property
    def granularity(self) -> int:
        return self.page_size

    def aligned_tokens(self, shared_tokens: int, prompt_tokens: int) -> int:
        return block_rule.aligned_tokens(self.page_size, shared_tokens, prompt_tokens)

    def last_token_loss(self, shared_tokens: int, prompt_tokens: int) -> int:
        return block_rule.last_token_loss(self.page_size, shared_tokens, prompt_tokens)

    def with_capacity(self, cache_tokens: int | None) -> Self:
        return replace(self, capacity_tokens=cache_tokens)

    def unlimited(self) -> Self:
        return replace(self, capacity_tokens=None)

    def cache(self) -> SglangCache:
        return SglangCache(self)


class SglangCache:
    """The tree and the pool of one server."""

    def __init__(self, engine: Sglang) -> None:
        self._engine = engine
        self._page = engine.page_size
        self._total = None if engine.capacity_tokens is None else engine.capacity_tokens // engine.page_size
        self._tree: RadixTree | None = None
        self._unit = 0
        self._held = 0
        """Pages that the request at work holds beside those of the tree."""

    def serve(self, request: EngineRequest) -> int | None:
        tree = self._tree_of(request.unit)
        page, page_bytes = self._page, self._page // request.unit * TOKEN_BYTES
        prompt_tokens, prompt = request.prompt_tokens, request.tokens
        # Behind a partial unit there is no telling where generated tokens would lie.
        generated = b"" if prompt_tokens % request.unit else request.generated
        tokens = prompt_tokens + len(generated) // TOKEN_BYTES * request.unit
        if not self._fits(prompt_tokens, tokens):
            return None
        namespace, priority = request.namespace, request.priority

        limit = 0 if request.prompt_logprobs else max(prompt_tokens - 1, 0) // page
        node = tree.match(namespace, prompt[: limit * page_bytes])
        hit = tree.depth(node)
        tree.pin(node)
        new_tokens = prompt_tokens - hit * page
        self._make_room(-(-new_tokens // page) if page == 1 else new_tokens // page + 1 + bool(new_tokens % page))
        self._held = -(-prompt_tokens // page) - hit

        whole = prompt_tokens // page
        if generated or request.generated_tokens > 1:
            tree.pin(tree.insert(namespace, prompt[: whole * page_bytes], counted=0, priority=priority))
            self._held = -(-prompt_tokens // page) - whole
            self._decode(prompt_tokens, tokens)
            counted = whole * page_bytes
        else:
            counted = 0
        all_whole = tokens // page
        sequence = prompt + generated if generated else prompt
        tree.insert(namespace, sequence[: all_whole * page_bytes], counted=counted, priority=priority)
        if 0 < whole < all_whole:
            head = whole * page_bytes
            tree.insert(namespace, prompt[:head], counted=head, priority=priority + 1)
        self._held = 0
        tree.pin(None)
        return hit * page

    @property
    def used_tokens(self) -> int:
        """Tokens of KV memory that the tree and the request at work hold."""
        return ((0 if self._tree is None else self._tree.pages) + self._held) * self._page

    def _tree_of(self, unit: int) -> RadixTree:
        if self._tree is None:
            if self._page % unit:
                raise PrefixlabError(
                    f"SGLang's page of {self._page} tokens is no multiple of the log's blocks of {unit}",
                    f"Give --block-size {unit} or a multiple of it",
                )
            self._unit = unit
            self._tree = RadixTree(
                self._page // unit * TOKEN_BYTES, self._engine.policy, is_bounded=self._total is not None
            )
        elif unit != self._unit:
            raise PrefixlabError(
                f"the log has blocks of {self._unit} and of {unit} tokens", "Give SGLang requests of one kind"
            )
        return self._tree

    def _fits(self, prompt_tokens: int, tokens: int) -> bool:
        """Whether the server takes the prompt, and has memory for all of the request at once."""
        if self._total is None:
            return True
        return prompt_tokens < self._total * self._page - INPUT_MARGIN and -(-tokens // self._page) <= self._total

    def _make_room(self, pages: int) -> None:
        """Drop leaves until so many pages are free or there is nothing left to drop."""
        if self._total is None or self._tree is None:
            return
        free = self._total - self._tree.pages - self._held
        while free < pages:
            dropped = self._tree.drop_leaf()
            if not dropped:
                return
            free += dropped

    def _decode(self, prompt_tokens: int, tokens: int) -> None:
        """The steps that fill positions `prompt_tokens` to `tokens - 1`; each wants a free page before it."""
        page, total, tree = self._page, self._total, self._tree
        steps = tokens - prompt_tokens
        if total is None or tree is None or steps <= 0:
            return
        self._make_room(1)
        position = -(-prompt_tokens // page) * page
        while position < tokens:
            free = total - tree.pages - self._held
            # As many pages as are free are taken one after another without a change to the tree.
            taken = max(min(free, -(-(tokens - position) // page)), 1)
            self._held += taken
            position += taken * page
            # The last page taken began a page back; a later step, if there is one, asks again.
            if position - page < tokens - 1:
                self._make_room(1)


ENGINE = Sglang
