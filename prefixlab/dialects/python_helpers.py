"""Functions of other modules of the project: followed in their own files, with their own places, and never far."""

from __future__ import annotations

from collections.abc import Iterable
from weakref import WeakKeyDictionary

from prefixlab.dialects.python_arguments import Call
from prefixlab.dialects.python_facts import inside
from prefixlab.dialects.python_statements import MOST_STEPS_OF_HELPER, StatementReading, last_name
from prefixlab.dialects.python_values import (
    Alternatives,
    Class,
    Dictionary,
    Function,
    Imported,
    Instance,
    Items,
    MessageValue,
    TextValue,
    Value,
)

MOST_STEPS_OF_HELPERS = 15_000
"""Statements and expressions of functions of other modules that are gone over for one module."""

READINGS: WeakKeyDictionary[Value, StatementReading] = WeakKeyDictionary()
"""The readings of the modules that functions are of."""


def known_helper(value: Value | None, reading: StatementReading) -> Value | None:
    """A value of a module; of a function it is kept which reading it is of."""
    if isinstance(value, Function):
        READINGS[value] = reading
    return value


def is_helper(value: Value | None) -> bool:
    """Whether it is a function."""
    return isinstance(value, Function)


def is_self_contained(values: Iterable[Value | None]) -> bool:
    """Whether values mean the same in another module: no objects, functions or imports of this one."""
    return not any(
        [isinstance(one, Instance | Class | Function | Imported) for value in values for one in inside(value)]
    )


def followed_elsewhere(
    reading: StatementReading, function: Function, call: Call, most_steps: int
) -> tuple[Value | None, int]:
    """What a function of another module gives, and what following it took; None where that is no text."""
    marks = {last_name(one) for one in getattr(function.node, "decorator_list", ())}
    if marks - {"staticmethod", "cache", "lru_cache"}:
        # Such as a class method, which is given more than stands in the call.
        return None, 0
    before, most, notes = reading.steps, reading.most_steps, dict(reading.notes)
    reading.most_steps = before + min(MOST_STEPS_OF_HELPER, most_steps)
    try:
        made = reading.follow(function, call.positional, call.named, function.node)
        is_whole = reading.steps < reading.most_steps
    except RecursionError:
        return None, MOST_STEPS_OF_HELPER
    finally:
        steps = reading.steps - before
        reading.most_steps, reading.notes = most, notes
    is_said = isinstance(made, TextValue | Items | Dictionary | Alternatives | MessageValue)
    return made if is_whole and is_said and is_self_contained([made]) else None, steps
