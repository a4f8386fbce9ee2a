"""Classes of a module and their objects: attributes, properties, and what `__init__` or a dataclass sets."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from prefixlab.dialects.python_statements import StatementReading, last_name
from prefixlab.dialects.python_values import (
    Class,
    Function,
    Instance,
    Opaque,
    Value,
)
from prefixlab.prompt_templates import Expression


class ClassReading(StatementReading):
    """Reads a module with its classes."""

    def member(self, of: Class, name: str, depth: int = 0) -> Value | None:
        """What a class or one of its bases defines."""
        found = of.names.get(name)
        if found is None and depth < 10:
            bases = [base for base in of.bases if isinstance(base, Class)]
            found = next((one for one in [self.member(base, name, depth + 1) for base in bases] if one), None)
        return found

    def attribute_of(self, owner: Instance | Class, name: str, node: ast.AST) -> Value | None:
        """An attribute of an object or class of the module; a property is worked out."""
        if isinstance(owner, Instance):
            known = self.heap.get((owner.number, name))
            if known is not None:
                return known
        found = self.member(owner.of if isinstance(owner, Instance) else owner, name)
        if not isinstance(found, Function) or isinstance(found.node, ast.Lambda):
            return found
        marks = {last_name(one) for one in found.node.decorator_list}
        if "staticmethod" in marks:
            return found
        if "classmethod" in marks:
            return Function(found.node, found.outer, owner.of if isinstance(owner, Instance) else owner)
        bound = Function(found.node, found.outer, owner) if isinstance(owner, Instance) else found
        if isinstance(owner, Instance) and marks & {"property", "cached_property", "computed_field"}:
            return self.follow(bound, (), {}, node)
        return bound

    def instance(self, of: Class, positional: Sequence[Value], named: Mapping[str, Value], node: ast.AST) -> Instance:
        """A new object."""
        self._instances += 1
        made = Instance(of, self._instances)
        start = self.member(of, "__init__")
        if isinstance(start, Function):
            self.follow(Function(start.node, start.outer, made), positional, named, node)
            return made
        for number, (name, default) in enumerate(self._fields(of).items()):
            if name in named or number < len(positional):
                self.heap.set((made.number, name), named[name] if name in named else positional[number])
            elif default is not None:
                self.heap.set((made.number, name), default)
            else:
                self.heap.set((made.number, name), Opaque(Expression(name, (name,)), self.place(node), None, True))
        return made

    def _fields(self, of: Class, depth: int = 0) -> dict[str, Value | None]:
        fields: dict[str, Value | None] = {}
        for base in of.bases:
            if isinstance(base, Class) and depth < 10:
                fields.update(self._fields(base, depth + 1))
        for one in of.node.body:
            if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
                default = of.names.get(one.target.id) if one.value is not None else None
                if isinstance(default, Opaque) and default.given:
                    made = default.given.get("default_factory")
                    default = self.run(made, ()) if made is not None else default.given.get("default", default)
                fields[one.target.id] = default
        return fields
