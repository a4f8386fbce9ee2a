"""Prompts of a Python module as parts for everybody, and their rendering where nothing has to run for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from prefixlab.dialects.python_literals import Piece
from prefixlab.dialects.python_values import Gap, TextPart
from prefixlab.errors import PrefixlabError
from prefixlab.prompt_templates import PLAIN, Choice, History, Hole, Loop, Message, Part, Render, Text, Turn


def shown(parts: Sequence[TextPart]) -> tuple[Part, ...]:
    """The parts with the places of their texts."""
    made: list[Part] = []
    for part in parts:
        if isinstance(part, Piece):
            if part.text:
                made.append(Text(part.text, part.place()))
        elif isinstance(part, Gap):
            made.append(Hole(part.expression, part.at, part.entered_at))
        elif isinstance(part, Choice):
            made.append(part._replace(arms=tuple([shown(arm) for arm in part.arms])))
        elif isinstance(part, Loop):
            made.append(part._replace(body=shown(part.body)))
        else:
            made.append(part)
    return tuple(made)


def renderer(parts: Sequence[TextPart], path: str) -> Render | None:
    """What fills in the holes; None where one is more than a name that the caller fills."""
    for part in parts:
        if isinstance(part, Choice | Loop):
            return None
        if isinstance(part, Gap) and not _is_name(part):
            return None

    def render(values: Mapping[str, Any]) -> Sequence[Message]:
        messages: list[Message] = []
        role, texts = PLAIN, [""]
        for part in parts:
            if isinstance(part, Turn | History):
                if role != PLAIN or any(texts):
                    messages.append((role, "".join(texts)))
                role, texts = PLAIN, [""]
                if isinstance(part, Turn):
                    role = part.role
                else:
                    messages += _earlier(part.name, values, path)
            elif isinstance(part, Piece):
                texts.append(part.text)
            else:
                texts.append(_written(part, values, path))
        if role != PLAIN or any(texts):
            messages.append((role, "".join(texts)))
        return tuple(messages)

    return render


def _is_name(gap: Gap) -> bool:
    expression = gap.expression
    if not gap.is_plain or expression.calls or expression.orders or len(expression.names) != 1 or "{" in gap.spec:
        return False
    return expression.names[0].replace(".", "_").isidentifier()


def _value(name: str, values: Mapping[str, Any], path: str) -> Any:
    root, *attributes = name.split(".")
    if root not in values:
        raise PrefixlabError(f"no value is given for {root!r}", "Give it with the values", path=path)
    value = values[root]
    for one in attributes:
        if not isinstance(value, Mapping) or one not in value:
            raise PrefixlabError(f"no value is given for {name!r}", "Give it with the values", path=path)
        value = value[one]
    return value


def _written(gap: Gap, values: Mapping[str, Any], path: str) -> str:
    value = _value(gap.expression.names[0], values, path)
    write = _WRITTEN.get(gap.conversion, format)
    try:
        return write(value, gap.spec)
    except (TypeError, ValueError, OverflowError) as error:
        raise PrefixlabError(f"{gap.expression.source}: {error}", "Correct the values", path=path) from None


def _raw(value: Any, spec: str) -> str:
    """As mustache writes it: nothing of what is empty, but numbers and `False`."""
    return str(value) if value or value in (0, False) else ""


def _escaped(value: Any, spec: str) -> str:
    text = _raw(value, spec)
    for character, code in (("&", "&amp;"), ('"', "&quot;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(character, code)
    return text


_WRITTEN: dict[str, Callable[[Any, str], str]] = {
    "r": lambda value, spec: format(repr(value), spec),
    "%": lambda value, spec: spec % value,
    "s": lambda value, spec: format(str(value), spec),
    "a": lambda value, spec: format(ascii(value), spec),
    "json": lambda value, _: json.dumps(value),
    "html": _escaped,
    "raw": _raw,
}


def _earlier(name: str, values: Mapping[str, Any], path: str) -> list[Message]:
    given = _value(name, values, path)
    messages: list[Message] = []
    for one in given if isinstance(given, list | tuple) else [given]:
        if isinstance(one, Mapping) and "role" in one:
            messages.append((str(one["role"]), str(one.get("content", ""))))
        elif isinstance(one, list | tuple) and len(one) == 2:
            messages.append((str(one[0]), str(one[1])))
        else:
            raise PrefixlabError(f"{name} is no list of messages", "Give role and content of each", path=path)
    return messages
