"""Long lines that differ in a part of them: too long to be told from other texts, and said rather than passed over.

Texts are compared by runs, which end where a tokenizer lets a text be cut. A line without such a place is one run; two
of them that differ in one word have nothing in common, and their requests go to families of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from prefixlab.attribution.differences import is_turn
from prefixlab.attribution.line_template import in_common
from prefixlab.records import Prompt, Run

LONG = 200
"""Characters of a run from which on it is worth a look."""

MOST_COMPARED = 512
"""Families whose first prompts are compared."""

ALIKE = 0.5
"""Share of the longer run that two have in common, from their ends."""


def families_of_alike_lines(prompts: Sequence[Prompt], families: Sequence[int]) -> int:
    """The families whose text is that of the family before but for a part of a long line."""
    firsts: dict[int, Prompt] = {}
    for prompt, family in zip(prompts, families, strict=True):
        if family not in firsts:
            firsts[family] = prompt
            if len(firsts) == MOST_COMPARED:
                break
    lines = [_first_long(prompt) for prompt in firsts.values()]
    return sum(
        [
            one is not other and in_common(one.text, other.text) >= ALIKE * max(len(one.text), len(other.text))
            for one, other in pairwise(lines)
            if one is not None and other is not None
        ]
    )


def _first_long(prompt: Prompt) -> Run | None:
    """The first long run of what an application writes."""
    for piece in prompt.pieces:
        if not is_turn(piece):
            for run in piece.runs:
                if len(run.text) >= LONG:
                    return run
    return None
