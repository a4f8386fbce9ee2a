"""Filters and tests of chat templates, on plain and on traced values.

A filter that is not listed here refuses traced values, so that nothing unknown is recorded.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from jinja2 import Environment, Undefined, pass_environment
from jinja2.filters import make_attrgetter

from prefixlab.rendering.steps import Untraceable
from prefixlab.rendering.tracing import MISSING, Rope, Traced, is_traced, join

_HOLE = secrets.token_hex(12)
"""Marks the place of a traced value in JSON; unguessable, so that no text of a log can be taken for it."""

_HOLES = re.compile(f'"{_HOLE}:(\\d+)"')


class NotJson(TypeError):
    """A template writes a value as JSON that is not there: `name` of `owner`."""

    def __init__(self, missing: Undefined) -> None:
        super().__init__(missing._undefined_message)
        self.owner = missing._undefined_obj
        self.name = missing._undefined_name


def to_json(
    value: Any, ensure_ascii: bool = False, indent: Any = None, separators: Any = None, sort_keys: bool = False
) -> str:
    """`tojson` as chat templates know it: no HTML escapes."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def to_json_filter(
    value: Any, ensure_ascii: bool = False, indent: Any = None, separators: Any = None, sort_keys: bool = False
) -> Any:
    """`tojson` for traced values too: one by itself as a whole, those in a container each in its place."""
    options = (ensure_ascii, indent, tuple(separators) if separators else None, sort_keys)
    if is_traced(value):
        return _traced_json(value, options)
    holes: list[Any] = []

    def hole(inner: Any) -> str:
        if isinstance(inner, Undefined):
            raise NotJson(inner)
        if not is_traced(inner):
            raise TypeError(f"Object of type {type(inner).__name__} is not JSON serializable")
        if indent is not None and type(inner.value) is not str:
            raise Untraceable("an indented container")
        holes.append(_traced_json(inner, options))
        return f"{_HOLE}:{len(holes) - 1}"

    text = json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys, default=hole
    )
    if not holes:
        return text
    pieces: list[Any] = _HOLES.split(text)
    pieces[1::2] = [holes[int(number)] for number in pieces[1::2]]
    return join(pieces)


def _traced_json(value: Traced | Rope, options: tuple[Any, ...]) -> Traced:
    if isinstance(value, Rope):
        value = value.joined()
    return value.compute(to_json(value.value, *options), "to_json({}, {}, {}, {}, {})", value, *options)


@pass_environment
def join_filter(environment: Environment, value: Iterable[Any], d: Any = "", attribute: Any = None) -> Any:
    """`join`: the texts of the values with `d` between them."""
    if attribute is not None:
        value = map(make_attrgetter(environment, attribute), value)
    return join(value, d)


def _length(value: Any) -> Any:
    if isinstance(value, Rope):
        value = value.joined()
    return value.compute(len(value.value), "len({})", value) if type(value.value) is str else len(value)


def _item(index: int) -> Callable[[Any], Any]:
    def item(value: Any) -> Any:
        found = value.item(index)
        if found is MISSING:
            raise Untraceable("the first or last item of nothing")
        return found

    return item


def _default(value: Any, default_value: Any = "", boolean: bool = False) -> Any:
    return default_value if boolean and not value else value


_TRACED: dict[str, Callable[..., Any]] = {
    "trim": lambda value, chars=None: value.attribute("strip")(*(() if chars is None else (chars,))),
    "string": lambda value: value,
    "safe": lambda value: value,
    "lower": lambda value: value.attribute("lower")(),
    "upper": lambda value: value.attribute("upper")(),
    "capitalize": lambda value: value.attribute("capitalize")(),
    "replace": lambda value, old, new: value.attribute("replace")(old, new),
    "length": _length,
    "count": _length,
    "first": _item(0),
    "last": _item(-1),
    "default": _default,
    "d": _default,
    "items": lambda value: value.opened().items(),
}
"""What filters do with a traced value in the first place."""

_OPENING = frozenset({"list", "map", "select", "reject", "selectattr", "rejectattr", "reverse", "dictsort"})
"""Filters that look into a container; they are given its values traced."""

_TYPE_TESTS = frozenset(
    {"string", "mapping", "iterable", "sequence", "number", "integer", "float", "boolean", "callable"}
)
"""Tests on the type of a value, which the shape or a guard holds fast."""

_REFUSED_TESTS = frozenset({"sameas"})


def adapt_filter(name: str, plain: Any) -> Callable[..., Any]:
    """A filter of jinja2 that knows, or refuses, traced values."""
    traced = _TRACED.get(name)
    own = 1 if hasattr(plain, "jinja_pass_arg") else 0

    @wraps(plain)
    def filter(*arguments: Any, **options: Any) -> Any:
        if not any(map(is_traced, arguments)) and not (options and any(map(is_traced, options.values()))):
            return plain(*arguments, **options)
        if traced is not None and is_traced(arguments[own]):
            return traced(*arguments[own:], **options)
        if name in _OPENING and isinstance(arguments[own], Traced):
            return plain(*arguments[:own], arguments[own].opened(), *arguments[own + 1 :], **options)
        if traced is _default:
            return plain(*arguments, **options)
        raise Untraceable(f"filter {name}")

    return filter


def adapt_test(name: str, plain: Any) -> Callable[..., Any]:
    """A test of jinja2 that knows traced values; those that only compare work on them as they are."""
    if name in _TYPE_TESTS:

        @wraps(plain)
        def typed(value: Any) -> Any:
            return plain(value.value if is_traced(value) else value)

        return typed
    if name in _REFUSED_TESTS:

        @wraps(plain)
        def refusing(value: Any, *arguments: Any) -> Any:
            if is_traced(value) or any(map(is_traced, arguments)):
                raise Untraceable(f"test {name}")
            return plain(value, *arguments)

        return refusing
    unchanged: Callable[..., Any] = plain
    return unchanged
