"""What the items of a collection in Python are, and how a loop goes through them: whether they can be sorted."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from prefixlab.template_rewriting.python_nodes import PythonNodes

LISTS = ("os.listdir", "glob.glob")
"""Give lists of texts, so that a sorted one is of the same kind."""

_PATHS = ("iterdir", "glob", "rglob", "iglob")
_COLLECTIONS = ("set", "frozenset", "list", "tuple", "sorted", "reversed", "iter")
_OF_TEXTS = frozenset(["str", "repr", "format", "json.dumps", "chr", "hex"])
_TEXT_METHODS = frozenset(
    ["strip", "lower", "upper", "title", "format", "join", "replace", "lstrip", "rstrip", "casefold", "strftime"]
)
_TEXT_LISTS = frozenset(["split", "splitlines", "rsplit"])
_COUNTING = frozenset(["enumerate", "zip", "next", "itertools.count", "len"])
_DEEPEST = 8


def mapping_of(items: ast.expr, method: str) -> ast.expr | None:
    """What `items` is the `.items()`, `.keys()` or `.values()` of."""
    if isinstance(items, ast.Call) and isinstance(items.func, ast.Attribute) and items.func.attr == method:
        return items.func.value
    return None


def is_mapping(items: ast.expr) -> bool:
    """Whether it is what a mapping holds, each key once."""
    return mapping_of(items, "items") is not None or mapping_of(items, "keys") is not None


def is_listing(items: ast.expr, nodes: PythonNodes) -> bool:
    """Whether it lists files: their names or paths can be compared."""
    if nodes.called(items) in LISTS:
        return True
    return any([mapping_of(items, method) is not None for method in _PATHS]) or nodes.called(items) == "glob.iglob"


def is_set(items: ast.expr, nodes: PythonNodes, depth: int = 0) -> bool:
    """Whether it is seen to be a set, whose items are in no order that could mean something."""
    if depth > _DEEPEST:
        return False
    if isinstance(items, ast.Set | ast.SetComp) or nodes.called(items) in ("set", "frozenset"):
        return True
    if isinstance(items, ast.BinOp):
        return is_set(items.left, nodes, depth + 1) or is_set(items.right, nodes, depth + 1)
    if isinstance(items, ast.Name):
        made, annotations = _bound(items.id, nodes)
        noted = [_base(one) in ("set", "frozenset", "Set", "FrozenSet", "AbstractSet") for one in annotations]
        return bool(noted or made) and all([*noted, *[is_set(one, nodes, depth + 1) for one in made]])
    return False


def holds_texts(items: ast.expr, nodes: PythonNodes, depth: int = 0) -> bool:
    """Whether all of its items, of a mapping its keys, are seen to be texts."""
    if depth > _DEEPEST:
        return False
    if isinstance(items, ast.Set | ast.List | ast.Tuple):
        return all([is_text(one, nodes) for one in items.elts])
    if isinstance(items, ast.Dict):
        return all([one is not None and is_text(one, nodes) for one in items.keys])
    if isinstance(items, ast.SetComp | ast.ListComp | ast.GeneratorExp):
        return is_text(items.elt, nodes)
    if isinstance(items, ast.DictComp):
        return is_text(items.key, nodes)
    if isinstance(items, ast.BinOp):
        return all([holds_texts(one, nodes, depth + 1) for one in (items.left, items.right)])
    if isinstance(items, ast.Call):
        called = nodes.called(items)
        if called in LISTS or called == "glob.iglob":
            return True
        if called in _COLLECTIONS:
            return all([holds_texts(one, nodes, depth + 1) for one in items.args])
        if called == "map" and len(items.args) == 2:
            function = items.args[0]
            return isinstance(function, ast.Name) and function.id in _OF_TEXTS and not nodes.binds(function.id)
        if isinstance(items.func, ast.Attribute):
            if items.func.attr in ("keys", "items"):
                return holds_texts(items.func.value, nodes, depth + 1)
            return items.func.attr in _TEXT_LISTS
    if isinstance(items, ast.Name):
        made, annotations = _bound(items.id, nodes)
        known = [_notes_texts(one) for one in annotations] or [holds_texts(one, nodes, depth + 1) for one in made]
        return bool(known) and all(known)
    return False


def is_text(node: ast.expr, nodes: PythonNodes) -> bool:
    """Whether an expression is seen to be a text."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mod):
        left = is_text(node.left, nodes)
        return left or (isinstance(node.op, ast.Add) and is_text(node.right, nodes))
    if isinstance(node, ast.IfExp):
        return is_text(node.body, nodes) and is_text(node.orelse, nodes)
    if isinstance(node, ast.Call):
        if nodes.called(node) in _OF_TEXTS:
            return True
        return isinstance(node.func, ast.Attribute) and node.func.attr in _TEXT_METHODS
    return isinstance(node, ast.JoinedStr)


