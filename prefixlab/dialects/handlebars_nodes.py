"""What a Handlebars template is made of: texts, values, blocks, partials and the expressions in them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple


class PathTo(NamedTuple):
    """A variable: `user.name`, `../name`, `this`, `@index`."""

    source: str
    keys: tuple[str, ...]
    up: int = 0
    """How many contexts further out it starts."""
    is_data: bool = False
    """Whether it is written with `@`."""
    is_scoped: bool = False
    """Whether it begins with `this` or `.`, so that it can name no helper."""


class Literal(NamedTuple):
    """A text, number, truth value or nothing."""

    source: str
    value: Any


class Call(NamedTuple):
    """A helper with its arguments; without any, a path alone."""

    source: str
    name: PathTo | Literal | Call
    arguments: tuple[PathTo | Literal | Call, ...] = ()
    named: tuple[tuple[str, PathTo | Literal | Call], ...] = ()

    @property
    def is_bare(self) -> bool:
        """Whether it has no arguments."""
        return not self.arguments and not self.named


Operand = PathTo | Literal | Call


class Strip(NamedTuple):
    """Whether the blanks before and behind a tag are stripped."""

    before: bool = False
    after: bool = False


NO_STRIP = Strip()


@dataclass(slots=True)
class TextNode:
    """Text; what whitespace control takes away is no longer between `start` and `end`."""

    start: int
    end: int
    original: str
    is_left_stripped: bool = False
    is_right_stripped: bool = False


@dataclass(slots=True)
class ValueNode:
    """`{{value}}`."""

    call: Call
    start: int
    strip: Strip
    is_escaped: bool


@dataclass(slots=True)
class CommentNode:
    """`{{! comment }}`."""

    start: int
    strip: Strip


@dataclass(slots=True)
class PartialNode:
    """`{{> name context key=value}}`; with a body where it is a block."""

    call: Call
    start: int
    strip: Strip
    indent: str = ""
    body: list[Any] | None = None
    close: Strip = NO_STRIP


@dataclass(slots=True)
class BlockNode:
    """`{{#name}}...{{else}}...{{/name}}`; turned round where it is written with `^`."""

    call: Call
    start: int
    open: Strip
    parameters: tuple[str, ...] = ()
    is_inverted: bool = False
    is_decorator: bool = False
    """`{{#*inline "name"}}`."""
    body: list[Any] = field(default_factory=list)
    inverse: list[Any] | None = None
    is_chained: bool = False
    """Whether the other arm is one `else if` block."""
    inverse_strip: Strip = NO_STRIP
    close: Strip = NO_STRIP


Node = TextNode | ValueNode | CommentNode | PartialNode | BlockNode
