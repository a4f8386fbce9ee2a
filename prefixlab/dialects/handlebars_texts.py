"""Handlebars text read into parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from prefixlab.dialects.embedded import DEEPEST, MOST_PARTS, TextTemplate, too_deep, too_large
from prefixlab.dialects.handlebars_blocks import check_arguments, shows_keys
from prefixlab.dialects.handlebars_helpers import BUILT_IN, HANDLEBARS, OF_JSON, Helpers
from prefixlab.dialects.handlebars_nodes import BlockNode, Call, Literal, Node, Operand, PartialNode, PathTo, TextNode
from prefixlab.dialects.handlebars_nodes import ValueNode as Value
from prefixlab.dialects.handlebars_rendering import Partial, Rendering
from prefixlab.dialects.handlebars_tags import handlebars_tree
from prefixlab.dialects.source_text import SourceText, entered
from prefixlab.dialects.time_formats import is_time_format
from prefixlab.prompt_templates import Choice, Expression, Loop, Order, Part, Place, Text
from prefixlab.template_files import BadTemplate, TemplateFile


def handlebars_text(source: SourceText, file: TemplateFile, helpers: Helpers = HANDLEBARS) -> TextTemplate:
    """A text of Handlebars.

    Raises:
        BadTemplate: it is none, or a partial is not there.
    """
    reading = _Reading(helpers)
    first = Partial(handlebars_tree(source), source, file)
    parts = reading.parts(first, first.nodes, _Scope(("",)), (file.path,))

    def render(values: Mapping[str, Any]) -> str:
        return Rendering(helpers, reading.partials, file.path).text(first, values)

    return TextTemplate(tuple(parts), None if reading.own_helpers else render, tuple(reading.notes))


class _Scope(NamedTuple):
    """What the names of a place stand for."""

    contexts: tuple[str, ...]
    """The names of the contexts, the innermost last; the outermost has none."""
    aliases: Mapping[str, str] = {}
    constants: Mapping[str, str] = {}
    """Texts that a partial is called with, by their names there."""
    inline: Mapping[str, tuple[Partial, Sequence[Node]]] = {}
    """Partials that are defined in the template."""
    block: tuple[Partial, Sequence[Node]] | None = None
    """The body of the block that calls this partial."""

    def inside(self, name: str, parameters: Sequence[str]) -> _Scope:
        """In a block whose context has a name, with names for the context and its index."""
        aliases = {**self.aliases, **dict(zip(parameters, (name, "")))}
        return self._replace(contexts=(*self.contexts, name), aliases=aliases)

    def name_of(self, path: PathTo) -> str:
        """The variable that a path reads, as the caller knows it; empty for an index."""
        keys = path.keys
        if path.is_data:
            if keys[:1] == ("root",):
                return ".".join(keys[1:]) or "this"
            return "" if keys and keys[0] in ("index", "key", "first", "last") else ".".join(keys)
        if not path.up and not path.is_scoped and keys and keys[0] in self.aliases:
            return ".".join([one for one in (self.aliases[keys[0]], *keys[1:]) if one])
        context = self.contexts[-1 - path.up] if path.up < len(self.contexts) else ""
        return ".".join([one for one in (context, *keys) if one]) or "this"


class _Reading:
    def __init__(self, helpers: Helpers) -> None:
        self._helpers = helpers
        self.partials: dict[tuple[str, str], Partial] = {}
        self.notes: dict[str, None] = {}
        self.own_helpers: dict[str, None] = {}
        """Helpers that only the project knows."""
        self._made = 0

    def parts(self, piece: Partial, nodes: Sequence[Node], scope: _Scope, stack: tuple[str, ...]) -> list[Part]:
        parts: list[Part] = []
        self._made += len(nodes)
        if self._made > MOST_PARTS:
            raise too_large(piece.file.path)
        scope = self._with_inline(piece, nodes, scope)
        for node in nodes:
            if isinstance(node, TextNode):
                if node.end > node.start:
                    parts.append(piece.source.text_part(node.start, node.end))
            elif isinstance(node, Value):
                parts += self._value(piece, node, scope)
            elif isinstance(node, PartialNode):
                parts += self._partial(piece, node, scope, stack)
            elif isinstance(node, BlockNode) and not node.is_decorator:
                parts += self._block(piece, node, scope, stack)
        return parts

    @staticmethod
    def _with_inline(piece: Partial, nodes: Sequence[Node], scope: _Scope) -> _Scope:
        found = {
            str(node.call.arguments[0].value): (piece, node.body)
            for node in nodes
            if isinstance(node, BlockNode)
            and node.is_decorator
            and node.call.arguments
            and isinstance(node.call.arguments[0], Literal)
        }
        return scope._replace(inline={**scope.inline, **found}) if found else scope

    def _value(self, piece: Partial, node: Value, scope: _Scope) -> Sequence[Part]:
        at = piece.source.place(node.start)
        name = node.call.name
        if isinstance(name, Literal) and node.call.is_bare:
            text = "" if name.value is None else str(name.value)
            return (Text(text, at),) if text else ()
        if node.call.is_bare and name.source in scope.constants:
            text = scope.constants[name.source]
            return (Text(text, at),) if text else ()
        if isinstance(name, PathTo) and name.source in self._helpers.parts and name.source not in scope.aliases:
            return self._helpers.parts[name.source](node.call, at)
        return (piece.source.hole(self._expression(node.call, scope), node.start),)

    def _block(self, piece: Partial, node: BlockNode, scope: _Scope, stack: tuple[str, ...]) -> Sequence[Part]:
        at = piece.source.place(node.start)
        name = node.call.name.source
        first = node.call.arguments[0] if node.call.arguments else None
        check_arguments(node, at)
        inverse = tuple(self.parts(piece, node.inverse or (), scope, stack))
        if name in self._helpers.frames:
            return self._frame(piece, node, scope, stack)
        if name in ("each", "with") or (node.call.is_bare and name not in BUILT_IN):
            over = self._operand(first if first is not None else node.call.name, scope)
            context = over.names[0] if over.names else "this"
            body = tuple(self.parts(piece, node.body, scope.inside(context, node.parameters), stack))
            if node.is_inverted:
                body, inverse = inverse, body
            if name == "each":
                if shows_keys(node):
                    over = over._replace(orders=tuple(dict.fromkeys([*over.orders, "mapping"])))
                loop: tuple[Part, ...] = (Loop(over, at, body),) if body else ()
                return (Choice(over, at, (loop, inverse)),) if inverse else loop
            return (Choice(over, at, (body, inverse)),)
        body = tuple(self.parts(piece, node.body, scope, stack))
        if node.is_inverted:
            body, inverse = inverse, body
        condition = self._expression(node.call, scope)
        if name in ("if", "unless"):
            condition = self._operand(first, scope) if first is not None else Expression("")
            known = first.value if isinstance(first, Literal) else None
            if isinstance(first, Literal):
                return body if bool(known) is (name == "if") else inverse
        elif name not in self._helpers.conditions:
            self._note_helper(name)
        return (Choice(condition, at, (body, inverse)),)

    def _frame(self, piece: Partial, node: BlockNode, scope: _Scope, stack: tuple[str, ...]) -> Sequence[Part]:
        at = piece.source.place(node.start)
        before, after = self._helpers.frames[node.call.name.source]
        parts: list[Part] = []
        for number, text in enumerate(before.split("{")):
            key, _, rest = text.partition("}") if number else ("", "", text)
            operand = dict(node.call.named).get(key)
            if isinstance(operand, Literal):
                parts.append(Text(str(operand.value), at))
            elif operand is not None:
                parts.append(piece.source.hole(self._operand(operand, scope), node.start))
            parts.append(Text(rest, at))
        joined = "".join([part.text for part in parts if isinstance(part, Text)])
        if all([isinstance(part, Text) for part in parts]):
            parts = [Text(joined, at)]
        return (*parts, *self.parts(piece, node.body, scope, stack), Text(after, at))

    def _note_helper(self, name: str) -> None:
        self.own_helpers[name] = None

    # --- partials ---

    def _partial(self, piece: Partial, node: PartialNode, scope: _Scope, stack: tuple[str, ...]) -> Sequence[Part]:
        at = piece.source.place(node.start)
        name = node.call.name
        if isinstance(name, Call):
            self.notes[
                f"{at.path}:{at.line}: which partial is called is known at run time only, so it is not read."
            ] = None
            self._note_helper("a partial of run time")
            return ()
        called = str(name.value) if isinstance(name, Literal) else name.source
        if len(stack) >= DEEPEST:
            raise too_deep(at)
        inner = self._partial_scope(piece, node, scope)
        if called == "@partial-block":
            if scope.block is None:
                return ()
            block_piece, nodes = scope.block
            return self.parts(block_piece, nodes, inner._replace(block=None), (*stack, ""))
        if called in scope.inline:
            other, nodes = scope.inline[called]
            return entered(self.parts(other, nodes, inner, (*stack, "")), at)
        found = self._other(piece, called)
        if found is None:
            if node.body is not None:
                return self.parts(piece, node.body, scope, stack)
            raise BadTemplate.at(
                at,
                f"the partial {called!r} is not found",
                f"Put it beside this one as {self._helpers.partial_names[0].format(name=called)}, "
                "or name its folder with --search-path",
            )
        if found.file.path in stack:
            raise BadTemplate.at(at, f"the partial {called!r} includes itself", "Break the ring")
        parts = entered(self.parts(found, found.nodes, inner, (*stack, found.file.path)), at)
        return _indented(parts, node.indent, at) if node.indent else parts

    def _partial_scope(self, piece: Partial, node: PartialNode, scope: _Scope) -> _Scope:
        inner = scope
        if node.call.arguments:
            named = self._operand(node.call.arguments[0], scope).names
            inner = inner.inside(named[0] if named else "", ())
        aliases = {}
        constants = {}
        for key, operand in node.call.named:
            if isinstance(operand, Literal) and isinstance(operand.value, str):
                constants[key] = operand.value
            named = self._operand(operand, scope).names
            aliases[key] = named[0] if named else key
        if aliases:
            kept = {name: text for name, text in inner.constants.items() if name not in aliases}
            inner = inner._replace(aliases={**inner.aliases, **aliases}, constants={**kept, **constants})
        if node.body is not None:
            inner = self._with_inline(piece, node.body, inner)._replace(block=(piece, node.body))
        return inner

    def _other(self, piece: Partial, name: str) -> Partial | None:
        key = (piece.file.path, name)
        if key not in self.partials:
            for form in self._helpers.partial_names:
                found = piece.file.other(form.format(name=name))
                if found is not None:
                    source = SourceText.of_file(found)
                    self.partials[key] = Partial(handlebars_tree(source), source, found)
                    break
            else:
                return None
        return self.partials[key]

    # --- expressions ---

    def _expression(self, call: Call, scope: _Scope) -> Expression:
        return self._operand(call.name if call.is_bare else call, scope)._replace(source=call.source)

    def _operand(self, operand: Operand, scope: _Scope) -> Expression:
        if isinstance(operand, Literal):
            return Expression(operand.source, value=str(operand.value))
        if isinstance(operand, PathTo):
            name = scope.name_of(operand)
            return Expression(operand.source, (name,) if name else ())
        name = operand.name.source
        if name not in BUILT_IN and name not in self._helpers.values and name not in self._helpers.conditions:
            self._note_helper(name)
        names: dict[str, None] = {}
        calls = {name: None} if name not in BUILT_IN else {}
        formats: dict[str, None] = {}
        orders: dict[Order, None] = {"json": None} if name in OF_JSON else {}
        arguments = (*operand.arguments, *[one for _, one in operand.named])
        if name == "lookup" and len(arguments) == 2 and isinstance(arguments[1], Literal):
            # With a key that is written out it is the attribute.
            owner = self._operand(arguments[0], scope)
            key = str(arguments[1].value)
            read = [f"{one}.{key}" if one != "this" else key for one in owner.names]
            return owner._replace(source=operand.source, names=tuple(read))
        for argument in arguments:
            inner = self._operand(argument, scope)
            names.update(dict.fromkeys(inner.names))
            calls.update(dict.fromkeys(inner.calls))
            formats.update(dict.fromkeys(inner.formats))
            orders.update(dict.fromkeys(inner.orders))
            if isinstance(argument, Literal) and is_time_format(argument.value):
                formats[argument.value] = None
        return Expression(operand.source, tuple(names), tuple(calls), tuple(formats), tuple(orders))


def _indented(parts: Sequence[Part], indent: str, at: Place) -> Sequence[Part]:
    """A partial that stands alone on its line: each of its lines gets what stands before it."""

    def indent_texts(parts: Sequence[Part], *, is_last: bool) -> tuple[Part, ...]:
        made: list[Part] = []
        for number, part in enumerate(parts):
            ends = is_last and number == len(parts) - 1
            if isinstance(part, Text):
                kept = part.text[:-1] if ends and part.text.endswith("\n") else part.text
                made.append(part._replace(text=kept.replace("\n", "\n" + indent) + part.text[len(kept) :]))
            elif isinstance(part, Choice):
                arms = [indent_texts(arm, is_last=ends) for arm in part.arms]
                made.append(part._replace(arms=tuple(arms)))
            elif isinstance(part, Loop):
                made.append(part._replace(body=indent_texts(part.body, is_last=False)))
            else:
                made.append(part)
        return tuple(made)

    return (Text(indent, at), *indent_texts(parts, is_last=True)) if parts else ()
