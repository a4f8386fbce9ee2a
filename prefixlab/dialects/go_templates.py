"""Go's text templates. Not rendered."""

from __future__ import annotations

from collections.abc import Iterator

from prefixlab.dialects.embedded import TextTemplate
from prefixlab.dialects.go_texts import go_text
from prefixlab.dialects.source_text import SourceText
from prefixlab.prompt_templates import Hole, Loop, Place, PromptTemplate, walk
from prefixlab.template_files import TemplateFile


class GoTemplates:
    """Files of Go's text/template."""

    name = "go-template"
    summary = "Go's text templates, with blocks, variables and trim markers"
    endings = (".gotmpl", ".tmpl")

    def recognises(self, file: TemplateFile) -> bool:
        """Whether the file is of this dialect: by its ending, where it holds a tag."""
        return file.path.endswith(self.endings) and "{{" in file.text

    def templates(self, file: TemplateFile) -> Iterator[PromptTemplate]:
        """The one template of a file.

        Raises:
            BadTemplate: it is none.
        """
        yield go_template(file, go_text(SourceText.of_file(file)), Place(file.path, 1, 1), self.name)


def go_template(file: TemplateFile, text: TextTemplate, at: Place, dialect: str, name: str = "") -> PromptTemplate:
    """A text of Go's templates as a prompt."""
    is_chat = any(
        [
            (isinstance(part, Loop) and "Messages" in part.over.names)
            or (isinstance(part, Hole) and "Prompt" in part.expression.names)
            for part in walk(text.parts)
        ]
    )
    return PromptTemplate(file.path, dialect, text.parts, at, name, is_chat_template=is_chat)


DIALECT = GoTemplates()
