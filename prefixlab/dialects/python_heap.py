"""Attributes of objects, and what calls gave, so that a function that gets the same again is not followed again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count

from prefixlab.dialects.python_literals import Piece
from prefixlab.dialects.python_values import (
    Function,
    Gap,
    Imported,
    Instance,
    Opaque,
    Plain,
    TextValue,
    Value,
)

_LONGEST = 20
"""Parts of a text that is compared."""

_MARKS = count(1)


class Heap:
    """Attributes of objects by the object's number and their name. `mark` is another with each change."""

    __slots__ = ("_values", "mark")

    def __init__(self, values: Mapping[tuple[int, str], Value] | None = None, mark: int = 0) -> None:
        self._values = dict(values or {})
        self.mark = mark

    def get(self, place: tuple[int, str]) -> Value | None:
        """An attribute; None where it was not set."""
        return self._values.get(place)

    def set(self, place: tuple[int, str], value: Value) -> None:
        """Sets an attribute."""
        if self._values.get(place) is not value:
            self._values[place] = value
            self.mark = next(_MARKS)

    def copy(self) -> Heap:
        """The same, to be changed on its own."""
        return Heap(self._values, self.mark)

    def since(self, before: Heap) -> Iterator[tuple[tuple[int, str], Value]]:
        """The attributes that are others than before."""
        if self.mark != before.mark:
            old = before._values
            yield from [(place, value) for place, value in self._values.items() if old.get(place) is not value]


def call_key(function: Function, positional: Sequence[Value], named: Mapping[str, Value]) -> tuple[object, ...]:
    """What a call of a function depends on, beside the heap. It holds for as long as the values are kept."""
    values = (function.owner, *positional, *named.values())
    return (id(function.node), len(positional), *named, *[part for one in values for part in _key(one)])


def _key(value: Value | None) -> tuple[object, ...]:
    """The same for values that are alike; of those that would be long to compare for the same value alone."""
    if isinstance(value, Opaque):
        return (value, id(value.given) if value.given else 0, id(value.later) if value.later else 0)
    if isinstance(value, TextValue) and value.data is None and len(value.parts) <= _LONGEST:
        is_short = all([isinstance(part, Piece | Gap) for part in value.parts])
        return (value,) if is_short else (id(value),)
    if isinstance(value, Imported):
        return (value, value.at)
    if isinstance(value, Instance):
        return (id(value.of), value.number)
    if isinstance(value, Plain) and isinstance(value.value, bool | int | float | str | None):
        return (type(value.value), value.value)
    return (id(value),)
