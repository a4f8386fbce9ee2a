"""Values that record what a chat template does with them.

A template is run once on `Traced` values. Each stands for a value of the request and knows the `Step` that computes it
again from another request of the same shape. A pure operation on a traced value gives a traced value with a further
step. Where the template decides on a traced value (`if`, `in`, `==`, a length), the decision is recorded as a *guard*:
a step and the outcome it had. What comes out is a `Rope`: literal text and traced values in order. Guards and rope
together are a plan (`plans`): where all guards come out the same for another request, so does the rope.

Soundness rests on one property: a traced value is neither a str nor a dict nor a list. An operation that does not know
traced values cannot use one by mistake; it fails, and the request is rendered plainly. Hence `Untraceable` is no
`Exception`: nothing in a template or in jinja2 can catch it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

from prefixlab.records import Origin
from prefixlab.rendering.steps import Guard, Step, Untraceable
from prefixlab.rendering.text_methods import TEXT_OPERATIONS, TEXT_QUESTIONS

MISSING: Any = object()
"""What `attribute` and `item` give where a template finds nothing."""

GROWING = frozenset({"replace", "expandtabs", "ljust", "rjust", "center", "zfill"})
MOST_GROWTH = 100
"""Text operations whose result can be longer than the text, and the longest argument that one is recorded with."""


def _comparison(sign: str, compare: Callable[[Any, Any], Any]) -> Callable[[Traced, Any], bool]:
    def decide(self: Traced, other: Any) -> bool:
        return bool(self._decide(compare(self.value, _concrete(other)), "{} " + sign + " {}", self, other))

    return decide


class Traced:
    """A value of the request, or what a template made of it. Without a step it is pinned: part of the shape."""

    __slots__ = ("guards", "origin", "step", "value")

    def __init__(self, value: Any, step: Step | None, origin: Origin | None, guards: list[Guard]) -> None:
        self.value = value
        self.step = step
        self.origin = origin
        self.guards = guards

    # --- recording ---

    def compute(self, value: Any, form: str, *operands: Any) -> Traced:
        """The result of a pure operation on this value and others."""
        step = _step(form, operands)
        return Traced(value, step, self.origin, self.guards)

    def _decide(self, outcome: Any, form: str, *operands: Any) -> Any:
        """The outcome itself, on which the template goes on as on any other value."""
        step = _step(form, operands)
        if step is not None:
            self.guards.append(Guard(step, outcome))
        return outcome

    # --- what templates find on a value ---

    def attribute(self, name: str) -> Any:
        """`value.name`, as the sandbox would find it."""
        value = self.value
        if type(value) is str:
            if name in TEXT_OPERATIONS or name in TEXT_QUESTIONS:
                return Method(self, name)
        elif type(value) is dict and name in ("items", "keys", "values"):
            return getattr(self.opened(), name)
        elif type(value) is dict and name == "get":
            return self._get
        if hasattr(value, name):
            raise Untraceable(f"attribute {name}")
        return self.item(name)

    def call(self, name: str, *arguments: Any) -> Any:
        """A method of str; only those whose outcome hangs on the text alone."""
        if name not in TEXT_OPERATIONS and name not in TEXT_QUESTIONS:
            raise Untraceable(f"method {name}")
        if name in GROWING and any([is_traced(item) or len(str(item)) > MOST_GROWTH for item in arguments]):
            raise Untraceable(f"{name} by another text, which can make any length of another request")
        value = getattr(self.value, name)(*[_concrete(argument) for argument in arguments])
        form = "{}." + name + "(" + ", ".join(["{}"] * len(arguments)) + ")"
        if name in TEXT_QUESTIONS:
            return self._decide(value, form, self, *arguments)
        return self.compute(list(value) if type(value) is tuple else value, form, self, *arguments)

    def item(self, key: Any) -> Any:
        """`value[key]`."""
        if isinstance(key, Traced):
            key = key.pinned()
        if isinstance(key, slice):
            return self[key]
        value = self.value
        if type(value) is str:
            if not isinstance(key, int):
                return MISSING
            if not -len(value) <= key < len(value):
                self._decide(len(value), "len({})", self)
                return MISSING
            return self.compute(value[key], "{}[{}]", self, key)
        if type(value) is dict:
            present = self._decide(key in value, "{} in {}", key, self) if self.step else key in value
        elif type(value) is list:
            present = isinstance(key, int) and -len(value) <= key < len(value)
            if not present:
                self._decide(len(value), "len({})", self)
        else:
            raise Untraceable(f"an item of {type(value).__name__}")
        return self._child(key) if present else MISSING

    def _child(self, key: Any) -> Any:
        """A value inside a container: its type is decided on, and its value where it is no text or container."""
        value = self.value[key]
        origin = self.origin
        if origin is not None:
            origin = Origin(f"{origin.path}.{key}" if type(key) is str else f"{origin.path}[{key}]", origin.role)
        child = Traced(value, _step("{}[{}]", (self, key)), origin, self.guards)
        if type(value) in (str, dict, list):
            child._decide(type(value), "type({})", child)
            return child
        if value is None or type(value) in (bool, int, float):
            return child._decide((type(value), value), "(type({0}), {0})", child)[1]
        raise Untraceable(f"a value of type {type(value).__name__}")

    def opened(self) -> Any:
        """The container itself, its values traced; what keys or how many items it has is decided on."""
        value = self.value
        if type(value) is dict:
            self._decide(tuple(value), "tuple({})", self)
            return {key: self._child(key) for key in value}
        if type(value) is list:
            self._decide(len(value), "len({})", self)
            return [self._child(index) for index in range(len(value))]
        raise Untraceable(f"the inside of {type(value).__name__}")

    def pinned(self) -> Any:
        """The concrete value, decided on as a whole."""
        if type(self.value) in (list, dict):
            raise Untraceable("a whole container")
        return self._decide(self.value, "{}", self)

    def _get(self, key: Any, default: Any = None) -> Any:
        found = self.item(key)
        return default if found is MISSING else found

    # --- operators ---

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, slice):
            found = self.item(key)
            if found is MISSING:
                raise LookupError(key)
            return found
        bounds = (key.start, key.stop, key.step)
        return self.compute(self.value[slice(*map(_concrete, bounds))], "{}[{}:{}:{}]", self, *bounds)

    def __add__(self, other: Any) -> Any:
        if type(self.value) is list and isinstance(other, list):
            return self.opened() + other
        if type(self.value) is int:
            return self.compute(self.value + _concrete(other), "({} + {})", self, other)
        return _sum(self, other)

    def __radd__(self, other: Any) -> Any:
        if type(self.value) is list and isinstance(other, list):
            return other + self.opened()
        if type(self.value) is int:
            return self.compute(_concrete(other) + self.value, "({} + {})", other, self)
        return _sum(other, self)

    def __sub__(self, other: Any) -> Any:
        return self.compute(self.value - _concrete(other), "({} - {})", self, other)

    def __rsub__(self, other: Any) -> Any:
        return self.compute(_concrete(other) - self.value, "({} - {})", other, self)

    def __contains__(self, other: Any) -> bool:
        if type(self.value) is list:
            return other in self.opened()
        return bool(self._decide(_concrete(other) in self.value, "{} in {}", other, self))

    def __eq__(self, other: Any) -> bool:
        return bool(self._decide(self.value == _concrete(other), "{} == {}", self, other))

    __lt__ = _comparison("<", operator.lt)
    __le__ = _comparison("<=", operator.le)
    __gt__ = _comparison(">", operator.gt)
    __ge__ = _comparison(">=", operator.ge)

    def __bool__(self) -> bool:
        return bool(self._decide(bool(self.value), "{}", self))

    def __len__(self) -> int:
        return int(self._decide(len(self.value), "len({})", self))

    def __index__(self) -> int:
        return operator.index(self.pinned())

    def __iter__(self) -> Iterator[Any]:
        return iter(self.opened())

    def _refuse(self, *_: Any) -> NoReturn:
        raise Untraceable("a traced value in an operation that does not know it")

    __str__ = __repr__ = __format__ = __hash__ = __int__ = __float__ = __complex__ = __bytes__ = __reversed__ = _refuse
    __mod__ = __rmod__ = __mul__ = __rmul__ = _refuse


class Pads:
    """The placeholder tokens of an image: their text is the same for all, `step` gives the image's identity."""

    __slots__ = ("identity", "origin", "step", "value")

    def __init__(self, value: str, step: Step, origin: Origin, identity: str) -> None:
        self.value = value
        self.step = step
        self.origin = origin
        self.identity = identity


