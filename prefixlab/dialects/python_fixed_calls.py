"""Calls that give the same for the same, whatever their names say, and values whose order a class gives."""

from __future__ import annotations

import uuid
from dataclasses import replace

from prefixlab.dialects.python_arguments import Call
from prefixlab.dialects.python_facts import facts, placed, union
from prefixlab.dialects.python_known_calls import ORDERS
from prefixlab.dialects.python_values import Opaque, Value, constant_text, text_of
from prefixlab.prompt_templates import Expression


def fixed_call(call: Call) -> Value | None:
    """What `uuid.UUID` gives of a text, and what else only writes its arguments in another way."""
    if call.name != "uuid.UUID":
        return None
    text = constant_text(call.argument(0, "hex"))
    if text is not None:
        try:
            return text_of(str(uuid.UUID(text)), call.at)
        except ValueError:
            return text_of(text, call.at)
    values = [*call.positional, *call.named.values()]
    at, source = placed(values, call.at, call.source)
    return Opaque(union(source, map(facts, values)), at)


def lists_files(expression: Expression) -> bool:
    """Whether it is of the files of a folder: what their variable is called tells nothing of them."""
    return any(
        [
            ORDERS.get(call) == "directory" or ORDERS.get(call.rpartition(".")[2]) == "directory"
            for call in expression.calls
        ]
    )


def named_value(value: Opaque, name: str) -> Opaque:
    """The value of a variable: what the author calls it tells something too, but for files of a folder."""
    if lists_files(value.expression):
        return value
    return replace(value, expression=value.expression._replace(names=(name, *value.expression.names)))
