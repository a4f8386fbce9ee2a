"""Python expressions read without being run: texts keep their places, what is not known becomes a hole."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from prefixlab.dialects.python_branches import one_of
from prefixlab.dialects.python_facts import checked, facts, gone_over, origin, parts_of, placed, union
from prefixlab.dialects.python_known_calls import MOST_ITEMS
from prefixlab.dialects.python_literals import Literal, Piece, Spot
from prefixlab.dialects.python_modules import is_followed
from prefixlab.dialects.python_operators import TOO_FAR, Names, OperatorReading, truth
from prefixlab.dialects.python_values import (
    NONE,
    Alternatives,
    Class,
    Dictionary,
    Function,
    Imported,
    Instance,
    Items,
    MessageValue,
    Opaque,
    Plain,
    Repeated,
    Spread,
    TextValue,
    TooLarge,
    Value,
    constant_text,
    text_of,
)
from prefixlab.prompt_templates import Expression, Order, Place

DEEPEST = 90
"""Expressions, and calls of the module's functions, in one another."""

_TIME_PARTS = frozenset(["year", "month", "day", "hour", "minute", "second", "microsecond"])


class Round(NamedTuple):
    """What is gone over: single items where they are known, else one that stands for all."""

    items: Sequence[Value] | None
    over: Expression
    item: Value
    at: Place | None = None
    """Where what makes it another each time is written, if that is elsewhere."""


