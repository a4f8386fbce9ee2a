"""Jinja2 inside a file of another format: read and rendered as a Jinja2 file, with the places of the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from prefixlab.dialects.embedded import TextTemplate
from prefixlab.dialects.jinja2 import read
from prefixlab.dialects.source_text import SourceText, moved, moving
from prefixlab.prompt_templates import Place, PromptTemplate
from prefixlab.template_files import BadTemplate, TemplateFile


def jinja_text(source: SourceText, file: TemplateFile) -> TextTemplate:
    """A text of Jinja2.

    Raises:
        BadTemplate: it is none, or what it includes is not there.
    """
    template = jinja_template(source, file, "jinja2")
    render = template.render

    def render_text(values: Mapping[str, Any]) -> str:
        assert render is not None
        return render(values)[0][1]

    return TextTemplate(template.parts, render_text, template.notes)


def jinja_template(source: SourceText, file: TemplateFile, dialect: str, name: str = "") -> PromptTemplate:
    """A text of Jinja2 as a template of its own.

    Raises:
        BadTemplate: it is none, or what it includes is not there.
    """
    text = "\n".join(source.text.splitlines()) if "\r" in source.text else source.text
    place = moving(source)
    try:
        template = read(file.with_text(text), dialect)
    except BadTemplate as error:
        if error.path != file.path or error.line is None:
            raise
        found = Place(file.path, error.line, error.column or 1)
        raise BadTemplate.at(place(found), error.what, error.todo) from None
    return replace(
        template,
        name=name,
        parts=moved(template.parts, source),
        at=source.place(0),
        partings=tuple([one._replace(at=place(one.at)) for one in template.partings]),
    )
