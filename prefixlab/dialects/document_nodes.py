"""A value of a JSON or YAML document, and where it stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from prefixlab.dialects.source_text import SourceText
from prefixlab.prompt_templates import Place
from prefixlab.template_files import BadTemplate

DEEPEST = 64
"""Lists and mappings in one another."""


@dataclass(frozen=True, slots=True)
class Node:
    """A value of a document."""

    at: Place
    value: Any
    """What it is in Python; of YAML the same object wherever an alias names it."""
    fields: Mapping[str, Node] = field(default_factory=dict)
    """Of a mapping."""
    items: Sequence[Node] = ()
    """Of a list."""
    source: SourceText | None = None
    """Of a text."""

    def get(self, *names: str) -> Node | None:
        """The value under the first of `names` that is there and not null."""
        for name in names:
            found = self.fields.get(name)
            if found is not None and found.value is not None:
                return found
        return None

    def text(self, name: str) -> str:
        """The text under a name; empty where there is none."""
        found = self.fields.get(name)
        return found.value if found is not None and isinstance(found.value, str) else ""


def bad_document(language: str, what: str, at: Place) -> BadTemplate:
    """The fault of a document."""
    return BadTemplate.at(at, f"is not {language}: {what}", "Correct it")
