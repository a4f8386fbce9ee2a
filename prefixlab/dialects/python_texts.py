"""Texts that a module makes of other texts: formats, joins, and the methods of `str`, places kept."""

from __future__ import annotations

import inspect
import textwrap
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from prefixlab.dialects.format_fields import (
    Field,
    NoFormat,
    brace_fields,
    dollar_fields,
    mustache_fields,
    percent_fields,
)
from prefixlab.dialects.python_facts import checked, facts, gone_over, origin, parts_of, union
from prefixlab.dialects.python_literals import Lines, Literal, Piece, Spot
from prefixlab.dialects.python_values import (
    MOST_CHARACTERS,
    MOST_PARTS,
    Alternatives,
    Dictionary,
    Gap,
    Items,
    Opaque,
    Plain,
    Repeated,
    Spread,
    TextPart,
    TextValue,
    TooLarge,
    Value,
    constant_text,
    text_of,
)
from prefixlab.prompt_templates import Choice, Expression, Hole, Loop, Place

_MARK = "\ue000"
"""Stands for a part that is no text, where text is worked on as a whole."""


class Joint:
    """The texts of some parts as one text, from which parts can be cut again."""

    def __init__(self, parts: Sequence[TextPart]) -> None:
        if sum([len(part.text) for part in parts if isinstance(part, Piece)]) > MOST_CHARACTERS:
            raise TooLarge
        self._parts = parts
        self._starts: list[int] = []
        texts = []
        at = 0
        for part in parts:
            text = part.text.replace(_MARK, " ") if isinstance(part, Piece) else _MARK
            self._starts.append(at)
            texts.append(text)
            at += len(text)
        self.text = "".join(texts)

    def cut(self, start: int, end: int) -> list[TextPart]:
        """The parts from one character to another."""
        cut: list[TextPart] = []
        for number in range(max(bisect_right(self._starts, start) - 1, 0), len(self._parts)):
            part, first = self._parts[number], self._starts[number]
            if first >= end:
                break
            if not isinstance(part, Piece):
                if first >= start:
                    cut.append(part)
                continue
            piece = part.cut(max(start - first, 0), min(end - first, len(part.text)))
            if piece.text:
                cut.append(piece)
        return cut

    def place(self, offset: int, otherwise: Place) -> Place:
        """Where a character is written."""
        number = max(bisect_right(self._starts, offset) - 1, 0)
        part = self._parts[number] if self._parts else None
        return part.place(offset - self._starts[number]) if isinstance(part, Piece) else otherwise


Fill = Callable[[Field, Place], Sequence[TextPart]]
"""What a field of a format becomes at its place."""


def filled(parts: Sequence[TextPart], kind: str, fill: Fill, at: Place) -> tuple[TextPart, ...]:
    """A format string with its fields filled.

    Raises:
        NoFormat: it is none.
    """
    joint = Joint([_inner(part, kind, fill, at) for part in parts])
    fields = _FIELDS[kind](joint.text)
    if len(fields) > MOST_PARTS:
        raise TooLarge
    made: list[TextPart] = []
    sections: list[tuple[Field, Place, list[TextPart]]] = []
    for field in fields:
        place = joint.place(field.start, at)
        if field.kind in ("#", "^"):
            sections.append((field, place, made))
            made = []
        elif field.kind == "/":
            opened, opened_at, outer = sections.pop()
            name = opened.name or ""
            over = Expression(name, (name,))
            body = tuple(made)
            arms = ((), body) if opened.kind == "^" else (body, ())
            made = [*outer, Loop(over, opened_at, body) if opened.kind == "#" else Choice(over, opened_at, arms)]
        elif field.name is not None:
            made += fill(field, place)
        elif field.end - field.start == len(field.text):
            made += joint.cut(field.start, field.end)
        else:
            made.append(Piece(field.text, Spot(place)))
    return checked(tuple(made))


_FIELDS: Mapping[str, Callable[[str], list[Field]]] = {
    "f-string": brace_fields,
    "dollar": dollar_fields,
    "percent": percent_fields,
    "mustache": mustache_fields,
}


def _inner(part: TextPart, kind: str, fill: Fill, at: Place) -> TextPart:
    if isinstance(part, Choice):
        return part._replace(arms=tuple([filled(arm, kind, fill, at) for arm in part.arms]))
    return part._replace(body=filled(part.body, kind, fill, at)) if isinstance(part, Loop) else part


def name_gap(field: Field, place: Place) -> list[TextPart]:
    """The field as a variable of the template."""
    name = field.name or ""
    expression = Expression(
        name, (name,), formats=(field.spec,) if "%" in field.spec and field.conversion != "%" else ()
    )
    return [Gap(expression, place, place, field.conversion, field.spec, is_plain=True)]


