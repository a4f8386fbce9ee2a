"""Python expressions read without being run: texts keep their places, what is not known becomes a hole."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from prefixlab.dialects.python_known_calls import MOST_ITEMS, ORDERS
from prefixlab.dialects.python_literals import Lines, Literal, Piece, Source, Spot
from prefixlab.dialects.python_texts import formatted, name_gap
from prefixlab.dialects.python_values import (
    MOST_CHARACTERS,
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
    TemplateValue,
    TextValue,
    TooLarge,
    Value,
    checked,
    constant,
    constant_text,
    entered,
    facts,
    one_of,
    origin,
    parts_of,
    text_of,
    union,
)
from prefixlab.prompt_templates import Expression, Order, Place

DEEPEST = 90
"""Expressions, and calls of the module's functions, in one another."""

_TOO_FAR = "Not all of the module could be followed: it goes too deep or too far."
_TIME_PARTS = frozenset("year month day hour minute second microsecond".split())


class Names:
    """The names of a function, and of what it stands in."""

    __slots__ = ("_outer", "own")

    def __init__(self, outer: Names | None = None) -> None:
        self.own: dict[str, Value] = {}
        self._outer = outer

    def get(self, name: str) -> Value | None:
        """What a name stands for."""
        at: Names | None = self
        while at is not None:
            found = at.own.get(name)
            if found is not None:
                return found
            at = at._outer
        return None


class Round(NamedTuple):
    """What is gone over: single items where they are known, else one that stands for all."""

    items: Sequence[Value] | None
    over: Expression
    item: Value


