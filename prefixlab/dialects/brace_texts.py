"""Text with fields in single braces, as `str.format` has them: `{name}`, `{user.name!r:>8}`, `{{` for a brace."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from string import Formatter
from typing import Any

from prefixlab.dialects.embedded import TextTemplate
from prefixlab.dialects.source_text import SourceText
from prefixlab.dialects.time_formats import is_time_format
from prefixlab.errors import PrefixlabError
from prefixlab.prompt_templates import Expression, Hole, Part, Text
from prefixlab.template_files import BadTemplate

_MOST_DIGITS = 4


def format_text(source: SourceText) -> TextTemplate:
    """A text that `str.format` is called on.

    Raises:
        BadTemplate: its braces do not match.
    """
    parts = _format_parts(source)

    def render(values: Mapping[str, Any]) -> str:
        try:
            return _Fields().vformat(source.text, (), values)
        except KeyError as error:
            raise PrefixlabError(f"the value of {error} is missing", "Give it", path=source.path) from None
        except (ValueError, IndexError, AttributeError, TypeError) as error:
            raise PrefixlabError(
                f"cannot be rendered with these values: {error}", "Correct the template or the values", path=source.path
            ) from None

    return TextTemplate(tuple(parts), render)


def named_brace_text(source: SourceText) -> TextTemplate:
    """A text in which only a name in braces is a field, and every other brace is itself, as in examples of JSON."""
    parts = _named_parts(source)

    def render(values: Mapping[str, Any]) -> str:
        made = []
        for part in parts:
            if isinstance(part, Text):
                made.append(part.text)
                continue
            name = part.expression.source if isinstance(part, Hole) else ""
            if name not in values:
                raise PrefixlabError(f"the value of {name!r} is missing", "Give it", path=source.path)
            made.append(str(values[name]))
        return "".join(made)

    return TextTemplate(tuple(parts), render)


def plain_text(source: SourceText) -> TextTemplate:
    """A text without fields."""
    parts = (source.text_part(0, len(source.text)),) if source.text else ()
    return TextTemplate(parts, lambda values: source.text)


class _Fields(Formatter):
    """Formats without reaching into objects, and without widths that fill the memory."""

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        if "_" in field_name and any([one.startswith("_") for one in field_name.replace("[", ".").split(".")[1:]]):
            raise ValueError(f"{field_name} reaches into an object")
        return super().get_field(field_name, args, kwargs)

    def format_field(self, value: Any, format_spec: str) -> str:
        digits = "".join([one if one.isdigit() else " " for one in format_spec]).split()
        if any([len(one) > _MOST_DIGITS for one in digits]):
            raise ValueError("a width is too large")
        return str(super().format_field(value, format_spec))


_BRACE = re.compile("[{}]")
_NAMED = re.compile(r"\{([^\W\d][\w.]*)\}")


def _named_parts(source: SourceText) -> list[Part]:
    parts: list[Part] = []
    at = 0
    for found in _NAMED.finditer(source.text):
        if found.start() > at:
            parts.append(source.text_part(at, found.start()))
        parts.append(source.hole(_expression(found[1]), found.start()))
        at = found.end()
    if at < len(source.text):
        parts.append(source.text_part(at, len(source.text)))
    return parts


def _format_parts(source: SourceText) -> list[Part]:
    text = source.text
    parts: list[Part] = []
    kept: list[str] = []
    begin = at = 0
    while (found := _BRACE.search(text, at)) is not None:
        if not kept:
            begin = at
        brace = found.start()
        kept.append(text[at:brace])
        if text[brace] == text[brace + 1 : brace + 2]:
            kept.append(text[brace])
            at = brace + 2
            continue
        end = _field_end(text, brace) if text[brace] == "{" else -1
        if end < 0:
            raise BadTemplate.at(source.place(brace), "a brace stands alone", "Double it if it is meant as a brace")
        parts += _joined(kept, source, begin)
        parts.append(source.hole(_expression(text[brace + 1 : end]), brace))
        kept = []
        at = end + 1
    if not kept:
        begin = at
    return [*parts, *_joined([*kept, text[at:]], source, begin)]


def _joined(kept: list[str], source: SourceText, begin: int) -> list[Part]:
    text = "".join(kept)
    return [Text(text, source.place(begin))] if text else []


def _field_end(text: str, start: int) -> int:
    """Where a field's closing brace stands; fields may stand in the format behind the colon."""
    depth = 0
    for found in _BRACE.finditer(text, start):
        depth += 1 if found[0] == "{" else -1
        if not depth:
            return found.start()
    return -1


def _expression(field: str) -> Expression:
    name, _, form = field.partition(":")
    name = name.partition("!")[0].strip()
    dotted = name.replace("[", ".").replace("]", "")
    return Expression(field, (dotted,) if dotted else (), formats=(form,) if is_time_format(form) else ())
