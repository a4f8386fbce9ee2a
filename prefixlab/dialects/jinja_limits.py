"""What a Jinja2 template asks for that no sandbox gives, as far as its text alone tells: the inside of Python, and
ranges, numbers and texts that are too large."""

from __future__ import annotations

from collections.abc import Iterator
from string import Formatter
from typing import Any

from jinja2 import nodes, sandbox

from prefixlab.rendering import limits

_INTERNALS = frozenset(
    sandbox.UNSAFE_METHOD_ATTRIBUTES
    | sandbox.UNSAFE_GENERATOR_ATTRIBUTES
    | sandbox.UNSAFE_COROUTINE_ATTRIBUTES
    | sandbox.UNSAFE_ASYNC_GENERATOR_ATTRIBUTES
)
"""Attributes that are refused of some objects, by names that no value of a prompt has."""

_WIDENING = frozenset({"center", "ljust", "rjust", "zfill", "indent", "wordwrap", "expandtabs"})
"""What makes a text as wide as a number says."""

_LOOPED = limits.UNITS // limits.BLOCK
"""How often the innermost of nested loops can be entered."""

Refused = tuple[nodes.Node, str]


def refused(tree: nodes.Template) -> Iterator[Refused]:
    """The expressions that the sandbox refuses, and why."""
    # A number drawn of a range is a value that changes, which is what there is to say of it.
    drawn = {id(one.node) for one in tree.find_all(nodes.Filter) if one.name == "random"}
    for node in tree.find_all((nodes.Expr, nodes.For)):
        fault = None if id(node) in drawn else _refused(node)
        if fault is not None:
            yield node.iter if isinstance(node, nodes.For) else node, fault


def _refused(node: nodes.Node) -> str | None:
    for name in _attributes(node):
        if (name.startswith("__") and name.endswith("__") and len(name) > 4) or name in _INTERNALS:
            return f"asks for {name!r}, the inside of Python, which the sandbox refuses"
    if isinstance(node, nodes.For):
        return _looped_too_often(node)
    size = _range_length(node)
    if size is not None and size > sandbox.MAX_RANGE:
        return f"asks for a range of {size:,} numbers; the sandbox gives {sandbox.MAX_RANGE:,} at most"
    try:
        _size_of(node)
        wide = _width(node)
    except _TooLarge as error:
        return str(error)
    return f"makes a text of {wide:,} characters, more than the sandbox gives" if wide > limits.UNITS else None


def _attributes(node: nodes.Node) -> Iterator[str]:
    """Attributes that a node reads by a name that is known."""
    if isinstance(node, nodes.Getattr):
        yield node.attr
    elif isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str):
        yield node.arg.value
    elif isinstance(node, nodes.Filter):
        named = [pair.value for pair in node.kwargs if pair.key == "attribute"]
        for argument in (*(node.args[:1] if node.name == "attr" else ()), *named):
            if isinstance(argument, nodes.Const) and isinstance(argument.value, str):
                yield from argument.value.split(".")
    elif isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr) and node.node.attr == "format":
        text = node.node.node
        if isinstance(text, nodes.Const) and isinstance(text.value, str):
            yield from _fields(text.value)


def _fields(text: str) -> Iterator[str]:
    try:
        for _, field, _, _ in Formatter().parse(text):
            yield from (field or "").replace("[", ".").replace("]", "").split(".")[1:]
    except ValueError:
        return


def _looped_too_often(node: nodes.For) -> str | None:
    times, loop = 1, node
    while True:
        count = _range_length(loop.iter)
        if count is None:
            return None
        times *= count
        if times > _LOOPED and loop is not node:
            return f"goes through nested loops {times:,} times, more than the sandbox gives"
        inner = [one for one in loop.body if isinstance(one, nodes.For)]
        if not inner:
            return None
        loop = inner[0]


def _range_length(node: nodes.Node) -> int | None:
    """How many numbers a range has whose limits stand there."""
    if not isinstance(node, nodes.Call) or not isinstance(node.node, nodes.Name) or node.node.name != "range":
        return None
    try:
        found = [_size_of(one) for one in node.args]
        given = [one for one in found if isinstance(one, int)]
        if len(given) < len(found) or not 1 <= len(given) <= 3:
            return None
        numbers = range(*given)
        return max(0, (numbers.stop - numbers.start + numbers.step - (1 if numbers.step > 0 else -1)) // numbers.step)
    except (_TooLarge, ValueError):
        return None


class _TooLarge(Exception):
    pass


class _Sized(int):
    """The length of a text or a list."""


def _size_of(node: nodes.Node) -> int | _Sized | None:
    """A number that stands there, or the length of a text or a list; None where values tell.

    Raises:
        _TooLarge: it is more than the sandbox makes.
    """
    if isinstance(node, nodes.Const):
        if isinstance(node.value, str):
            return _Sized(len(node.value))
        return node.value if type(node.value) is int else None
    if isinstance(node, nodes.List | nodes.Tuple):
        return _Sized(limits.ITEM * len(node.items))
    if isinstance(node, nodes.Neg):
        inner = _size_of(node.node)
        return None if inner is None or isinstance(inner, _Sized) else -inner
    if isinstance(node, nodes.Add | nodes.Sub | nodes.Mul | nodes.Pow):
        left, right = _size_of(node.left), _size_of(node.right)
        return None if left is None or right is None else _made(node, left, right)
    return None


def _made(node: nodes.BinExpr, left: Any, right: Any) -> int | _Sized | None:
    texts = [one for one in (left, right) if isinstance(one, _Sized)]
    if texts:
        if isinstance(node, nodes.Mul) and len(texts) == 1:
            size = max(int(left) * int(right), 0)
            if size > limits.UNITS:
                raise _TooLarge(f"makes a text or a list of {size:,} characters, more than the sandbox gives")
            return _Sized(size)
        return _Sized(int(left) + int(right)) if isinstance(node, nodes.Add) and len(texts) == 2 else None
    if isinstance(node, nodes.Add | nodes.Sub):
        return int(left + right if isinstance(node, nodes.Add) else left - right)
    if isinstance(node, nodes.Pow):
        if right < 0:
            return None
        if abs(left) > 1 and left.bit_length() * right > limits.MOST_BITS:
            raise _TooLarge("makes a number that is longer than the sandbox gives")
        return int(left**right)
    if left.bit_length() + right.bit_length() > limits.MOST_BITS:
        raise _TooLarge("makes a number that is longer than the sandbox gives")
    return int(left * right)


def _width(node: nodes.Node) -> int:
    """How wide a text is made, where a number tells; 0 where none does."""
    if isinstance(node, nodes.Filter) and node.name in _WIDENING:
        arguments = [*node.args, *[pair.value for pair in node.kwargs]]
    elif isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr) and node.node.attr in _WIDENING:
        arguments = node.args
    elif isinstance(node, nodes.Mod) and isinstance(node.left, nodes.Const) and isinstance(node.left.value, str):
        return sum([int(one[:12]) for one in limits.NUMBERS.findall(node.left.value)]) if "%" in node.left.value else 0
    else:
        return 0
    numbers = [_size_of(one) for one in arguments]
    return max([one for one in numbers if one is not None and not isinstance(one, _Sized)], default=0)