class Rope:
    """Text of several parts, literal and traced, as concatenation makes it."""

    __slots__ = ("parts",)

    def __init__(self, parts: list[str | Traced | Pads]) -> None:
        self.parts = parts

    @property
    def value(self) -> str:
        return "".join([part if type(part) is str else part.value for part in self.parts])  # type: ignore[union-attr]

    def joined(self) -> Traced:
        """The rope as one value, for operations that look at all of its text. Its origin is that of its first value.

        An image's identity would be lost in it: then it has no origin and can be decided on, but not come out.
        """
        traced = [part for part in self.parts if isinstance(part, Traced)]
        if not traced:
            raise Untraceable("an image by itself")
        operands = [part.value if isinstance(part, Pads) else part for part in self.parts]
        form = "''.join((" + "{}, " * len(operands) + "))"
        origin = None if any(isinstance(part, Pads) for part in self.parts) else traced[0].origin
        return Traced(self.value, _step(form, operands), origin, traced[0].guards)

    def attribute(self, name: str) -> Any:
        """`value.name`; blanks are stripped part by part, so that the parts stay."""
        if name in ("strip", "lstrip", "rstrip"):
            return Method(self, name)
        return self.joined().attribute(name)

    def item(self, key: Any) -> Any:
        """`value[key]`."""
        return self.joined().item(key)

    def call(self, name: str, *arguments: Any) -> Any:
        """A method that `attribute` found."""
        return self.stripped(name, *arguments)

    def stripped(self, how: str, *arguments: Any) -> Any:
        """The rope without blanks at its left, its right or both."""
        parts: list[Any] = list(self.parts)
        if how != "rstrip":
            parts = _strip_first(parts, "lstrip", arguments)
        if how != "lstrip":
            parts = _strip_first(parts[::-1], "rstrip", arguments)[::-1]
        return concatenate(parts)

    def __add__(self, other: Any) -> Any:
        return _sum(self, other)

    def __radd__(self, other: Any) -> Any:
        return _sum(other, self)

    def __bool__(self) -> bool:
        return any(isinstance(part, Pads) or bool(part) for part in self.parts)

    def __getitem__(self, key: Any) -> Any:
        return self.joined()[key]

    def __contains__(self, other: Any) -> bool:
        return other in self.joined()

    def __eq__(self, other: Any) -> bool:
        return bool(self.joined() == other)

    def __len__(self) -> int:
        return len(self.joined())

    def _refuse(self, *_: Any) -> NoReturn:
        raise Untraceable("a rope in an operation that does not know it")

    __str__ = __repr__ = __format__ = __hash__ = __int__ = __float__ = __iter__ = __index__ = _refuse
    __bytes__ = __reversed__ = _refuse
    __mod__ = __rmod__ = __mul__ = __rmul__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse


