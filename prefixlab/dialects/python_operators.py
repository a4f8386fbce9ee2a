"""Operators and conditions of Python, read without being run, and what every reading of expressions has."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from prefixlab.dialects.python_branches import one_of
from prefixlab.dialects.python_facts import checked, constant, entered, facts, parts_of, placed, union
from prefixlab.dialects.python_heap import Heap
from prefixlab.dialects.python_known_calls import MOST_ITEMS
from prefixlab.dialects.python_literals import Source
from prefixlab.dialects.python_started import Started
from prefixlab.dialects.python_texts import formatted
from prefixlab.dialects.python_values import (
    MOST_CHARACTERS,
    NONE,
    Class,
    Dictionary,
    Imported,
    Instance,
    Items,
    Opaque,
    Plain,
    Spread,
    TemplateValue,
    TextValue,
    TooLarge,
    Value,
    constant_text,
    text_of,
)
from prefixlab.prompt_templates import Order, Place

TOO_FAR = "Not all of the module could be followed: it goes too deep or too far."


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

    def is_global(self, name: str) -> bool:
        """Whether the name is one of the module itself."""
        at = self
        while at._outer is not None:
            if name in at.own:
                return False
            at = at._outer
        return name in at.own


class OperatorReading:
    """Reads sums, conditions and comparisons of values. The values themselves are left to those who inherit."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.steps = 0
        self.most_steps = 0
        """The step at which reading gives up, and what is left becomes holes."""
        self.depth = 0
        self.heap = Heap()
        self._stack: list[int] = []
        """Functions that are being followed, by the `id` of their node."""
        self.started = Started()
        self.notes: dict[str, None] = {}
        self.all_of: list[str] = []
        """What `from ... import *` names, up to the star."""
        self._field: tuple[Place, str] | None = None

    # --- for those who inherit ---

    def value(self, node: ast.expr, names: Names) -> Value:
        """What an expression gives."""
        raise NotImplementedError

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

    def constant_of(self, home: str) -> Value | None:
        """A constant that another module of the project holds."""
        return None

    def piped(self, left: Value, right: TemplateValue, node: ast.AST) -> Value:
        """`{"question": ...} | prompt`."""
        return right

    # --- places ---

    def place(self, node: ast.AST) -> Place:
        """Where a node stands; inside a field of an f-string, where the field does."""
        return self._field[0] if self._field else self.source.place(node)

    def written(self, node: ast.AST) -> str:
        """How a node is written."""
        return self._field[1] if self._field else self.source.written(node)

    def entering(self, node: ast.expr, names: Names) -> Value:
        """What an expression gives; of a text that was made elsewhere the holes enter where it stands now."""
        value = self.helped(self.value(node, names))
        if not isinstance(value, TextValue) or isinstance(node, ast.Constant | ast.JoinedStr):
            return value
        if constant_text(value) is not None or len(value.parts) > MOST_ITEMS:
            return value
        within = (self.place(node), self.source.end(node))
        return TextValue(entered(value.parts, within[0], within), value.data)

    def helped(self, value: Value) -> Value:
        """A value that enters a text; of a call of another module's function what that gives."""
        return (value.later() or value) if isinstance(value, Opaque) and value.later is not None else value

    def opaque(self, node: ast.expr, names: Names, *values: Value) -> Opaque:
        """A value of which only is known what it reads."""
        if not values:
            values = tuple([self.value(one, names) for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr)])
        at, source = placed(values, self.place(node), self.written(node))
        return Opaque(union(source, map(facts, values)), at)

    # --- operators ---

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
            known = truth(left)
            if known is not None:
                left = left if known == is_or else right
            elif is_or and isinstance(left, Opaque) and (truth(right) is False or _is_short(right)):
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
        known = truth(value) if isinstance(node.op, ast.Not) else None
        return self.opaque(node, names, value) if known is None else Plain(not known)

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
            self.notes[TOO_FAR] = None
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
        order: Order | None = "set" if any(_is_set(one) for one in (left, right)) else None
        at, source = placed((left, right), at, self.written(node))
        return Opaque(union(source, [facts(left), facts(right)]), at, order)

    def _side(self, value: Value, node: ast.AST, side: str) -> tuple[Any, ...]:
        value = self.helped(value)
        if isinstance(value, TextValue):
            # Its holes enter where they did: a text that grows is not gone over again each time.
            return value.parts
        inner = getattr(node, side, None) if isinstance(node, ast.BinOp) else getattr(node, "value", None)
        inner = inner if isinstance(inner, ast.AST) else node
        return parts_of(value, self.place(inner), self.written(inner))


def truth(value: Value) -> bool | None:
    """Whether a value counts as true; None where that is not known."""
    if isinstance(value, Plain):
        return bool(value.value)
    text = constant_text(value)
    if text is not None:
        return bool(text)
    if isinstance(value, Items) and not value.items:
        return False
    return (len(value.entries) > 0) if isinstance(value, Dictionary) else None


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
