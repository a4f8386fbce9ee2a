"""Text in which `{{name}}` is a variable and nothing else has a meaning, as Langfuse compiles it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prefixlab.dialects.embedded import TextTemplate
from prefixlab.dialects.source_text import SourceText
from prefixlab.prompt_templates import Expression, Hole, Part, Text


def variable_text(source: SourceText) -> TextTemplate:
    """A text with variables; one without a value stays as it is written."""
    text = source.text
    parts: list[Part] = []
    written: list[str] = []
    at = 0
    while True:
        start = text.find("{{", at)
        end = text.find("}}", start) if start >= 0 else -1
        if end < 0:
            break
        if start > at:
            parts.append(source.text_part(at, start))
            written.append("")
        name = text[start + 2 : end].strip()
        parts.append(source.hole(Expression(name, (name,)), start))
        written.append(text[start : end + 2])
        at = end + 2
    if at < len(text):
        parts.append(source.text_part(at, len(text)))
        written.append("")

    def render(values: Mapping[str, Any]) -> str:
        made = []
        for part, mark in zip(parts, written, strict=True):
            if isinstance(part, Text):
                made.append(part.text)
            elif isinstance(part, Hole):
                name = part.expression.source
                value = values.get(name, mark)
                made.append("" if value is None else str(value))
        return "".join(made)

    return TextTemplate(tuple(parts), render)
