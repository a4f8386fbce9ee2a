"""What a Python expression gives, as far as the module tells, and how values of branches and loops become one."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from prefixlab.dialects.python_literals import Piece, Spot
from prefixlab.prompt_templates import Choice, Expression, History, Hole, Loop, Order, Place, Turn

MOST_PARTS = 10_000
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


@dataclass(frozen=True, slots=True)
class Imported:
    """A module, or something of one, by its full name; a builtin by its own."""

    name: str
    at: Place | None = field(default=None, compare=False)


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


@dataclass(frozen=True, slots=True, eq=False)
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


def constant(value: Value, depth: int = 0) -> Any:
    """The value as Python has it.

    Raises:
        ValueError: it is known at run time only.
    """
    if isinstance(value, Plain):
        return value.value
    text = constant_text(value)
    if text is not None:
        return text
    if depth > 3 or sum(1 for _ in inside(value)) >= MOST_INSIDE:
        raise ValueError
    if isinstance(value, Items):
        items = [constant(item, depth + 1) for item in value.items]
        return items if value.kind == "list" else tuple(items) if value.kind == "tuple" else set(items)
    if isinstance(value, Dictionary) and all([name is not None for name, _ in value.entries]):
        return {name: constant(item, depth + 1) for name, item in value.entries}
    raise ValueError


def union(source: str, expressions: Iterable[Expression]) -> Expression:
    """What all of the expressions read and call."""
    names: dict[str, None] = {}
    calls: dict[str, None] = {}
    formats: dict[str, None] = {}
    orders: dict[Order, None] = {}
    for one in expressions:
        names.update(dict.fromkeys(one.names))
        calls.update(dict.fromkeys(one.calls))
        formats.update(dict.fromkeys(one.formats))
        orders.update(dict.fromkeys(one.orders))
    return Expression(source, tuple(names), tuple(calls), tuple(formats), tuple(orders))


def inside(value: Value | str | None) -> Iterator[Value]:
    """A value and all that is in it, each once: values can hold one another many times over."""
    waiting: list[Any] = [value]
    seen: set[int] = set()
    while waiting and len(seen) < MOST_INSIDE:
        one = waiting.pop()
        if one is None or isinstance(one, str) or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        if isinstance(one, Items | Repeated):
            waiting += reversed(one.items[:MOST_INSIDE])
        elif isinstance(one, Alternatives):
            waiting += reversed(one.arms)
        elif isinstance(one, Spread):
            waiting.append(one.value)
        elif isinstance(one, Dictionary):
            waiting += [item for _, item in reversed(one.entries[:MOST_INSIDE])]
        elif isinstance(one, MessageValue):
            waiting.append(one.content)
        elif isinstance(one, TemplateValue):
            waiting += reversed(one.messages)


def facts(value: Value | str | None) -> Expression:
    """What a value reads and calls."""
    if isinstance(value, Opaque):
        return value.expression
    found: list[Expression] = []
    for one in inside(value):
        if isinstance(one, Opaque):
            found.append(one.expression)
        elif isinstance(one, TextValue):
            found += part_facts(one.parts)
        elif isinstance(one, Alternatives):
            found.append(one.condition)
        elif isinstance(one, Imported):
            found.append(Expression(one.name, (one.name,)))
    if len(found) == 1:
        return found[0]
    return union("", found) if found else NOTHING


def part_facts(parts: Iterable[TextPart]) -> list[Expression]:
    """What the holes of a text read and call."""
    found: list[Expression] = []
    for part in parts:
        if isinstance(part, Gap | Hole):
            found.append(part.expression)
        elif isinstance(part, Choice):
            found += [part.condition, *[one for arm in part.arms for one in part_facts(arm)]]
        elif isinstance(part, Loop):
            found += [part.over, *part_facts(part.body)]
    return found


def first_gap(parts: Iterable[TextPart]) -> Gap | None:
    """The first hole that is more than a name."""
    for part in parts:
        inner: Gap | None = None
        if isinstance(part, Gap):
            inner = part if part.expression.calls or part.expression.orders else None
        elif isinstance(part, Choice):
            inner = next((one for one in map(first_gap, part.arms) if one), None)
        elif isinstance(part, Loop):
            inner = first_gap(part.body)
        if inner is not None:
            return inner
    return None


def origin(value: Value | str | None) -> Place | None:
    """Where what changes in a value is written."""
    for one in inside(value):
        if isinstance(one, Opaque) and (one.expression.calls or one.expression.orders or not one.is_plain):
            return one.at
        if isinstance(one, TextValue):
            gap = first_gap(one.parts)
            if gap is not None:
                return gap.at
    return None


def weight(parts: Sequence[TextPart], most: int) -> int:
    """How many parts there are, those of arms and bodies among them; it stops counting at `most`."""
    count = 0
    waiting: list[Any] = list(parts)
    while waiting and count < most:
        one = waiting.pop()
        count += 1
        if isinstance(one, Choice):
            for arm in one.arms:
                waiting += arm[:most]
        elif isinstance(one, Loop):
            waiting += one.body[:most]
    return count


def entered(parts: Iterable[TextPart], at: Place, within: tuple[Place, Place] | None = None) -> tuple[TextPart, ...]:
    """The parts as they enter a text at another place than the one where they are written.

    Those that enter `within` two places stay.
    """
    moved: list[TextPart] = []
    for part in parts:
        if isinstance(part, Gap | Hole):
            stays = within is not None and within[0] <= part.entered_at <= within[1]
            moved.append(part if stays else part._replace(entered_at=at))
        elif isinstance(part, Choice):
            moved.append(part._replace(arms=tuple([entered(arm, at, within) for arm in part.arms])))
        elif isinstance(part, Loop):
            moved.append(part._replace(body=entered(part.body, at, within)))
        else:
            moved.append(part)
    return tuple(moved)


def parts_of(value: Value, at: Place, source: str = "", conversion: str = "", spec: str = "") -> tuple[TextPart, ...]:
    """A value as it enters a text at a place, where it is written as `source`."""
    if isinstance(value, TextValue):
        if (spec or conversion) and constant_text(value) is None:
            return (_gap(value, at, source, conversion, spec),)
        return value.parts if constant_text(value) is not None else entered(value.parts, at)
    if isinstance(value, Plain) and not _is_wide(spec):
        if conversion == "%":
            conversion, spec = "", ""
        try:
            text = format(value.value, spec) if not conversion else format(repr(value.value), spec)
        except (TypeError, ValueError):
            text = str(value.value)
        return (Piece(text, Spot(at)),) if text else ()
    if isinstance(value, Alternatives) and not conversion and not spec:
        arms = tuple([() if one == NONE else parts_of(one, at, source) for one in value.arms])
        if sum([weight(arm, MOST_IN_CHOICE) for arm in arms]) >= MOST_IN_CHOICE:
            return (_gap(value, at, source, conversion, spec),)
        return (Choice(value.condition, value.at, arms),)
    return (_gap(value, at, source, conversion, spec),)


def _is_wide(spec: str) -> bool:
    """Whether a format would make a text of any length."""
    return any([len(number) > 3 for number in "".join([one if one.isdigit() else " " for one in spec]).split()])


def _gap(value: Value, at: Place, source: str, conversion: str, spec: str) -> Gap:
    expression = facts(value)
    if isinstance(value, Items) and value.kind == "set" and len(value.items) > 1 and "set" not in expression.orders:
        expression = expression._replace(orders=(*expression.orders, "set"))
    if isinstance(value, Opaque) and value.order == "set" and "set" not in expression.orders:
        expression = expression._replace(orders=(*expression.orders, "set"))
    if "%" in spec and conversion != "%" and not spec.endswith("%"):
        expression = expression._replace(formats=tuple(dict.fromkeys([*expression.formats, spec])))
    written = origin(value) or at
    if not expression.source or (written == at and source):
        expression = expression._replace(source=source or expression.source)
    return Gap(expression, written, at, conversion, spec, isinstance(value, Opaque) and value.is_plain)


def checked(parts: tuple[TextPart, ...]) -> tuple[TextPart, ...]:
    """The parts.

    Raises:
        TooLarge: they are too many.
    """
    if len(parts) > MOST_PARTS:
        raise TooLarge
    return parts


def one_of(condition: Expression, at: Place, values: Sequence[Value | None], unset: Callable[[], Value]) -> Value:
    """The value that a name has behind a branch; None where an arm did not set it."""
    known = [unset() if value is None else value for value in values]
    first = known[0]
    if all([_same(value, first) for value in known]):
        return first
    if all([isinstance(value, TextValue | Plain) for value in known]) and any(
        [isinstance(value, TextValue) for value in known]
    ):
        arms = [value.parts if isinstance(value, TextValue) else _plain_parts(value, at) for value in known]
        shared = _shared([list(arm) for arm in arms])
        rest = tuple([tuple(arm[shared:]) for arm in arms])
        if sum([weight(arm, MOST_IN_CHOICE) for arm in rest]) >= MOST_IN_CHOICE:
            return Opaque(union("", [condition, *map(facts, known)]), at)
        return TextValue((*arms[0][:shared], Choice(condition, at, rest)))
    if all([isinstance(value, Items) and value.kind == "list" for value in known]):
        lists = [list(value.items) for value in known if isinstance(value, Items)]
        shared = _shared(lists)
        arms_of_items = tuple([Items(tuple(one[shared:])) for one in lists])
        return Items((*lists[0][:shared], Alternatives(condition, at, arms_of_items, is_items=True)))
    if all([isinstance(value, Dictionary) for value in known]):
        return _one_dictionary(condition, at, [value for value in known if isinstance(value, Dictionary)])
    if all([isinstance(value, Opaque) or _is_hole(value) for value in known]):
        return Opaque(union(facts(first).source, map(facts, known)), origin(first) or at)
    return Alternatives(condition, at, tuple(known))


def _is_hole(value: Value) -> bool:
    return isinstance(value, TextValue) and len(value.parts) == 1 and isinstance(value.parts[0], Gap)


def _plain_parts(value: Value, at: Place) -> tuple[TextPart, ...]:
    return () if value == NONE else parts_of(value, at)


def _one_dictionary(condition: Expression, at: Place, values: Sequence[Dictionary]) -> Value:
    keys = list(dict.fromkeys([name for value in values for name, _ in value.entries if name is not None]))
    entries: list[tuple[str | None, Value]] = []
    for key in keys:
        entries.append((key, one_of(condition, at, [value.get(key) for value in values], lambda: NONE)))
    return Dictionary(tuple(entries), values[0].at)


def _shared(lists: Sequence[Sequence[Any]]) -> int:
    """How many items all lists begin with."""
    shortest = min([len(one) for one in lists])
    for number in range(shortest):
        first = lists[0][number]
        if not all([_same(one[number], first) for one in lists]):
            return number
    return shortest


def _same(one: Any, other: Any) -> bool:
    """Whether two values or parts are the same. Lists are only where they are one: comparing them can take for ever."""
    if one is other:
        return True
    if isinstance(one, TextValue) and isinstance(other, TextValue):
        return len(one.parts) == len(other.parts) and all([_same(*pair) for pair in zip(one.parts, other.parts)])
    return isinstance(one, Plain | Opaque | Imported | Piece | Gap | Turn | History) and bool(one == other)


def _starts_with(longer: Sequence[Any], shorter: Sequence[Any]) -> bool:
    return len(longer) >= len(shorter) and all([_same(*pair) for pair in zip(longer, shorter)])


def looped(over: Expression, at: Place, before: Value | None, after: Value) -> Value:
    """The value that a name has behind a loop that was gone through once."""
    if before is None or _same(before, after):
        return after
    if isinstance(before, TextValue) and isinstance(after, TextValue):
        old, new = before.parts, after.parts
        if weight(new[len(old) :], MOST_IN_CHOICE) >= MOST_IN_CHOICE:
            return Opaque(union("", [over, facts(after)]), at)
        if _starts_with(new, old):
            return TextValue((*old, Loop(over, at, new[len(old) :])))
        if old and len(new) > len(old) and _starts_with(new[-len(old) :], old):
            return TextValue((Loop(over, at, new[: -len(old)]), *old))
    if isinstance(before, Items) and isinstance(after, Items) and _starts_with(after.items, before.items):
        return Items((*before.items, Repeated(over, at, after.items[len(before.items) :])), before.kind)
    return after
