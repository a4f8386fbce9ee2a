"""The call that is being read, as functions that know what it does are given it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from prefixlab.dialects.python_values import Dictionary, Value
from prefixlab.prompt_templates import Place


class Call(NamedTuple):
    """A call with its values."""

    node: ast.Call
    name: str
    """The function's full name, or as much of it as is known."""
    positional: Sequence[Value]
    named: Mapping[str, Value]
    at: Place
    source: str
    run: Callable[[Value, Sequence[Value]], Value]
    """Calls a value of the module."""

    def argument(self, number: int, *names: str) -> Value | None:
        """An argument by its place or by one of its names."""
        for name in names:
            if name in self.named:
                return self.named[name]
        return self.positional[number] if 0 <= number < len(self.positional) else None

    def as_mapping(self) -> dict[str, Value]:
        """Named arguments, and those of a mapping that is handed over: of `render(**x)`, `render({...})`."""
        known: dict[str, Value] = {}
        for value in self.positional:
            if isinstance(value, Dictionary):
                known.update(value.flat())
        return {**known, **self.named}
