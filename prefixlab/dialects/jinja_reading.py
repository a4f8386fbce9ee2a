"""A Jinja2 template read into parts: its statements followed without values.

What does not depend on values is worked out: constants, loops over constant lists, macros, `set`, includes, imports
and inheritance. What does becomes a hole, a choice or a loop. A name that the template sets stands for what it was set
to, so that a clock that enters the prompt through three names is still found where it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import jinja2
from jinja2 import nodes

from prefixlab.dialects.jinja_expressions import dotted, expression_of
from prefixlab.dialects.jinja_files import JinjaFile
from prefixlab.prompt_templates import Choice, Expression, Hole, Loop, Part, Place, Text, walk
from prefixlab.template_files import BadTemplate

MOST_PARTS = 50_000
"""Parts that a template may become; includes in loops can make any number."""

MOST_ITEMS = 200
"""Items of a constant list that is looped over one by one."""

DEEPEST = 40
"""Macros and includes in one another."""

_AS_THEY_ARE = frozenset({"safe", "trim", "string", "escape", "e", "forceescape", "indent", "wordwrap", "striptags"})
"""Filters that leave the text of their value as good as unchanged."""

_UNKNOWN: Any = object()


class Value(NamedTuple):
    """What a name of the template stands for."""

    parts: tuple[Part, ...]
    expression: Expression
    constant: Any = _UNKNOWN


class _Macro(NamedTuple):
    node: nodes.Macro | nodes.CallBlock
    file: JinjaFile
    scope: _Scope


class _Scope:
    """Names in a block of the template and in those around it."""

    def __init__(self, outer: _Scope | None = None) -> None:
        self.names: dict[str, Value] = {}
        self.macros: dict[str, _Macro] = {}
        self._outer = outer

    def value(self, name: str) -> Value | None:
        return self.names.get(name) or (self._outer.value(name) if self._outer else None)

    def macro(self, name: str) -> _Macro | None:
        return self.macros.get(name) or (self._outer.macro(name) if self._outer else None)

    def all_names(self) -> dict[str, Value]:
        return {**(self._outer.all_names() if self._outer else {}), **self.names}


Open = Callable[[JinjaFile, str], JinjaFile | None]
"""The file that another calls so."""


class JinjaReading:
    """Reads one template."""

    def __init__(self, environment: jinja2.Environment, open_file: Open) -> None:
        self._environment = environment
        self._open = open_file
        self._made = 0
        self._stack: list[str] = []
        self._open_ways = 0
        """Conditions and loops around what is read that values decide on."""
        self._calls: list[tuple[nodes.Macro | nodes.CallBlock, int]] = []
        """Macros that are being read, with the ways that were open where they were called."""
        self._blocks: dict[str, list[tuple[nodes.Block, JinjaFile]]] = {}
        self._super: list[tuple[str, int]] = []
        self.notes: dict[str, None] = {}

    def read(self, file: JinjaFile) -> tuple[Part, ...]:
        """The parts of a template.

        Raises:
            BadTemplate: a file that it includes is missing, or it goes on without end.
        """
        return tuple(_joined(self._template(file, _Scope())))

    # --- files ---

    def _template(self, file: JinjaFile, scope: _Scope) -> list[Part]:
        extends = next((node for node in file.tree.body if isinstance(node, nodes.Extends)), None)
        for node in file.tree.find_all(nodes.Block):
            self._blocks.setdefault(node.name, []).append((node, file))
        self._enter(file)
        try:
            if extends is None:
                return self._statements(file.tree.body, file, scope)
            # Of a child only what it sets is run; its blocks replace those of its parent.
            kept = [node for node in file.tree.body if not isinstance(node, nodes.Block | nodes.Output | nodes.Extends)]
            self._statements(kept, file, scope)
            parent = self._other(extends.template, file, file.of_statement(extends), scope)
            return self._template(parent, scope) if parent else []
        finally:
            self._stack.pop()

    def _enter(self, file: JinjaFile) -> None:
        if file.path in self._stack:
            ring = " -> ".join([*self._stack[self._stack.index(file.path) :], file.path])
            raise BadTemplate(f"includes itself: {ring}", "Break the ring", path=self._stack[-1])
        if len(self._stack) >= DEEPEST:
            raise BadTemplate(f"includes go {DEEPEST} files deep", "Make them flat", path=file.path)
        self._stack.append(file.path)

    def _other(
        self, name: nodes.Expr, file: JinjaFile, at: Place, scope: _Scope, ignore_missing: bool = False
    ) -> JinjaFile | None:
        """A file that is named, or None where its name is known at run time only, or it may be missing."""
        wanted = self._constant(name, scope)
        names = [wanted] if isinstance(wanted, str) else wanted
        if not isinstance(names, list | tuple) or not all(isinstance(one, str) for one in names):
            self.notes[f"{at.path}:{at.line}: which file is included is known at run time only, so it is not read."] = (
                None
            )
            return None
        for one in names:
            found = self._open(file, one)
            if found is not None:
                return found
        if ignore_missing:
            return None
        raise BadTemplate(
            f"the template {', '.join(map(repr, names))} is not found",
            "Put it beside this one, or name its folder with --search-path",
            path=at.path,
            line=at.line,
        )

    # --- statements ---

    def _statements(self, body: Iterable[nodes.Node], file: JinjaFile, scope: _Scope) -> list[Part]:
        parts: list[Part] = []
        for node in body:
            made = self._statement(node, file, scope)
            # What renders nothing takes its time as well.
            self._made += max(len(made), 1)
            if self._made > MOST_PARTS:
                raise BadTemplate(
                    "becomes too large when its loops and includes are followed", "Split it", path=file.path
                )
            parts += made
        return parts

    def _statement(self, node: nodes.Node, file: JinjaFile, scope: _Scope) -> list[Part]:
        if isinstance(node, nodes.Output):
            return self._output(node, file, scope)
        if isinstance(node, nodes.If):
            return self._if(node, file, scope)
        if isinstance(node, nodes.For):
            return self._for(node, file, scope)
        if isinstance(node, nodes.Assign):
            self._assign(node, file, scope)
        elif isinstance(node, nodes.AssignBlock):
            inside = self._statements(node.body, file, _Scope(scope))
            name = dotted(node.target)
            scope.names[name] = _value_of(_joined(inside), name)
        elif isinstance(node, nodes.Macro):
            scope.macros[node.name] = _Macro(node, file, scope)
        elif isinstance(node, nodes.Include):
            return self._include(node, file, scope)
        elif isinstance(node, nodes.Import | nodes.FromImport):
            self._import(node, file, scope)
        elif isinstance(node, nodes.Block):
            return self._block(node.name, 0, scope)
        elif isinstance(node, nodes.CallBlock):
            return self._call_block(node, file, scope)
        elif isinstance(node, nodes.FilterBlock):
            return self._statements(node.body, file, _Scope(scope))
        elif isinstance(node, nodes.With):
            inner = _Scope(scope)
            at = file.of_statement(node)
            for target, value in zip(node.targets, node.values, strict=True):
                inner.names[dotted(target)] = self._value(value, "", at, file, scope)
            return self._statements(node.body, file, inner)
        elif isinstance(node, nodes.Scope | nodes.ScopedEvalContextModifier | nodes.EvalContextModifier):
            return self._statements(getattr(node, "body", ()), file, scope)
        return []

    def _on_open_way(self, body: Iterable[nodes.Node], file: JinjaFile, scope: _Scope) -> list[Part]:
        """Statements that values decide on."""
        self._open_ways += 1
        try:
            return self._statements(body, file, scope)
        finally:
            self._open_ways -= 1

    def _output(self, node: nodes.Output, file: JinjaFile, scope: _Scope) -> list[Part]:
        parts: list[Part] = []
        for one in node.nodes:
            if isinstance(one, nodes.TemplateData):
                parts.append(Text(one.data, file.of_text(one)))
            else:
                at, source = file.of_output(one)
                parts += self._value(one, source, at, file, scope).parts
        return parts

    def _if(self, node: nodes.If, file: JinjaFile, scope: _Scope) -> list[Part]:
        at = file.of_statement(node)
        arms: list[tuple[nodes.Node | None, Sequence[nodes.Node]]] = [(node.test, node.body)]
        arms += [(one.test, one.body) for one in node.elif_]
        arms.append((None, node.else_))
        open_arms: list[tuple[nodes.Node | None, Sequence[nodes.Node]]] = []
        for test, body in arms:
            known = _UNKNOWN if test is None else self._constant(test, scope)
            if known is not _UNKNOWN and not known:
                continue
            open_arms.append((test, body))
            if known is not _UNKNOWN:
                break
        if len(open_arms) == 1:
            return self._statements(open_arms[0][1], file, scope)
        tests = [test for test, _ in open_arms if test is not None]
        condition = expression_of(nodes.List(tests), "", self._lookup(scope))
        condition = condition._replace(source=file.statement_text(node) or condition.source)
        before = scope.all_names()
        rendered, changed = [], []
        for _, body in open_arms:
            inner = _Scope(scope)
            rendered.append(tuple(_joined(self._on_open_way(body, file, inner))))
            changed.append(inner.names)
            scope.macros.update(inner.macros)
        for name in {name: None for names in changed for name in names}:
            asked = Value((Hole(Expression(name, (name,)), at, at),), Expression(name, (name,)))
            values = [names.get(name) or before.get(name) or asked for names in changed]
            scope.names[name] = _either(condition, at, values)
        return [Choice(condition, at, tuple(rendered))] if any(rendered) else []

    def _for(self, node: nodes.For, file: JinjaFile, scope: _Scope) -> list[Part]:
        at = file.of_statement(node)
        items = self._constant(node.iter, scope)
        if isinstance(items, list | tuple | range | str) and len(items) <= MOST_ITEMS and node.test is None:
            parts: list[Part] = []
            for number, item in enumerate(items):
                inner = _Scope(scope)
                _bind_constant(inner, node.target, item, at)
                _bind_loop(inner, number, len(items))
                parts += self._statements(node.body, file, inner)
            return parts if len(items) else self._statements(node.else_, file, _Scope(scope))
        over = expression_of(node.iter, "", self._lookup(scope))
        inner = _Scope(scope)
        for name in _target_names(node.target):
            inner.names[name] = Value((), over._replace(source=name))
        inner.names["loop"] = Value((), Expression("loop"))
        body = tuple(_joined(self._on_open_way(node.body, file, inner)))
        for name, value in inner.names.items():
            if "." in name:
                # `namespace` is how a loop hands a value on.
                scope.names[name] = value
        found: list[Part] = [Loop(over, at, body)] if body else []
        otherwise = tuple(_joined(self._statements(node.else_, file, _Scope(scope)))) if node.else_ else ()
        return [Choice(over, at, (tuple(found), otherwise))] if otherwise else found

    def _assign(self, node: nodes.Assign, file: JinjaFile, scope: _Scope) -> None:
        at = file.of_statement(node)
        if isinstance(node.target, nodes.Tuple):
            for name in _target_names(node.target):
                expression = expression_of(node.node, "", self._lookup(scope))
                scope.names[name] = Value((Hole(expression, at, at),), expression)
            return
        name = dotted(node.target)
        if isinstance(node.node, nodes.Call) and dotted(node.node.node) == "namespace":
            for pair in node.node.kwargs:
                scope.names[f"{name}.{pair.key}"] = self._value(pair.value, "", at, file, scope)
            scope.names[name] = Value((), Expression(name))
            return
        scope.names[name] = self._value(node.node, "", at, file, scope)

    def _include(self, node: nodes.Include, file: JinjaFile, scope: _Scope) -> list[Part]:
        at = file.of_statement(node)
        other = self._other(node.template, file, at, scope, node.ignore_missing)
        if other is None:
            return []
        blocks, self._blocks = self._blocks, {}
        try:
            parts = self._template(other, _Scope(scope) if node.with_context else _Scope())
        finally:
            self._blocks = blocks
        return _entered(parts, at)

    def _import(self, node: nodes.Import | nodes.FromImport, file: JinjaFile, scope: _Scope) -> None:
        at = file.of_statement(node)
        other = self._other(node.template, file, at, scope)
        if other is None:
            return
        inside = _Scope(scope if node.with_context else None)
        blocks, self._blocks = self._blocks, {}
        try:
            self._template(other, inside)
        finally:
            self._blocks = blocks
        if isinstance(node, nodes.Import):
            for name, macro in inside.macros.items():
                scope.macros[f"{node.target}.{name}"] = macro
            for name, value in inside.names.items():
                scope.names[f"{node.target}.{name}"] = value
            return
        for wanted in node.names:
            name, called = (wanted, wanted) if isinstance(wanted, str) else wanted
            if name in inside.macros:
                scope.macros[called] = inside.macros[name]
            elif name in inside.names:
                scope.names[called] = inside.names[name]

    def _block(self, name: str, level: int, scope: _Scope) -> list[Part]:
        """The body of a block: `level` 0 is the one of the most derived template."""
        known = self._blocks.get(name, ())
        if level >= len(known) or len(self._super) >= DEEPEST:
            return []
        node, file = known[level]
        self._super.append((name, level))
        try:
            return self._statements(node.body, file, _Scope(scope))
        finally:
            self._super.pop()

    def _call_block(self, node: nodes.CallBlock, file: JinjaFile, scope: _Scope) -> list[Part]:
        at = file.of_statement(node)
        called = dotted(node.call.node)
        macro = scope.macro(called)
        if macro is None:
            # A statement of an extension, such as `generation`, renders its body.
            return self._statements(node.body, file, _Scope(scope))
        inner = _Scope(scope)
        inner.macros["caller"] = _Macro(node, file, scope)
        return self._macro_call(macro, node.call, at, file, inner)

    # --- expressions ---

    def _value(self, node: nodes.Node, source: str, at: Place, file: JinjaFile, scope: _Scope) -> Value:
        """What an expression gives. `at` is where it is written."""
        constant = self._constant(node, scope)
        if constant is not _UNKNOWN:
            text = _as_text(constant)
            return Value((Text(text, at),) if text else (), Expression(source or repr(constant), value=text), constant)
        name = dotted(node)
        if name:
            known = scope.value(name)
            if known is not None and known.parts:
                return known._replace(parts=tuple(_entered(known.parts, at)))
            if name.startswith("self."):
                return _value_of(self._block(name[5:], 0, scope), name)
        parts: Sequence[Part] | None = None
        if isinstance(node, nodes.Concat) or (isinstance(node, nodes.Add) and self._is_text(node, scope)):
            operands = node.nodes if isinstance(node, nodes.Concat) else [node.left, node.right]
            parts = [part for one in operands for part in self._value(one, "", at, file, scope).parts]
        elif isinstance(node, nodes.CondExpr):
            condition = expression_of(node.test, "", self._lookup(scope))
            self._open_ways += 1
            try:
                arms = [self._value(one, "", at, file, scope).parts if one else () for one in (node.expr1, node.expr2)]
            finally:
                self._open_ways -= 1
            parts = [Choice(condition, at, tuple(arms))]
        elif isinstance(node, nodes.Call):
            parts = self._called(node, at, file, scope)
        elif isinstance(node, nodes.Filter) and node.name in _AS_THEY_ARE and node.node is not None:
            parts = self._value(node.node, source, at, file, scope).parts
        if parts is not None:
            joined = tuple(_joined(parts))
            return Value(joined, expression_of(node, source, self._lookup(scope)))
        expression = expression_of(node, source, self._lookup(scope))
        return Value((Hole(expression, self._written_at(node, at, scope), at),), expression)

    def _written_at(self, node: nodes.Node, at: Place, scope: _Scope) -> Place:
        """Where the changing part of an expression is written: where a name was set that it reads."""
        for inner in node.find_all(nodes.Name):
            known = scope.value(inner.name)
            if known is not None:
                hole = next((part for part in walk(known.parts) if isinstance(part, Hole)), None)
                if hole is not None:
                    return hole.at
        return at

    def _called(self, node: nodes.Call, at: Place, file: JinjaFile, scope: _Scope) -> Sequence[Part] | None:
        name = dotted(node.node)
        if name == "super" and self._super:
            block, level = self._super[-1]
            return self._block(block, level + 1, scope)
        if name.startswith("self."):
            return self._block(name[5:], 0, scope)
        macro = scope.macro(name) if name else None
        if macro is None or any(one is macro.node and self._open_ways > ways for one, ways in self._calls):
            # A macro that goes into itself, as deep as the values are: what it gives there is a value.
            return None
        return self._macro_call(macro, node, at, file, scope)

    def _macro_call(self, macro: _Macro, call: nodes.Call, at: Place, file: JinjaFile, scope: _Scope) -> list[Part]:
        if len(self._stack) >= DEEPEST:
            raise BadTemplate("a macro calls itself without end", "Correct it", path=macro.file.path, line=at.line)
        inner = _Scope(macro.scope)
        inner.macros.update({name: one for name, one in scope.macros.items() if name == "caller"})
        given = [self._value(one, "", at, file, scope) for one in call.args]
        named = {pair.key: self._value(pair.value, "", at, file, scope) for pair in call.kwargs}
        defaults = list(macro.node.defaults)
        names = [argument.name for argument in macro.node.args]
        for number, name in enumerate(names):
            default = number - (len(names) - len(defaults))
            if number < len(given):
                inner.names[name] = given[number]
            elif name in named:
                inner.names[name] = named[name]
            elif default >= 0:
                inner.names[name] = self._value(defaults[default], "", at, macro.file, macro.scope)
        self._stack.append(f"{macro.file.path}:{macro.node.lineno}")
        self._calls.append((macro.node, self._open_ways))
        try:
            return _entered(self._statements(macro.node.body, macro.file, inner), at)
        finally:
            self._calls.pop()
            self._stack.pop()

    def _is_text(self, node: nodes.Node, scope: _Scope) -> bool:
        """Whether a sum is one of texts."""
        if isinstance(node, nodes.Add):
            return self._is_text(node.left, scope) or self._is_text(node.right, scope)
        if isinstance(node, nodes.Concat):
            return True
        if isinstance(node, nodes.Filter):
            return node.name in (*_AS_THEY_ARE, "join", "upper", "lower", "tojson", "title", "replace")
        return isinstance(self._constant(node, scope), str)

    def _constant(self, node: nodes.Node, scope: _Scope) -> Any:
        """The value of an expression that needs none of the caller's, else `_UNKNOWN`."""
        if isinstance(node, nodes.Const):
            return node.value
        if any(_reads_other(one, scope) for one in _names_in(node)):
            return _UNKNOWN
        name = dotted(node)
        if name:
            known = scope.value(name)
            return _UNKNOWN if known is None else known.constant
        if isinstance(node, nodes.Test) and node.name in ("defined", "undefined"):
            return _UNKNOWN
        if isinstance(node, nodes.Call):
            if dotted(node.node) == "range" and not node.kwargs:
                limits = [self._constant(one, scope) for one in node.args]
                if limits and all(isinstance(one, int) and abs(one) <= MOST_ITEMS for one in limits):
                    return range(*limits[:3])
            return _UNKNOWN
        if isinstance(node, nodes.Filter) and node.name in ("random", "pprint", "shuffle"):
            return _UNKNOWN
        try:
            return _with_constants(node, scope).as_const(nodes.EvalContext(self._environment))
        except Exception:  # whatever cannot be worked out now is a value of run time
            return _UNKNOWN

    @staticmethod
    def _lookup(scope: _Scope) -> Callable[[str], Expression | None]:
        def lookup(name: str) -> Expression | None:
            known = scope.value(name)
            return None if known is None else known.expression

        return lookup