def formatted(
    text: TextValue, kind: str, positional: Sequence[Value], named: Mapping[str, Value], at: Place
) -> TextValue | None:
    """A format string with values in its fields; None where it is no such string."""
    count = 0

    def fill(field: Field, place: Place) -> Sequence[TextPart]:
        nonlocal count
        name = field.name or ""
        root, dot, attributes = name.replace("[", ".").replace("]", "").partition(".")
        value: Value | None
        if root == "" or root.isdigit():
            number = int(root[:9]) if root else count
            count += 1
            value = positional[number] if number < len(positional) else None
        else:
            value = named.get(root)
        if value is None:
            return name_gap(field, place)
        if dot:
            expression = facts(value)
            names = tuple([f"{one}.{attributes}" for one in expression.names])
            value = Opaque(expression._replace(names=names, source=name), origin(value) or place)
        parts = parts_of(value, place, name, field.conversion, "" if _MARK in field.spec else field.spec)
        if isinstance(value, Opaque) and value.is_plain:
            # The name stands where it is handed over, the hole where it enters the text.
            return [part._replace(entered_at=place, at=value.at) if isinstance(part, Gap) else part for part in parts]
        return parts

    try:
        return TextValue(filled(text.parts, kind, fill, at))
    except NoFormat:
        return None


def joined(separator: TextValue, items: Value, at: Place, source: str) -> TextValue:
    """`separator.join(items)`."""
    if isinstance(items, Items) and not items.is_unordered:
        parts: list[TextPart] = []
        for number, item in enumerate(items.items):
            between = tuple(parts_of(separator, at)) if number else ()
            if isinstance(item, Repeated):
                body = [part for one in item.items for part in (*parts_of(separator, at), *parts_of(one, at))]
                if not number:
                    # The separator stands between, not ahead of the first.
                    ahead = len(separator.parts)
                    body = [*body[ahead:], *body[:ahead]]
                parts.append(Loop(item.over, item.at, tuple(body)))
            elif isinstance(item, Spread):
                over = gone_over(item.value)
                parts += [*between, *parts_of(Opaque(over, origin(item.value) or at), at, source)]
            elif isinstance(item, Alternatives) and item.is_items:
                arms = [joined(separator, arm, at, source).parts for arm in item.arms]
                arms = [(*between, *arm) if arm else () for arm in arms]
                parts.append(Choice(item.condition, item.at, tuple(arms)))
            else:
                parts += [*between, *parts_of(item, at, source)]
        return TextValue(checked(tuple(parts)))
    if isinstance(items, TextValue):
        return TextValue(parts_of(Opaque(facts(items), origin(items) or at), at, source))
    if isinstance(items, Items):
        expression = union(source, [gone_over(items)])
        return TextValue((Gap(expression, at, at),))
    expression = facts(items)
    if isinstance(items, Opaque) and items.order:
        # It is the order in which it is gone over that changes, and that is here.
        expression = union(source, [gone_over(items)])
        return TextValue((Gap(expression, at if not expression.calls else items.at, at),))
    return TextValue(parts_of(Opaque(expression, origin(items) or at, is_plain=False), at, source))


_OF_CONSTANTS = frozenset(
    [
        "capitalize",
        "casefold",
        "center",
        "expandtabs",
        "ljust",
        "lower",
        "lstrip",
        "removeprefix",
        "removesuffix",
        "replace",
        "rjust",
        "rstrip",
        "strip",
        "swapcase",
        "title",
        "upper",
        "zfill",
    ]
)
_BY_PIECE = frozenset({"casefold", "lower", "swapcase", "upper"})
_AT_ENDS = frozenset({"lstrip", "rstrip", "strip"})
_TESTS = frozenset({"endswith", "startswith", "isdigit", "count", "find"})


def text_method(text: TextValue, name: str, args: Sequence[Value], at: Place, source: str) -> Value | None:
    """What a method of a text gives; None where it is not worked out."""
    known = constant_text(text)
    given = [one.value if isinstance(one, Plain) else constant_text(one) for one in args]
    if known is not None and name in ("split", "splitlines") and None not in given:
        separator = given[0] if given and isinstance(given[0], str) else None
        pieces = known.splitlines() if name == "splitlines" else known.split(separator or None)
        return Items(tuple([text_of(one, at) for one in pieces[:2000]]))
    if name in _AT_ENDS and all([one is None or isinstance(one, str) for one in given]):
        return TextValue(_stripped(text.parts, name, given[0] if given else None))
    if name == "replace" and len(args) >= 2 and isinstance(given[0], str) and given[0]:
        return _replaced(text, given[0], args[1], at)
    if name in _BY_PIECE:
        return TextValue(
            tuple(
                [
                    _with_text(part, getattr(part.text, name)()) if isinstance(part, Piece) else part
                    for part in text.parts
                ]
            )
        )
    if known is None or any(one is None for one in given):
        return None
    try:
        if name in _TESTS:
            return Plain(getattr(known, name)(*given))
        if name not in _OF_CONSTANTS or any(isinstance(one, int) and abs(one) > 10_000 for one in given):
            return None
        made = getattr(known, name)(*given)
    except (TypeError, ValueError):
        return None
    return TextValue((_with_text(text.parts[0], made),) if made and text.parts else ())


