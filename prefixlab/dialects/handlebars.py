"""Handlebars files, with their partials. Follows Handlebars 4.7."""

from __future__ import annotations

from collections.abc import Iterator

from prefixlab.dialects.embedded import plain_render
from prefixlab.dialects.handlebars_texts import handlebars_text
from prefixlab.dialects.source_text import SourceText
from prefixlab.prompt_templates import Place, PromptTemplate
from prefixlab.template_files import TemplateFile


class Handlebars:
    """Files of Handlebars."""

    name = "handlebars"
    summary = "Handlebars templates, with blocks, partials and whitespace control"
    endings = (".hbs", ".handlebars")

    def recognises(self, file: TemplateFile) -> bool:
        """Whether the file is of this dialect; by its ending, for any text can be Handlebars."""
        return file.path.endswith(self.endings)

    def templates(self, file: TemplateFile) -> Iterator[PromptTemplate]:
        """The one template of a file.

        Raises:
            BadTemplate: it is none, or a partial is not there.
        """
        text = handlebars_text(SourceText.of_file(file), file)
        yield PromptTemplate(
            file.path, self.name, text.parts, Place(file.path, 1, 1), render=plain_render(text), notes=text.notes
        )


DIALECT = Handlebars()