def _names_in(node: nodes.Node) -> list[nodes.Node]:
    found = [node] if isinstance(node, nodes.Name | nodes.Call) else []
    return [*found, *node.find_all((nodes.Name, nodes.Call))]


def _reads_other(node: nodes.Node, scope: _Scope) -> bool:
    """Whether a name is the caller's, or a call is not one that is known."""
    if isinstance(node, nodes.Call):
        return dotted(node.node) != "range"
    if not isinstance(node, nodes.Name) or node.name == "range":
        return False
    known = scope.value(node.name)
    return known is None or (known.constant is _UNKNOWN and node.name != "loop")


def _with_constants(node: Any, scope: _Scope) -> Any:
    """The expression with names that are constant replaced by their values."""
    if isinstance(node, nodes.Name):
        known = scope.value(node.name)
        if known is not None and known.constant is not _UNKNOWN:
            return nodes.Const(known.constant, lineno=node.lineno, environment=node.environment)
        return node
    name = dotted(node)
    known = scope.value(name) if name else None
    if known is not None and known.constant is not _UNKNOWN:
        return nodes.Const(known.constant, lineno=node.lineno, environment=node.environment)
    made = type(node)(*[_copied(getattr(node, field), scope) for field in node.fields])
    return made.set_environment(node.environment) if node.environment else made


