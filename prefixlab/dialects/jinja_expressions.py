"""What a Jinja2 expression reads, calls and orders, as far as its nodes tell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from jinja2 import nodes

from prefixlab.prompt_templates import Expression, Order

_ORDERED = {"dictsort", "sort"}
_IN_PLACE_ORDERS: dict[str, Order] = {"random": "random", "shuffle": "random", "set": "set"}
_OF_MAPPING = {"items", "keys", "values"}
_BY_ATTRIBUTE = {"map", "selectattr", "rejectattr", "groupby", "sort", "sum", "unique", "min", "max"}
"""Filters that read an attribute of what they go through."""

Lookup = Callable[[str], Expression | None]
"""What is known of a name that the template itself sets; None where it is a variable of the caller."""


class Facts(NamedTuple):
    """Names, calls, formats and orders of an expression; texts in it count as formats where a time is formatted."""

    names: tuple[str, ...]
    calls: tuple[str, ...]
    formats: tuple[str, ...]
    orders: tuple[Order, ...]


def expression_of(node: nodes.Node, source: str, lookup: Lookup) -> Expression:
    """The expression of a node; what names of the template stand for is put in their place."""
    names: dict[str, None] = {}
    calls: dict[str, None] = {}
    formats: dict[str, None] = {}
    orders: dict[Order, None] = {}

    def add(known: Expression) -> None:
        names.update(dict.fromkeys(known.names))
        calls.update(dict.fromkeys(known.calls))
        formats.update(dict.fromkeys(known.formats))
        orders.update(dict.fromkeys(known.orders))

    def visit(node: nodes.Node) -> None:
        name = dotted(node)
        if isinstance(node, nodes.Call):
            for argument in node.args[1:] if name else ():
                visit(argument)
        if name:
            root, _, attributes = name.partition(".")
            known = lookup(name)
            if known is None and attributes:
                known = lookup(root)
                if known is not None:
                    known = known._replace(names=tuple([f"{one}.{attributes}" for one in known.names]))
            if known is None:
                names[name] = None
            else:
                add(known)
            return
        if isinstance(node, nodes.Call):
            called = dotted(node.node)
            if called:
                owner, _, method = called.rpartition(".")
                known = lookup(called) or (lookup(owner.partition(".")[0]) if owner else None)
                if known is not None:
                    add(known)
                    calls[method or called] = None
                else:
                    calls[called] = None
                    if owner:
                        names[owner] = None
                if (method or called) in _OF_MAPPING and owner:
                    orders["mapping"] = None
                elif called in _IN_PLACE_ORDERS:
                    orders[_IN_PLACE_ORDERS[called]] = None
            else:
                method = node.node.attr if isinstance(node.node, nodes.Getattr) else ""
                calls[method] = None
                visit(node.node)
                if method in _OF_MAPPING and any(True for _ in node.node.find_all(nodes.Name)):
                    orders["mapping"] = None
            formats.update(dict.fromkeys(_formats(node, called)))
            for inside in (*node.args, *[pair.value for pair in node.kwargs]):
                visit(inside)
            return
        if isinstance(node, nodes.Filter):
            if node.node is not None:
                attribute = _attribute_of(node)
                visit(nodes.Getattr(node.node, attribute, "load") if attribute and dotted(node.node) else node.node)
                if attribute and not dotted(node.node):
                    names[attribute] = None
            calls[node.name] = None
            if node.name in _ORDERED:
                orders.clear()
            elif node.name in _IN_PLACE_ORDERS:
                orders[_IN_PLACE_ORDERS[node.name]] = None
            elif node.name == "tojson" and _is_unsorted(node):
                orders["json"] = None
            formats.update(dict.fromkeys(_formats(node, node.name)))
            for inside in (*node.args, *[pair.value for pair in node.kwargs]):
                visit(inside)
            return
        for child in node.iter_child_nodes():
            visit(child)

    visit(node)
    return Expression(
        source or source_of(node),
        tuple(names),
        tuple([call for call in calls if call]),
        tuple(formats),
        tuple(orders),
    )


def dotted(node: nodes.Node) -> str:
    """`user.name` of a name with attributes, constant items or `get` of one; empty of anything else."""
    if isinstance(node, nodes.Name | nodes.NSRef):
        return node.name if isinstance(node, nodes.Name) else f"{node.name}.{node.attr}"
    if isinstance(node, nodes.Getattr):
        owner = dotted(node.node)
        return f"{owner}.{node.attr}" if owner else ""
    if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str):
        owner = dotted(node.node)
        return f"{owner}.{node.arg.value}" if owner else ""
    if (
        isinstance(node, nodes.Call)
        and isinstance(node.node, nodes.Getattr)
        and node.node.attr == "get"
        and 1 <= len(node.args) <= 2
        and isinstance(node.args[0], nodes.Const)
        and isinstance(node.args[0].value, str)
    ):
        owner = dotted(node.node.node)
        return f"{owner}.{node.args[0].value}" if owner else ""
    return ""


def _attribute_of(node: nodes.Filter) -> str:
    """The attribute that a filter reads of each item; empty where it reads none that is known."""
    if node.name not in _BY_ATTRIBUTE:
        return ""
    named = [pair.value for pair in node.kwargs if pair.key == "attribute"]
    found = [*named, *(node.args[:1] if node.name in ("selectattr", "rejectattr", "groupby") else ())]
    value = found[0].value if found and isinstance(found[0], nodes.Const) else None
    return value if isinstance(value, str) else ""


def source_of(node: nodes.Node) -> str:
    """A short form of an expression, where its own text is not at hand."""
    name = dotted(node)
    if name:
        return name
    if isinstance(node, nodes.Call):
        return f"{source_of(node.node)}()"
    if isinstance(node, nodes.Filter):
        return f"{source_of(node.node)} | {node.name}" if node.node is not None else node.name
    inner = [source_of(child) for child in node.iter_child_nodes()]
    return next((one for one in inner if one), "")


def _formats(node: nodes.Call | nodes.Filter, name: str) -> Iterator[str]:
    """Texts among the arguments that format a time."""
    for argument in (*node.args, *[pair.value for pair in node.kwargs]):
        if isinstance(argument, nodes.Const) and isinstance(argument.value, str) and "%" in argument.value:
            yield argument.value


def _is_unsorted(node: nodes.Filter) -> bool:
    """Whether `tojson` is told not to sort; Jinja2's own does."""
    return any(
        pair.key == "sort_keys" and isinstance(pair.value, nodes.Const) and not pair.value.value for pair in node.kwargs
    )
