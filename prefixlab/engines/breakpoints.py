"""Hosted providers' breakpoint rule: a prefix is stored where a request marks it, and found from marks again.

    own       = the breakpoints that the request marks, the last `max_breakpoints` of them, and where the provider has
                it, an automatic one at the end of the last message
    reachable = own, and the ends of messages and content blocks that `look_back` takes in: that many places for each
                breakpoint, itself counted (Anthropic, Qwen), or for the last alone (OpenAI from GPT-5.6 on)
    cached    = the longest reachable prefix that an earlier request stored and that is not forgotten
    written   = from there to the last own breakpoint
    stored    = each own breakpoint that has `min_tokens` or more
    lifetime  = anew with each write and each read, for the prefix that was read and the own breakpoints

A prefix that is equal but was never marked is not found: a system text that ends at no breakpoint is computed again
under each new question. Where the log does not tell where messages end (token ids, block hashes), every prefix that an
earlier request stored counts as reachable.

Four marks with other lifetimes beside each other, and the time until an entry can be read, are not modelled.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from prefixlab.engines.hosted_engine import HostedEngine
from prefixlab.engines.option_checks import check_choice, check_number, check_whole
from prefixlab.engines.stored_prefixes import StoredPrefixes

if TYPE_CHECKING:
    from prefixlab.engine_requests import EngineRequest

AUTOMATIC = ("always", "unmarked", "never")
LOOK_BACK_FROM = ("each", "last")
FIRST_MARKS, LATEST_MARKS = 2, 50
"""Of very many marks OpenAI looks at the first and the latest (the guide; the end of the initial developer block, which
it looks at as well, is among the ends of messages unless the conversation is long)."""


@dataclass(frozen=True, slots=True)
class Breakpoints(HostedEngine):
    """The breakpoint rule; a profile gives the figures."""

    min_tokens: int = field(default=1024, metadata={"help": "shortest prefix, in tokens, that is stored"})
    ttl: float | None = field(default=300.0, metadata={"help": "seconds that an unused prefix is kept; none: always"})
    max_breakpoints: int = field(default=4, metadata={"help": "breakpoints of one request that are stored"})
    automatic: str = field(
        default="unmarked",
        metadata={
            "help": "which requests get a breakpoint at the end of the last message, beside their own",
            "choices": AUTOMATIC,
        },
    )
    look_back: int = field(
        default=20, metadata={"help": "ends of messages and blocks at which a breakpoint looks, itself counted"}
    )
    look_back_from: str = field(
        default="each", metadata={"help": "which breakpoints look back: each, or the last", "choices": LOOK_BACK_FROM}
    )

    def __post_init__(self) -> None:
        check_whole("min_tokens", self.min_tokens, least=0)
        check_number("ttl", self.ttl, or_none=True)
        check_whole("max_breakpoints", self.max_breakpoints, least=1)
        check_choice("automatic", self.automatic, AUTOMATIC)
        check_whole("look_back", self.look_back, least=1)
        check_choice("look_back_from", self.look_back_from, LOOK_BACK_FROM)

    @property
    def granularity(self) -> int:
        return 1

    @property
    def is_rule_exact(self) -> bool:
        """What is reused depends on where requests have breakpoints, not only on what is shared."""
        return False

    def aligned_tokens(self, shared_tokens: int, prompt_tokens: int) -> int:
        """A ceiling: what would be reused if a breakpoint stood there."""
        shared = min(shared_tokens, prompt_tokens)
        return shared if shared >= self.min_tokens else 0

    def own_breakpoints(self, marks: tuple[int, ...], ends: tuple[int, ...], prompt_tokens: int) -> list[int]:
        """Token positions at which a request stores, ascending."""
        if self.automatic == "never" or (marks and self.automatic == "unmarked"):
            return list(marks[-self.max_breakpoints :])
        end = ends[-1] if ends else prompt_tokens
        kept = marks[max(len(marks) - self.max_breakpoints + 1, 0) :]
        return sorted({*kept, end}) if end else list(kept)

    def reachable(self, own: list[int], marks: tuple[int, ...], ends: tuple[int, ...]) -> set[int]:
        """Token positions at which a stored prefix is looked for."""
        places = {*own}
        if self.look_back_from == "last":
            places.update(marks[:FIRST_MARKS], marks[-LATEST_MARKS:])
        for place in own if self.look_back_from == "each" else own[-1:]:
            behind = bisect_left(ends, place)
            places.update(ends[max(behind - self.look_back + 1, 0) : bisect_right(ends, place)])
        return places

    def notes(self, *, has_times: bool) -> tuple[str, ...]:
        said = HostedEngine.notes(self, has_times=has_times)
        if self.automatic == "unmarked":
            said += ("A request that marks nothing counts as if it asked for automatic caching.",)
        elif self.automatic == "never":
            said += (f"A request that marks nothing reuses nothing: {self.name} has no automatic caching.",)
        return said

    def cache(self) -> BreakpointsCache:
        return BreakpointsCache(self)


def within(places: tuple[int, ...], prompt_tokens: int) -> tuple[int, ...]:
    """Places up to the prompt's end. A fix may have made the prompt shorter than the text that the places are from."""
    if not places or places[-1] <= prompt_tokens:
        return places
    return tuple([place for place in places if place <= prompt_tokens])


class BreakpointsCache:
    """`last_written` is the tokens that the latest request wrote."""

    __slots__ = ("_engine", "_prefixes", "last_written")

    def __init__(self, engine: Breakpoints) -> None:
        self._engine = engine
        self._prefixes = StoredPrefixes(engine.ttl)
        self.last_written = 0

    def serve(self, request: EngineRequest) -> int:
        engine, prefixes, unit, prompt_tokens = self._engine, self._prefixes, request.unit, request.prompt_tokens
        marks, ends = within(request.breakpoints, prompt_tokens), within(request.message_ends, prompt_tokens)
        self.last_written = 0
        prefixes.advance(request.arrived_at)
        own = engine.own_breakpoints(marks, ends, prompt_tokens)
        if not own or own[-1] < engine.min_tokens:
            return 0
        sequence = prefixes.sequence(request.namespace, request.tokens)

        def ids_at(place: int) -> int:
            return sequence.ids if place == prompt_tokens else place // unit

        if ends:
            reachable = sorted(engine.reachable(own, marks, ends), reverse=True)
            found = (ids_at(place) for place in reachable if place >= engine.min_tokens)
            hit = next((ids for ids in found if ids and prefixes.has(sequence, ids)), 0)
        else:
            hit = prefixes.longest(sequence, ids_at(own[-1]))
        for place in own:
            if place >= engine.min_tokens and (ids := ids_at(place)):
                prefixes.touch(sequence, ids)
        if hit:
            prefixes.touch(sequence, hit)
        cached = min(hit * unit, prompt_tokens)
        self.last_written = max(own[-1] - cached, 0)
        return cached
