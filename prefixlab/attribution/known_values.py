"""Causes that a team knows and accepts: they stay in the report, and nothing asks for them to be fixed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from prefixlab.findings import Break, Field

KIND = "kind:"
"""In front of a kind of values, such as `kind:clock`."""

_Row = TypeVar("_Row", Field, Break)


class KnownValues:
    """Names of fields, kinds of breaks and, behind `kind:`, kinds of either."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = {_folded(name): name for name in names}

    def __bool__(self) -> bool:
        return bool(self._names)

    def accept_field(self, name: str, kind: str) -> bool:
        """Whether a value of that name and kind is known."""
        return not self._names.keys().isdisjoint((_folded(name), KIND + kind))

    def accept_break(self, kind: str) -> bool:
        """Whether breaks of that kind are known."""
        return not self._names.keys().isdisjoint((kind, KIND + kind))

    def marked(self, rows: Iterable[_Row]) -> tuple[_Row, ...]:
        """The rows; those that are known marked and of no severity."""
        return tuple([replace(row, severity="info", ignored=True) if self._accept(row) else row for row in rows])

    def notes(self, rows: Iterable[Field | Break]) -> list[str]:
        """A sentence about names that no row has: they may be misspelt, or their causes gone."""
        there: set[str] = set()
        for row in rows:
            name = row.name if isinstance(row, Field) else row.kind
            there |= {_folded(name), KIND + row.kind}
        gone = [repr(name) for folded, name in self._names.items() if folded not in there]
        if not gone:
            return []
        named = f"{', '.join(gone[:-1])} or {gone[-1]}" if gone[1:] else gone[0]
        return [f"To be ignored, but not in this report: no field and no kind is called {named}."]

    def _accept(self, row: Field | Break) -> bool:
        return self.accept_field(row.name, row.kind) if isinstance(row, Field) else self.accept_break(row.kind)


def _folded(name: str) -> str:
    return name.strip().casefold()
