"""A Jinja2 template read into parts: its statements followed without values.

What does not depend on values is worked out: constants, loops over constant lists, macros, `set`, includes, imports
and inheritance. What does becomes a hole, a choice or a loop. A name that the template sets stands for what it was set
to, so that a clock that enters the prompt through three names is still found where it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import jinja2
from jinja2 import nodes

from prefixlab.dialects.jinja_changes import changes_in, result_of
from prefixlab.dialects.jinja_constants import MOST_ITEMS, constant
from prefixlab.dialects.jinja_evaluation import DEEPEST, Evaluation, Trail
from prefixlab.dialects.jinja_expressions import dotted, expression_of
from prefixlab.dialects.jinja_files import JinjaFile
from prefixlab.dialects.jinja_values import (
    UNKNOWN,
    Macro,
    Scope,
    Value,
    appended,
    bind_constant,
    bind_loop,
    either,
    entered_at_place,
    lookup_in,
    target_names,
    value_of,
    without_empty,
)
from prefixlab.prompt_templates import Choice, Expression, Hole, Loop, Part, Place, Text, walk
from prefixlab.template_files import BadTemplate

MOST_PARTS = 50_000
"""Parts that a template may become; includes in loops can make any number."""

MOST_WAYS = 16
"""Files that one include may name."""

Open = Callable[[JinjaFile, str], JinjaFile | None]
"""The file that another calls so."""


class JinjaReading:
    """Reads one template."""

    def __init__(self, environment: jinja2.Environment, open_file: Open) -> None:
        self._environment = environment
        self._open = open_file
        self._made = 0
        self._trail = Trail()
        self._evaluation = Evaluation(environment, self._trail, self._statements, self._block_called)
        self._blocks: dict[str, list[tuple[nodes.Block, JinjaFile]]] = {}
        self._super: list[tuple[str, int]] = []
        self.notes: dict[str, None] = {}

    def read(self, file: JinjaFile) -> tuple[Part, ...]:
        """The parts of a template.

        Raises:
            BadTemplate: a file that it includes is missing, or it goes on without end.
        """
        return tuple(without_empty(self._template(file, Scope(), Place(file.path, 1, 1))))

    # --- files ---

    def _template(self, file: JinjaFile, scope: Scope, called_at: Place) -> list[Part]:
        extends = next((node for node in file.tree.body if isinstance(node, nodes.Extends)), None)
        for node in file.tree.find_all(nodes.Block):
            self._blocks.setdefault(node.name, []).append((node, file))
        self._enter(file, called_at)
        try:
            if extends is None:
                return self._statements(file.tree.body, file, scope)
            # Of a child only what it sets is run; its blocks replace those of its parent.
            kept = [node for node in file.tree.body if not isinstance(node, nodes.Block | nodes.Output | nodes.Extends)]
            self._statements(kept, file, scope)
            at = file.of_statement(extends)
            parent = self._other(extends.template, file, at, scope)
            return self._template(parent, scope, at) if parent else []
        finally:
            self._trail.stack.pop()

    def _enter(self, file: JinjaFile, called_at: Place) -> None:
        if file.path in self._trail.stack:
            ring = " -> ".join([*self._trail.stack[self._trail.stack.index(file.path) :], file.path])
            raise BadTemplate.at(called_at, f"includes itself: {ring}", "Break the ring")
        if len(self._trail.stack) >= DEEPEST:
            raise BadTemplate.at(called_at, f"includes go {DEEPEST} files deep", "Make them flat")
        self._trail.stack.append(file.path)

    def _other(
        self, name: nodes.Expr, file: JinjaFile, at: Place, scope: Scope, ignore_missing: bool = False
    ) -> JinjaFile | None:
        """A file that is named, or None where its name is known at run time only, or it may be missing."""
        wanted = constant(self._environment, name, scope)
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
        raise BadTemplate.at(
            at,
            f"the template {', '.join(map(repr, names))} is not found",
            "Put it beside this one, or name its folder with --search-path",
        )

    # --- statements ---

    def _statements(self, body: Iterable[nodes.Node], file: JinjaFile, scope: Scope) -> list[Part]:
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

    def _statement(self, node: nodes.Node, file: JinjaFile, scope: Scope) -> list[Part]:
        if isinstance(node, nodes.Output):
            return self._output(node, file, scope)
        if isinstance(node, nodes.If):
            return self._if(node, file, scope)
        if isinstance(node, nodes.For):
            return self._for(node, file, scope)
        if isinstance(node, nodes.Assign):
            self._assign(node, file, scope)
        elif isinstance(node, nodes.AssignBlock):
            inside = self._in_scope(node.body, file, Scope(scope), scope)
            name = dotted(node.target)
            scope.names[name] = value_of(without_empty(inside), name)
        elif isinstance(node, nodes.Macro):
            scope.macros[node.name] = Macro(node, file, scope)
        elif isinstance(node, nodes.Include):
            return self._include(node, file, scope)
        elif isinstance(node, nodes.Import | nodes.FromImport):
            self._import(node, file, scope)
        elif isinstance(node, nodes.Block):
            return self._block(node.name, 0, scope)
        elif isinstance(node, nodes.CallBlock):
            return self._call_block(node, file, scope)
        elif isinstance(node, nodes.FilterBlock):
            return self._in_scope(node.body, file, Scope(scope), scope)
        elif isinstance(node, nodes.ExprStmt):
            self._do(node.node, file, scope)
        elif isinstance(node, nodes.With):
            inner = Scope(scope)
            at = file.of_statement(node)
            for target, value in zip(node.targets, node.values, strict=True):
                inner.names[dotted(target)] = self._evaluation.inner(value, at, file, scope)
            return self._in_scope(node.body, file, inner, scope)
        elif isinstance(node, nodes.Scope | nodes.ScopedEvalContextModifier | nodes.EvalContextModifier):
            return self._statements(getattr(node, "body", ()), file, scope)
        return []

    def _in_scope(self, body: Iterable[nodes.Node], file: JinjaFile, inner: Scope, outer: Scope) -> list[Part]:
        """Statements with names of their own."""
        parts = self._statements(body, file, inner)
        inner.hand_on(outer)
        return parts

    def _do(self, node: nodes.Node, file: JinjaFile, scope: Scope, sure: bool = True) -> nodes.Node:
        """What an expression puts into lists and mappings that the template has made; gives what is left to read."""
        followed = False
        for call, certain in list(changes_in(node, sure)):
            method = call.node
            assert isinstance(method, nodes.Getattr)
            name = dotted(method.node)
            known = scope.value(name) if name else None
            if known is None:
                continue
            followed = True
            at = Place(file.path, call.lineno, 1)
            added = [self._evaluation.inner(one, at, file, scope) for one in call.args]
            named = {pair.key: self._evaluation.inner(pair.value, at, file, scope) for pair in call.kwargs}
            if method.attr == "update":
                for one in call.args:
                    named |= self._evaluation.attributes(one, at, file, scope) if isinstance(one, nodes.Dict) else {}
            if method.attr != "append" or not certain:
                known = known._replace(items=None, constant=UNKNOWN)
            changed = appended(known, [*added, *named.values()])
            if method.attr == "update":
                changed = changed._replace(attributes={**known.attributes, **named})
            scope.change(name, changed)
        return result_of(node) if followed else node

    def _on_open_way(self, body: Iterable[nodes.Node], file: JinjaFile, scope: Scope) -> list[Part]:
        """Statements that values decide on."""
        with self._trail.on_open_way():
            return self._statements(body, file, scope)

    def _output(self, node: nodes.Output, file: JinjaFile, scope: Scope) -> list[Part]:
        parts: list[Part] = []
        for one in node.nodes:
            if isinstance(one, nodes.TemplateData):
                parts.append(Text(one.data, file.of_text(one)))
            else:
                at, source = file.of_output(one)
                parts += self._evaluation.value(self._do(one, file, scope), source, at, file, scope).parts
        return parts

    def _if(self, node: nodes.If, file: JinjaFile, scope: Scope) -> list[Part]:
        at = file.of_statement(node)
        arms: list[tuple[nodes.Node | None, Sequence[nodes.Node]]] = [(node.test, node.body)]
        arms += [(one.test, one.body) for one in node.elif_]
        arms.append((None, node.else_))
        open_arms: list[tuple[nodes.Node | None, Sequence[nodes.Node]]] = []
        for test, body in arms:
            if test is not None:
                test = self._do(test, file, scope, sure=not open_arms)
            known = UNKNOWN if test is None else constant(self._environment, test, scope)
            if known is not UNKNOWN and not known:
                continue
            open_arms.append((test, body))
            if known is not UNKNOWN:
                break
        if len(open_arms) == 1:
            return self._statements(open_arms[0][1], file, scope)
        tests = [test for test, _ in open_arms if test is not None]
        condition = expression_of(nodes.List(tests), "", lookup_in(scope))
        condition = condition._replace(
            source=file.statement_text(node) or condition.source,
            is_presence=len(tests) == 1 and isinstance(tests[0], nodes.Name | nodes.Call),
        )
        before = scope.all_names()
        rendered, changed = [], []
        for _, body in open_arms:
            inner = Scope(scope)
            rendered.append(tuple(without_empty(self._on_open_way(body, file, inner))))
            changed.append(inner.names)
            scope.macros.update(inner.macros)
            scope.changed.update([name for name in inner.changed if name not in scope.names])
        for name in {name: None for names in changed for name in names}:
            asked = Value((Hole(Expression(name, (name,)), at, at),), Expression(name, (name,)))
            values = [names.get(name) or before.get(name) or asked for names in changed]
            scope.names[name] = either(condition, at, values)
        return [Choice(condition, at, tuple(rendered))] if any(rendered) else []

    def _for(self, node: nodes.For, file: JinjaFile, scope: Scope) -> list[Part]:
        at = file.of_statement(node)
        items = constant(self._environment, node.iter, scope)
        if isinstance(items, list | tuple | range | str) and len(items) <= MOST_ITEMS and node.test is None:
            parts: list[Part] = []
            for number, item in enumerate(items):
                inner = Scope(scope)
                bind_constant(inner, node.target, item, at)
                bind_loop(inner, number, len(items))
                parts += self._in_scope(node.body, file, inner, scope)
            return parts if len(items) else self._statements(node.else_, file, Scope(scope))
        over = expression_of(node.iter, file.value_text(node), lookup_in(scope))
        inner = Scope(scope)
        for name in target_names(node.target):
            inner.names[name] = Value((), over._replace(source=name))
        inner.names["loop"] = Value((), Expression("loop"))
        body = tuple(without_empty(self._on_open_way(node.body, file, inner)))
        for name in inner.changed:
            # Once for each item.
            inner.names[name] = inner.names[name]._replace(items=None, constant=UNKNOWN)
        inner.hand_on(scope)
        found: list[Part] = [Loop(over, at, body)] if body else []
        otherwise = tuple(without_empty(self._statements(node.else_, file, Scope(scope)))) if node.else_ else ()
        return [Choice(over, at, (tuple(found), otherwise))] if otherwise else found

    def _assign(self, node: nodes.Assign, file: JinjaFile, scope: Scope) -> None:
        at = file.of_statement(node)
        given = self._do(node.node, file, scope)
        if isinstance(node.target, nodes.Tuple):
            for name in target_names(node.target):
                expression = expression_of(node.node, file.value_text(node), lookup_in(scope))
                scope.names[name] = Value((Hole(expression, at, at),), expression)
            return
        name = dotted(node.target)
        if isinstance(node.node, nodes.Call) and dotted(node.node.node) == "namespace":
            for pair in node.node.kwargs:
                scope.names[f"{name}.{pair.key}"] = self._evaluation.inner(pair.value, at, file, scope)
            scope.names[name] = Value((), Expression(name))
            return
        scope.names[name] = self._evaluation.value(given, file.value_text(node), at, file, scope)

    def _include(self, node: nodes.Include, file: JinjaFile, scope: Scope) -> list[Part]:
        at = file.of_statement(node)
        others = node.template.items[1:] if isinstance(node.template, nodes.List | nodes.Tuple) else []
        if constant(self._environment, node.template, scope) is UNKNOWN:
            first = node.template.items[0] if isinstance(node.template, nodes.List | nodes.Tuple) else node.template
            name = self._evaluation.inner(first, at, file, scope).parts
            inside = list(walk(name))
            choices = sum([isinstance(part, Choice) for part in inside])
            if all([isinstance(part, Choice | Text) for part in inside]) and 2**choices <= MOST_WAYS:
                return self._included(name, others, node, file, scope)
        return self._included_file(node.template, node, file, scope)

    def _included(
        self, name: Sequence[Part], others: list[nodes.Expr], node: nodes.Include, file: JinjaFile, scope: Scope
    ) -> list[Part]:
        """A file by a name that conditions choose; of several names the first that is there counts."""
        for number, part in enumerate(name):
            if isinstance(part, Choice):
                with self._trail.on_open_way():
                    arms = [
                        tuple(self._included([*name[:number], *arm, *name[number + 1 :]], others, node, file, scope))
                        for arm in part.arms
                    ]
                return [Choice(part.condition, file.of_statement(node), tuple(arms))]
        named = "".join([part.text for part in name if isinstance(part, Text)])
        wanted = [nodes.Const(named), *others] if named else others
        return self._included_file(nodes.List(wanted), node, file, scope) if wanted else []

    def _included_file(self, name: nodes.Expr, node: nodes.Include, file: JinjaFile, scope: Scope) -> list[Part]:
        at = file.of_statement(node)
        other = self._other(name, file, at, scope, node.ignore_missing)
        if other is None:
            return []
        blocks, self._blocks = self._blocks, {}
        try:
            parts = self._template(other, Scope(scope) if node.with_context else Scope(), at)
        finally:
            self._blocks = blocks
        return entered_at_place(parts, at)

    def _import(self, node: nodes.Import | nodes.FromImport, file: JinjaFile, scope: Scope) -> None:
        at = file.of_statement(node)
        other = self._other(node.template, file, at, scope)
        if other is None:
            return
        inside = Scope(scope if node.with_context else None)
        blocks, self._blocks = self._blocks, {}
        try:
            self._template(other, inside, at)
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

    def _block_called(self, name: str, scope: Scope) -> list[Part] | None:
        """What `super` or `self.name` renders."""
        if name != "super":
            return self._block(name[5:], 0, scope)
        if not self._super:
            return None
        block, level = self._super[-1]
        return self._block(block, level + 1, scope)

    def _block(self, name: str, level: int, scope: Scope) -> list[Part]:
        """The body of a block: `level` 0 is the one of the most derived template."""
        known = self._blocks.get(name, ())
        if level >= len(known) or len(self._super) >= DEEPEST:
            return []
        node, file = known[level]
        self._super.append((name, level))
        try:
            return self._statements(node.body, file, Scope(scope))
        finally:
            self._super.pop()

    def _call_block(self, node: nodes.CallBlock, file: JinjaFile, scope: Scope) -> list[Part]:
        at = file.of_statement(node)
        called = dotted(node.call.node)
        macro = scope.macro(called)
        if macro is None:
            # A statement of an extension, such as `generation`, renders its body.
            return self._statements(node.body, file, Scope(scope))
        inner = Scope(scope)
        inner.macros["caller"] = Macro(node, file, scope)
        return self._evaluation.macro_call(macro, node.call, at, file, inner)
