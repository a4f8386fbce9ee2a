"""Hosted providers' block rule: a prefix of an earlier prompt, rounded down, from a minimum on, for a lifetime.

    shared = longest common prefix with any earlier prompt that is not forgotten
    cached = shared rounded down to whole blocks, where the prompt and that have `min_tokens` or more; else 0

The classic rule of OpenAI is 1,024 tokens and 128 after that. A lifetime counts from the last request that used the
block, read or written. Answers are not stored unless a provider says so. `interval` and `hidden_tokens` are for
providers that store at places counted with text of their own ahead of the prompt (GPT-5.5) and still report in smaller
steps. `whole_repeat` is for those where a prompt sent again word for word counts whole (Moonshot).

What no provider promises is left out: overflow to other machines, eviction under load, routing keys.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from prefixlab.engines.hosted_engine import HostedEngine
from prefixlab.engines.live_prefix_tree import LivePrefixTree
from prefixlab.engines.option_checks import check_number, check_switch, check_whole
from prefixlab.errors import PrefixlabError

if TYPE_CHECKING:
    from prefixlab.engine_requests import EngineRequest


@dataclass(frozen=True, slots=True)
class HostedBlocks(HostedEngine):
    """The block rule; a profile gives the figures."""

    min_tokens: int = field(default=1024, metadata={"help": "shortest prompt and prefix, in tokens, that is cached"})
    granularity: int = field(default=128, metadata={"help": "steps, in tokens, in which cached tokens are reported"})
    ttl: float | None = field(default=None, metadata={"help": "seconds that an unused prefix is kept; none: always"})
    outputs: bool = field(default=False, metadata={"help": "whether answers are stored as well"})
    whole_repeat: bool = field(
        default=False, metadata={"help": "whether a prompt sent again as it was counts whole, not in steps"}
    )
    interval: int | None = field(
        default=None, metadata={"help": "tokens between places that can be cached; none: the granularity"}
    )
    hidden_tokens: int = field(
        default=0, metadata={"help": "tokens of the provider's own ahead of the prompt, which the interval counts"}
    )

    def __post_init__(self) -> None:
        check_whole("min_tokens", self.min_tokens, least=0)
        check_whole("granularity", self.granularity, least=1)
        check_number("ttl", self.ttl, or_none=True)
        check_switch("outputs", self.outputs)
        check_switch("whole_repeat", self.whole_repeat)
        check_whole("interval", self.interval, least=1, or_none=True)
        check_whole("hidden_tokens", self.hidden_tokens, least=0)
        if self.hidden_tokens and self.interval is None:
            raise PrefixlabError("hidden_tokens needs an interval to count in", "Give interval as well")

    @property
    def is_rule_exact(self) -> bool:
        """Shared tokens count those of answers, and a prompt sent again looks like the beginning of a longer one."""
        return self.outputs and not self.whole_repeat

    def aligned_tokens(self, shared_tokens: int, prompt_tokens: int) -> int:
        if prompt_tokens < self.min_tokens:
            return 0
        if self.whole_repeat and shared_tokens == prompt_tokens:
            return prompt_tokens
        return self.rounded(min(shared_tokens, prompt_tokens))

    def rounded(self, tokens: int) -> int:
        """So many shared tokens as they are reported."""
        if self.interval is not None:
            tokens = max((tokens + self.hidden_tokens) // self.interval * self.interval - self.hidden_tokens, 0)
        tokens = tokens // self.granularity * self.granularity
        return tokens if tokens >= self.min_tokens else 0

    def cache(self) -> HostedBlocksCache:
        return HostedBlocksCache(self)


class HostedBlocksCache:
    """`last_written` is the tokens of the latest prompt that were not read from the cache, where it is long enough."""

    __slots__ = ("_engine", "_prompts", "last_written")

    def __init__(self, engine: HostedBlocks) -> None:
        self._engine = engine
        self._prompts = LivePrefixTree(engine.ttl)
        self.last_written = 0

    def serve(self, request: EngineRequest) -> int:
        engine = self._engine
        self.last_written = 0
        if request.prompt_tokens < engine.min_tokens or not request.prompt_tokens:
            return 0
        answer = request.generated if engine.outputs else b""
        shared = self._prompts.add(request.namespace, request.tokens, answer, request.arrived_at)
        if engine.whole_repeat and shared.is_repeat:
            cached = request.prompt_tokens
        else:
            cached = engine.rounded(min(shared.ids * request.unit, request.prompt_tokens))
        self.last_written = request.prompt_tokens - cached
        return cached