def _with_text(piece: Piece, text: str) -> Piece:
    if len(text) == len(piece.text):
        return piece._replace(text=text)
    return Piece(
        text, Lines(piece.written, piece.start) if isinstance(piece.written, Literal | Spot) else piece.written
    )


def _stripped(parts: tuple[TextPart, ...], name: str, characters: str | None) -> tuple[TextPart, ...]:
    joint = Joint(parts)
    start, end = 0, len(joint.text)
    if name != "rstrip":
        start = end - len(joint.text.lstrip(characters))
    if name != "lstrip":
        end = len(joint.text.rstrip(characters))
    return tuple(joint.cut(start, max(start, end)))


def _replaced(text: TextValue, old: str, new: Value, at: Place) -> TextValue:
    joint = Joint(text.parts)
    parts: list[TextPart] = []
    begin = 0
    if joint.text.count(old) > MOST_PARTS:
        raise TooLarge
    while True:
        found = joint.text.find(old, begin)
        if found < 0:
            return TextValue(checked((*parts, *joint.cut(begin, len(joint.text)))))
        parts += joint.cut(begin, found)
        parts += parts_of(new, joint.place(found, at))
        begin = found + len(old)


def dedented(text: TextValue, name: str) -> TextValue:
    """`textwrap.dedent`, `inspect.cleandoc` of a text with holes."""
    joint = Joint(text.parts)
    made = textwrap.dedent(joint.text) if name == "dedent" else inspect.cleandoc(joint.text)
    old, new = joint.text.split("\n"), made.split("\n")
    parts: list[TextPart] = []
    behind = 0
    # Lines only lose what they begin with, and `cleandoc` leaves whole lines out at both ends.
    skipped = 0
    if name != "dedent":
        while skipped < len(old) and len(old) > len(new) and not old[skipped].strip():
            skipped += 1
    begin = sum([len(line) + 1 for line in old[:skipped]])
    for number, line in enumerate(new):
        before = old[skipped + number] if skipped + number < len(old) else ""
        behind = begin + len(before)
        parts += joint.cut(behind - len(line), behind)
        if number < len(new) - 1:
            parts += joint.cut(behind, behind + 1)
        begin = behind + 1
    return TextValue(checked(tuple(_merged(parts))))


def _merged(parts: Iterable[TextPart]) -> list[TextPart]:
    """Pieces that follow one another in a literal as one."""
    merged: list[TextPart] = []
    for part in parts:
        last: Any = merged[-1] if merged else None
        if (
            isinstance(part, Piece)
            and isinstance(last, Piece)
            and part.written is last.written
            and isinstance(part.written, Literal)
            and last.start + len(last.text) == part.start
        ):
            merged[-1] = last._replace(text=last.text + part.text)
        else:
            merged.append(part)
    return merged


def bound(parts: Iterable[TextPart], values: Mapping[str, Value]) -> tuple[TextPart, ...]:
    """The parts of a template with values for its variables."""
    made: list[TextPart] = []
    for part in parts:
        if isinstance(part, Gap | Hole):
            made += _bound_gap(part, values)
        elif isinstance(part, Choice):
            arms = tuple([bound(arm, values) for arm in part.arms])
            made.append(Choice(_bound_expression(part.condition, values)[0], part.at, arms))
        elif isinstance(part, Loop):
            over, written = _bound_expression(part.over, values)
            made.append(Loop(over, written or part.at, bound(part.body, values)))
        else:
            made.append(part)
    return checked(tuple(made))


def _bound_gap(gap: Gap | Hole, values: Mapping[str, Value]) -> Sequence[TextPart]:
    conversion, spec = (gap.conversion, gap.spec) if isinstance(gap, Gap) else ("", "")
    expression = gap.expression
    if not expression.calls and len(expression.names) == 1 and expression.source == expression.names[0]:
        value = values.get(expression.source)
        if value is not None:
            return parts_of(value, gap.entered_at, expression.source, conversion, spec)
    changed, written = _bound_expression(expression, values)
    if changed is expression and isinstance(gap, Gap):
        return [gap]
    return [Gap(changed, written or gap.at, gap.entered_at, conversion, spec)]


def _bound_expression(expression: Expression, values: Mapping[str, Value]) -> tuple[Expression, Place | None]:
    """The expression with what its variables stand for, and where that is written."""
    read = {name.partition(".")[0]: name for name in expression.names}
    known = [name for name in read if name in values]
    if not known:
        return expression, None
    left = tuple([name for root, name in read.items() if root not in values])
    inner: list[Expression] = []
    for root in known:
        value = values[root]
        one = facts(value)
        attributes = read[root].partition(".")[2]
        if attributes and isinstance(value, Opaque) and value.is_plain:
            one = one._replace(names=tuple([f"{name}.{attributes}" for name in one.names]))
        if isinstance(value, Dictionary) and attributes:
            one = facts(value.get(attributes.partition(".")[0]))
        inner.append(one)
    written = next((place for place in [origin(values[root]) for root in known] if place), None)
    return union(expression.source, [expression._replace(names=left), *inner]), written
