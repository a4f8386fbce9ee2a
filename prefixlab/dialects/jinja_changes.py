"""Calls in an expression of Jinja2 that put more into a list or a mapping, as `p.append(x)`."""

from __future__ import annotations

from collections.abc import Iterator

from jinja2 import nodes

CHANGES = frozenset({"append", "extend", "insert", "add", "update", "setdefault"})
"""Methods that put more into a container."""

_WITHOUT_RESULT = CHANGES - {"setdefault"}


def is_change(node: nodes.Node | None) -> bool:
    return isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr) and node.node.attr in CHANGES


def changes_in(node: nodes.Node, sure: bool = True) -> Iterator[tuple[nodes.Call, bool]]:
    """The calls as they are written, each with whether it is made whatever the values are."""
    waiting: list[tuple[nodes.Node, bool]] = [(node, sure)]
    while waiting:
        one, certain = waiting.pop()
        if isinstance(one, nodes.Call) and is_change(one):
            yield one, certain
        if isinstance(one, nodes.And | nodes.Or):
            waiting += [(one.right, False), (one.left, certain)]
        elif isinstance(one, nodes.CondExpr):
            arms = [arm for arm in (one.expr2, one.expr1) if arm is not None]
            waiting += [*[(arm, False) for arm in arms], (one.test, certain)]
        else:
            waiting += [(child, certain) for child in reversed(list(one.iter_child_nodes()))]


def result_of(node: nodes.Node) -> nodes.Node:
    """The expression behind a change, which gives nothing itself: `""` of `p.append(x) or ""`."""
    if isinstance(node, nodes.Or) and _gives_nothing(node.left):
        return node.right
    if isinstance(node, nodes.Not) and _gives_nothing(node.node):
        return nodes.Const(True, lineno=node.lineno, environment=node.environment)
    if _gives_nothing(node):
        return nodes.Const(None, lineno=node.lineno, environment=node.environment)
    return node


def _gives_nothing(node: nodes.Node) -> bool:
    return (
        isinstance(node, nodes.Call)
        and is_change(node)
        and isinstance(node.node, nodes.Getattr)
        and (node.node.attr in _WITHOUT_RESULT)
    )
