"""Jinja2 inside a file of another format: read and rendered as a Jinja2 file, with the places of the file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prefixlab.dialects.embedded import TextTemplate
from prefixlab.dialects.jinja2 import read
from prefixlab.dialects.source_text import SourceText, moved, moving
from prefixlab.prompt_templates import Place
from prefixlab.template_files import BadTemplate, TemplateFile


def jinja_text(source: SourceText, file: TemplateFile) -> TextTemplate:
    """A text of Jinja2.

    Raises:
        BadTemplate: it is none, or what it includes is not there.
    """
    text = "\n".join(source.text.splitlines()) if "\r" in source.text else source.text
    inner = file.with_text(text)
    try:
        template = read(inner)
    except BadTemplate as error:
        if error.path != file.path or error.line is None:
            raise
        found = Place(file.path, error.line, error.column or 1)
        raise BadTemplate.at(moving(source)(found), error.what, error.todo) from None
    render = template.render

    def render_text(values: Mapping[str, Any]) -> str:
        assert render is not None
        return render(values)[0][1]

    return TextTemplate(moved(template.parts, source), render_text, template.notes)