def _copied(field: Any, scope: _Scope) -> Any:
    if isinstance(field, nodes.Expr):
        return _with_constants(field, scope)
    if isinstance(field, list):
        return [_copied(one, scope) for one in field]
    if isinstance(field, nodes.Node):
        return type(field)(*[_copied(getattr(field, name), scope) for name in field.fields])
    return field


def _as_text(constant: Any) -> str:
    return "" if isinstance(constant, jinja2.Undefined) else str(constant)


def _bind_constant(scope: _Scope, target: nodes.Node, item: Any, at: Place) -> None:
    if isinstance(target, nodes.Tuple) and isinstance(item, list | tuple):
        for inner, value in zip(target.items, item, strict=False):
            _bind_constant(scope, inner, value, at)
        return
    text = _as_text(item)
    name = dotted(target)
    scope.names[name] = Value((Text(text, at),) if text else (), Expression(name, value=text), item)


def _bind_loop(scope: _Scope, number: int, count: int) -> None:
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


def _target_names(target: nodes.Node) -> list[str]:
    if isinstance(target, nodes.Tuple):
        return [name for item in target.items for name in _target_names(item)]
    return [dotted(target)]


def _value_of(parts: Sequence[Part], name: str) -> Value:
    """A value of rendered parts."""
    holes = [part.expression for part in walk(parts) if isinstance(part, Hole)]
    if not holes:
        text = "".join([part.text for part in parts if isinstance(part, Text)])
        if all(isinstance(part, Text) for part in parts):
            return Value(tuple(parts), Expression(name, value=text), text)
    return Value(tuple(parts), _union(name, holes))


