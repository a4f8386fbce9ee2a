"""Chat templates as Hugging Face models have them in JSON: `tokenizer_config.json`, `chat_template.json`."""

from __future__ import annotations

from collections.abc import Iterator

from prefixlab.dialects.document_nodes import Node
from prefixlab.dialects.documents import document, document_or_none
from prefixlab.dialects.jinja_texts import jinja_template
from prefixlab.prompt_templates import PromptTemplate
from prefixlab.template_files import TemplateFile

_KEY = "chat_template"


class ChatTemplateFiles:
    """JSON files with a model's chat template."""

    name = "chat-template"
    summary = "tokenizer_config.json and chat_template.json of Hugging Face models: the chat templates in them"
    endings = (".json",)

    def recognises(self, file: TemplateFile) -> bool:
        """Whether the file has a chat template, or several with names."""
        if not file.path.endswith(self.endings) or f'"{_KEY}"' not in file.text:
            return False
        node = document_or_none(file)
        return node is not None and bool(_templates(node))

    def templates(self, file: TemplateFile) -> Iterator[PromptTemplate]:
        """Each chat template of a file.

        Raises:
            BadTemplate: the file is no JSON, or a template no Jinja2.
        """
        for name, node in _templates(document(file)):
            assert node.source is not None
            yield jinja_template(node.source, file, self.name, name)


def _templates(root: Node) -> list[tuple[str, Node]]:
    """The templates with their names; of the only one that is empty."""
    found = root.fields.get(_KEY)
    if found is None:
        return []
    if found.source is not None:
        return [("", found)]
    named = [(one.text("name"), template) for one in found.items if (template := one.get("template")) is not None]
    return [(name, node) for name, node in named if node.source is not None]


DIALECT = ChatTemplateFiles()
