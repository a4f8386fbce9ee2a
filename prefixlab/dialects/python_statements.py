"""Python statements read without being run: branches and loops become parts, functions and classes are followed."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from prefixlab.dialects.python_branches import looped, one_of
from prefixlab.dialects.python_expressions import ExpressionReading
from prefixlab.dialects.python_facts import facts, origin, union
from prefixlab.dialects.python_fixed_calls import named_value
from prefixlab.dialects.python_heap import Heap, call_key
from prefixlab.dialects.python_literals import Source
from prefixlab.dialects.python_operators import Names, truth
from prefixlab.dialects.python_values import (
    NONE,
    Class,
    Dictionary,
    Function,
    Imported,
    Instance,
    Items,
    Opaque,
    Plain,
    Value,
    constant_text,
)
from prefixlab.prompt_templates import Expression, Order, Place

MOST_CALLS = 25
"""Functions of the module in one another."""

MOST_STEPS_OF_HELPER = 3_000
"""Statements and expressions of a function that has nothing of a prompt in it, with what it calls."""

_RAISED = Plain("raised")


class StatementReading(ExpressionReading):
    """Reads the statements of one module."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.executed: set[int] = set()
        """Functions that were followed, by the `id` of their node."""
        self.target = ""
        """The name that is being assigned to in the module itself."""
        self._early: list[list[tuple[Expression, Place, list[Value]]]] = [[]]
        """What the functions that are being followed return in some branches, before they end."""
        self._instances = 0
        self.repeatable: set[int] = set()
        """Functions that give the same for the same, and do nothing else that counts."""
        self._given: dict[tuple[object, ...], tuple[Value, list[Value]]] = {}
        """What calls gave, with the values that they were given, by what they depend on."""
        self._too_long: set[int] = set()

    # --- statements ---

    def block(self, body: Sequence[ast.stmt], names: Names) -> Value | None:
        """Reads statements; what they return, or None where they go on."""
        for node in body:
            self.steps += 1
            if self.steps > self.most_steps:
                return None
            if isinstance(node, ast.Return):
                return NONE if node.value is None else self.value(node.value, names)
            if isinstance(node, ast.Raise):
                return _RAISED
            if isinstance(node, ast.If | ast.Match):
                ended, returned = self._branches(node, names)
            elif isinstance(node, ast.For | ast.AsyncFor | ast.While):
                ended, returned = self._loop(node, names)
            elif isinstance(node, ast.With | ast.AsyncWith):
                for item in node.items:
                    entered = self.value(item.context_expr, names)
                    if item.optional_vars is not None:
                        self.assign(item.optional_vars, entered, names)
                returned = self.block(node.body, names)
                ended = returned is not None
            elif isinstance(node, ast.Try | ast.TryStar):
                ended, returned = self._try(node, names)
            else:
                self._simple(node, names)
                continue
            if ended:
                return returned
        return None

    def _simple(self, node: ast.stmt, names: Names) -> None:
        if isinstance(node, ast.Expr):
            if not isinstance(node.value, ast.Constant):
                self.value(node.value, names)
        elif isinstance(node, ast.Assign):
            if not self._stack and isinstance(node.targets[0], ast.Name):
                self.target = node.targets[0].id
            value = self.value(node.value, names)
            for target in node.targets:
                self.assign(target, value, names)
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                if not self._stack and isinstance(node.target, ast.Name):
                    self.target = node.target.id
                self.assign(node.target, self.value(node.value, names), names)
        elif isinstance(node, ast.AugAssign):
            self.assign(node.target, self.grown(node, names), names)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names.own[node.name] = Function(node, names)
        elif isinstance(node, ast.ClassDef):
            names.own[node.name] = self._class(node, names)
        elif isinstance(node, ast.Import):
            for one in node.names:
                root = one.name.partition(".")[0]
                name = one.name if one.asname else root
                names.own[one.asname or root] = Imported(name, home=name)
        elif isinstance(node, ast.ImportFrom):
            module = f"{node.module}." if node.module else ""
            for one in node.names:
                home = "." * node.level + module + one.name
                if one.name == "*":
                    self.all_of.append(home[:-1])
                names.own[one.asname or one.name] = Imported(home.lstrip("."), home=home)

    def _branches(self, node: ast.If | ast.Match, names: Names) -> tuple[bool, Value | None]:
        """Whether the block ends with the branch, and what it then returns."""
        conditions, arms = self._arms(node, names)
        if len(arms) == 1:
            returned = self.block(arms[0], names)
            return returned is not None, returned
        condition = union(conditions[0].source, conditions)
        at = self.place(node)
        before, heap = names.own, self.heap
        results: list[Value] = []
        after: list[tuple[dict[str, Value], Heap]] = []
        for arm in arms:
            names.own, self.heap = dict(before), heap.copy()
            result = self.block(arm, names)
            if result is None:
                after.append((names.own, self.heap))
            elif result is not _RAISED:
                results.append(result)
        names.own, self.heap = before, heap
        if not after:
            said = [one for one in results if one != NONE]
            return True, one_of(condition, at, said, lambda: NONE) if said else NONE if results else _RAISED
        if results:
            self._early[-1].append((condition, at, [one for one in results if one != NONE]))
        changed = [key for own, _ in after for key, value in own.items() if before.get(key) is not value]
        for key in dict.fromkeys(changed):
            unset = Opaque(Expression(key, (key,)), at, None, True)
            values = [own.get(key) for own, _ in after]
            names.own[key] = one_of(condition, at, values, lambda unset=unset: unset)  # type: ignore[misc]
        for place in dict.fromkeys([place for _, inner in after for place, _ in inner.since(heap)]):
            self.heap.set(place, one_of(condition, at, [inner.get(place) for _, inner in after], lambda: NONE))
        return False, None

    def _arms(self, node: ast.If | ast.Match, names: Names) -> tuple[list[Expression], list[Sequence[ast.stmt]]]:
        """The arms that can be taken, and what decides."""
        if isinstance(node, ast.Match):
            subject = facts(self.value(node.subject, names))
            for case in node.cases:
                for one in ast.walk(case.pattern):
                    if isinstance(one, ast.MatchAs | ast.MatchStar) and one.name:
                        names.own[one.name] = Opaque(subject, self.place(node.subject), None, True)
            arms = [case.body for case in node.cases]
            last = node.cases[-1].pattern
            if not (isinstance(last, ast.MatchAs) and last.pattern is None):
                arms.append([])
            return [subject._replace(source=self.written(node.subject))], list(arms)
        conditions: list[Expression] = []
        found: list[Sequence[ast.stmt]] = []
        at: ast.If = node
        while True:
            test = self.value(at.test, names)
            known = truth(test)
            if known is not False:
                found.append(at.body)
            if known is True:
                return conditions, found
            if known is None:
                conditions.append(facts(test)._replace(source=self.written(at.test)))
            if len(at.orelse) == 1 and isinstance(at.orelse[0], ast.If):
                at = at.orelse[0]
                continue
            return conditions, [*found, at.orelse]

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, names: Names) -> tuple[bool, Value | None]:
        if isinstance(node, ast.While):
            test = self.value(node.test, names)
            if truth(test) is False:
                return False, None
            over = facts(test)._replace(source=self.written(node.test))
            item: Value = NONE
            written = None
        else:
            way = self.round(self.value(node.iter, names), node.iter)
            if way.items is not None:
                for one in way.items:
                    self.assign(node.target, one, names)
                    returned = self.block(node.body, names)
                    if returned is not None and returned is not _RAISED:
                        return True, returned
                return False, None
            over, item, written = way.over, way.item, way.at
        before, heap = dict(names.own), self.heap.copy()
        if not isinstance(node, ast.While):
            self.assign(node.target, item, names)
        returned = self.block(node.body, names)
        at = written or self.place(node)
        for key, value in list(names.own.items()):
            names.own[key] = looped(over, at, before.get(key), value)
        for place, value in self.heap.since(heap):
            self.heap.set(place, looped(over, at, heap.get(place), value))
        if returned is not None and returned not in (NONE, _RAISED):
            self._early[-1].append((over, at, [returned]))
        self.block(node.orelse, names)
        return False, None

    def _try(self, node: ast.Try | ast.TryStar, names: Names) -> tuple[bool, Value | None]:
        returned = self.block(node.body, names)
        # What a handler does is left out of what comes behind, but prompts in it are found.
        own, heap = names.own, self.heap
        for handler in node.handlers:
            names.own, self.heap = dict(own), heap.copy()
            fallback = self.block(handler.body, names)
            if returned is None and fallback is None:
                for key, value in names.own.items():
                    own.setdefault(key, value)
        names.own, self.heap = own, heap
        if returned is None:
            returned = self.block(node.orelse, names)
        final = self.block(node.finalbody, names)
        returned = returned if final is None else final
        return returned is not None, returned

    # --- names ---

    def assign(self, target: ast.expr, value: Value, names: Names) -> None:
        """Binds a target to a value."""
        if isinstance(target, ast.Name):
            if isinstance(value, Opaque) and not value.is_plain and target.id not in value.expression.names:
                value = named_value(value, target.id)
            names.own[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            inner = value.items if isinstance(value, Items) and len(value.items) == len(target.elts) else None
            for number, one in enumerate(target.elts):
                if inner is not None:
                    self.assign(one, inner[number], names)
                else:
                    part = Opaque(facts(value), origin(value) or self.place(one), None, _is_plain(value))
                    self.assign(one, part, names)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, value, names)
        elif isinstance(target, ast.Attribute):
            owner = self.value(target.value, names)
            if isinstance(owner, Instance):
                self.heap.set((owner.number, target.attr), value)
        elif isinstance(target, ast.Subscript):
            owner, index = self.value(target.value, names), self.value(target.slice, names)
            key = index.value if isinstance(index, Plain) else constant_text(index)
            if isinstance(owner, Dictionary):
                name = key if isinstance(key, str) else f"…{len(owner.entries)}"
                self.assign(target.value, owner.with_entry(name, value), names)
            elif isinstance(owner, Items) and isinstance(key, int) and -len(owner.items) <= key < len(owner.items):
                items = list(owner.items)
                items[key] = value
                self.assign(target.value, Items(tuple(items), owner.kind), names)

    # --- functions and classes ---

    def follow(
        self, function: Function, positional: Sequence[Value], named: Mapping[str, Value], node: ast.AST
    ) -> Value:
        """What a function of the module returns."""
        key = id(function.node)
        if key in self._stack or len(self._stack) >= MOST_CALLS:
            name = getattr(function.node, "name", "lambda")
            self.notes[f"{name} calls itself, or goes too deep, and is not followed there."] = None
            return Opaque(Expression(self.written(node), calls=(name,)), self.place(node))
        if key not in self.repeatable:
            return self._followed(function, positional, named)
        what = (self.heap.mark, *call_key(function, positional, named))
        if what in self._given:
            return self._given[what][0]
        if key in self._too_long:
            return self._not_followed(function, positional, named, node)
        notes, most = len(self.notes), self.most_steps
        self.most_steps = min(most, self.steps + MOST_STEPS_OF_HELPER)
        try:
            returned = self._followed(function, positional, named)
            is_too_long = self.most_steps < self.steps
        finally:
            self.most_steps = most
        if is_too_long:
            if self.steps <= most:
                self._too_long.add(key)
            return self._not_followed(function, positional, named, node)
        if (self.heap.mark, len(self.notes)) == (what[0], notes):
            self._given[what] = (returned, [*positional, *named.values()])
        return returned

    def _not_followed(
        self, function: Function, positional: Sequence[Value], named: Mapping[str, Value], node: ast.AST
    ) -> Value:
        name = getattr(function.node, "name", "lambda")
        read = [facts(one) for one in (*positional, *named.values())]
        return Opaque(union(self.written(node), [Expression("", calls=(name,)), *read]), self.place(node))

    def _followed(self, function: Function, positional: Sequence[Value], named: Mapping[str, Value]) -> Value:
        key = id(function.node)
        names = Names(function.outer)
        given = list(positional) if function.owner is None else [function.owner, *positional]
        self._bind(function.node.args, given, named, names, function.outer)
        self._stack.append(key)
        self._early.append([])
        self.executed.add(key)
        # Inside, expressions stand where they are written, not in the field of the caller.
        field, self._field = self._field, None
        depth, self.depth = self.depth, self.depth + 3
        try:
            if isinstance(function.node, ast.Lambda):
                return self.value(function.node.body, names)
            returned = self.block(function.node.body, names)
            returned = NONE if returned is None or returned is _RAISED else returned
            for condition, at, values in reversed(self._early[-1]):
                said = [*values, *([] if returned == NONE else [returned])]
                returned = one_of(condition, at, said, lambda: NONE) if said else NONE
        finally:
            self._early.pop()
            self._stack.pop()
            self._field, self.depth = field, depth
        return names.own.get("yield") or returned

    def _bind(
        self, wanted: ast.arguments, given: list[Value], named: Mapping[str, Value], names: Names, outer: Names
    ) -> None:
        positional = [*wanted.posonlyargs, *wanted.args]
        defaults = [None] * (len(positional) - len(wanted.defaults)) + list(wanted.defaults)
        left = dict(named)
        pairs = [*zip(positional, defaults), *zip(wanted.kwonlyargs, wanted.kw_defaults)]
        for number, (one, default) in enumerate(pairs):
            if number < len(positional) and number < len(given):
                names.own[one.arg] = given[number]
            elif one.arg in left:
                names.own[one.arg] = left.pop(one.arg)
            elif default is not None:
                names.own[one.arg] = self.value(default, outer)
            else:
                names.own[one.arg] = self.parameter(one)
        if wanted.vararg:
            names.own[wanted.vararg.arg] = Items(tuple(given[len(positional) :]), "tuple")
        if wanted.kwarg:
            names.own[wanted.kwarg.arg] = Dictionary(tuple(left.items()))

    def parameter(self, one: ast.arg) -> Opaque:
        """What somebody else hands over."""
        return Opaque(Expression(one.arg, (one.arg,)), self.source.place(one), _order_of(one.annotation), True)

    def parameters(self, wanted: ast.arguments) -> dict[str, Value]:
        """All that somebody else hands over."""
        every = [*wanted.posonlyargs, *wanted.args, *wanted.kwonlyargs]
        return {one.arg: self.parameter(one) for one in every}

    def _class(self, node: ast.ClassDef, names: Names) -> Class:
        inner = Names(names)
        target = self.target
        for one in node.body:
            self._simple(one, inner)
        self.target = target
        return Class(node, inner.own, tuple([self.value(base, names) for base in node.bases]))


def _is_plain(value: Value) -> bool:
    return isinstance(value, Opaque) and value.is_plain


def last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        node = node.func
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


_ORDERS: dict[str, Order] = {
    "set": "set",
    "frozenset": "set",
    "abstractset": "set",
    "dict": "mapping",
    "mapping": "mapping",
    "mutablemapping": "mapping",
    "defaultdict": "mapping",
}


def _order_of(annotation: ast.expr | None) -> Order | None:
    """The order in which something annotated so is gone over."""
    at = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    return _ORDERS.get(last_name(at).lower()) if at is not None else None
