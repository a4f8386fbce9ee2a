"""Expressions of Jinja2 that need no value of the caller, worked out by Jinja2 itself."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import jinja2
from jinja2 import nodes

from prefixlab.dialects.jinja_expressions import dotted
from prefixlab.dialects.jinja_values import UNKNOWN, Scope

MOST_ITEMS = 200
"""Items of a constant list that is looped over one by one."""


MOST_CHARACTERS = 100_000
"""Of a constant text; what would be longer is left to the run."""

_SURE = (
    nodes.Const, nodes.TemplateData, nodes.Name, nodes.Getattr, nodes.Getitem, nodes.List, nodes.Tuple, nodes.Dict,
    nodes.Pair, nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not, nodes.CondExpr, nodes.Concat, nodes.Add,
    nodes.Sub, nodes.Neg, nodes.Pos, nodes.Test, nodes.Filter, nodes.Call, nodes.Keyword, nodes.Slice,
)  # fmt: skip
"""What makes no more than it is given. A product, a power or a format makes any number of characters of two digits."""

_SURE_FILTERS = frozenset(
    [
        "abs",
        "capitalize",
        "count",
        "default",
        "d",
        "e",
        "escape",
        "first",
        "int",
        "join",
        "last",
        "length",
        "list",
        "lower",
        "map",
        "max",
        "min",
        "reverse",
        "round",
        "safe",
        "select",
        "reject",
        "sort",
        "string",
        "sum",
        "title",
        "tojson",
        "trim",
        "unique",
        "upper",
        "wordcount",
        "attr",
        "dictsort",
        "items",
        "float",
    ]
)


def constant(environment: jinja2.Environment, node: nodes.Node, scope: Scope) -> Any:
    """The value of an expression that needs none of the caller's, else `UNKNOWN`."""
    if isinstance(node, nodes.Const):
        return node.value
    if any(_reads_other(one, scope) for one in _names_in(node)):
        return UNKNOWN
    name = dotted(node)
    if name:
        known = scope.value(name)
        return UNKNOWN if known is None else known.constant
    if isinstance(node, nodes.Test) and node.name in ("defined", "undefined"):
        return UNKNOWN
    if isinstance(node, nodes.Call):
        if dotted(node.node) == "range" and not node.kwargs:
            limits = [constant(environment, one, scope) for one in node.args]
            if limits and all(isinstance(one, int) and abs(one) <= MOST_ITEMS for one in limits):
                return range(*limits[:3])
        return UNKNOWN
    parts = [node, *node.find_all(nodes.Node)]
    if not all(isinstance(one, _SURE) for one in parts):
        return UNKNOWN
    if not all(one.name in _SURE_FILTERS for one in parts if isinstance(one, nodes.Filter)):
        return UNKNOWN
    try:
        made = _with_constants(node, scope).as_const(nodes.EvalContext(environment))
        return UNKNOWN if len(str(made)) > MOST_CHARACTERS else made
    except Exception:  # whatever cannot be worked out now is a value of run time
        return UNKNOWN


def _names_in(node: nodes.Node) -> list[nodes.Node]:
    found = [node] if isinstance(node, nodes.Name | nodes.Call) else []
    return [*found, *node.find_all((nodes.Name, nodes.Call))]


def _reads_other(node: nodes.Node, scope: Scope) -> bool:
    """Whether a name is the caller's, or a call is not one that is known."""
    if isinstance(node, nodes.Call):
        return dotted(node.node) != "range"
    if not isinstance(node, nodes.Name) or node.name == "range":
        return False
    known = scope.value(node.name)
    return known is None or (known.constant is UNKNOWN and node.name != "loop")


def _with_constants(node: Any, scope: Scope) -> Any:
    """The expression with names that are constant replaced by their values."""
    if isinstance(node, nodes.Name):
        known = scope.value(node.name)
        if known is not None and known.constant is not UNKNOWN:
            return nodes.Const(known.constant, lineno=node.lineno, environment=node.environment)
        return node
    name = dotted(node)
    known = scope.value(name) if name else None
    if known is not None and known.constant is not UNKNOWN:
        return nodes.Const(known.constant, lineno=node.lineno, environment=node.environment)
    made = type(node)(*[_copied(getattr(node, field), scope) for field in node.fields])
    return made.set_environment(node.environment) if node.environment else made


def _copied(field: Any, scope: Scope) -> Any:
    if isinstance(field, nodes.Expr):
        return _with_constants(field, scope)
    if isinstance(field, list):
        return [_copied(one, scope) for one in field]
    if isinstance(field, nodes.Node):
        return type(field)(*[_copied(getattr(field, name), scope) for name in field.fields])
    return field


def is_text(environment: jinja2.Environment, node: nodes.Node, scope: Scope, filters: Collection[str]) -> bool:
    """Whether a sum is one of texts."""
    if isinstance(node, nodes.Add):
        return is_text(environment, node.left, scope, filters) or is_text(environment, node.right, scope, filters)
    if isinstance(node, nodes.Concat):
        return True
    if isinstance(node, nodes.Filter):
        return node.name in (*filters, "join", "upper", "lower", "tojson", "title", "replace")
    return isinstance(constant(environment, node, scope), str)
