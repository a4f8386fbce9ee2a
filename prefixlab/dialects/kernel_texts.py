"""The template language of Semantic Kernel: `{{$variable}}`, `{{plugin.function $argument}}`, `{{"text"}}`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prefixlab.dialects.embedded import TextTemplate
from prefixlab.dialects.source_text import SourceText
from prefixlab.prompt_templates import Expression, Hole, Part, Text
from prefixlab.template_files import BadTemplate


def kernel_text(source: SourceText) -> TextTemplate:
    """A text of Semantic Kernel.

    Raises:
        BadTemplate: braces or a text in quotes are never closed.
    """
    text = source.text
    parts: list[Part] = []
    at = 0
    while (start := text.find("{{", at)) >= 0:
        while text.startswith("{{{", start):
            start += 1
        end = _end(text, start + 2, source)
        if start > at:
            parts.append(source.text_part(at, start))
        inner = text[start + 2 : end].strip()
        if inner[:1] in ("'", '"') and inner:
            value = inner[1:-1].replace("\\" + inner[0], inner[0]).replace("\\\\", "\\")
            parts += (Text(value, source.place(start)),) if value else ()
        elif inner:
            parts.append(source.hole(_expression(inner), start))
        at = end + 2
    if at < len(text):
        parts.append(source.text_part(at, len(text)))
    calls = [part for part in parts if isinstance(part, Hole) and part.expression.calls]

    def render(values: Mapping[str, Any]) -> str:
        made = []
        for part in parts:
            if isinstance(part, Text):
                made.append(part.text)
            elif isinstance(part, Hole):
                value = values.get(part.expression.names[0])
                made.append("" if value is None else str(value))
        return "".join(made)

    return TextTemplate(tuple(parts), None if calls else render)


def _end(text: str, at: int, source: SourceText) -> int:
    """Where the closing braces stand; braces in quotes are none."""
    start = at
    quote = ""
    while at < len(text):
        character = text[at]
        if character == "\\" and quote:
            at += 1
        elif quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif text.startswith("}}", at):
            return at
        at += 1
    raise BadTemplate.at(source.place(start - 2), "these braces are never closed", "Close them")


def _expression(inner: str) -> Expression:
    words = inner.split()
    names = tuple([word.partition("=")[2].lstrip("$") or word.lstrip("$") for word in words if "$" in word])
    if words[0].startswith("$"):
        return Expression(inner, names[:1])
    return Expression(inner, names, (words[0],))
