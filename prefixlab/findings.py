"""The nouns of the answer: what a request could reuse, what it lost and to what, and the report that adds it all up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from prefixlab.bill import Bill


class Outcome(NamedTuple):
    """What one request could reuse. `matched` is the index of the best earlier prompt of its namespace, or None."""

    prompt_tokens: int
    raw_shared_tokens: int
    aligned_tokens: int
    cached_tokens: int
    matched: int | None
    refused: bool = False
    """Whether the engine refuses the request, because its cache could never hold it."""

    def checked(self) -> Outcome:
        """The outcome itself, once its figures are known to be in order."""
        if not 0 <= self.cached_tokens <= self.aligned_tokens <= self.prompt_tokens:
            raise ValueError(f"cached <= aligned <= prompt does not hold: {self}")
        if not 0 <= self.raw_shared_tokens <= self.prompt_tokens:
            raise ValueError(f"shared <= prompt does not hold: {self}")
        return self


class Losses(NamedTuple):
    """Prompt tokens that were not reused, by cause; the causes are disjoint intervals of the prompt."""

    first_seen: int = 0
    volatile: int = 0
    partial_block: int = 0
    last_token: int = 0
    below_minimum: int = 0
    evicted: int = 0
    expired: int = 0
    isolated: int = 0


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over requests; the ratios are sums over sums, never means of ratios."""

    requests: int = 0
    families: int = 0
    prompt_tokens: int = 0
    raw_shared_tokens: int = 0
    aligned_tokens: int = 0
    cached_tokens: int = 0

    def _ratio(self, tokens: int) -> float:
        return tokens / self.prompt_tokens if self.prompt_tokens else 0.0

    @property
    def raw_reuse(self) -> float:
        return self._ratio(self.raw_shared_tokens)

    @property
    def aligned_reuse(self) -> float:
        return self._ratio(self.aligned_tokens)

    @property
    def cached_reuse(self) -> float:
        return self._ratio(self.cached_tokens)

    @classmethod
    def of(cls, outcomes: Iterable[Outcome], families: int) -> Totals:
        rows = list(outcomes)
        return cls(
            requests=len(rows),
            families=families,
            prompt_tokens=sum([row.prompt_tokens for row in rows]),
            raw_shared_tokens=sum([row.raw_shared_tokens for row in rows]),
            aligned_tokens=sum([row.aligned_tokens for row in rows]),
            cached_tokens=sum([row.cached_tokens for row in rows]),
        )


@dataclass(frozen=True, slots=True)
class Alternative:
    """Less than the fix of a field, in place of it: what stays of the value where it stands, and what that gives.

    `what` is `date` (a clock's day alone), `once_a_session` (the first value of each session) or `tool_call` (nothing:
    the model asks for the value when it needs it, and the answer stays in the history).
    """

    what: str
    recoverable_tokens: int
    reuse_after: float
    cached_reuse_after: float


@dataclass(frozen=True, slots=True)
class Field:
    """A volatile value inside a text: prompts of one family part at it while the text behind it is the same again."""

    rank: int
    name: str
    kind: str
    path: str
    line: int
    token_index: int
    requests: int
    distinct_values: int
    examples: tuple[str, ...]
    lost_tokens: int
    recoverable_tokens: int
    reuse_after_fix: float
    cached_reuse_after_fix: float
    level: str
    severity: str
    confidence: str
    advice: str
    alternatives: tuple[Alternative, ...] = ()
    pays: bool = True
    """Whether the log as a whole wins by the fix, not only some of its requests."""
    ignored: bool = False
    """Whether the caller knows the value and accepts it."""


@dataclass(frozen=True, slots=True)
class Break:
    """A structural cause: nothing to cut out of a text, but an order, a form or a merge that ends the prefix."""

    rank: int
    kind: str
    path: str
    requests: int
    lost_tokens: int
    recoverable_tokens: int
    reuse_after_fix: float
    cached_reuse_after_fix: float
    level: str
    severity: str
    confidence: str
    evidence: str
    advice: str
    pays: bool = True
    ignored: bool = False


@dataclass(frozen=True, slots=True)
class Input:
    """A file that was read. `format` names what its records were recognised as."""

    path: str
    format: str
    requests: int
    skipped: int
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Observed:
    """What the serving side reported, against what was predicted, over the requests that carry a report."""

    requests: int
    cached_tokens: int
    predicted_tokens: int

    @property
    def difference(self) -> int:
        return self.predicted_tokens - self.cached_tokens


@dataclass(frozen=True, slots=True)
class RequestRow:
    """One request in a report."""

    id: str
    line: int
    outcome: Outcome
    matched_id: str | None
    losses: Losses
    field: str | None
    tags: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Report:
    """The whole answer of `audit`. It refuses to exist unless every token of every request is accounted for."""

    version: str
    inputs: tuple[Input, ...]
    tokenizer: Mapping[str, Any]
    chat_template: Mapping[str, Any] | None
    engine: Mapping[str, Any]
    totals: Totals
    warm: Totals
    losses: Losses
    fields: tuple[Field, ...]
    breaks: tuple[Break, ...]
    observed: Observed | None
    requests: tuple[RequestRow, ...]
    notes: tuple[str, ...] = ()
    by: Mapping[str, Mapping[str, Totals]] = field(default_factory=dict)
    bill: Bill | None = None
    """What the prompt tokens cost, where a price or a provider's rates are given."""
    by_losses: Mapping[str, Mapping[str, Losses]] = field(default_factory=dict)
    by_causes: Mapping[str, Mapping[str, Mapping[str, int]]] = field(default_factory=dict)
    """By tag and value: the requests whose prefix ends at each field, by its name, and at each break, by its kind."""
    is_all_looked_into: bool = True
    """Whether no value was left out; a note says which were."""

    def __post_init__(self) -> None:
        for row in self.requests:
            if row.outcome.cached_tokens + sum(row.losses) != row.outcome.prompt_tokens:
                raise ValueError(f"request {row.id}: cached tokens and losses do not add up to the prompt")
        if self.totals.cached_tokens + sum(self.losses) != self.totals.prompt_tokens:
            raise ValueError("cached tokens and losses do not add up to the prompt tokens")
        for tag, groups in self.by_losses.items():
            for value, losses in groups.items():
                totals = self.by[tag][value]
                if totals.cached_tokens + sum(losses) != totals.prompt_tokens:
                    raise ValueError(f"{tag} {value}: cached tokens and losses do not add up to the prompt tokens")
        recoverable = sum(row.recoverable_tokens for row in self.fields)
        recoverable += sum(row.recoverable_tokens for row in self.breaks)
        if recoverable != self.losses.volatile:
            raise ValueError("the ladder does not add up to the volatile loss")
