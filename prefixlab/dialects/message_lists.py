"""Lists of messages in JSON and YAML: `[{role, content}]`, or the same under `messages`."""

from __future__ import annotations

from collections.abc import Iterator

from prefixlab.dialects.conversations import conversation, entries_of, is_messages
from prefixlab.dialects.document_nodes import Node
from prefixlab.dialects.documents import document
from prefixlab.dialects.file_kinds import kind_of
from prefixlab.prompt_templates import PromptTemplate
from prefixlab.template_files import TemplateFile


class MessageLists:
    """Files that hold messages."""

    name = "messages"
    summary = "lists of messages with role and content in JSON and YAML"
    endings = (".json", ".yaml", ".yml")

    def recognises(self, file: TemplateFile) -> bool:
        """Whether the file holds messages, and is of no other format that does."""
        return file.path.endswith(self.endings) and kind_of(file) == "messages"

    def templates(self, file: TemplateFile) -> Iterator[PromptTemplate]:
        """The one template of a file.

        Raises:
            BadTemplate: it is neither JSON nor YAML, or its texts cannot be read.
        """
        root = document(file)
        messages = root if is_messages(root) else root.get("messages")
        if messages is None or not is_messages(messages):
            return
        yield messages_template(file, messages, self.name, root.get("system"))


def messages_template(file: TemplateFile, messages: Node, dialect: str, system: Node | None = None) -> PromptTemplate:
    """The prompt of a list of messages."""
    return conversation(file, dialect, entries_of(messages, file, system=system), messages.at)


DIALECT = MessageLists()

__all__ = ["DIALECT", "messages_template"]
