"""What a template was filled with, read back from a text that it made.

Literals are looked for from the left and from the right: where both find the same places there is but one way to read
the text. A hole is known by its expression, a loop by what it goes over and its body, so that another template with the
same expressions can be filled with what was found, whatever they call.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import islice
from os.path import commonprefix
from typing import NamedTuple

from prefixlab.prompt_templates import Choice, Hole, Loop, Part, Text

MOST_WAYS = 64
"""Ways through the choices of a template that are tried on a text."""

Found = Mapping[Hashable, str | int]
"""The text of each hole and loop, and the number of the arm of each choice."""


class Read(NamedTuple):
    """A text read back. `is_unique`: there is no other way to read it."""

    found: Found
    is_unique: bool


def read_back(parts: Sequence[Part], text: str) -> Read | None:
    """What the parts were filled with to make this text; None where they did not make it."""
    reads = []
    for way, (items, arms) in enumerate(_ways(parts)):
        if way >= MOST_WAYS:
            break
        read = _read(items, text)
        if read is not None:
            reads.append(Read({**read.found, **arms}, read.is_unique))
    if not reads:
        return None
    # Of several ways the one with most text of its own has fewest characters in holes.
    best = min(reads, key=lambda read: sum(len(value) for value in read.found.values() if isinstance(value, str)))
    is_unique = best.is_unique and all(read.found == best.found or not _as_tight(read, best) for read in reads)
    return Read(best.found, is_unique)


def _as_tight(read: Read, best: Read) -> bool:
    def loose(one: Read) -> int:
        return sum(len(value) for value in one.found.values() if isinstance(value, str))

    return loose(read) == loose(best)


class Reach(NamedTuple):
    """How far a text can be read as made of parts."""

    literal: int
    """Characters of the parts' own texts that it has."""
    at: int
    """Where the text parts from them."""
    wanted: str
    """What the parts have there; empty where they end."""


def reach(parts: Sequence[Part], text: str) -> Reach:
    """How far a text can be read as made of these parts, by the way through them that leads furthest."""
    ways = [_reached(items, text) for items, _ in islice(_ways(parts), MOST_WAYS)]
    return max(ways, key=lambda one: one.literal, default=Reach(0, 0, ""))


def _reached(items: Sequence[Hashable], text: str) -> Reach:
    at = literal = 0
    is_open = False
    for item in items:
        if not isinstance(item, str):
            is_open = True
            continue
        found = text.find(item, at) if is_open else at
        if found < 0 or not text.startswith(item, found):
            length, found = _beginning(item, text, at) if is_open else (len(_common(item, text[at:])), at)
            return Reach(literal + length, found + length, item[length:])
        at = found + len(item)
        literal += len(item)
        is_open = False
    return Reach(literal, len(text) if is_open else at, "")


def _beginning(literal: str, text: str, start: int) -> tuple[int, int]:
    """How much of the beginning of a literal the text has behind a place, and where."""
    low, high = 0, len(literal)
    while low < high:
        middle = (low + high + 1) // 2
        if text.find(literal[:middle], start) >= 0:
            low = middle
        else:
            high = middle - 1
    return low, text.find(literal[:low], start)


def _common(one: str, other: str) -> str:
    return commonprefix([one, other])  # noqa: RUF071 - texts, not paths


def fill(parts: Sequence[Part], found: Found) -> tuple[str, list[str]]:
    """The text of parts filled with what was found, and the expressions that nothing was found for."""
    text: list[str] = []
    missing: list[str] = []
    for part in parts:
        if isinstance(part, Text):
            text.append(part.text)
        elif isinstance(part, Hole | Loop):
            value = found.get(key_of(part))
            if isinstance(value, str):
                text.append(value)
            else:
                missing.append(part.expression.source if isinstance(part, Hole) else part.over.source)
        elif isinstance(part, Choice):
            arm = found.get(key_of(part))
            if isinstance(arm, int) and arm < len(part.arms):
                inner, inner_missing = fill(part.arms[arm], found)
                text.append(inner)
                missing += inner_missing
            else:
                missing.append(part.condition.source)
    return "".join(text), missing


