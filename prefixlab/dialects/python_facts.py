"""What is read, called and ordered by values of Python, and the parts that they become in a text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from prefixlab.dialects.python_literals import Piece, Spot
from prefixlab.dialects.python_values import (
    MOST_IN_CHOICE,
    MOST_INSIDE,
    MOST_PARTS,
    NONE,
    NOTHING,
    Alternatives,
    Dictionary,
    Gap,
    Imported,
    Items,
    MessageValue,
    Opaque,
    Plain,
    Repeated,
    Spread,
    TemplateValue,
    TextPart,
    TextValue,
    TooLarge,
    Value,
    constant_text,
)
from prefixlab.prompt_templates import Choice, Expression, Hole, Loop, Order, Place


def union(source: str, expressions: Iterable[Expression]) -> Expression:
    """What all of the expressions read and call."""
    names: dict[str, None] = {}
    calls: dict[str, None] = {}
    formats: dict[str, None] = {}
    orders: dict[Order, None] = {}
    of_start: list[Expression] = []
    others: list[Expression] = []
    for one in expressions:
        names.update(dict.fromkeys(one.names))
        calls.update(dict.fromkeys(one.calls))
        formats.update(dict.fromkeys(one.formats))
        orders.update(dict.fromkeys(one.orders))
        (of_start if one.once else others).append(one)
    made = Expression(source, tuple(names), tuple(calls), tuple(formats), tuple(orders))
    return made._replace(once=_once(of_start, others)) if of_start else made


def _once(of_start: Sequence[Expression], others: Sequence[Expression]) -> tuple[str, ...]:
    """What is read when the program starts, and never again."""
    again = {name for one in others for name in (*one.names, *one.calls)}
    again.update([name for one in of_start for name in (*one.names, *one.calls) if name not in one.once])
    return tuple(dict.fromkeys([name for one in of_start for name in one.once if name not in again]))


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
            # A constant of a library is called after what it is for, as `HUMAN_PROMPT`.
            is_constant = bool(one.home) and one.name.rpartition(".")[2].isupper()
            found.append(Expression(one.name, (one.name,), once=(one.name,) if is_constant else ()))
    if len(found) == 1:
        return found[0]
    return union("", found) if found else NOTHING


def gone_over(value: Value) -> Expression:
    """What a value reads and calls where its items are asked for one after another: with the order that it has."""
    order = value.order if isinstance(value, Opaque) else None
    if isinstance(value, Items) and value.is_unordered:
        order = "set"
    return ordered(facts(value), order)


def ordered(expression: Expression, order: Order | None) -> Expression:
    """An expression with an order more, if there is one."""
    if order is None or order in expression.orders:
        return expression
    return expression._replace(orders=(*expression.orders, order))


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
    found = _first_change(value)
    return None if found is None else found[0]


def placed(values: Iterable[Value | str | None], at: Place, source: str) -> tuple[Place, str]:
    """Where what changes in one of the values is written, and as what; else at a place as `source`."""
    found = next((one for one in map(_first_change, values) if one), None)
    return (at, source) if found is None or found[0] == at or not found[1] else found


def _first_change(value: Value | str | None) -> tuple[Place, str] | None:
    for one in inside(value):
        if isinstance(one, Opaque) and (one.expression.calls or one.expression.orders or not one.is_plain):
            return one.at, one.expression.source
        if isinstance(one, TextValue):
            gap = first_gap(one.parts)
            if gap is not None:
                return gap.at, gap.expression.source
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
    is_set = value.is_unordered if isinstance(value, Items) else isinstance(value, Opaque) and value.order == "set"
    expression = ordered(facts(value), "set" if is_set else None)
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
