"""How much a chat template may do: templates are files of strangers, and one can ask for any time and memory.

A rendering has an allowance of units, the same on every machine. A unit is about a byte of memory or 30 ns of work.
Each block of statements that is entered costs by its length; each operation costs by the size of what it is given and,
where it can make more of that, of what it makes. It is paid for before it is done. A request with much text has a
larger allowance, so that only a template that goes on and on meets its end.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from prefixlab.rendering.tracing import Rope, Traced

UNITS = 24_000_000
UNITS_PER_UNIT_OF_THE_REQUEST = 50
BLOCK = 20
EXPRESSION = 4
ITEM = 16
"""What an item of a container costs."""

VISIT = 24
"""What it costs besides to look into an item."""

CALL = 40
MACRO = 300
JSON = 400
SLOW = 30
"""A unit of text in one of jinja2's filters that are slow."""

MOST_BITS = 10_000
"""Length of the longest number that a template may make."""

NUMBERS = re.compile(r"\d+")


class TooMuch(Exception):
    """The allowance is used up."""

    def __init__(self) -> None:
        super().__init__("takes too many steps or makes too much text")


class Allowance:
    """What is left for the rendering at hand."""

    def __init__(self) -> None:
        self._left = UNITS
        self._request: Any = None

    def renew(self, request: Any) -> None:
        """Start anew, for a rendering of the given values."""
        self._left = UNITS
        self._request = request

    def spend(self, units: int) -> None:
        self._left -= units
        if self._left < 0:
            # The request's own size is looked at only now: hardly ever.
            request, self._request = self._request, None
            if request is None:
                raise TooMuch
            self._left += UNITS_PER_UNIT_OF_THE_REQUEST * size_of(request)
            self.spend(0)

    def walk(self, value: Any) -> Any:
        """The value, paid for as something whose items or characters are gone through once."""
        self.spend(len(value) if type(value) is str else extent(value))
        return value

    def read(self, value: Any, indent: int = 0) -> int:
        """The cost of a value with all that is in it, paid for; each level of containers costs by `indent`."""
        paid = due = depth = 0
        level = [value]
        while level:
            inside: list[Any] = []
            for item in level:
                kind = type(item)
                if kind is Traced:
                    item = item.value
                    kind = type(item)
                if kind is str:
                    due += len(item) + VISIT + depth
                    continue
                due += extent(item) + VISIT + depth
                if due > self._left:  # before the inside is copied
                    self.spend(due)
                    paid += due
                    due = 0
                if kind is dict or isinstance(item, Mapping):
                    inside += item
                    inside += item.values()
                elif kind is list or kind is tuple or isinstance(item, list | tuple):
                    inside += item
            level = inside
            depth += indent
        self.spend(due)
        return paid + due


def size_of(request: Any) -> int:
    """The cost of a request's values, which come from JSON."""
    measure = Allowance()
    measure._left = sys.maxsize
    return measure.read(request)


def extent(value: Any) -> int:
    """The cost of a value by itself."""
    kind = type(value)
    if kind is str:
        return len(value)
    if kind is Traced:
        value = value.value
    elif kind is Rope:
        return sum([ITEM + len(part if type(part) is str else part.value) for part in value.parts])
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, int):
        return value.bit_length() // 8
    try:
        return ITEM * len(value)
    except TypeError:
        return 0


# --- what operations make of what they are given ----------------------------------------------------------------------


def pay_for_operator(allowance: Allowance, operator: str, left: Any, right: Any) -> None:
    """Pays for `left operator right`: one of `*`, `**`, `%`."""
    if operator == "%" and isinstance(left, str | bytes):
        _pay_for_format(allowance, left, (right,))
        return
    size = extent(left) + extent(right)
    if operator == "*":
        for one, other in ((left, right), (right, left)):
            if isinstance(one, int) and not isinstance(other, int):
                size += extent(other) * max(one, 0)
    if operator in ("*", "**") and isinstance(left, int) and isinstance(right, int):
        bits = left.bit_length() + right.bit_length() if operator == "*" else left.bit_length() * abs(right)
        if bits > MOST_BITS and (operator == "*" or abs(left) > 1):
            raise TooMuch
    allowance.spend(size)


