"""Handlebars rendered with values, as Handlebars 4.7 does in JavaScript."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from prefixlab.dialects.handlebars_helpers import BUILT_IN, Helpers
from prefixlab.dialects.handlebars_nodes import (
    BlockNode,
    Call,
    CommentNode,
    Literal,
    Node,
    Operand,
    PartialNode,
    PathTo,
    TextNode,
    ValueNode,
)
from prefixlab.dialects.source_text import SourceText
from prefixlab.errors import PrefixlabError
from prefixlab.template_files import TemplateFile

_MOST_CHARACTERS = 20_000_000
_DEEPEST_PARTIALS = 60

_ESCAPES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;", "`": "&#x60;", "=": "&#x3D;"}
)


class Partial(NamedTuple):
    """A template's nodes, and where they are from."""

    nodes: list[Node]
    source: SourceText
    file: TemplateFile


class _Frame(NamedTuple):
    """The contexts of a place, the innermost last, and the other names that are known there."""

    contexts: tuple[Any, ...]
    data: Mapping[str, Any]
    aliases: Mapping[str, Any] = {}
    inline: Mapping[str, tuple[Partial, Sequence[Node]]] = {}
    block: tuple[Partial, Sequence[Node], _Frame] | None = None
    depth: int = 0

    def inside(self, context: Any, data: Mapping[str, Any], aliases: Mapping[str, Any]) -> _Frame:
        contexts = self.contexts if context is self.contexts[-1] else (*self.contexts, context)
        return self._replace(
            contexts=contexts,
            data={**self.data, **data},
            aliases={**self.aliases, **aliases} if aliases else self.aliases,
        )