def _union(source: str, expressions: Iterable[Expression]) -> Expression:
    expressions = list(expressions)

    def all_of(field: str) -> tuple[Any, ...]:
        return tuple(dict.fromkeys([one for expression in expressions for one in getattr(expression, field)]))

    return Expression(source, all_of("names"), all_of("calls"), all_of("formats"), all_of("orders"))


def _either(condition: Expression, at: Place, values: Sequence[Value]) -> Value:
    """One of several values."""
    if all([value.constant is not _UNKNOWN and value.constant == values[0].constant for value in values]):
        return values[0]
    arms = tuple([value.parts for value in values])
    expression = _union(values[0].expression.source, [value.expression for value in values])
    return Value((Choice(condition, at, arms),), expression)


def _entered(parts: Iterable[Part], at: Place) -> list[Part]:
    """The parts as they enter the prompt at another place than the one where they are written."""
    entered: list[Part] = []
    for part in parts:
        if isinstance(part, Hole):
            entered.append(part._replace(entered_at=at))
        elif isinstance(part, Choice):
            entered.append(part._replace(arms=tuple([tuple(_entered(arm, at)) for arm in part.arms])))
        elif isinstance(part, Loop):
            entered.append(part._replace(body=tuple(_entered(part.body, at))))
        else:
            entered.append(part)
    return entered


def _joined(parts: Iterable[Part]) -> list[Part]:
    """The parts without empty texts. Texts that follow one another stay apart: each has a place of its own."""
    return [part for part in parts if not isinstance(part, Text) or part.text]
