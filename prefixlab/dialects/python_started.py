"""Values that a program makes once, when it starts: what is read, called and drawn for them stays the same then."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from prefixlab.dialects.python_facts import facts
from prefixlab.dialects.python_values import (
    Alternatives,
    Dictionary,
    Gap,
    Items,
    Opaque,
    Repeated,
    Spread,
    TextPart,
    TextValue,
    Value,
)
from prefixlab.prompt_templates import Choice, Expression, Hole, Loop

_DEEPEST = 6


class Started:
    """Makes values of a module those that it has once it was started, each once."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[Value, Value]] = {}

    def of(self, value: Value) -> Value:
        """The value as functions find it that are called later."""
        if not isinstance(value, Opaque | TextValue | Items | Dictionary | Alternatives):
            return value
        known = self._made.get(id(value))
        if known is None:
            known = self._made[id(value)] = value, _once(value) if facts(value).calls else value
        return known[1]


def _once(value: Any, depth: int = 0) -> Any:
    if depth > _DEEPEST:
        return value
    if isinstance(value, Opaque):
        return replace(value, expression=_read_once(value.expression), order=_kept(value.order))
    if isinstance(value, TextValue):
        data = None if value.data is None else _once(value.data, depth + 1)
        return TextValue(tuple([_part_once(part) for part in value.parts]), data)
    if isinstance(value, Items):
        return Items(tuple([_once(one, depth + 1) for one in value.items]), value.kind)
    if isinstance(value, Spread):
        return Spread(_once(value.value, depth + 1))
    if isinstance(value, Repeated):
        return replace(value, over=_read_once(value.over), items=tuple([_once(one, depth + 1) for one in value.items]))
    if isinstance(value, Alternatives):
        arms = tuple([_once(one, depth + 1) for one in value.arms])
        return replace(value, condition=_read_once(value.condition), arms=arms)
    if isinstance(value, Dictionary):
        return Dictionary(tuple([(name, _once(one, depth + 1)) for name, one in value.entries]), value.at)
    return value


def _part_once(part: TextPart) -> TextPart:
    if isinstance(part, Gap | Hole):
        return part._replace(expression=_read_once(part.expression))
    if isinstance(part, Choice):
        arms = tuple([tuple([_part_once(one) for one in arm]) for arm in part.arms])
        return part._replace(condition=_read_once(part.condition), arms=arms)
    if isinstance(part, Loop):
        return part._replace(over=_read_once(part.over), body=tuple([_part_once(one) for one in part.body]))
    return part


def _read_once(expression: Expression) -> Expression:
    if not expression.calls:
        return expression
    orders = tuple([one for one in expression.orders if one != "random"])
    return expression._replace(orders=orders, once=(*expression.calls, *expression.names))


def _kept(order: Any) -> Any:
    return None if order == "random" else order