class Method:
    """A method of a traced text, as a template calls it."""

    __slots__ = ("__name__", "__self__")

    def __init__(self, owner: Traced | Rope, name: str) -> None:
        self.__self__ = owner
        self.__name__ = name

    def __call__(self, *arguments: Any) -> Any:
        return self.__self__.call(self.__name__, *arguments)


def is_traced(value: Any) -> bool:
    """Whether a value is one of this module's."""
    kind = type(value)
    return kind is Traced or kind is Rope


def concatenate(values: Iterable[Any]) -> Any:
    """The text of all values: a str where all is literal, else a rope. jinja2 joins a template's output with it."""
    parts: list[Any] = []
    literal = True
    for value in values:
        kind = type(value)
        if kind is str:
            parts.append(value)
        elif kind is Rope:
            parts += value.parts
            literal = False
        elif kind is Traced or kind is Pads:
            if type(value.value) is not str:
                raise Untraceable("a container as text")
            parts.append(value)
            literal = False
        else:
            parts.append(str(value))
    return "".join(parts) if literal else Rope(parts)


def join(values: Iterable[Any], separator: Any = "") -> Any:
    """`separator.join(values)`."""
    parts: list[Any] = []
    for value in values:
        parts += (separator, value)
    return concatenate(parts[1:])


def strftime(now: Traced, format: Any) -> Traced:
    """The request's time as text."""
    format = _concrete(format) if not is_traced(format) else format.pinned()
    return Traced(now.value.strftime(format), _step("{}.strftime({})", (now, format)), now.origin, now.guards)


def _sum(left: Any, right: Any) -> Any:
    for value in (left, right):
        if not (type(value) in (str, Rope) or (type(value) is Traced and type(value.value) is str)):
            return NotImplemented
    return concatenate((left, right))


def _strip_first(parts: list[Any], how: str, arguments: tuple[Any, ...]) -> list[Any]:
    """Parts whose first loses its blanks; a part that is blank all through goes, and the next one is the first."""
    for index, part in enumerate(parts):
        if isinstance(part, Pads):
            return parts[index:]
        stripped = part.call(how, *arguments) if isinstance(part, Traced) else getattr(part, how)(*arguments)
        if stripped:
            return [stripped, *parts[index + 1 :]]
    return []


def _concrete(value: Any) -> Any:
    return value.value if is_traced(value) else value


_CONSTANTS = (str, int, float, bool, type(None), type)


def _step(form: str, operands: Iterable[Any]) -> Step | None:
    """The step of a form; None where no operand has one, for then the result is pinned."""
    steps: list[Any] = []
    pinned = True
    for operand in operands:
        if type(operand) is Rope:
            operand = operand.joined()
        if type(operand) is Traced:
            if operand.step is None:
                operand = operand.value
            else:
                operand = operand.step
                pinned = False
        elif not isinstance(operand, _CONSTANTS) and not (
            type(operand) is tuple and all([isinstance(item, _CONSTANTS) for item in operand])
        ):
            raise Untraceable(f"an operand of type {type(operand).__name__}")
        steps.append(operand)
    return None if pinned else Step(form, tuple(steps))
