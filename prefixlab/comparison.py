"""The nouns of `compare`: two sides with their figures, and what became of each value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from prefixlab.findings import Break, Field, Losses, Totals

Verdict = Literal["better", "same", "worse", "unmeasured"]
"""The last where a side has no warm request: nothing of it could be reused, whatever it is; and where the rows of
values lack a variable of one side alone, which may render as nothing."""
Status = Literal["gone", "new", "more", "less", "same"]


class Side(NamedTuple):
    """What one side of a comparison gives."""

    name: str
    what: Literal["template", "log", "run"]
    totals: Totals
    warm: Totals
    """Without the first request of each family."""
    losses: Losses
    causes: tuple[Field | Break, ...]
    """By rank."""
    stable_tokens: int | None = None
    """Of a template: tokens that all renderings begin with."""
    engine: Mapping[str, Any] = MappingProxyType({})
    """The engine and what it was given, as a report has it."""
    lacking: tuple[str, ...] = ()
    """Of a template: variables that it reads and no row of values has, without those that the other side lacks too."""


class CauseChange(NamedTuple):
    """A value or a break on both sides; None where a side does not have it as a fault."""

    name: str
    kind: str
    path: str
    status: Status
    before: Field | Break | None
    after: Field | Break | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """The answer of `compare`. Ratios are those of warm requests."""

    before: Side
    after: Side
    changes: tuple[CauseChange, ...]
    verdict: Verdict
    min_delta: float
    notes: tuple[str, ...] = ()

    @property
    def raw_delta(self) -> float:
        """How much more of warm prompts is shared, as a fraction."""
        return self.after.warm.raw_reuse - self.before.warm.raw_reuse

    @property
    def aligned_delta(self) -> float:
        """How much more of them an unlimited cache reuses."""
        return self.after.warm.aligned_reuse - self.before.warm.aligned_reuse

    @property
    def cached_delta(self) -> float:
        """How much more of them the cache as given reuses."""
        return self.after.warm.cached_reuse - self.before.warm.cached_reuse

    @property
    def decided_by(self) -> Literal["cached_reuse", "raw_reuse"] | None:
        """The figure that the verdict is by; None where none changed."""
        if self.verdict not in ("better", "worse"):
            return None
        return "cached_reuse" if _counts(self.cached_delta, self.min_delta) else "raw_reuse"


def verdict_of(before: Side, after: Side, min_delta: float) -> Verdict:
    """Whether more is reused: by what the cache as given reuses of warm requests, and where that is equal by what is
    shared. A change below `min_delta` is none."""
    if before.lacking or after.lacking:
        return "unmeasured"
    if not before.warm.requests or not after.warm.requests:
        return "unmeasured"
    for delta in (
        after.warm.cached_reuse - before.warm.cached_reuse,
        after.warm.raw_reuse - before.warm.raw_reuse,
    ):
        if _counts(delta, min_delta):
            return "better" if delta > 0 else "worse"
    return "same"


def _counts(delta: float, min_delta: float) -> bool:
    return abs(delta) > 1e-12 and abs(delta) >= min_delta


def changes_of(before: Side, after: Side) -> tuple[CauseChange, ...]:
    """The causes of both sides, paired by what they are called and where they stand, those of the first side first."""
    left = {_key(cause): cause for cause in after.causes}
    changes = []
    for cause in before.causes:
        other = left.pop(_key(cause), None)
        if other is None:
            # A value that moved has another path; it is the same by its name.
            key = next((key for key in left if key[:2] == _key(cause)[:2]), None)
            other = left.pop(key) if key is not None else None
        changes.append(_change(cause, other))
    changes += [_change(None, cause) for cause in left.values()]
    return tuple(changes)


def _key(cause: Field | Break) -> tuple[str, str, str]:
    return (cause.name if isinstance(cause, Field) else cause.kind, cause.kind, cause.path)


def _change(before: Field | Break | None, after: Field | Break | None) -> CauseChange:
    one = before or after
    assert one is not None
    status: Status = "same"
    if before is None or after is None:
        status = "new" if before is None else "gone"
    elif before.recoverable_tokens != after.recoverable_tokens:
        status = "more" if after.recoverable_tokens > before.recoverable_tokens else "less"
    return CauseChange(_key(one)[0], one.kind, one.path, status, before, after)
