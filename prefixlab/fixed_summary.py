"""The answer of `fix`: what was changed in a log, and what the changed log reuses when it is replayed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from prefixlab.findings import Totals

Place = Literal["newest_user_message", "own_text", "end_of_prompt", "order_shown_first"]
"""Where a value went: behind the newest user message, its own text, the prompt; or what became of an order."""


class FixedStep(NamedTuple):
    """One step that the written log has: a value moved, or an order made canonical."""

    name: str
    """The field's name, or the kind of the order."""
    kind: str
    path: str
    """Where the field stands; empty for an order."""
    to: Place
    records: int
    """Records that were changed for it."""
    left: int
    """Records that have it and could not be changed."""


class Unfixed(NamedTuple):
    """A step of the ladder that the written log does not have, and why."""

    name: str
    kind: str
    why: str


@dataclass(frozen=True, slots=True)
class FixSummary:
    """What became of a log. Where nothing is gained nothing is written, and there are no steps."""

    version: str
    log: str
    written_to: str | None
    """The file, `-` for standard output, None where nothing was written."""
    records: int
    changed_records: int
    skipped: int
    before: Totals
    after: Totals
    """The totals of the log with the steps, read back and replayed; equal to `before` where there are none."""
    promised_tokens: int
    """Aligned tokens that the ladder promised for the steps that a log can have."""
    has_cache: bool
    """Whether a cache with a size, a lifetime or several servers was given, so that cached tokens say more."""
    steps: tuple[FixedStep, ...]
    unfixed: tuple[Unfixed, ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.steps and self.after.aligned_tokens <= self.before.aligned_tokens:
            raise ValueError("a log is changed only where it gains")
        if not self.steps and (self.written_to is not None or self.after != self.before):
            raise ValueError("a log that gains nothing is not written")
