"""Texts in JSON and YAML files, read in the template language that the file names or that stands there."""

from __future__ import annotations

from collections.abc import Iterable
from string import Formatter

from prefixlab.dialects.brace_texts import format_text, named_brace_text, plain_text
from prefixlab.dialects.embedded import TextTemplate
from prefixlab.dialects.handlebars_texts import handlebars_text
from prefixlab.dialects.jinja_texts import jinja_text
from prefixlab.dialects.mustache_texts import mustache_text
from prefixlab.dialects.source_text import SourceText
from prefixlab.dialects.variable_texts import variable_text
from prefixlab.template_files import TemplateFile

_HANDLEBARS = ("#if", "#each", "#unless", "#with", "else", "~", "lookup ")


def read_text(source: SourceText, language: str, file: TemplateFile) -> TextTemplate:
    """A text in a language: jinja2, mustache, handlebars, variables, f-string, braces or plain.

    Raises:
        BadTemplate: it is not of that language.
    """
    if language == "jinja2":
        return jinja_text(source, file)
    if language == "mustache":
        return mustache_text(source, file)
    if language == "handlebars":
        return handlebars_text(source, file)
    if language == "variables":
        return variable_text(source)
    if language == "f-string":
        return format_text(source)
    return named_brace_text(source) if language == "braces" else plain_text(source)


def language_of(texts: Iterable[str]) -> str:
    """The language that the marks in texts belong to."""
    joined = "\n".join(texts)
    doubles = _in_double_braces(joined)
    if any([one.startswith(_HANDLEBARS) for one in doubles]):
        return "handlebars"
    if any([one[:1] in ("#", "^", "/", ">", "{", "&", "!") and len(one) > 1 for one in doubles]) and "{%" not in joined:
        return "mustache"
    if "{%" in joined and "%}" in joined:
        return "jinja2"
    if any([one[:1].isalpha() or one[:1] == "_" for one in doubles]):
        return "jinja2"
    return _single_braces(joined)


def _in_double_braces(text: str) -> list[str]:
    found = []
    at = text.find("{{")
    while at >= 0:
        end = text.find("}}", at + 2)
        if end < 0:
            break
        # Braces that are never closed take none of what stands behind them.
        at = text.rfind("{{", at, end)
        inner = text[at + 2 : end]
        if "\n" not in inner and '"' not in inner[:2]:
            found.append(inner.strip())
        at = text.find("{{", max(end, at + 2))
    return found


def _single_braces(text: str) -> str:
    try:
        fields = [name for _, name, _, _ in Formatter().parse(text) if name is not None]
    except ValueError:
        fields = [""]
    if fields and all([name.replace(".", "_").isidentifier() for name in fields]):
        return "f-string"
    return "braces" if "{" in text else "plain"