class Rendering:
    """Renders one template once."""

    def __init__(self, helpers: Helpers, partials: Mapping[tuple[str, str], Partial], path: str) -> None:
        self._helpers = helpers
        self._partials = partials
        self._path = path
        self._made = 0

    def text(self, piece: Partial, values: Any) -> str:
        """The text for values.

        Raises:
            PrefixlabError: it is too large, or a helper gets what it cannot take.
        """
        return self._nodes(piece, piece.nodes, _Frame((values,), {"root": values, **self._helpers.fixed}))

    def _fails(self, what: str) -> PrefixlabError:
        return PrefixlabError(f"cannot be rendered with these values: {what}", "Correct them", path=self._path)

    def _nodes(self, piece: Partial, nodes: Sequence[Node], frame: _Frame) -> str:
        made: list[str] = []
        for node in nodes:
            if isinstance(node, BlockNode) and node.is_decorator and node.call.arguments:
                name = str(self._value(node.call.arguments[0], frame))
                frame = frame._replace(inline={**frame.inline, name: (piece, node.body)})
        for node in nodes:
            if isinstance(node, TextNode):
                text = piece.source.text[node.start : node.end]
            elif isinstance(node, ValueNode):
                text = self._shown(node, frame)
            elif isinstance(node, PartialNode):
                text = self._partial(piece, node, frame)
            elif isinstance(node, CommentNode) or node.is_decorator:
                continue
            else:
                text = self._block(piece, node, frame)
            self._made += len(text) + 1
            if self._made > _MOST_CHARACTERS:
                raise self._fails("the text becomes too large")
            made.append(text)
        return "".join(made)

    def _shown(self, node: ValueNode, frame: _Frame) -> str:
        call = node.call
        name = call.name.source
        if name in self._helpers.values and name not in frame.aliases:
            return self._helpers.values[name](*self._arguments(call, frame))
        text = as_text(self._value(call.name if call.is_bare else call, frame))
        return text.translate(_ESCAPES) if node.is_escaped and self._helpers.is_escaping else text

    def _arguments(self, call: Call, frame: _Frame) -> tuple[list[Any], dict[str, Any]]:
        return (
            [self._value(one, frame) for one in call.arguments],
            {name: self._value(one, frame) for name, one in call.named},
        )

    # --- blocks ---

    def _block(self, piece: Partial, node: BlockNode, frame: _Frame) -> str:
        name = node.call.name.source
        body, inverse = node.body, node.inverse or []
        if node.is_inverted:
            body, inverse = inverse, body
        if name in self._helpers.frames:
            before, after = self._helpers.frames[name]
            named = self._arguments(node.call, frame)[1]
            shown = {key: as_text(value) for key, value in named.items()}
            return before.format_map(_Blank(shown)) + self._nodes(piece, body, frame) + after
        arguments, named = self._arguments(node.call, frame)
        first = arguments[0] if arguments else None
        if name in ("if", "unless"):
            holds = not _is_empty(first) or (first == 0 and first is not False and bool(named.get("includeZero")))
            return self._nodes(piece, body if holds is (name == "if") else inverse, frame)
        if name in self._helpers.conditions:
            return self._nodes(piece, body if self._helpers.conditions[name](arguments) else inverse, frame)
        if name == "each":
            return self._each(piece, node.parameters, body, inverse, first, frame)
        if name == "with":
            if _is_empty(first) and (first is False or first != 0):
                return self._nodes(piece, inverse, frame)
            return self._nodes(piece, body, frame.inside(first, {}, dict(zip(node.parameters, [first]))))
        value = self._value(node.call.name, frame)
        if value is True:
            return self._nodes(piece, body, frame)
        if value is False or value is None:
            return self._nodes(piece, inverse, frame)
        if isinstance(value, list | tuple):
            return self._each(piece, node.parameters, body, inverse, value, frame)
        return self._nodes(piece, body, frame.inside(value, {}, dict(zip(node.parameters, [value]))))

    def _each(
        self, piece: Partial, names: Sequence[str], body: list[Node], inverse: list[Node], over: Any, frame: _Frame
    ) -> str:
        if isinstance(over, Mapping):
            items = list(over.items())
        elif isinstance(over, list | tuple):
            items = list(enumerate(over))
        else:
            items = []
        if not items:
            return self._nodes(piece, inverse, frame)
        made: list[str] = []
        for number, (key, item) in enumerate(items):
            data = {"key": key, "index": number, "first": number == 0, "last": number == len(items) - 1}
            made.append(self._nodes(piece, body, frame.inside(item, data, dict(zip(names, (item, key))))))
        return "".join(made)

    def _partial(self, piece: Partial, node: PartialNode, frame: _Frame) -> str:
        name = node.call.name
        called = str(name.value) if isinstance(name, Literal) else name.source
        arguments, named = self._arguments(node.call, frame)
        context = arguments[0] if arguments else frame.contexts[-1]
        if named:
            context = {**(context if isinstance(context, Mapping) else {}), **named}
        if frame.depth > _DEEPEST_PARTIALS:
            raise self._fails("partials go on without end")
        inner = frame.inside(context, {}, {})._replace(depth=frame.depth + 1)
        if called == "@partial-block":
            if frame.block is None:
                raise self._fails("there is no block for @partial-block")
            other, nodes, outer = frame.block
            return self._indented(self._nodes(other, nodes, inner._replace(block=outer.block)), node.indent)
        if node.body is not None:
            for one in node.body:
                if isinstance(one, BlockNode) and one.is_decorator and one.call.arguments:
                    key = str(self._value(one.call.arguments[0], frame))
                    inner = inner._replace(inline={**inner.inline, key: (piece, one.body)})
            inner = inner._replace(block=(piece, node.body, frame))
        if called in inner.inline:
            other, nodes = inner.inline[called]
        elif (found := self._partials.get((piece.file.path, called))) is not None:
            other, nodes = found, found.nodes
        elif node.body is not None:
            return self._nodes(piece, node.body, frame)
        else:
            raise self._fails(f"the partial {called!r} is not found")
        return self._indented(self._nodes(other, nodes, inner), node.indent)

    @staticmethod
    def _indented(text: str, indent: str) -> str:
        if not indent or not text:
            return text
        lines = text.split("\n")
        last = len(lines) - 1
        return "\n".join([line if number == last and not line else indent + line for number, line in enumerate(lines)])

    # --- values ---

    def _value(self, operand: Operand, frame: _Frame) -> Any:
        if isinstance(operand, Literal):
            return operand.value
        if isinstance(operand, PathTo):
            return self._read(operand, frame)
        name = operand.name.source
        arguments, named = self._arguments(operand, frame)
        if name == "lookup" and len(arguments) == 2:
            return (
                _property(arguments[0], as_text(arguments[1])) if arguments[0] or arguments[0] == {} else arguments[0]
            )
        if name in self._helpers.values:
            return self._helpers.values[name](arguments, named)
        if name in self._helpers.conditions:
            return self._helpers.conditions[name](arguments)
        if name in BUILT_IN:
            return None
        if operand.is_bare:
            return self._value(operand.name, frame)
        raise self._fails(f"the helper {name!r} is the project's own")

    def _read(self, path: PathTo, frame: _Frame) -> Any:
        keys = path.keys
        value: Any
        if path.is_data:
            value = frame.data
        elif not path.up and not path.is_scoped and keys and keys[0] in frame.aliases:
            value, keys = frame.aliases[keys[0]], keys[1:]
        else:
            value = frame.contexts[-1 - path.up] if path.up < len(frame.contexts) else None
        for key in keys:
            value = _property(value, key)
        return value


class _Blank(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return ""


def _property(value: Any, key: str) -> Any:
    if isinstance(value, Mapping):
        return value.get(key)
    if isinstance(value, list | tuple | str):
        if key == "length":
            return len(value)
        if key.isdecimal() and int(key) < len(value):
            return value[int(key)]
    return None


def _is_empty(value: Any) -> bool:
    """What Handlebars takes for false: nothing, an empty text or list, zero; not an empty object."""
    return not value and not isinstance(value, Mapping)


def as_text(value: Any) -> str:
    """A value as JavaScript makes it text."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e21 else repr(value)
    if isinstance(value, list | tuple):
        return ",".join([as_text(one) for one in value])
    return "[object Object]" if isinstance(value, Mapping) else str(value)


def as_json(value: Any, indent: int = 0) -> str:
    """A value as `JSON.stringify` writes it."""
    separators = (",", ": ") if indent else (",", ":")
    return json.dumps(value, ensure_ascii=False, indent=indent or None, separators=separators)
