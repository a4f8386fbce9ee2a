"""Methods that a class of the module inherits, where it says something else that they read: `self.header()`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from prefixlab.dialects.python_values import Class, Function, Value

_MOST = 100
"""Methods of a module that are gone over once more for a class that inherits them."""


def overridden(own: Mapping[str, Value]) -> list[tuple[str, Function, Class]]:
    """Inherited methods that read what their class overrides, in the order of the file."""
    found: list[tuple[str, Function, Class]] = []
    for value in own.values():
        if not isinstance(value, Class):
            continue
        for name, method in _inherited(value).items():
            if len(found) < _MOST and not value.names.keys().isdisjoint(_read(method.node)):
                found.append((f"{value.node.name}.{name}", method, value))
    return found


def _inherited(of: Class, depth: int = 0) -> dict[str, Function]:
    """Methods of the classes that it inherits from, by their names."""
    methods: dict[str, Function] = {}
    for base in reversed(of.bases):
        if isinstance(base, Class) and depth < 10:
            methods.update(_inherited(base, depth + 1))
            methods.update({name: one for name, one in base.names.items() if isinstance(one, Function)})
    return {name: one for name, one in methods.items() if name not in of.names and name != "__init__"}


def _read(node: ast.AST) -> Iterator[str]:
    for one in ast.walk(node):
        if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name) and one.value.id in ("self", "cls"):
            yield one.attr
