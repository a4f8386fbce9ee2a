"""How values of branches and loops become one: what they begin with stays, the rest is a choice or a loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from prefixlab.dialects.python_facts import facts, inside, origin, parts_of, union, weight
from prefixlab.dialects.python_literals import Piece
from prefixlab.dialects.python_values import (
    MOST_IN_CHOICE,
    NONE,
    Alternatives,
    Dictionary,
    Gap,
    Imported,
    Items,
    Opaque,
    Plain,
    Repeated,
    TextPart,
    TextValue,
    Value,
)
from prefixlab.prompt_templates import Choice, Expression, History, Loop, Place, Turn

MOST_NESTED = 6
"""Values of branches in one another; their number can double with each."""


def one_of(condition: Expression, at: Place, values: Sequence[Value | None], unset: Callable[[], Value]) -> Value:
    """The value that a name has behind a branch; None where an arm did not set it."""
    known = [unset() if value is None else value for value in values]
    first = known[0]
    if all([_same(value, first) for value in known]):
        return first
    if all([isinstance(value, TextValue | Plain) for value in known]) and any(
        [isinstance(value, TextValue) for value in known]
    ):
        arms = [value.parts if isinstance(value, TextValue) else _plain_parts(value, at) for value in known]
        shared = _shared([list(arm) for arm in arms])
        rest = tuple([tuple(arm[shared:]) for arm in arms])
        if sum([weight(arm, MOST_IN_CHOICE) for arm in rest]) >= MOST_IN_CHOICE:
            return Opaque(union("", [condition, *map(facts, known)]), at)
        return TextValue((*arms[0][:shared], Choice(condition, at, rest)))
    if all([isinstance(value, Items) and value.kind == "list" for value in known]):
        lists = [list(value.items) for value in known if isinstance(value, Items)]
        shared = _shared(lists)
        arms_of_items = tuple([Items(tuple(one[shared:])) for one in lists])
        return Items((*lists[0][:shared], Alternatives(condition, at, arms_of_items, is_items=True)))
    if all([isinstance(value, Dictionary) for value in known]):
        return _one_dictionary(condition, at, [value for value in known if isinstance(value, Dictionary)])
    if all([isinstance(value, Opaque) or _is_hole(value) for value in known]):
        return Opaque(union(facts(first).source, map(facts, known)), origin(first) or at)
    made = Alternatives(condition, at, tuple(known))
    if sum([isinstance(one, Alternatives) for one in inside(made)]) > MOST_NESTED:
        return Opaque(union("", [condition, *map(facts, known)]), origin(made) or at)
    return made


def _is_hole(value: Value) -> bool:
    return isinstance(value, TextValue) and len(value.parts) == 1 and isinstance(value.parts[0], Gap)


def _plain_parts(value: Value, at: Place) -> tuple[TextPart, ...]:
    return () if value == NONE else parts_of(value, at)


def _one_dictionary(condition: Expression, at: Place, values: Sequence[Dictionary]) -> Value:
    keys = list(dict.fromkeys([name for value in values for name, _ in value.entries if name is not None]))
    entries: list[tuple[str | None, Value]] = []
    for key in keys:
        entries.append((key, one_of(condition, at, [value.get(key) for value in values], lambda: NONE)))
    return Dictionary(tuple(entries), values[0].at)


def _shared(lists: Sequence[Sequence[Any]]) -> int:
    """How many items all lists begin with."""
    shortest = min([len(one) for one in lists])
    for number in range(shortest):
        first = lists[0][number]
        if not all([_same(one[number], first) for one in lists]):
            return number
    return shortest


def _same(one: Any, other: Any) -> bool:
    """Whether two values or parts are the same. Lists are only where they are one: comparing them can take for ever."""
    if one is other:
        return True
    if isinstance(one, TextValue) and isinstance(other, TextValue):
        return len(one.parts) == len(other.parts) and all([_same(*pair) for pair in zip(one.parts, other.parts)])
    return isinstance(one, Plain | Opaque | Imported | Piece | Gap | Turn | History) and bool(one == other)


def _starts_with(longer: Sequence[Any], shorter: Sequence[Any]) -> bool:
    return len(longer) >= len(shorter) and all([_same(*pair) for pair in zip(longer, shorter)])


def looped(over: Expression, at: Place, before: Value | None, after: Value) -> Value:
    """The value that a name has behind a loop that was gone through once."""
    if before is None or _same(before, after):
        return after
    if isinstance(before, TextValue) and isinstance(after, TextValue):
        old, new = before.parts, after.parts
        if weight(new[len(old) :], MOST_IN_CHOICE) >= MOST_IN_CHOICE:
            return Opaque(union("", [over, facts(after)]), at)
        if _starts_with(new, old):
            return TextValue((*old, Loop(over, at, new[len(old) :])))
        if old and len(new) > len(old) and _starts_with(new[-len(old) :], old):
            return TextValue((Loop(over, at, new[: -len(old)]), *old))
    if isinstance(before, Items) and isinstance(after, Items) and _starts_with(after.items, before.items):
        return Items((*before.items, Repeated(over, at, after.items[len(before.items) :])), before.kind)
    return after