class ExpressionReading(OperatorReading):
    """Reads the expressions of one module. Calls are left to those who inherit."""

    def value(self, node: ast.expr, names: Names) -> Value:
        """What an expression gives."""
        self.steps += 1
        if self.depth > DEEPEST or self.steps > self.most_steps:
            self.notes[TOO_FAR] = None
            return Opaque(Expression("…"), self.place(node))
        read = _READ.get(type(node))
        self.depth += 1
        try:
            return self.opaque(node, names) if read is None else read(self, node, names)
        except TooLarge:
            self.notes[TOO_FAR] = None
            return Opaque(Expression(self.written(node)), self.place(node))
        finally:
            self.depth -= 1

    def _constant(self, node: ast.Constant, names: Names) -> Value:
        if isinstance(node.value, str):
            if not node.value:
                return TextValue(())
            written = Spot(self._field[0]) if self._field else Literal(self.source, node)
            return TextValue((Piece(node.value, written),))
        return Plain(node.value)

    def _f_string(self, node: ast.JoinedStr, names: Names) -> Value:
        literal = Literal(self.source, node)
        outer = self._field
        parts: list[Any] = []
        length = number = 0
        try:
            for one in node.values:
                if isinstance(one, ast.Constant):
                    text = str(one.value)
                    parts.append(Piece(text, Spot(outer[0]) if outer else literal, 0 if outer else length))
                    length += len(text)
                elif isinstance(one, ast.FormattedValue):
                    if outer is None:
                        self._field = literal.field(number)
                        number += 1
                    at, source = self._field or (self.source.place(one), "")
                    value = self.helped(self.value(one.value, names))
                    spec = self._spec(one.format_spec, names)
                    conversion = chr(one.conversion) if one.conversion >= 0 else ""
                    parts += parts_of(value, at, source, conversion, spec)
        finally:
            self._field = outer
        return TextValue(checked(tuple(parts)))

    def _spec(self, node: ast.expr | None, names: Names) -> str:
        if not isinstance(node, ast.JoinedStr):
            return ""
        return "".join([str(one.value) if isinstance(one, ast.Constant) else "{}" for one in node.values])

    def _name(self, node: ast.Name, names: Names) -> Value:
        found = names.get(node.id)
        if found is None:
            found = self._of_all(node.id) or Imported(node.id)
        if isinstance(found, Imported):
            return self.resolved(found)
        if isinstance(found, Opaque) and found.is_plain:
            return Opaque(found.expression, self.place(node), found.order, True, found.given)
        return self.started.of(found) if self._stack and names.is_global(node.id) else found

    def _of_all(self, name: str) -> Value | None:
        homes = self.all_of if is_followed(name) else ()
        return next((found for home in homes if (found := self.constant_of(home + name)) is not None), None)

    def member_of(self, names: Names, attributes: Sequence[str]) -> Value | None:
        """What the module calls so: the value of a name, or of one in a class."""
        value = names.own.get(attributes[0]) or self._of_all(attributes[0])
        for attribute in attributes[1:]:
            value = value.names.get(attribute) if isinstance(value, Class) else None
        return None if value is None else self.resolved(value)

    def resolved(self, value: Value) -> Value:
        """A value; of one that is imported from a module of the project the constant that it is."""
        if isinstance(value, Imported) and value.home and is_followed(value.home):
            return self.constant_of(value.home) or value
        return value

    def _attribute(self, node: ast.Attribute, names: Names) -> Value:
        return self.attribute(self.value(node.value, names), node.attr, node)

    def attribute(self, owner: Value, name: str, node: ast.AST) -> Value:
        """An attribute of a value."""
        if isinstance(owner, Imported):
            home = f"{owner.home}.{name}" if owner.home else ""
            return self.resolved(Imported(f"{owner.name}.{name}", self.place(node), home))
        if isinstance(owner, Instance | Class):
            found = self.attribute_of(owner, name, node)
            if found is not None:
                return found
            root = "self" if isinstance(owner, Instance) else owner.node.name
            return Opaque(Expression(f"{root}.{name}", (f"{root}.{name}",)), self.place(node), None, True)
        if isinstance(owner, Opaque):
            expression = owner.expression
            if name.startswith("__"):
                # Such as `__doc__`: the program says it, whatever its owner was made of.
                written = f"{expression.names[0] if expression.names else 'object'}.{name}"
                return Opaque(Expression(written, (written,)), self.place(node), None, True)
            if owner.is_plain:
                names = tuple([f"{one}.{name}" for one in expression.names])
                expression = Expression(self.written(node), names)
            elif name in _TIME_PARTS:
                expression = expression._replace(calls=(*expression.calls, name))
            return Opaque(expression, self.place(node) if owner.is_plain else owner.at, None, owner.is_plain)
        if isinstance(owner, MessageValue) and name == "content":
            return owner.content
        if name == "value" and isinstance(owner, TextValue | Plain):
            # A member of an enumeration.
            return owner
        at, source = placed([owner], self.place(node), self.written(node))
        return Opaque(facts(owner)._replace(source=source), at)

    def _subscript(self, node: ast.Subscript, names: Names) -> Value:
        owner, index = self.value(node.value, names), self.value(node.slice, names)
        key = index.value if isinstance(index, Plain) else constant_text(index)
        if isinstance(owner, Dictionary):
            if isinstance(key, str):
                found = owner.get(key)
                if found is not None:
                    return found
            elif isinstance(index, Opaque) and 1 < len(owner.entries) <= 50:
                values = [value for _, value in owner.entries]
                return one_of(facts(index), self.place(node), values, lambda: NONE)
        if isinstance(owner, Items) and isinstance(key, int) and not isinstance(key, bool):
            known = not any(isinstance(one, Spread | Repeated | Alternatives) for one in owner.items)
            if known and -len(owner.items) <= key < len(owner.items) and owner.kind != "set":
                return owner.items[key]
        if isinstance(owner, Imported) and isinstance(key, str):
            name = f"{owner.name}.{key}"
            return Opaque(Expression(self.written(node), (name,)), self.place(node))
        if isinstance(owner, Opaque) and owner.is_plain:
            if isinstance(key, str):
                names_ = tuple([f"{one}.{key}" for one in owner.expression.names])
                return Opaque(Expression(self.written(node), names_), self.place(node), None, True)
            return Opaque(owner.expression._replace(source=self.written(node)), self.place(node))
        return self.opaque(node, names, owner, index)

    def _slice(self, node: ast.Slice, names: Names) -> Value:
        return Plain(None)

    def _list(self, node: ast.List | ast.Tuple | ast.Set, names: Names) -> Value:
        items: list[Value] = []
        for one in node.elts:
            if isinstance(one, ast.Starred):
                inner = self.value(one.value, names)
                items += inner.items if isinstance(inner, Items) and inner.kind != "set" else [Spread(inner)]
            else:
                items.append(self.entering(one, names))
        return Items(tuple(items), type(node).__name__.lower())

    def _dictionary(self, node: ast.Dict, names: Names) -> Value:
        entries: list[tuple[str | None, Value]] = []
        for key, value in zip(node.keys, node.values, strict=True):
            known: Value | None = None if key is None else self.value(key, names)
            name = None if known is None else constant_text(known)
            if known is not None and name is None:
                name = str(known.value) if isinstance(known, Plain) else f"…{len(entries)}"
            entries.append((name, self.entering(value, names)))
        return Dictionary(tuple(entries), self.place(node))

    def round(self, value: Value, node: ast.AST) -> Round:
        """How a value is gone over."""
        expression = facts(value)
        if isinstance(value, Items):
            if (
                not value.is_unordered
                and len(value.items) <= MOST_ITEMS
                and not any(isinstance(one, Spread | Repeated) for one in value.items)
            ):
                return Round(value.items, expression, NONE)
            if value.is_unordered:
                expression = union(self.written(node), [gone_over(value)])
        elif isinstance(value, Dictionary):
            return Round([text_of(key or "", self.place(node)) for key, _ in value.entries], expression, NONE)
        if not expression.source:
            expression = expression._replace(source=self.written(node))
        if isinstance(value, Opaque):
            expression = gone_over(value)._replace(source=expression.source)
        plain = isinstance(value, Opaque) and value.is_plain
        item = Opaque(expression._replace(orders=()), origin(value) or self.place(node), None, plain)
        at = origin(value) if expression.calls or expression.orders else None
        if at is None and expression.orders:
            at = value.at if isinstance(value, Opaque) else self.place(node)
        return Round(None, expression, item, at)

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp, names: Names) -> Value:
        items = self._items(node.elt, list(node.generators), Names(names))
        return Items(tuple(items), "set" if isinstance(node, ast.SetComp) else "list")

    def _items(self, element: ast.expr, generators: list[ast.comprehension], names: Names) -> list[Value]:
        if not generators:
            return [self.value(element, names)]
        first, rest = generators[0], generators[1:]
        over = self.round(self.value(first.iter, names), first.iter)
        if over.items is None:
            self.assign(first.target, over.item, names)
            tests = [facts(self.value(one, names)) for one in first.ifs]
            inner = tuple(self._items(element, rest, names))
            at = over.at or self.place(first.iter)
            return [Repeated(union(over.over.source, [over.over, *tests]), at, inner)]
        items: list[Value] = []
        for item in over.items:
            self.assign(first.target, item, names)
            tests_ = [self.value(one, names) for one in first.ifs]
            if any([truth(one) is False for one in tests_]):
                continue
            inner_items = self._items(element, rest, names)
            unknown = [one for one in tests_ if truth(one) is None]
            if unknown:
                arms = (Items(tuple(inner_items)), Items(()))
                inner_items = [Alternatives(union("", map(facts, unknown)), self.place(first.iter), arms, True)]
            items += inner_items
            if len(items) > MOST_ITEMS * 10:
                raise TooLarge
        return items

    def _dictionary_comprehension(self, node: ast.DictComp, names: Names) -> Value:
        pair = ast.Tuple([node.key, node.value], ast.Load())
        ast.copy_location(pair, node)
        items = self._items(pair, list(node.generators), Names(names))
        if all([isinstance(one, Items) and constant_text(one.items[0]) is not None for one in items]):
            pairs = [one.items for one in items if isinstance(one, Items)]
            return Dictionary(tuple([(constant_text(one[0]), one[1]) for one in pairs]), self.place(node))
        value = facts(Items(tuple(items)))
        is_of_set = any([isinstance(one, Repeated) and "set" in one.over.orders for one in items])
        order: Order = "set" if is_of_set else "mapping"
        return Opaque(value._replace(source=self.written(node)), self.place(node), order)

    def _named(self, node: ast.NamedExpr, names: Names) -> Value:
        value = self.value(node.value, names)
        self.assign(node.target, value, names)
        return value

    def _inner(self, node: ast.Await | ast.Starred, names: Names) -> Value:
        return self.value(node.value, names)

    def _lambda(self, node: ast.Lambda, names: Names) -> Value:
        return Function(node, names)

    def _yield(self, node: ast.Yield | ast.YieldFrom, names: Names) -> Value:
        value = NONE if node.value is None else self.value(node.value, names)
        before = names.own.get("yield")
        items = before.items if isinstance(before, Items) else ()
        more = (
            (value,) if isinstance(node, ast.Yield) else value.items if isinstance(value, Items) else (Spread(value),)
        )
        names.own["yield"] = Items((*items, *more))
        return NONE

    def _call(self, node: ast.Call, names: Names) -> Value:
        return self.call(node, names)


_of: Any = ExpressionReading
_READ: dict[type[ast.AST], Callable[[Any, Any, Names], Value]] = {
    ast.Constant: _of._constant,
    ast.JoinedStr: _of._f_string,
    ast.Name: lambda self, node, names: self._name(node, names),
    ast.Attribute: _of._attribute,
    ast.Subscript: _of._subscript,
    ast.Slice: _of._slice,
    ast.List: _of._list,
    ast.Tuple: _of._list,
    ast.Set: _of._list,
    ast.Dict: _of._dictionary,
    ast.IfExp: _of._if,
    ast.BoolOp: _of._bool,
    ast.UnaryOp: _of._unary,
    ast.Compare: _of._compare,
    ast.BinOp: _of._binary,
    ast.ListComp: _of._comprehension,
    ast.GeneratorExp: _of._comprehension,
    ast.SetComp: _of._comprehension,
    ast.DictComp: _of._dictionary_comprehension,
    ast.NamedExpr: _of._named,
    ast.Await: _of._inner,
    ast.Starred: _of._inner,
    ast.Lambda: _of._lambda,
    ast.Yield: _of._yield,
    ast.YieldFrom: _of._yield,
    ast.Call: _of._call,
}
