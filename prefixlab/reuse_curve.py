"""The answer of `curve`: reuse by cache size, its bound, its knee, where the reuse comes from and what carries it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from prefixlab.findings import Input

NEARLY_ALL = 0.95
"""Share of the reuse of an unlimited cache from which on a curve counts as flat."""


class CurvePoint(NamedTuple):
    """A cache of `cache_tokens` and what it reuses of the log's prompt tokens."""

    cache_tokens: int
    reused_tokens: int
    clairvoyant_tokens: int
    """What the best of all caches of that size could reuse, which knows all requests to come."""
    refused: int = 0
    """Requests that need more than this cache to run; an engine refuses them."""


class KneePoint(NamedTuple):
    """The cache size from which on each doubling gives less than the average doubling."""

    cache_tokens: int
    reused_tokens: int
    height: float
    """How far the curve rises there above an even rise, 0 to 1."""


class TagCurve(NamedTuple):
    """The requests with one value of a tag, in the cache that they share with all others."""

    value: str
    requests: int
    prompt_tokens: int
    unlimited_tokens: int
    """Prompt tokens of these requests that an unlimited cache reuses."""
    flat_tokens: int | None
    """The smallest cache that reuses `NEARLY_ALL` of them; None where there are none."""
    reused_tokens: tuple[int, ...]
    """What is reused of them at each of the curve's points."""


class PopularPrefix(NamedTuple):
    """A beginning that several requests have in common, in whole blocks."""

    tokens: int
    requests: int
    id: str
    """The first request that has it."""
    line: int
    path: str
    """JSON path of the text in which it ends; empty where the log has no text."""
    role: str
    starts: str
    """Its first words; empty where the log has no text."""
    ends: str
    """Its last words."""

    @property
    def volume(self) -> int:
        """Tokens that all its requests have there together."""
        return self.tokens * self.requests


class Axis(NamedTuple):
    """What the keys and values of cached tokens take in memory."""

    bytes_per_token: float
    fixed_bytes: int
    """Bytes that each running request takes beside, whatever its length."""
    model: str

    def bytes_of(self, tokens: int) -> int:
        return round(tokens * self.bytes_per_token)


@dataclass(frozen=True, slots=True)
class ReuseCurve:
    """The whole answer. It refuses to exist where more cache would reuse less, or more than the bound."""

    version: str
    inputs: tuple[Input, ...]
    tokenizer: Mapping[str, Any]
    chat_template: Mapping[str, Any] | None
    engine: Mapping[str, Any]
    requests: int
    prompt_tokens: int
    largest_tokens: int
    """The cache, in whole blocks, that the largest request needs to run."""
    points: tuple[CurvePoint, ...]
    line: tuple[tuple[int, int], ...]
    """The same curve at many more sizes, for a plot: cache tokens and reused tokens."""
    unlimited_tokens: int
    """Prompt tokens that an unlimited cache reuses."""
    all_tokens: int
    """The smallest cache that reuses as much as an unlimited one."""
    flat_tokens: int | None
    """The smallest cache that reuses `NEARLY_ALL` of it; None where nothing can be reused."""
    knee: KneePoint | None
    """None where nothing can be reused."""
    conversations: int
    conversations_are_sessions: bool
    """Whether conversations are told by the log's sessions; else by prompts that continue one another."""
    within_tokens: int
    """Of `unlimited_tokens`, those that an earlier request of the same conversation had sent."""
    most_sent: tuple[PopularPrefix, ...] = ()
    most_tokens: tuple[PopularPrefix, ...] = ()
    by: Mapping[str, tuple[TagCurve, ...]] = field(default_factory=dict)
    axis: Axis | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        served_all = [point for point in self.points if not point.refused]
        for point in self.points:
            if not 0 <= point.reused_tokens <= point.clairvoyant_tokens <= self.prompt_tokens:
                raise ValueError(f"reused <= clairvoyant <= prompt tokens does not hold: {point}")
        for smaller, larger in pairwise(sorted(served_all)):
            if smaller.reused_tokens > larger.reused_tokens or smaller.clairvoyant_tokens > larger.clairvoyant_tokens:
                raise ValueError(f"a larger cache reuses less: {smaller}, {larger}")
        if not 0 <= self.within_tokens <= self.unlimited_tokens <= self.prompt_tokens:
            raise ValueError("within <= unlimited <= prompt tokens does not hold")

    def share(self, tokens: int) -> float:
        """Tokens as a share of the log's prompt tokens."""
        return tokens / self.prompt_tokens if self.prompt_tokens else 0.0

    @property
    def has_plot(self) -> bool:
        """Whether there is a line to draw: something is reused, and at more than two sizes."""
        sizes = {tokens for tokens, _ in self.line} | {point.cache_tokens for point in self.points}
        return self.unlimited_tokens > 0 and len(sizes) > 2

    @property
    def across_tokens(self) -> int:
        """Of `unlimited_tokens`, those that only other conversations had sent before."""
        return self.unlimited_tokens - self.within_tokens