def pay_for_method(allowance: Allowance, owner: Any, name: str, arguments: Iterable[Any]) -> None:
    """Pays for a method of a text, a number or a container."""
    arguments = tuple(arguments)
    if isinstance(owner, Traced | Rope):
        owner = owner.value
    if isinstance(owner, str | bytes):
        if name in ("format", "format_map"):
            _pay_for_format(allowance, owner, arguments)
            return
        size = extent(owner)
        given = allowance.read(arguments)
        if name == "replace" and len(arguments) > 1:
            size += _replaced(owner, *arguments[:2])
        elif name in ("join", "translate"):
            size += size * given
        elif name == "expandtabs":
            size += size * _number(arguments, 8)
        elif "split" in name:
            size += ITEM + ITEM * size // 2
        allowance.spend(CALL + size + _number(arguments))
    elif isinstance(owner, Mapping) and name in ("get", "items", "keys", "values"):
        allowance.spend(CALL)
    else:
        allowance.read(arguments)
        allowance.spend(CALL + extent(owner) + (_number(arguments) if isinstance(owner, int) else 0))


def pay_for_filter(allowance: Allowance, name: str, value: Any, arguments: Iterable[Any]) -> None:
    """Pays for a filter that is given a value and arguments."""
    if name in _LAZY:
        allowance.spend(CALL)
        return
    arguments = tuple(arguments)
    size = extent(value)
    if name in _SHALLOW:
        allowance.spend(CALL + (ITEM * size if isinstance(value, str) and name == "list" else size))
    elif name == "tojson":
        allowance.read(value, _widths(arguments))
        allowance.spend(JSON)
    elif name == "format":
        _pay_for_format(allowance, value, arguments)
    elif name == "replace" and len(arguments) > 1:
        allowance.spend(CALL + size + _replaced(value, *arguments[:2]))
    elif name == "round":
        if _number(arguments) > MOST_BITS:
            raise TooMuch
    else:
        given = allowance.read(arguments)
        read = allowance.read(value)
        if name in ("indent", "wordwrap", "sum", "map"):
            read *= 1 + _widths(arguments) + (given if name != "map" else 0)
        elif name in ("batch", "slice"):
            read += ITEM * _number(arguments)
        allowance.spend(CALL + _number(arguments) + read * (SLOW if name in _SLOW else 1))


def pay_for_text(allowance: Allowance, values: Iterable[Any]) -> None:
    """Pays for values that become one text."""
    size = 0
    for value in values:
        kind = type(value)
        if kind is str:
            size += len(value)
        elif kind is Traced or kind is Rope:
            size += extent(value)
        else:
            allowance.read(value)
    allowance.spend(size)


_LAZY = frozenset({"length", "count", "first", "last", "default", "d", "items", "attr"})
_SHALLOW = frozenset(
    {"list", "map", "select", "reject", "selectattr", "rejectattr", "reverse", "trim", "lower", "upper"}
)
_SLOW = frozenset({"wordwrap", "urlize", "pprint", "title", "striptags", "xmlattr", "wordcount", "urlencode"})


def _pay_for_format(allowance: Allowance, text: Any, arguments: Any) -> None:
    """Pays for a formatted text: every field could hold all arguments, at any width that is named."""
    given = allowance.read(arguments)
    if not isinstance(text, str | bytes):
        return
    shown = text if isinstance(text, str) else text.decode("latin-1")
    fields = shown.count("%") + shown.count("{")
    widths = sum([int(number[:12]) for number in NUMBERS.findall(shown)])
    if "*" in shown or re.search(r"\{[^{}]*\{", shown):
        widths += fields * sum([abs(item) for item in _flat(arguments) if isinstance(item, int)])
    allowance.spend(CALL + len(shown) + widths + fields * given)


def _flat(arguments: Any) -> Iterator[Any]:
    for argument in arguments:
        if isinstance(argument, tuple | list | Mapping):
            yield from _flat(argument.values() if isinstance(argument, Mapping) else argument)
        else:
            yield argument


def _replaced(value: Any, old: Any, new: Any) -> int:
    """How much text a replacement can add."""
    text, found = (item.value if isinstance(item, Traced | Rope) else item for item in (value, old))
    if not isinstance(text, str | bytes) or not isinstance(found, type(text)):
        return extent(value)
    return text.count(found) * extent(new)  # type: ignore[arg-type]


def _number(arguments: Iterable[Any], otherwise: int = 0) -> int:
    numbers = [abs(argument) for argument in arguments if isinstance(argument, int)]
    return sum(numbers) if numbers else otherwise


def _widths(arguments: Iterable[Any]) -> int:
    """How wide the numbers and texts among arguments are."""
    return sum([len(item) if isinstance(item, str) else abs(item) for item in arguments if isinstance(item, str | int)])
