"""Tools of a request in Python: they stand at the head of a prompt, and so does what changes in them.

How a provider writes them out is its own matter, so they have no text here: what is kept of them is the orders that are
not fixed, and the holes of their texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from prefixlab.dialects.python_facts import gone_over, inside, origin
from prefixlab.dialects.python_values import Gap, Items, Opaque, Repeated, TextPart, TextValue, Value
from prefixlab.prompt_templates import Expression, Loop, Place, Turn, walk

TOOLS = ("tools", "functions")
"""Keywords of the tools of a request."""

_ORDERS = frozenset(("set", "mapping", "random", "directory"))


def behind_tools(body: Mapping[str, Value], parts: Sequence[TextPart], at: Place) -> tuple[TextPart, ...]:
    """The parts of a prompt, with what changes in the request's tools ahead of its first text."""
    changing = [part for key in TOOLS if key in body for part in _changing(key, body[key], at)]
    if not changing or not parts:
        return tuple(parts)
    first = parts[0]
    if isinstance(first, Turn):
        return (first, *changing, *parts[1:])
    return (*([Turn("system", at)] if any([isinstance(one, Turn) for one in parts]) else []), *changing, *parts)


def _changing(key: str, tools: Value, at: Place) -> list[TextPart]:
    found: dict[Place, TextPart] = {}
    for one in inside(tools):
        if isinstance(one, TextValue):
            for part in walk(one.parts):
                if isinstance(part, Gap):
                    # No caller can fill it in: the text around it is not known.
                    found.setdefault(part.at, part._replace(is_plain=False))
            continue
        over: Expression | None = None
        if isinstance(one, Repeated):
            over = one.over
        elif isinstance(one, Opaque) or (isinstance(one, Items) and one.is_unordered):
            over = gone_over(one)
        if over is not None and _ORDERS.intersection(over.orders):
            place = one.at if isinstance(one, Repeated | Opaque) else origin(one) or at
            names = (key, *[name for name in over.names if name != key])
            found.setdefault(place, Loop(over._replace(source=over.source or key, names=names), place, ()))
    return list(found.values())
