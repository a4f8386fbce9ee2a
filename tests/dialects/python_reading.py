"""Reading Python source in tests, and naming what was read shortly."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from prefixlab.dialects.python_source import DIALECT
from prefixlab.prompt_templates import Hole, Part, PromptTemplate, Text, walk
from prefixlab.template_files import TemplateFile

CORPUS = Path(__file__).parent / "corpus" / "python"


def prompts(source: str, path: str = "module.py") -> list[PromptTemplate]:
    """The prompts of a module."""
    return list(DIALECT.templates(TemplateFile(path, source)))


def the_prompt(source: str) -> PromptTemplate:
    """The only prompt of a module."""
    (found,) = prompts(source)
    return found


def holes(template: PromptTemplate) -> list[Hole]:
    """All holes in the order in which they are rendered."""
    return [part for part in walk(template.parts) if isinstance(part, Hole)]


def text(parts: Sequence[Part]) -> str:
    """The text with `<name>` for each hole, or its source where it has no name."""
    said = {
        Text: lambda part: part.text,
        Hole: lambda part: f"<{''.join(part.expression.names[:1]) or part.expression.source}>",
    }
    return "".join([said[type(part)](part) for part in parts if type(part) in said])
