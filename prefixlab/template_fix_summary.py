"""The answer of `fix` on a template."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class MovedLine(NamedTuple):
    """A line of a template that stands further back."""

    line: int
    """Counted from 1, in the file as it is."""
    text: str
    field: str
    """The value on it that strands what stands behind."""


class KeptLine(NamedTuple):
    """A line with a misplaced value that stays."""

    path: str
    line: int
    field: str
    why: str


class Reuse(NamedTuple):
    """What requests reuse of one another, of the template as it is or changed."""

    stable_tokens: int
    """Tokens that all renderings begin with; without values the stable ones of the text."""
    raw: float | None = None
    """Part of warm prompts that is shared; None without values."""
    aligned: float | None = None


@dataclass(frozen=True, slots=True)
class TemplateFixSummary:
    """Lines moved behind the stable text, measured; none where nothing is gained."""

    path: str
    dialect: str
    moved: tuple[MovedLine, ...]
    kept: tuple[KeptLine, ...]
    before: Reuse
    after: Reuse
    renderings: int
    """Rows of values that both were rendered with; 0 where the text alone was measured."""
    diff: str
    tokenizer: str
    written_to: str | None = None
    notes: tuple[str, ...] = ()
