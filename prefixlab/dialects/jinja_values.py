"""What names of a Jinja2 template stand for while it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import jinja2
from jinja2 import nodes

from prefixlab.dialects.jinja_expressions import dotted
from prefixlab.dialects.jinja_files import JinjaFile
from prefixlab.prompt_templates import Choice, Expression, Hole, Loop, Part, Place, Text, walk

UNKNOWN: Any = object()


class Value(NamedTuple):
    """What a name of the template stands for."""

    parts: tuple[Part, ...]
    expression: Expression
    constant: Any = UNKNOWN
    items: Sequence[Value] | None = None
    """Of a list whose items are known each."""
    attributes: Mapping[str, Value] = MappingProxyType({})
    """Of a mapping whose values are known each."""


class Macro(NamedTuple):
    node: nodes.Macro | nodes.CallBlock
    file: JinjaFile
    scope: Scope


class Scope:
    """Names in a block of the template and in those around it."""

    def __init__(self, outer: Scope | None = None) -> None:
        self.names: dict[str, Value] = {}
        self.macros: dict[str, Macro] = {}
        self.changed: set[str] = set()
        """Names of scopes around this one whose values were changed in place."""
        self._outer = outer

    def value(self, name: str) -> Value | None:
        found = self.names.get(name)
        root, dot, attribute = name.partition(".")
        if found is None and dot and root in self.names:
            # A mapping of this scope: one around it that is called the same does not count.
            return self.names[root].attributes.get(attribute)
        return found or (self._outer.value(name) if self._outer else None)

    def change(self, name: str, value: Value) -> None:
        """A value is changed in place, in the scope that it is of."""
        if name not in self.names:
            self.changed.add(name)
        self.names[name] = value

    def set_mapping(self, name: str, attributes: Mapping[str, Value], expression: Expression) -> None:
        """A name stands for a mapping whose values are known each."""
        self.names[name] = Value((), expression, attributes=attributes)

    def hand_on(self, outer: Scope) -> None:
        """To the scope around this one: what was changed in place, and what namespaces were given."""
        for name, value in self.names.items():
            root, dot, _ = name.partition(".")
            if name in self.changed or (dot and root not in self.names):
                outer.change(name, value)

    def macro(self, name: str) -> Macro | None:
        return self.macros.get(name) or (self._outer.macro(name) if self._outer else None)

    def all_names(self) -> dict[str, Value]:
        return {**(self._outer.all_names() if self._outer else {}), **self.names}


def as_text(constant: Any) -> str:
    return "" if isinstance(constant, jinja2.Undefined) else str(constant)


def bind_constant(scope: Scope, target: nodes.Node, item: Any, at: Place) -> None:
    if isinstance(target, nodes.Tuple) and isinstance(item, list | tuple):
        for inner, value in zip(target.items, item, strict=False):
            bind_constant(scope, inner, value, at)
        return
    text = as_text(item)
    name = dotted(target)
    scope.names[name] = Value((Text(text, at),) if text else (), Expression(name, value=text), item)


def bind_loop(scope: Scope, number: int, count: int) -> None:
    facts = {
        "index": number + 1,
        "index0": number,
        "first": number == 0,
        "last": number == count - 1,
        "length": count,
        "revindex": count - number,
        "revindex0": count - number - 1,
    }
    for name, value in facts.items():
        text = str(value)
        scope.names[f"loop.{name}"] = Value((), Expression(f"loop.{name}", value=text), value)
    scope.names["loop"] = Value((), Expression("loop"))


def target_names(target: nodes.Node) -> list[str]:
    if isinstance(target, nodes.Tuple):
        return [name for item in target.items for name in target_names(item)]
    return [dotted(target)]


def value_of(parts: Sequence[Part], name: str) -> Value:
    """A value of rendered parts."""
    holes = [part.expression for part in walk(parts) if isinstance(part, Hole)]
    if not holes:
        text = "".join([part.text for part in parts if isinstance(part, Text)])
        if all(isinstance(part, Text) for part in parts):
            return Value(tuple(parts), Expression(name, value=text), text)
    return Value(tuple(parts), _union(name, holes))


def list_of(items: Sequence[Value], expression: Expression) -> Value:
    """A list whose items are known each."""
    return Value((), expression, items=tuple(items))


def appended(known: Value, added: Sequence[Value]) -> Value:
    """A list or another container with more in it."""
    items: Sequence[Value] | None = known.items
    if items is None and isinstance(known.constant, list):
        at = Place("", 1, 1)
        items = [Value((Text(as_text(one), at),), Expression(repr(one)), one) for one in known.constant]
    expression = _union(known.expression.source, [known.expression, *[one.expression for one in added]])
    parts = (*known.parts, *[part for one in added for part in one.parts])
    if items is None:
        return Value(parts, expression)
    items = [*items, *added]
    fixed = [one.constant for one in items]
    return Value(parts, expression, UNKNOWN if UNKNOWN in fixed else fixed, tuple(items))


def with_format(parts: Iterable[Part], format: str) -> list[Part]:
    """The parts as a field of a format string writes them."""
    if "%" not in format:
        return list(parts)
    return [
        part._replace(expression=part.expression._replace(formats=(*part.expression.formats, format)))
        if isinstance(part, Hole)
        else part
        for part in parts
    ]


def _union(source: str, expressions: Iterable[Expression]) -> Expression:
    expressions = list(expressions)

    def all_of(field: str) -> tuple[Any, ...]:
        return tuple(dict.fromkeys([one for expression in expressions for one in getattr(expression, field)]))

    return Expression(source, all_of("names"), all_of("calls"), all_of("formats"), all_of("orders"))


def either(condition: Expression, at: Place, values: Sequence[Value]) -> Value:
    """One of several values."""
    if all([value.constant is not UNKNOWN and value.constant == values[0].constant for value in values]):
        return values[0]
    arms = tuple([value.parts for value in values])
    expression = _union(values[0].expression.source, [value.expression for value in values])
    return Value((Choice(condition, at, arms),), expression)


def entered_at_place(parts: Iterable[Part], at: Place) -> list[Part]:
    """The parts as they enter the prompt at another place than the one where they are written."""
    entered: list[Part] = []
    for part in parts:
        if isinstance(part, Hole):
            entered.append(part._replace(entered_at=at))
        elif isinstance(part, Choice):
            entered.append(part._replace(arms=tuple([tuple(entered_at_place(arm, at)) for arm in part.arms])))
        elif isinstance(part, Loop):
            entered.append(part._replace(body=tuple(entered_at_place(part.body, at))))
        else:
            entered.append(part)
    return entered


def without_empty(parts: Iterable[Part]) -> list[Part]:
    """The parts without empty texts. Texts that follow one another stay apart: each has a place of its own."""
    return [part for part in parts if not isinstance(part, Text) or part.text]


def text_length(parts: Iterable[Part]) -> int:
    """Characters of the texts among parts, without those in arms and loops."""
    return sum([len(part.text) for part in parts if isinstance(part, Text)])


def lookup_in(scope: Scope) -> Callable[[str], Expression | None]:
    """What gives the expression that a name of the template stands for, and None for one of the caller's."""

    def lookup(name: str) -> Expression | None:
        known = scope.value(name)
        return None if known is None else known.expression

    return lookup