def _bound(name: str, nodes: PythonNodes) -> tuple[list[ast.expr], list[ast.expr]]:
    """All that the module sets a name to, and the annotations of it; an empty tuple where it cannot be seen."""
    made: list[ast.expr] = []
    annotations: list[ast.expr] = []
    for node in ast.walk(nodes.tree):
        if isinstance(node, ast.arg) and node.arg == name:
            if node.annotation is None:
                return [], []
            annotations.append(node.annotation)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
            annotations.append(node.annotation)
        elif isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load):
            parent = nodes.parents[id(node)]
            if isinstance(parent, ast.AnnAssign):
                continue
            if not isinstance(parent, ast.Assign) or node not in parent.targets:
                return [], []
            made.append(parent.value)
        elif _is_changed(node, name):
            return [], []
    return made, annotations


def _is_changed(node: ast.AST, name: str) -> bool:
    """Whether something is put into what a name holds."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        owner = node.func.value
        is_change = node.func.attr in ("add", "update", "append", "extend", "insert", "setdefault")
        return is_change and isinstance(owner, ast.Name) and owner.id == name
    if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
        return isinstance(node.value, ast.Name) and node.value.id == name
    return False


def _base(annotation: ast.expr) -> str:
    at = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    return at.attr if isinstance(at, ast.Attribute) else at.id if isinstance(at, ast.Name) else ""


def _notes_texts(annotation: ast.expr) -> bool:
    """Whether an annotation says that the items, or the keys, are texts."""
    if not isinstance(annotation, ast.Subscript):
        return False
    of = annotation.slice
    first = of.elts[0] if isinstance(of, ast.Tuple) and of.elts else of
    return isinstance(first, ast.Name) and first.id == "str"


def numbers_items(loop: ast.For | ast.AsyncFor | ast.comprehension | ast.expr, nodes: PythonNodes) -> bool:
    """Whether a loop, or what is joined, counts its items or stops after some: their order may mean something."""
    if isinstance(loop, ast.expr):
        return any([isinstance(one, ast.NamedExpr) or _counts(one, nodes) for one in ast.walk(loop)])
    if any([_counts(one, nodes) for one in ast.walk(loop.iter)]):
        return True
    if isinstance(loop, ast.comprehension):
        whole = nodes.parents[id(loop)]
        return any([isinstance(one, ast.NamedExpr) or _counts(one, nodes) for one in ast.walk(whole)])
    return any(
        [isinstance(one, ast.Break | ast.NamedExpr) or _counts(one, nodes) or _is_step(one) for one in _body(loop)]
    )


def _body(loop: ast.For | ast.AsyncFor) -> Iterator[ast.AST]:
    for statement in loop.body:
        yield from ast.walk(statement)


def _counts(node: ast.AST, nodes: PythonNodes) -> bool:
    return isinstance(node, ast.Call) and nodes.called(node) in _COUNTING


def _is_step(node: ast.AST) -> bool:
    """`n += 1`, `n = n + 1`, with whatever step."""
    if isinstance(node, ast.AugAssign):
        return isinstance(node.value, ast.Constant) and isinstance(node.value.value, int | float)
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp):
        read = {one.id for one in ast.walk(node.value) if isinstance(one, ast.Name)}
        names = [one.id for one in node.targets if isinstance(one, ast.Name)]
        steps = [isinstance(one, ast.Constant) and isinstance(one.value, int | float) for one in ast.walk(node.value)]
        return bool(read.intersection(names)) and any(steps)
    return False


def takes_apart(target: ast.expr, within: list[ast.AST]) -> bool:
    """Whether the items are more than texts: an attribute of one is read, a part of it, or a method called."""
    names = {one.id for one in ast.walk(target) if isinstance(one, ast.Name)}
    for start in within:
        for node in ast.walk(start):
            if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Load):
                owner = node.value
                is_method = isinstance(node, ast.Attribute) and node.attr in _TEXT_METHODS
                if isinstance(owner, ast.Name) and owner.id in names and not is_method:
                    return True
    return False
