"""Jinja2 inside a file of another format: read and rendered as a Jinja2 file, with the places of the file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prefixlab.dialects.embedded import TextTemplate
from prefixlab.dialects.jinja2 import read
from prefixlab.dialects.source_text import SourceText, moved
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
        start = 0
        for _ in range(error.line - 1):
            start = text.find("\n", start) + 1
        raise BadTemplate(
            error.what, error.todo, path=error.path, line=source.place(min(start, len(source.text))).line
        ) from None
    render = template.render

    def render_text(values: Mapping[str, Any]) -> str:
        assert render is not None
        return render(values)[0][1]

    return TextTemplate(moved(template.parts, source), render_text, template.notes)
