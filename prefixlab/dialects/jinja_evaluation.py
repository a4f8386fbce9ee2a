"""What an expression of Jinja2 gives, without the caller's values: parts, with the place of each value in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import jinja2
from jinja2 import nodes

from prefixlab.dialects.format_fields import Field, NoFormat, brace_fields, percent_fields
from prefixlab.dialects.jinja_constants import constant, is_text
from prefixlab.dialects.jinja_expressions import dotted, expression_of
from prefixlab.dialects.jinja_files import JinjaFile
from prefixlab.dialects.jinja_values import (
    UNKNOWN,
    Macro,
    Scope,
    Value,
    as_text,
    entered_at_place,
    list_of,
    lookup_in,
    text_length,
    value_of,
    with_format,
    without_empty,
)
from prefixlab.prompt_templates import Choice, Expression, Hole, Part, Place, Text, walk
from prefixlab.template_files import BadTemplate

MOST_OF_ONE = 2_000
"""Parts of one expression; names that stand for sums of one another can make any number."""

MOST_TEXT_OF_ONE = 1_000_000
"""Characters of them."""

DEEPEST = 40
"""Macros and includes in one another."""

_AS_THEY_ARE = frozenset({"safe", "trim", "string", "escape", "e", "forceescape", "indent", "wordwrap", "striptags"})
"""Filters that leave the text of their value as good as unchanged."""


class Trail:
    """How the reading came to where it is."""

    def __init__(self) -> None:
        self.stack: list[str] = []
        """Files and macros that are being read."""
        self.open_ways = 0
        """Conditions and loops around what is read that values decide on."""
        self.calls: list[tuple[nodes.Macro | nodes.CallBlock, int]] = []
        """Macros among them, with the ways that were open where they were called."""

    @contextmanager
    def on_open_way(self) -> Iterator[None]:
        """Around what values decide on."""
        self.open_ways += 1
        try:
            yield
        finally:
            self.open_ways -= 1


class Evaluation:
    """Gives the values of expressions."""

    def __init__(
        self,
        environment: jinja2.Environment,
        trail: Trail,
        statements: Callable[[Iterable[nodes.Node], JinjaFile, Scope], list[Part]],
        block: Callable[[str, Scope], list[Part] | None],
    ) -> None:
        """`block` gives what `self.name`, or `super`, renders; None where it is no block."""
        self._environment = environment
        self._trail = trail
        self._statements = statements
        self._block = block

    def inner(self, node: nodes.Node, at: Place, file: JinjaFile, scope: Scope) -> Value:
        """What a part of a statement or of an expression gives; `at` is where that stands."""
        written = file.expression(node)
        return self.value(node, "", at, file, scope) if written is None else self.value(node, written[1], written[0],
                                                                                        file, scope)  # fmt: skip

    def value(self, node: nodes.Node, source: str, at: Place, file: JinjaFile, scope: Scope) -> Value:
        """What an expression gives. `at` is where it is written."""
        fixed = constant(self._environment, node, scope)
        if fixed is not UNKNOWN:
            text = as_text(fixed)
            return Value((Text(text, at),) if text else (), Expression(source or repr(fixed), value=text), fixed)
        name = dotted(node)
        known = scope.value(name) if name else self._item(node, at, file, scope)
        if known is not None and (known.parts or known.items):
            return known._replace(parts=tuple(entered_at_place(known.parts, at)))
        if name.startswith("self.") and (block := self._block(name, scope)) is not None:
            return value_of(block, name)
        expression = expression_of(node, source, lookup_in(scope))
        if isinstance(node, nodes.List | nodes.Tuple) and isinstance(getattr(node, "ctx", "load"), str):
            made = list_of([self.inner(one, at, file, scope) for one in node.items], expression)
            return made._replace(parts=(self._written(Hole(expression, at, at), node, scope),))
        if isinstance(node, nodes.Dict):
            attributes = self.attributes(node, at, file, scope)
            if attributes:
                return Value((self._written(Hole(expression, at, at), node, scope),), expression, attributes=attributes)
        parts = self._parts(node, source, at, file, scope)
        if parts is not None and len(parts) <= MOST_OF_ONE and text_length(parts) <= MOST_TEXT_OF_ONE:
            return Value(tuple(without_empty(parts)), expression)
        return Value((self._written(Hole(expression, at, at), node, scope),), expression)

    def attributes(self, node: nodes.Dict, at: Place, file: JinjaFile, scope: Scope) -> dict[str, Value]:
        """The values of a mapping by its keys; none where a key is no constant text."""
        keys = [constant(self._environment, pair.key, scope) for pair in node.items]
        if not all(isinstance(key, str) for key in keys):
            return {}
        return {key: self.inner(pair.value, at, file, scope) for key, pair in zip(keys, node.items, strict=True)}

    def _item(self, node: nodes.Node, at: Place, file: JinjaFile, scope: Scope) -> Value | None:
        """One of a list or a mapping whose own items are known."""
        if isinstance(node, nodes.Getitem):
            key = constant(self._environment, node.arg, scope)
        elif isinstance(node, nodes.Getattr):
            key = node.attr
        elif isinstance(node, nodes.Filter) and node.name in ("first", "last") and node.node is not None:
            key = 0 if node.name == "first" else -1
        else:
            return None
        if type(key) not in (int, str) or node.node is None:
            return None
        items, attributes = self._inside(node.node, at, file, scope)
        if isinstance(key, str):
            return attributes.get(key)
        return items[key] if items is not None and -len(items) <= key < len(items) else None

    def _inside(
        self, node: nodes.Expr, at: Place, file: JinjaFile, scope: Scope
    ) -> tuple[Sequence[Value] | None, Mapping[str, Value]]:
        """The items or the attributes of an expression, where they are known."""
        name = dotted(node)
        if name:
            known = scope.value(name)
            return (None, {}) if known is None else (known.items, known.attributes)
        if isinstance(node, nodes.List | nodes.Tuple):
            return [self.inner(one, at, file, scope) for one in node.items], {}
        return None, self.attributes(node, at, file, scope) if isinstance(node, nodes.Dict) else {}

    def _parts(self, node: nodes.Node, source: str, at: Place, file: JinjaFile, scope: Scope) -> Sequence[Part] | None:
        """The parts of an expression that puts texts together; None of any other."""
        if isinstance(node, nodes.Concat) or (
            isinstance(node, nodes.Add) and is_text(self._environment, node, scope, _AS_THEY_ARE)
        ):
            operands = node.nodes if isinstance(node, nodes.Concat) else [node.left, node.right]
            return [part for one in operands for part in self.inner(one, at, file, scope).parts]
        if isinstance(node, nodes.CondExpr):
            condition = expression_of(node.test, "", lookup_in(scope))
            with self._trail.on_open_way():
                arms = [self.inner(one, at, file, scope).parts if one else () for one in (node.expr1, node.expr2)]
            return [Choice(condition, at, tuple(arms))]
        if isinstance(node, nodes.Call):
            formatted = self._formatted(node, at, file, scope)
            return formatted if formatted is not None else self._called(node, at, file, scope)
        if isinstance(node, nodes.Filter) and node.node is not None:
            if node.name in _AS_THEY_ARE:
                # The text of what is filtered, if it has a place of its own.
                return self.value(node.node, source, at, file, scope).parts
            if node.name == "join":
                return self._joined(node, at, file, scope)
            if node.name == "format":
                text = constant(self._environment, node.node, scope)
                return self._filled(percent_fields, text, node.args, (), at, file, scope)
        return None

    def _joined(self, node: nodes.Filter, at: Place, file: JinjaFile, scope: Scope) -> Sequence[Part] | None:
        """The items of a list that is known, with what stands between them."""
        assert node.node is not None
        items, _ = self._inside(node.node, at, file, scope)
        between = constant(self._environment, node.args[0], scope) if node.args else ""
        if items is None or not isinstance(between, str) or len(node.args) > 1 or node.kwargs:
            return None
        parts: list[Part] = []
        for number, item in enumerate(items):
            parts += [Text(between, at)] if number and between else []
            parts += item.parts
        return parts

    def _formatted(self, node: nodes.Call, at: Place, file: JinjaFile, scope: Scope) -> Sequence[Part] | None:
        """`"... {}".format(...)`."""
        if not isinstance(node.node, nodes.Getattr) or node.node.attr != "format":
            return None
        text = constant(self._environment, node.node.node, scope)
        if not isinstance(text, str) or node.dyn_args or node.dyn_kwargs:
            return None
        return self._filled(brace_fields, text, node.args, node.kwargs, at, file, scope)

    def _filled(
        self,
        fields: Callable[[str], Sequence[Field]],
        text: object,
        args: Sequence[nodes.Expr],
        kwargs: Sequence[nodes.Keyword],
        at: Place,
        file: JinjaFile,
        scope: Scope,
    ) -> Sequence[Part] | None:
        """A format string with its values in it; None where it asks for others."""
        if not isinstance(text, str):
            return None
        named = {pair.key: pair.value for pair in kwargs}
        positional = iter(args)
        parts: list[Part] = []
        try:
            for field in fields(text):
                if field.name is None:
                    parts.append(Text(field.text, at))
                    continue
                if not field.name:
                    node = next(positional)
                else:
                    node = args[int(field.name)] if field.name.isdigit() else named[field.name]
                found = self.inner(node, at, file, scope)
                if field.spec and found.constant is not UNKNOWN:
                    return None
                parts += with_format(found.parts, field.spec)
        except (NoFormat, StopIteration, IndexError, KeyError):
            return None
        return parts

    def _written(self, hole: Hole, node: nodes.Node, scope: Scope) -> Hole:
        """A hole as it is written: where a name was set that its expression reads, and as what."""
        for inner in node.find_all(nodes.Name):
            known = scope.value(inner.name)
            if known is not None:
                first = next((part for part in walk(known.parts) if isinstance(part, Hole)), None)
                if first is not None:
                    return hole._replace(
                        expression=hole.expression._replace(source=first.expression.source), at=first.at
                    )
        return hole

    # --- calls ---

    def _called(self, node: nodes.Call, at: Place, file: JinjaFile, scope: Scope) -> Sequence[Part] | None:
        name = dotted(node.node)
        if (name == "super" or name.startswith("self.")) and (block := self._block(name, scope)) is not None:
            return block
        macro = scope.macro(name) if name else None
        trail = self._trail
        if macro is None or any(one is macro.node and trail.open_ways > ways for one, ways in trail.calls):
            # A macro that goes into itself, as deep as the values are: what it gives there is a value.
            return None
        return self.macro_call(macro, node, at, file, scope)

    def macro_call(self, macro: Macro, call: nodes.Call, at: Place, file: JinjaFile, scope: Scope) -> list[Part]:
        """What a macro renders.

        Raises:
            BadTemplate: it calls itself without end, or macros go too deep.
        """
        trail = self._trail
        if len(trail.stack) >= DEEPEST:
            if any(one is macro.node for one, _ in trail.calls):
                raise BadTemplate.at(at, "a macro calls itself without end", "Correct it")
            raise BadTemplate.at(at, f"macros call one another more than {DEEPEST} deep", "Make them flat")
        inner = Scope(macro.scope)
        inner.macros.update({name: one for name, one in scope.macros.items() if name == "caller"})
        given = [self.inner(one, at, file, scope) for one in call.args]
        named = {pair.key: self.inner(pair.value, at, file, scope) for pair in call.kwargs}
        defaults = list(macro.node.defaults)
        names = [argument.name for argument in macro.node.args]
        for number, name in enumerate(names):
            default = number - (len(names) - len(defaults))
            if number < len(given):
                inner.names[name] = given[number]
            elif name in named:
                inner.names[name] = named[name]
            elif default >= 0:
                inner.names[name] = self.inner(defaults[default], at, macro.file, macro.scope)
        inner.names["varargs"] = list_of(given[len(names) :], Expression("varargs"))
        inner.set_mapping("kwargs", {key: one for key, one in named.items() if key not in names}, Expression("kwargs"))
        trail.stack.append(f"{macro.file.path}:{macro.node.lineno}")
        trail.calls.append((macro.node, trail.open_ways))
        try:
            parts = entered_at_place(self._statements(macro.node.body, macro.file, inner), at)
        finally:
            trail.calls.pop()
            trail.stack.pop()
        inner.hand_on(macro.scope)
        return parts
