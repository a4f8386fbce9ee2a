"""Prompts that are lists of messages, in whatever file they stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from prefixlab.dialects.document_nodes import Node
from prefixlab.dialects.embedded import MessageTemplate, TextTemplate, common_role
from prefixlab.dialects.source_text import SourceText
from prefixlab.dialects.text_languages import language_of, read_text
from prefixlab.errors import PrefixlabError
from prefixlab.prompt_templates import History, Message, Part, Place, PromptTemplate, Text
from prefixlab.template_files import BadTemplate, TemplateFile

Entry = MessageTemplate | History

_CONTENT = ("content", "text", "value")


class Listed(NamedTuple):
    """A message as a file has it: its role, its texts."""

    role: str
    at: Place
    texts: tuple[SourceText, ...]


def conversation(
    file: TemplateFile, dialect: str, entries: Sequence[Entry], at: Place, name: str = ""
) -> PromptTemplate:
    """The prompt that messages make."""
    parts: list[Part] = []
    for entry in entries:
        parts += (entry,) if isinstance(entry, History) else entry.parts
    is_rendered = all([isinstance(entry, History) or entry.content.render is not None for entry in entries])
    notes = [note for entry in entries if isinstance(entry, MessageTemplate) for note in entry.content.notes]

    def render(values: Mapping[str, Any]) -> Sequence[Message]:
        messages: list[Message] = []
        for entry in entries:
            if isinstance(entry, History):
                messages += earlier_messages(values.get(entry.name), file.path)
            elif entry.content.render is not None:
                messages.append((entry.role, entry.content.render(values)))
        return messages

    return PromptTemplate(
        file.path, dialect, tuple(parts), at, name, render if is_rendered else None, notes=tuple(dict.fromkeys(notes))
    )


def earlier_messages(value: Any, path: str) -> list[Message]:
    """Messages that are given as the value of a placeholder; none where it has no value."""
    if value is None or value == "":
        return []
    if not isinstance(value, list | tuple):
        raise PrefixlabError("earlier messages are a list", "Give each a role and content", path=path)
    messages: list[Message] = []
    for one in value:
        if isinstance(one, Mapping):
            messages.append((common_role(str(one.get("role", "user"))), str(one.get("content", ""))))
        elif isinstance(one, list | tuple) and len(one) == 2:
            messages.append((common_role(str(one[0])), str(one[1])))
        else:
            raise PrefixlabError("an earlier message has no role and content", "Give it both", path=path)
    return messages


def is_messages(node: Node | None) -> bool:
    """Whether a value is a list of messages."""
    if node is None or not node.items:
        return False
    return any([_is_message(one) for one in node.items]) and all(
        [_is_message(one) or placeholder_of(one) is not None for one in node.items]
    )


def _is_message(node: Node) -> bool:
    return (
        isinstance(node.value, dict)
        and bool(node.text("role"))
        and ("content" in node.fields or "tool_calls" in node.fields)
    )


def placeholder_of(node: Node) -> History | None:
    """Where earlier messages go: an item of the type placeholder, or a text that is a variable alone."""
    if node.text("type") == "placeholder" or node.text("role") == "placeholder":
        return History(node.text("name") or _variable(node.text("content")) or "history", node.at)
    if isinstance(node.value, str) and (name := _variable(node.value)):
        return History(name, node.at)
    return None


def _variable(text: str) -> str:
    """The name in a text that is nothing but a variable in braces."""
    inner = text.strip()
    if not (inner.startswith("{") and inner.endswith("}")):
        return ""
    name = inner.strip("{}").strip()
    return name if name.replace(".", "_").isidentifier() else ""


def texts_of(node: Node) -> tuple[SourceText, ...]:
    """The texts of a message's content: one, or those among its parts."""
    content = node.get(*_CONTENT)
    if content is None:
        return ()
    if content.source is not None:
        return (content.source,)
    found = []
    for part in content.items:
        text = part if part.source is not None else part.get("text")
        if text is not None and text.source is not None:
            found.append(text.source)
    return tuple(found)


def entries_of(messages: Node, file: TemplateFile, language: str = "", system: Node | None = None) -> list[Entry]:
    """The entries of a list of messages, in the language that is named or that stands there."""
    listed: list[Listed | History] = []
    if system is not None:
        texts = (system.source,) if system.source is not None else texts_of(Node(system.at, {}, {"content": system}))
        listed.append(Listed("system", system.at, texts))
    for one in messages.items:
        placeholder = placeholder_of(one)
        if placeholder is not None:
            listed.append(placeholder)
        else:
            listed.append(Listed(common_role(one.text("role")), one.at, texts_of(one)))
    if not language:
        language = language_of([text.text for one in listed if isinstance(one, Listed) for text in one.texts])
    return [
        one if isinstance(one, History) else MessageTemplate(one.role, one.at, joined(one.texts, language, file))
        for one in listed
    ]


def joined(texts: Sequence[SourceText], language: str, file: TemplateFile) -> TextTemplate:
    """Texts of one message one after another, as a server joins them."""
    read = [read_text(text, language, file) for text in texts]
    if len(read) == 1:
        return read[0]
    parts: list[Part] = []
    for text in read:
        if parts and text.parts:
            parts.append(Text("\n", text.parts[0].at))
        parts += text.parts
    renders = [text.render for text in read]

    def render(values: Mapping[str, Any]) -> str:
        return "\n".join([one(values) for one in renders if one is not None])

    return TextTemplate(tuple(parts), render if all(renders) else None, tuple([n for one in read for n in one.notes]))


def bad_shape(what: str, todo: str, at: Place) -> BadTemplate:
    """The fault of a file whose values are not those of its format."""
    return BadTemplate.at(at, what, todo)


__all__ = ["Entry", "bad_shape", "conversation", "entries_of", "is_messages", "joined", "placeholder_of"]
