"""What has no fixed order gone through sorted: `sorted(...)` in Python, `| dictsort` and `| sort` in Jinja2."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from prefixlab.template_rewriting.edits import Edit, Refused
from prefixlab.template_rewriting.jinja_statements import Token, closing, statement, tokens_from
from prefixlab.template_rewriting.python_items import (
    LISTS,
    holds_texts,
    is_listing,
    is_mapping,
    is_set,
    numbers_items,
    takes_apart,
)
from prefixlab.template_rewriting.python_nodes import PythonNodes

_THROUGH = ("enumerate", "list", "tuple", "iter")
_WITH_FUNCTION = ("map", "filter")

_NUMBERS = ("index", "index0", "revindex", "revindex0", "cycle")
_NOT_IN_SIGHT = "what it goes through is put in order elsewhere"
_NUMBERED = "its items are numbered, so their order may mean something"
_UNKNOWN = "its items may not be comparable"
_NOT_COMPARABLE = "the values of a mapping may not be comparable"


def in_python(text: str, offset: int) -> list[Edit]:
    """The loop, the join or the list of files at an offset goes through its items sorted.

    Raises:
        Refused: it is none of these.
    """
    nodes = PythonNodes(text)
    if nodes.binds("sorted"):
        raise Refused("the module has a `sorted` of its own")
    items = None
    for node in nodes.at(offset):
        items = _items(node, nodes)
        if items is not None:
            break
    if items is None:
        raise Refused("it is written out as a whole, and sorted it would be a list")
    if isinstance(items, ast.Call) and isinstance(items.func, ast.Attribute) and items.func.attr == "values":
        raise Refused(_NOT_COMPARABLE)
    if isinstance(items, ast.Call) and nodes.called(items).rpartition(".")[2] in ("scandir", "reversed", "sorted"):
        raise Refused(_NOT_IN_SIGHT)
    whole, key = _sortable(items, nodes)
    start, end = nodes.start(whole), nodes.end(whole)
    if isinstance(whole, ast.GeneratorExp) and text[start : start + 1] != "(":
        raise Refused(_NOT_IN_SIGHT)
    parent = nodes.parents[id(whole)]
    edits = [Edit(start, start, "sorted("), Edit(end, end, f", key={key})" if key else ")")]
    if isinstance(whole, ast.GeneratorExp) and isinstance(parent, ast.Call) and start == nodes.end(parent.func):
        # The brackets of the call are those of the generator.
        edits = [Edit(start, start, "(sorted"), Edit(end, end, ")")]

    def change() -> None:
        keywords = [ast.keyword("key", ast.Name(key, ast.Load()))] if key else []
        made = ast.Call(ast.Name("sorted", ast.Load()), [whole], keywords)
        for name, value in ast.iter_fields(parent):
            if value is whole:
                setattr(parent, name, made)
            elif isinstance(value, list):
                value[:] = [made if one is whole else one for one in value]

    return nodes.proved(edits, change)


def _sortable(items: ast.expr, nodes: PythonNodes) -> tuple[ast.expr, str]:
    """What is put in order so that nothing can go wrong: the items, or the texts that a join makes of them; and the
    key by which.

    Raises:
        Refused: the items may not be comparable, or their order may mean something.
    """
    loop, joined = _gone_through(items, nodes)
    has_no_order = is_set(items, nodes) or is_listing(items, nodes)
    if loop is not None and not has_no_order and numbers_items(loop, nodes):
        raise Refused(_NUMBERED)
    if is_listing(items, nodes) or holds_texts(items, nodes) or joined is items:
        return items, ""
    if joined is not None and not is_mapping(items):
        if numbers_items(joined, nodes):
            raise Refused(_NUMBERED)
        return joined, ""
    if loop is None or nodes.binds("str"):
        raise Refused(_UNKNOWN)
    within = [nodes.parents[id(loop)]] if isinstance(loop, ast.comprehension) else list[ast.AST](loop.body)
    if not is_mapping(items) and takes_apart(loop.target, within):
        raise Refused(_UNKNOWN)
    return items, "str"


def _gone_through(
    items: ast.expr, nodes: PythonNodes
) -> tuple[ast.For | ast.AsyncFor | ast.comprehension | None, ast.expr | None]:
    """The loop that goes through the items, and what is joined of them; None where there is no such thing."""
    loop: ast.For | ast.AsyncFor | ast.comprehension | None = None
    at: ast.expr = items
    while True:
        parent = nodes.parents.get(id(at))
        if isinstance(parent, ast.For | ast.AsyncFor) and parent.iter is at:
            return parent, None
        if isinstance(parent, ast.comprehension) and loop is None:
            loop = parent
            parent = nodes.parents[id(parent)]
            if not isinstance(parent, ast.ListComp | ast.GeneratorExp):
                return loop, None
            at = parent
            continue
        if not isinstance(parent, ast.Call) or at not in parent.args:
            return loop, None
        if isinstance(parent.func, ast.Attribute) and parent.func.attr == "join":
            return loop, at
        if nodes.called(parent) not in (*_THROUGH, *_WITH_FUNCTION):
            return loop, None
        at = parent


def _items(node: ast.AST, nodes: PythonNodes) -> ast.expr | None:
    """What a node goes through; None where it does not go through anything."""
    if isinstance(node, ast.For | ast.AsyncFor):
        return None if isinstance(node, ast.AsyncFor) else _inside(node.iter, nodes)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "join":
        return _inside(node.args[0], nodes) if len(node.args) == 1 and not node.keywords else None
    if isinstance(node, ast.ListComp | ast.GeneratorExp) and len(node.generators) == 1:
        return _inside(node, nodes)
    if isinstance(node, ast.expr):
        parent = nodes.parents.get(id(node))
        if nodes.called(node) in LISTS:
            return node
        if isinstance(parent, ast.comprehension) and parent.iter is node:
            return None if parent.is_async else _inside(node, nodes)
        if isinstance(parent, ast.For) and parent.iter is node:
            return _inside(node, nodes)
        if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute) and parent.func.attr == "join":
            return _inside(node, nodes)
    return None


def _inside(node: ast.expr, nodes: PythonNodes) -> ast.expr | None:
    """The very collection, behind what hands its items on in their order."""
    if isinstance(node, ast.ListComp | ast.GeneratorExp):
        one = node.generators[0]
        return _inside(one.iter, nodes) if len(node.generators) == 1 and not one.is_async else None
    called = nodes.called(node)
    if isinstance(node, ast.Call) and node.args and not node.keywords:
        if called in _THROUGH and len(node.args) == 1:
            return _inside(node.args[0], nodes)
        if called in _WITH_FUNCTION and len(node.args) == 2:
            return _inside(node.args[1], nodes)
    return node if isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Set | ast.SetComp | ast.BinOp) else None


def in_jinja(text: str, offset: int) -> list[Edit]:
    """The loop or the join of the statement at an offset goes through its items sorted.

    Raises:
        Refused: it is none, or numbers its items, so that their order may mean something.
    """
    tokens = tokens_from(text, offset)
    inside = statement(tokens)
    if not inside or inside[0].text != "for":
        return _joined(inside)
    begin = next((at for at, one in enumerate(inside) if (one.kind, one.text) == ("name", "in")), None)
    if begin is None or _numbers(tokens):
        raise Refused(_NUMBERED)
    end = _end_of_items(inside, begin + 1)
    return _sorted(inside, begin + 1, end)


def _joined(inside: Sequence[Token]) -> list[Edit]:
    for at, token in enumerate(inside):
        if (token.kind, token.text) == ("name", "join") and at >= 2 and inside[at - 1].text == "|":
            begin = at - 1
            while begin and (inside[begin - 1].kind == "name" or inside[begin - 1].text in (".", "(", ")", "|")):
                begin -= 1
            return _sorted(inside, begin, at - 1)
    raise Refused("it is written out as a whole, and sorted it would be a list")


def _sorted(inside: Sequence[Token], begin: int, end: int) -> list[Edit]:
    """What stands from `begin` to `end` sorted: a mapping's items or keys, or a set that is made there."""
    said = [one.text for one in inside[begin:end]]
    if len(said) >= 5 and said[-4] == "." and said[-2:] == ["(", ")"] and _is_path(inside[begin : end - 4]):
        dot, last = inside[end - 4], inside[end - 1]
        if said[-3] == "items":
            return [Edit(dot.start, last.end, " | dictsort")]
        if said[-3] == "values":
            return [Edit(dot.start, last.end, " | dictsort | map(attribute=1)")]
        if said[-3] == "keys":
            return [Edit(last.end, last.end, " | sort")]
    if said[-2:] == ["|", "set"] or (said[:2] == ["set", "("] and closing(inside, begin + 1) == end - 1):
        return [Edit(inside[end - 1].end, inside[end - 1].end, " | sort")]
    raise Refused("`unique` keeps the order that it is given" if "unique" in said else _NOT_IN_SIGHT)


def _is_path(tokens: Sequence[Token]) -> bool:
    """Whether it is a name with attributes."""
    return len(tokens) % 2 == 1 and all(
        [one.text == "." if at % 2 else one.kind == "name" for at, one in enumerate(tokens)]
    )


def _end_of_items(inside: Sequence[Token], begin: int) -> int:
    at = begin
    while at < len(inside):
        one = inside[at]
        if one.kind == "operator" and one.text in ("(", "[", "{"):
            at = closing(inside, at)
        elif one.kind == "name" and one.text in ("if", "recursive"):
            break
        at += 1
    return at


def _numbers(tokens: Sequence[Token]) -> bool:
    """Whether the body of the loop that the tokens begin with reads the number of an item."""
    depth = 0
    for at, one in enumerate(tokens):
        if one.kind == "block_begin":
            word = tokens[at + 1].text if at + 1 < len(tokens) else ""
            depth += (word == "for") - (word == "endfor")
            if not depth:
                return False
        elif [two.text for two in tokens[at : at + 2]] == ["loop", "."] and tokens[at + 2].text in _NUMBERS:
            return True
    return False