def key_of(part: Hole | Loop | Choice) -> Hashable:
    """What a part is known by in another template."""
    if isinstance(part, Hole):
        return ("hole", " ".join(part.expression.source.split()))
    if isinstance(part, Choice):
        return ("choice", " ".join(part.condition.source.split()))
    return ("loop", " ".join(part.over.source.split()), _shape(part.body))


def _shape(parts: Sequence[Part]) -> tuple[Hashable, ...]:
    shape: list[Hashable] = []
    for part in parts:
        if isinstance(part, Text):
            shape.append(part.text)
        elif isinstance(part, Hole):
            shape.append(key_of(part))
        elif isinstance(part, Choice):
            shape.append((key_of(part), tuple([_shape(arm) for arm in part.arms])))
        elif isinstance(part, Loop):
            shape.append(key_of(part))
    return tuple(shape)


def _ways(parts: Sequence[Part]) -> Iterator[tuple[list[Hashable], dict[Hashable, int]]]:
    """Every way through the choices: literals and keys in order, and the arms taken."""
    open_ways: list[tuple[list[Part], list[Hashable], dict[Hashable, int]]] = [(list(reversed(parts)), [], {})]
    while open_ways:
        left, items, arms = open_ways.pop()
        while left:
            part = left.pop()
            if isinstance(part, Text):
                if items and isinstance(items[-1], str):
                    items[-1] += part.text
                else:
                    items.append(part.text)
            elif isinstance(part, Hole | Loop):
                items.append(key_of(part))
            elif isinstance(part, Choice):
                key = key_of(part)
                numbers = [arms[key]] if key in arms else range(len(part.arms))
                numbers = [number for number in numbers if number < len(part.arms)]
                for number in reversed(numbers[1:]):
                    arm = [*left, *reversed(part.arms[number])]
                    open_ways.append((arm, list(items), {**arms, key: number}))
                if not numbers:
                    break
                left += reversed(part.arms[numbers[0]])
                arms = {**arms, key: numbers[0]}
        else:
            yield items, arms


def _read(items: Sequence[Hashable], text: str) -> Read | None:
    """The text cut at the literals, from the left and from the right."""
    forward = _cut(items, text)
    if forward is None:
        return None
    backward = _cut([one[::-1] if isinstance(one, str) else one for one in reversed(items)], text[::-1])
    if backward is None:
        return None
    mirrored = [value[::-1] for value in reversed(backward)]
    keys = [one for one in items if not isinstance(one, str)]
    found: dict[Hashable, str] = {}
    for key, value in zip(keys, forward, strict=True):
        if found.setdefault(key, value) != value:
            # The same expression gave another text: the literals were found at the wrong places.
            return _consistent(keys, mirrored)
    return Read(found, forward == mirrored)


def _consistent(keys: Sequence[Hashable], values: Sequence[str]) -> Read | None:
    found: dict[Hashable, str] = {}
    for key, value in zip(keys, values, strict=True):
        if found.setdefault(key, value) != value:
            return None
    return Read(found, True)


def _cut(items: Sequence[Hashable], text: str) -> list[str] | None:
    """What stands in the holes, each as short as can be, the last up to the end."""
    values: list[str] = []
    at = 0
    is_open = False
    for number, item in enumerate(items):
        if not isinstance(item, str):
            if is_open:
                values.append("")
            is_open = True
            continue
        if not is_open:
            if not text.startswith(item, at):
                return None
            at += len(item)
            continue
        is_last = number == len(items) - 1
        found = len(text) - len(item) if is_last else text.find(item, at)
        if found < at or not text.startswith(item, found):
            return None
        values.append(text[at:found])
        at = found + len(item)
        is_open = False
    if is_open:
        values.append(text[at:])
        at = len(text)
    return values if at == len(text) else None
