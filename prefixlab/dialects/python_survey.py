"""Which functions of a module can have to do with a prompt at all, so that the others need not be followed."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import NamedTuple

from prefixlab.dialects.python_requests import KEYWORDS, METHODS

_MAKING = ("Message", "MessageParam", "Template", "from_messages", "from_template", "from_string", "get_template")
OPENINGS = ("you are ", "you're a", "your task is", "your job is", "act as ")
"""How prompts begin that are not called so."""


class Survey(NamedTuple):
    """What a look at every node tells."""

    called: set[str]
    """Names by which functions of the module are called, and methods with a point ahead."""
    sizes: dict[int, int]
    """Nodes in each function of the module and method of its classes, by the `id` of the function's node; 0 is all."""
    matters: set[int]
    """Those that can have to do with a prompt."""


def survey(tree: ast.Module, is_prompt_name: Callable[[str], bool]) -> Survey:
    """Looks at every node of a module once."""
    called: set[str] = set()
    calls_of: dict[int, set[str]] = {}
    names_of: dict[int, tuple[str, ...]] = {}
    hinted: set[int] = set()
    sizes = {0: 0}
    waiting: list[tuple[ast.AST, int, str]] = [(tree, 0, "")]
    while waiting:
        node, function, owner = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not function:
            function = id(node)
            names_of[function] = (node.name, owner) if node.name == "__init__" else (node.name,)
            if is_prompt_name(node.name):
                hinted.add(function)
        elif isinstance(node, ast.ClassDef) and not function:
            owner = node.name
        elif isinstance(node, ast.Call):
            for name in _called_as(node):
                called.add(name)
                calls_of.setdefault(function, set()).add(name.lstrip("."))
        sizes[function] = sizes.get(function, 0) + 1
        sizes[0] += 1
        if function and function not in hinted and _is_hint(node, is_prompt_name):
            hinted.add(function)
        if isinstance(node, ast.Attribute):
            # A property is read, not called.
            calls_of.setdefault(function, set()).add(node.attr)
        waiting += [(inner, function, owner) for inner in _inner(node)]
    return Survey(called, sizes, _closure(hinted, calls_of, names_of))


def _inner(node: ast.AST) -> Iterator[ast.AST]:
    for field in node._fields:
        inner = getattr(node, field, None)
        if isinstance(inner, list):
            for one in inner:
                if isinstance(one, ast.AST):
                    yield one
        elif isinstance(inner, ast.AST) and field != "ctx":
            yield inner


def _called_as(node: ast.Call) -> Iterator[str]:
    if isinstance(node.func, ast.Name):
        yield node.func.id
    elif isinstance(node.func, ast.Attribute):
        yield f".{node.func.attr}"


def _is_hint(node: ast.AST, is_prompt_name: Callable[[str], bool]) -> bool:
    if isinstance(node, ast.keyword):
        return node.arg in KEYWORDS
    if isinstance(node, ast.Call):
        return any([name.lstrip(".") in METHODS or name.endswith(_MAKING) for name in _called_as(node)])
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        value = node.value
        return value == "role" or value in KEYWORDS or any([one in value[:300].lower() for one in OPENINGS])
    if isinstance(node, ast.Return) and isinstance(node.value, ast.Name):
        return is_prompt_name(node.value.id)
    return False


def _closure(hinted: set[int], calls_of: dict[int, set[str]], names_of: dict[int, tuple[str, ...]]) -> set[int]:
    """The functions with those that call them, by name, however far away."""
    callers: dict[str, list[int]] = {}
    for function, names in calls_of.items():
        for name in names:
            callers.setdefault(name, []).append(function)
    matters = set(hinted)
    waiting = list(hinted)
    while waiting:
        for name in names_of.get(waiting.pop(), ()):
            for caller in callers.pop(name, ()):
                if caller not in matters:
                    matters.add(caller)
                    waiting.append(caller)
    return matters
