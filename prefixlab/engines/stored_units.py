"""Hosted providers' unit rule: a stored prefix is reused whole or not at all (DeepSeek V4 and later).

    units = the end of each earlier input, the end of each earlier answer, and each prefix that two requests had in
            common, from the second of them on
    cached = the longest unit that the prompt begins with

So of two prompts A+B and A+C the second reuses nothing, as A+B is no beginning of it; but it leaves A behind, and A+D
reuses that. Units at fixed intervals in long texts are announced without their length: `interval` takes one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from prefixlab.engines.hosted_engine import HostedEngine
from prefixlab.engines.option_checks import check_number, check_whole
from prefixlab.engines.stored_prefixes import StoredPrefixes
from prefixlab.records import TOKEN_BYTES

if TYPE_CHECKING:
    from prefixlab.engine_requests import EngineRequest


@dataclass(frozen=True, slots=True)
class StoredUnits(HostedEngine):
    """The unit rule; a profile gives the figures."""

    min_tokens: int = field(default=0, metadata={"help": "shortest unit, in tokens, that is stored"})
    ttl: float | None = field(default=None, metadata={"help": "seconds that an unused unit is kept; none: always"})
    interval: int | None = field(
        default=None, metadata={"help": "tokens between units inside a long text; none: there are no such units"}
    )

    def __post_init__(self) -> None:
        check_whole("min_tokens", self.min_tokens, least=0)
        check_number("ttl", self.ttl, or_none=True)
        check_whole("interval", self.interval, least=1, or_none=True)

    @property
    def granularity(self) -> int:
        return 1

    @property
    def is_rule_exact(self) -> bool:
        """What is reused depends on where earlier requests ended, not only on what is shared."""
        return False

    def aligned_tokens(self, shared_tokens: int, prompt_tokens: int) -> int:
        """A ceiling: what would be reused if a unit ended there."""
        shared = min(shared_tokens, prompt_tokens)
        return shared if shared >= self.min_tokens else 0

    def cache(self) -> StoredUnitsCache:
        return StoredUnitsCache(self)


class StoredUnitsCache:
    """`last_written` is the prompt tokens of the latest request behind the unit that it reused."""

    __slots__ = ("_engine", "_units", "last_written")

    def __init__(self, engine: StoredUnits) -> None:
        self._engine = engine
        self._units = StoredPrefixes(engine.ttl)
        self.last_written = 0

    def serve(self, request: EngineRequest) -> int:
        units, unit = self._units, request.unit
        prompt = request.tokens
        sequence = units.sequence(request.namespace, prompt + request.generated)
        prompt_ids = len(prompt) // TOKEN_BYTES
        units.advance(request.arrived_at)
        hit = units.longest(sequence, prompt_ids)
        common = -(-request.shared_tokens // unit)
        ends = {hit, common, prompt_ids, sequence.ids}
        if self._engine.interval is not None:
            step = max(self._engine.interval // unit, 1)
            ends.update(range(step, sequence.ids + 1, step))
        least = max(self._engine.min_tokens, 1)
        for ids in ends:
            if ids * unit >= least:
                units.touch(sequence, ids)
        cached = min(hit * unit, request.prompt_tokens)
        self.last_written = request.prompt_tokens - cached
        return cached
