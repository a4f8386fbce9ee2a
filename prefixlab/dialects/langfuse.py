"""Prompts as Langfuse exports them: a text or messages with `{{variables}}`, and placeholders for earlier messages."""

from __future__ import annotations

from collections.abc import Iterator

from prefixlab.dialects.conversations import conversation, entries_of
from prefixlab.dialects.document_nodes import Node
from prefixlab.dialects.documents import document
from prefixlab.dialects.embedded import plain_render
from prefixlab.dialects.file_kinds import kind_of
from prefixlab.dialects.variable_texts import variable_text
from prefixlab.prompt_templates import PromptTemplate
from prefixlab.template_files import TemplateFile


class Langfuse:
    """Exports of Langfuse."""

    name = "langfuse"
    summary = "prompts exported from Langfuse, texts and chats"
    endings = (".json", ".yaml", ".yml")

    def recognises(self, file: TemplateFile) -> bool:
        """Whether the file holds prompts of Langfuse."""
        return file.path.endswith(self.endings) and kind_of(file) == "langfuse"

    def templates(self, file: TemplateFile) -> Iterator[PromptTemplate]:
        """Each prompt of a file.

        Raises:
            BadTemplate: it cannot be read.
        """
        root = document(file)
        data = root.get("data")
        for one in root.items or (data.items if data is not None else ()) or (root,):
            yield self._template(one, file)

    def _template(self, node: Node, file: TemplateFile) -> PromptTemplate:
        prompt = node.fields["prompt"]
        name = node.text("name")
        if prompt.source is None:
            return conversation(file, self.name, entries_of(prompt, file, "variables"), prompt.at, name)
        text = variable_text(prompt.source)
        return PromptTemplate(file.path, self.name, text.parts, prompt.at, name, plain_render(text))


DIALECT = Langfuse()
