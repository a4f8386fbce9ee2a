"""`functools.partial` of a function of the module: a function that hands on what it was given."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from prefixlab.dialects.python_operators import Names
from prefixlab.dialects.python_values import Dictionary, Function, Items, Value

_HANDING_ON = "lambda *args, **kwargs: function(*given, *args, **{**named, **kwargs})"


def partial_of(function: Function, given: Sequence[Value], named: Mapping[str, Value], node: ast.AST) -> Function:
    """The function with its first arguments; in reports it stands where `partial` is called."""
    handing_on = ast.parse(_HANDING_ON, mode="eval").body
    assert isinstance(handing_on, ast.Lambda)
    for one in ast.walk(handing_on):
        ast.copy_location(one, node)
    names = Names()
    names.own = {
        "function": function,
        "given": Items(tuple(given), "tuple"),
        "named": Dictionary(tuple(named.items())),
    }
    return Function(handing_on, names)
