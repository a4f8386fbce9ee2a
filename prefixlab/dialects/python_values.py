"""What a Python expression gives, as far as the module tells, and how values of branches and loops become one."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from prefixlab.dialects.python_literals import Piece, Spot
from prefixlab.prompt_templates import Expression, Order, Place

MOST_PARTS = 20_000
"""Parts of one text; loops that are written out can make any number."""

MOST_IN_CHOICE = 2_000
"""Parts of the arms of a branch, with those of the branches in them."""

MOST_INSIDE = 3_000
"""Values in a value that are looked at."""

MOST_CHARACTERS = 8_000_000
"""Characters of a text that is worked on as a whole."""


class Gap(NamedTuple):
    """A hole, with how its value is written into the text: `!r`, `:>8`, `%05d`."""

    expression: Expression
    at: Place
    entered_at: Place
    conversion: str = ""
    spec: str = ""
    is_plain: bool = False
    """Whether it is filled with what the caller gives under the first of its names."""


TextPart = Any
"""`Piece | Gap | Choice | Loop | Turn | History | Hole`, where arms and bodies hold the same."""


class TooLarge(Exception):
    """A text grows without bound."""


@dataclass(frozen=True, slots=True)
class Opaque:
    """A value that is known at run time only."""

    expression: Expression
    at: Place
    order: Order | None = None
    """The order in which it is gone over: of a set, of a mapping that somebody else fills."""
    is_plain: bool = False
    """Whether it is a name, or an attribute of one, that the caller fills."""
    given: Mapping[str, Value] = field(default_factory=dict, compare=False)
    """What it was made with, by keyword: `GenerativeModel(system_instruction=...)`."""
    later: Callable[[], Value | None] | None = field(default=None, compare=False)
    """What a function of another module gives, looked for where it enters a text."""


@dataclass(frozen=True, slots=True)
class Imported:
    """A module, or something of one, by its full name; a builtin by its own."""

    name: str
    at: Place | None = field(default=None, compare=False)
    home: str = field(default="", compare=False)
    """How the module imports it, with the points of a relative import: `..prompts.SYSTEM`."""


@dataclass(frozen=True, slots=True)
class Plain:
    """A constant that is no text."""

    value: Any


@dataclass(frozen=True, slots=True)
class TextValue:
    """A text."""

    parts: tuple[TextPart, ...]
    data: Value | None = field(default=None, compare=False)
    """What it is the JSON of."""


@dataclass(frozen=True, slots=True)
class Items:
    """A list or tuple that the module writes out, or a set."""

    items: tuple[Value, ...]
    kind: str = "list"

    @property
    def is_unordered(self) -> bool:
        """Whether it is a set of what can be several items."""
        return self.kind == "set" and (len(self.items) > 1 or any([_can_be_several(one) for one in self.items]))


@dataclass(frozen=True, slots=True)
class Spread:
    """Any number of items that somebody else has, in a list: `*history`."""

    value: Value


@dataclass(frozen=True, slots=True)
class Repeated:
    """Items that a loop appends to a list."""

    over: Expression
    at: Place
    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Alternatives:
    """One of several values; in a list, one of several lists of items."""

    condition: Expression
    at: Place
    arms: tuple[Value, ...]
    is_items: bool = False


@dataclass(frozen=True, slots=True)
class Dictionary:
    """A mapping that the module writes out; a key of None stands for `**other`."""

    entries: tuple[tuple[str | None, Value], ...]
    at: Place | None = field(default=None, compare=False)

    def get(self, key: str) -> Value | None:
        """The value of a key."""
        for name, value in reversed(self.entries):
            if name == key:
                return value
            if name is None and isinstance(value, Dictionary):
                found = value.get(key)
                if found is not None:
                    return found
        return None

    def flat(self) -> dict[str, Value]:
        """All that is known of it."""
        known: dict[str, Value] = {}
        for name, value in self.entries:
            if name is not None:
                known[name] = value
            elif isinstance(value, Dictionary):
                known.update(value.flat())
        return known

    def with_entry(self, key: str, value: Value) -> Dictionary:
        """The mapping with a key set; a key that was there keeps its place."""
        if any(name == key for name, _ in self.entries):
            return Dictionary(tuple([(name, value if name == key else old) for name, old in self.entries]), self.at)
        return Dictionary((*self.entries, (key, value)), self.at)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Function:
    """A function of the module; `self` where it is bound."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    outer: Any
    """The names around it."""
    owner: Value | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Class:
    """A class of the module."""

    node: ast.ClassDef
    names: Mapping[str, Value]
    bases: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Instance:
    """An object of a class of the module; its attributes are in the heap of the reading."""

    of: Class
    number: int


@dataclass(frozen=True, slots=True)
class MessageValue:
    """A message: a role and what it says."""

    role: Value | str
    content: Value
    at: Place


@dataclass(frozen=True, slots=True)
class TemplateValue:
    """A template object: of LangChain, Jinja2 or `string.Template`."""

    kind: str
    """`chat`, `text`, `message`, `jinja2`, `dollar`."""
    messages: tuple[Value, ...]
    """Of a chat template its messages; else one text."""
    at: Place
    role: str = ""
    unread: str | None = None
    """The text of a Jinja2 template as it was, for rendering; None where values are already filled in."""
    is_piped: bool = False
    """Whether a model comes behind it, so that what it gives is an answer."""
    made_of: tuple[TemplateValue, ...] = ()
    """Templates whose texts are already in its own."""


Value = (
    Opaque
    | Imported
    | Plain
    | TextValue
    | Items
    | Spread
    | Repeated
    | Alternatives
    | Dictionary
    | Function
    | Class
    | Instance
    | MessageValue
    | TemplateValue
)


def _can_be_several(item: Value) -> bool:
    if isinstance(item, Alternatives) and item.is_items:
        return any([isinstance(arm, Items) and Items(arm.items, "set").is_unordered for arm in item.arms])
    return isinstance(item, Spread | Repeated)


NONE = Plain(None)
NOTHING = Expression("")


def text_of(text: str, at: Place) -> TextValue:
    """A text that was worked out at a place."""
    return TextValue((Piece(text, Spot(at)),) if text else ())


def constant_text(value: Value | None) -> str | None:
    """The text of a value, where it is one."""
    if not isinstance(value, TextValue):
        return None
    if len(value.parts) == 1 and isinstance(value.parts[0], Piece):
        return value.parts[0].text
    if all([isinstance(part, Piece) for part in value.parts]):
        return "".join([part.text for part in value.parts])
    return None
