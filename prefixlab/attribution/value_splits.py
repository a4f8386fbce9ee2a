"""Values that stand side by side taken for one, told apart by their kinds: `Ticket <uuid> at <clock>`, `12.50, a@b.c`.

A stretch that varies is split at text that all of its wordings have, if what is left on the sides is each of a kind
that its look tells in every wording. Free text has words in common too; it stays one value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from prefixlab.attribution.value_kinds import kind_of

Literals = tuple[str, ...]

MOST_WORDINGS = 16
"""Distinct wordings by which a stretch is judged."""

MOST_CHARS = 300
"""Characters from which on a stretch is free text."""

MOST_PARTS = 8
"""Parts of a stretch; one of more is a list or a text."""

_LOOSE = frozenset(("text", "name", "json"))
"""Kinds whose values have no look of their own."""

_SURE = frozenset(("clock", "date", "age", "uuid", "email"))
"""Kinds of which no word and no number beside them is a part."""

_BRACKETS = {"(": ")", "[": "]", "{": "}", "<": ">", "“": "”", "「": "」", "（": "）"}


def split_stretch(values: Sequence[str], common: Callable[[Sequence[str]], Literals]) -> Literals:
    """The texts at which all of these values are split, none where they are one value each.

    `common` gives the literals that some texts have in common.
    """
    values = values[:MOST_WORDINGS]
    if len(values) < 2 or max(map(len, values)) > MOST_CHARS or not all(values) or kind_of(values) != "text":
        return ()
    between = list(common(values)[1:-1])
    while between and len(between) < MOST_PARTS:
        rows = [parts_of(value, between) for value in values]
        columns = list(zip(*[row for row in rows if row is not None], strict=True))
        wrong = [
            place
            for place, literal in enumerate(between)
            if None in rows or not _tells_apart(columns[place], literal, columns[place + 1])
        ]
        if not wrong:
            return tuple(between)
        del between[wrong[0]]
    return ()


def parts_of(value: str, between: Sequence[str]) -> tuple[str, ...] | None:
    """The parts of a value around some texts, each as short as can be."""
    parts = []
    for literal in between:
        part, found, value = value.partition(literal)
        if not found:
            return None
        parts.append(part)
    return (*parts, value)


def balanced(literals: Literals, rows: Sequence[Sequence[str]]) -> Literals:
    """The literals with brackets and quotes given to the values in between that hold their other half."""
    made = list(literals)
    for hole in range(len(literals) - 1):
        values = [row[hole] for row in rows]
        before, after = made[hole], made[hole + 1]
        opening, closing = before.rstrip()[-1:], after.lstrip()[:1]
        if closing and all([_is_open(value, closing) for value in values]):
            end = after.index(closing) + 1
            made[hole + 1] = after[end:]
            if not made[hole + 1] and hole + 2 < len(made):
                made[hole + 1] = after
        elif opening and all([_is_unopened(value, opening) for value in values]):
            at = before.rindex(opening)
            if at or not hole:
                made[hole] = before[:at]
    return tuple(made)


def _tells_apart(ahead: Sequence[str], literal: str, behind: Sequence[str]) -> bool:
    """Whether what is ahead of a text and what is behind it are values of their own."""
    one, other = _one_kind(ahead), _one_kind(behind)
    if {one, other} <= _LOOSE:
        return False
    if any([letter.isalnum() for letter in literal]):
        return "text" not in (one, other)
    if not literal.strip():
        # Only blanks: a number and words may be one address, an id and words one product.
        return one != other and "text" not in (one, other) and not _SURE.isdisjoint((one, other))
    return one != other


def _one_kind(values: Sequence[str]) -> str:
    """The kind that each of the values has."""
    kinds = {kind_of([value]) for value in values}
    return kinds.pop() if len(kinds) == 1 else "text"


def _is_open(value: str, closing: str) -> bool:
    """Whether a value lacks a bracket or quote at its end."""
    for opening, end in _BRACKETS.items():
        if end == closing:
            return value.count(opening) == value.count(end) + 1
    return closing in '"`' and value.count(closing) % 2 == 1


def _is_unopened(value: str, opening: str) -> bool:
    """Whether a value lacks a bracket at its beginning."""
    closing = _BRACKETS.get(opening)
    return closing is not None and value.count(closing) == value.count(opening) + 1
