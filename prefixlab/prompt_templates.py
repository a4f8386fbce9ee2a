"""Prompt templates as they are written: stable text and holes in the order in which they are rendered.

Every dialect is read into these nouns, and nothing behind the reading knows the dialect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Literal, NamedTuple

PLAIN = "prompt"
"""The role of a template without roles: its text is the prompt itself."""


class Volatility(IntEnum):
    """How often what a hole holds is another: the same for ever, or other with each of these."""

    CONSTANT = 0
    DEPLOYMENT = 1
    TENANT = 2
    USER = 3
    SESSION = 4
    TURN = 5
    REQUEST = 6


class Place(NamedTuple):
    """A character of a file, counted from 1; of a text inside a value of JSON or YAML the line of the file itself."""

    path: str
    line: int
    column: int


Order = Literal["set", "mapping", "json", "random", "directory"]
"""An order that is not fixed: of a set, of a mapping as it came, of the keys of an object in JSON, drawn by lot, of
the files in a folder."""


class Expression(NamedTuple):
    """What a hole is filled with, as far as the source tells."""

    source: str
    """As it is written, without the marks around it: `now()`, `user.name | upper`."""
    names: tuple[str, ...] = ()
    """Variables and their attributes that are read, outermost first: `user.name`."""
    calls: tuple[str, ...] = ()
    """Functions, methods and filters that are called, with their full names where an import tells: `datetime.now`."""
    formats: tuple[str, ...] = ()
    """Formats of a time, such as `%H:%M`; empty where none is given."""
    orders: tuple[Order, ...] = ()
    value: str | None = None
    """Where it is known to be one text."""
    once: tuple[str, ...] = ()
    """Of the names and calls those that are read once, when the program starts."""
    is_presence: bool = False
    """Of a condition: whether it asks no more than whether a value is there."""


class Text(NamedTuple):
    """Text that is the same in every rendering that has it. `at` is its first character."""

    text: str
    at: Place


class Hole(NamedTuple):
    """A value. `at` is where its expression is written, `entered_at` where that enters the prompt: the call of a macro,
    the name of a variable that was set before, an include."""

    expression: Expression
    at: Place
    entered_at: Place


class Choice(NamedTuple):
    """Parts of which one sequence is rendered; an arm that is empty renders nothing."""

    condition: Expression
    at: Place
    arms: tuple[tuple[Part, ...], ...]


class Loop(NamedTuple):
    """Parts that are rendered once for each item; holes that read the loop's variable name what is looped over."""

    over: Expression
    at: Place
    body: tuple[Part, ...]


class Turn(NamedTuple):
    """What follows is of this role, until the next turn: system, user, assistant, tool, or the template's own word."""

    role: str
    at: Place


class History(NamedTuple):
    """Where earlier messages of the conversation go."""

    name: str
    at: Place


Part = Text | Hole | Choice | Loop | Turn | History

Message = tuple[str, str]
"""A role and its text."""

Render = Callable[[Mapping[str, Any]], Sequence[Message]]
"""The messages for values of the template's variables; of a template without roles one message of the role `PLAIN`.

Raises `PrefixlabError` where a value is missing or the template fails."""


Kind = Literal["head", "system", "user turn", "generation prompt", "answer", "thought", "tool call", "tool result"]
"""Of a prompt's parts."""


class Parting(NamedTuple):
    """Where what an engine holds of a conversation stops being the start of the prompt of its next turn.

    It holds a prompt and the answer to it. It is tried on a small conversation.
    """

    at: Place
    """Where the template writes what differs."""
    source: str
    """The expression that writes it; empty of text."""
    kind: Kind
    """What is written otherwise."""
    was: str
    now: str
    shared: str
    """The text up to there."""
    lost: str
    """What the engine holds from there on."""


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """A prompt that a file makes."""

    path: str
    dialect: str
    parts: tuple[Part, ...]
    at: Place
    name: str = ""
    """What the file calls it, where it has several: a function, a key."""
    render: Render | None = None
    """None where it cannot be rendered without running a program."""
    is_chat_template: bool = False
    """Whether it is a model's own chat template, which renders the messages of a caller."""
    partings: tuple[Parting, ...] = ()
    """Of a chat template: what it writes otherwise once it is history, each place once."""
    notes: tuple[str, ...] = field(default=())
    """What could not be followed, in sentences."""

    @property
    def called(self) -> str:
        """Its path, and its name where the file has several."""
        return f"{self.path}:{self.name}" if self.name else self.path

    @property
    def has_roles(self) -> bool:
        """Whether the template says who speaks."""
        return any(isinstance(part, Turn | History) for part in walk(self.parts))


def walk(parts: Sequence[Part]) -> Iterator[Part]:
    """All parts in rendering order, those of all arms and bodies among them."""
    for part in parts:
        yield part
        if isinstance(part, Choice):
            for arm in part.arms:
                yield from walk(arm)
        elif isinstance(part, Loop):
            yield from walk(part.body)