class ExpressionReading:
    """Reads the expressions of one module. Calls are left to those who inherit."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.steps = 0
        self.most_steps = 0
        """The step at which reading gives up, and what is left becomes holes."""
        self.depth = 0
        self.heap: dict[tuple[int, str], Value] = {}
        self.notes: dict[str, None] = {}
        self._field: tuple[Place, str] | None = None

    # --- for those who inherit ---

    def call(self, node: ast.Call, names: Names) -> Value:
        """What a call gives."""
        raise NotImplementedError

    def attribute_of(self, owner: Instance | Class, name: str, node: ast.AST) -> Value | None:
        """An attribute of an object of the module."""
        raise NotImplementedError

    def assign(self, target: ast.expr, value: Value, names: Names) -> None:
        """Binds a target."""
        raise NotImplementedError

    def run(self, value: Value, args: Sequence[Value]) -> Value:
        """Calls a value."""
        raise NotImplementedError

    # --- places ---

    def place(self, node: ast.AST) -> Place:
        """Where a node stands; inside a field of an f-string, where the field does."""
        return self._field[0] if self._field else self.source.place(node)

    def written(self, node: ast.AST) -> str:
        """How a node is written."""
        return self._field[1] if self._field else self.source.written(node)

    # --- expressions ---

    def value(self, node: ast.expr, names: Names) -> Value:
        """What an expression gives."""
        self.steps += 1
        if self.depth > DEEPEST or self.steps > self.most_steps:
            self.notes[_TOO_FAR] = None
            return Opaque(Expression("…"), self.place(node))
        read = _READ.get(type(node))
        self.depth += 1
        try:
            return self.opaque(node, names) if read is None else read(self, node, names)
        except TooLarge:
            self.notes[_TOO_FAR] = None
            return Opaque(Expression(self.written(node)), self.place(node))
        finally:
            self.depth -= 1

    def entering(self, node: ast.expr, names: Names) -> Value:
        """What an expression gives; of a text that was made elsewhere the holes enter where it stands now."""
        value = self.value(node, names)
        if isinstance(value, TextValue) and not isinstance(node, ast.Constant | ast.JoinedStr):
            if constant_text(value) is None and len(value.parts) <= MOST_ITEMS:
                within = (self.place(node), self.source.end(node))
                return TextValue(entered(value.parts, within[0], within), value.data)
        return value

    def opaque(self, node: ast.expr, names: Names, *values: Value) -> Opaque:
        """A value of which only is known what it reads."""
        if not values:
            values = tuple([self.value(one, names) for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr)])
        expression = union(self.written(node), map(facts, values))
        written = next((one for one in map(origin, values) if one), None)
        return Opaque(expression, written or self.place(node))

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
                    value = self.value(one.value, names)
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
            return Imported(node.id)
        if isinstance(found, Opaque) and found.is_plain:
            return Opaque(found.expression, self.place(node), found.order, True, found.given)
        return found

    def _attribute(self, node: ast.Attribute, names: Names) -> Value:
        return self.attribute(self.value(node.value, names), node.attr, node)

    def attribute(self, owner: Value, name: str, node: ast.AST) -> Value:
        """An attribute of a value."""
        if isinstance(owner, Imported):
            return Imported(f"{owner.name}.{name}", self.place(node))
        if isinstance(owner, Instance | Class):
            found = self.attribute_of(owner, name, node)
            if found is not None:
                return found
            root = "self" if isinstance(owner, Instance) else owner.node.name
            return Opaque(Expression(f"{root}.{name}", (f"{root}.{name}",)), self.place(node), None, True)
        if isinstance(owner, Opaque):
            expression = owner.expression
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
        return Opaque(facts(owner)._replace(source=self.written(node)), origin(owner) or self.place(node))

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

    def _if(self, node: ast.IfExp, names: Names) -> Value:
        test = self.value(node.test, names)
        if isinstance(test, Plain):
            return self.value(node.body if test.value else node.orelse, names)
        arms = [self.value(one, names) for one in (node.body, node.orelse)]
        condition = facts(test)._replace(source=self.written(node.test))
        return one_of(condition, self.place(node), arms, lambda: NONE)

    def _bool(self, node: ast.BoolOp, names: Names) -> Value:
        is_or = isinstance(node.op, ast.Or)
        left = self.value(node.values[0], names)
        for one in node.values[1:]:
            right = self.value(one, names)
            truth = _truth(left)
            if truth is not None:
                left = left if truth == is_or else right
            elif is_or and isinstance(left, Opaque) and (_truth(right) is False or _is_short(right)):
                # `name or "friend"` is the name.
                continue
            elif is_or or isinstance(right, TextValue):
                arms = [left, right] if is_or else [right, NONE]
                left = one_of(facts(left), self.place(node), arms, lambda: NONE)
            else:
                left = self.opaque(node, names, left, right)
        return left

    def _unary(self, node: ast.UnaryOp, names: Names) -> Value:
        value = self.value(node.operand, names)
        if isinstance(value, Plain):
            if isinstance(node.op, ast.Not):
                return Plain(not value.value)
            if isinstance(node.op, ast.USub) and isinstance(value.value, int | float):
                return Plain(-value.value)
        truth = _truth(value) if isinstance(node.op, ast.Not) else None
        return self.opaque(node, names, value) if truth is None else Plain(not truth)

    def _compare(self, node: ast.Compare, names: Names) -> Value:
        values = [self.value(one, names) for one in (node.left, *node.comparators)]
        if isinstance(values[0], Imported) and values[0].name == "__name__":
            return Plain(True)
        if len(values) == 2:
            compare = _COMPARED.get(type(node.ops[0]))
            try:
                if compare is not None:
                    return Plain(bool(compare(constant(values[0]), constant(values[1]))))
            except (ValueError, TypeError):
                pass
        return self.opaque(node, names, *values)

    def _binary(self, node: ast.BinOp, names: Names) -> Value:
        # A long sum is nested to the left as deep as it is long.
        chain: list[ast.BinOp] = []
        left: ast.expr = node
        while isinstance(left, ast.BinOp):
            chain.append(left)
            left = left.left
        value = self.value(left, names)
        for one in reversed(chain):
            value = self.combined(one.op, value, self.value(one.right, names), one)
        return value

    def grown(self, node: ast.AugAssign, names: Names) -> Value:
        """What a name holds after `+=`."""
        before = self.value(node.target, names)
        try:
            return self.combined(node.op, before, self.entering(node.value, names), node)
        except TooLarge:
            self.notes[_TOO_FAR] = None
            return before

    def combined(self, operation: ast.operator, left: Value, right: Value, node: ast.AST) -> Value:
        """What an operator makes of two values."""
        at = self.place(node)
        if isinstance(left, Plain) and isinstance(right, Plain):
            compute = _COMPUTED.get(type(operation))
            numbers = isinstance(left.value, int | float) and isinstance(right.value, int | float)
            if compute is not None and numbers and abs(left.value) < 1e9 and abs(right.value) < 1e9 and right.value:
                return Plain(compute(left.value, right.value))
        if isinstance(operation, ast.Add):
            if isinstance(left, TextValue) or isinstance(right, TextValue):
                return TextValue(checked((*self._side(left, node, "left"), *self._side(right, node, "right"))))
            if isinstance(left, Items) or isinstance(right, Items):
                items = [value.items if isinstance(value, Items) else (Spread(value),) for value in (left, right)]
                return Items((*items[0], *items[1]))
        elif isinstance(operation, ast.Mod) and isinstance(left, TextValue):
            positional = right.items if isinstance(right, Items) and right.kind == "tuple" else (right,)
            named = right.flat() if isinstance(right, Dictionary) else {}
            made = formatted(left, "percent", positional, named, at)
            if made is not None:
                return made
        elif isinstance(operation, ast.Mult) and isinstance(right, Plain) and isinstance(left, TextValue | Items):
            times = right.value if isinstance(right.value, int) else 0
            if isinstance(left, Items):
                return Items(left.items * times) if times * len(left.items) <= MOST_ITEMS else left
            text = constant_text(left)
            if text is not None and len(text) * times <= MOST_CHARACTERS:
                return text_of(text * times, at)
        elif isinstance(operation, ast.BitOr):
            if isinstance(left, Dictionary) and isinstance(right, Dictionary):
                return Dictionary((*left.entries, *right.entries), left.at)
            if isinstance(left, TemplateValue):
                return replace(left, is_piped=True)
            if isinstance(right, TemplateValue):
                return self.piped(left, right, node)
        expression = union(self.written(node), [facts(left), facts(right)])
        order: Order | None = "set" if any(_is_set(one) for one in (left, right)) else None
        written = origin(left) or origin(right)
        return Opaque(expression, written or at, order)

    def piped(self, left: Value, right: TemplateValue, node: ast.AST) -> Value:
        """`{"question": ...} | prompt`."""
        return right

    def _side(self, value: Value, node: ast.AST, side: str) -> tuple[Any, ...]:
        if isinstance(value, TextValue):
            # Its holes enter where they did: a text that grows is not gone over again each time.
            return value.parts
        inner = getattr(node, side, None) if isinstance(node, ast.BinOp) else getattr(node, "value", None)
        inner = inner if isinstance(inner, ast.AST) else node
        return parts_of(value, self.place(inner), self.written(inner))

    # --- comprehensions ---

    def round(self, value: Value, node: ast.AST) -> Round:
        """How a value is gone over."""
        expression = facts(value)
        if isinstance(value, Items):
            fixed = value.kind != "set" or len(value.items) < 2
            if fixed and len(value.items) <= MOST_ITEMS and not any(isinstance(one, Spread | Repeated) for one in value.items):
                return Round(value.items, expression, NONE)
            if not fixed:
                expression = union(self.written(node), [expression, Expression("", orders=("set",))])
        elif isinstance(value, Dictionary):
            return Round([text_of(key or "", self.place(node)) for key, _ in value.entries], expression, NONE)
        if not expression.source:
            expression = expression._replace(source=self.written(node))
        if isinstance(value, Opaque) and value.order and value.order not in expression.orders:
            expression = expression._replace(orders=(*expression.orders, value.order))
        plain = isinstance(value, Opaque) and value.is_plain
        item = Opaque(expression._replace(orders=()), origin(value) or self.place(node), None, plain)
        return Round(None, expression, item)

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
            return [Repeated(union(over.over.source, [over.over, *tests]), self.place(first.iter), inner)]
        items: list[Value] = []
        for item in over.items:
            self.assign(first.target, item, names)
            tests_ = [self.value(one, names) for one in first.ifs]
            if any([_truth(one) is False for one in tests_]):
                continue
            inner_items = self._items(element, rest, names)
            unknown = [one for one in tests_ if _truth(one) is None]
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
        return Opaque(value._replace(source=self.written(node)), self.place(node), "mapping")

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
        more = (value,) if isinstance(node, ast.Yield) else value.items if isinstance(value, Items) else (Spread(value),)
        names.own["yield"] = Items((*items, *more))
        return NONE

    def _call(self, node: ast.Call, names: Names) -> Value:
        return self.call(node, names)


def _truth(value: Value) -> bool | None:
    """Whether a value counts as true; None where that is not known."""
    if isinstance(value, Plain):
        return bool(value.value)
    text = constant_text(value)
    if text is not None:
        return bool(text)
    if isinstance(value, Items) and not value.items:
        return False
    return (len(value.entries) > 0) if isinstance(value, Dictionary) else None


truth = _truth


def _is_short(value: Value) -> bool:
    text = constant_text(value)
    return text is not None and len(text) < 40


def _is_set(value: Value) -> bool:
    return (isinstance(value, Items) and value.kind == "set") or (isinstance(value, Opaque) and value.order == "set")


_COMPUTED: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Is: operator.eq,
    ast.IsNot: operator.ne,
    ast.Gt: operator.gt,
    ast.Lt: operator.lt,
    ast.In: lambda one, many: one in many,
    ast.NotIn: lambda one, many: one not in many,
}
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
__all__ = ["ORDERS", "ExpressionReading", "Lines", "Names", "Round", "name_gap", "truth"]
