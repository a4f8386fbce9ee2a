"""Prompts of LangChain saved as JSON or YAML: what `save` writes, and what `langchain_core.load.dumps` writes.

Follows langchain-core 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from prefixlab.dialects.conversations import Entry, bad_shape, conversation, joined
from prefixlab.dialects.document_nodes import Node
from prefixlab.dialects.documents import document
from prefixlab.dialects.embedded import MessageTemplate, TextTemplate, common_role, plain_render
from prefixlab.dialects.file_kinds import kind_of
from prefixlab.dialects.source_text import SourceText
from prefixlab.dialects.text_languages import read_text
from prefixlab.errors import PrefixlabError
from prefixlab.prompt_templates import Choice, History, Hole, Loop, Part, PromptTemplate, Text
from prefixlab.template_files import TemplateFile

_LANGUAGES = ("f-string", "mustache", "jinja2")
_CLASS_ROLES = {
    "SystemMessagePromptTemplate": "system",
    "HumanMessagePromptTemplate": "user",
    "AIMessagePromptTemplate": "assistant",
    "SystemMessage": "system",
    "HumanMessage": "user",
    "AIMessage": "assistant",
    "ToolMessage": "tool",
    "FunctionMessage": "function",
}
_DEEPEST = 8


class LangChainFiles:
    """Saved prompts of LangChain."""

    name = "langchain"
    summary = "prompts of LangChain saved as JSON or YAML"
    endings = (".json", ".yaml", ".yml")

    def recognises(self, file: TemplateFile) -> bool:
        """Whether the file is a saved prompt of LangChain."""
        return file.path.endswith(self.endings) and kind_of(file) == "langchain"

    def templates(self, file: TemplateFile) -> Iterator[PromptTemplate]:
        """The one prompt of a file.

        Raises:
            BadTemplate: it cannot be read, or is of a kind that is not known.
        """
        root = document(file)
        node = _plain(root)
        reading = _Reading(file)
        name = root.text("name") if "lc" not in root.fields else ""
        messages = node.get("messages")
        if messages is not None:
            yield conversation(file, self.name, reading.entries(messages, node), messages.at, name)
        else:
            text = reading.text(node)
            yield PromptTemplate(file.path, self.name, text.parts, node.at, name, plain_render(text), notes=text.notes)


def _class(node: Node) -> str:
    """The last name in the id of a constructor; empty of anything else."""
    identifier = node.get("id")
    if node.text("type") != "constructor" or identifier is None or not isinstance(identifier.value, list):
        return ""
    return str(identifier.value[-1]) if identifier.value else ""


def _plain(node: Node) -> Node:
    """The arguments of a constructor, or the value itself."""
    given = node.get("kwargs") if _class(node) else None
    return node if given is None else given


class _Reading:
    def __init__(self, file: TemplateFile) -> None:
        self._file = file

    # --- texts ---

    def text(self, node: Node, depth: int = 0) -> TextTemplate:
        """A prompt that is one text."""
        if depth > _DEEPEST:
            raise bad_shape("prompts are nested too deeply", "Make them flat", node.at)
        node = _plain(node)
        if "examples" in node.fields or "example_prompt" in node.fields:
            return self._few_shot(node, depth)
        source, file = self._source(node, "template")
        if source is None:
            raise bad_shape("the template is missing", "Give template or template_path", node.at)
        text = read_text(source, self._language(node), file)
        return _with_partials(text, self._partials(node))

    def _language(self, node: Node) -> str:
        found = node.get("template_format")
        language = "f-string" if found is None else str(found.value)
        if found is not None and language not in _LANGUAGES:
            raise bad_shape(
                f"the template format {language!r} is not known", f"LangChain has {', '.join(_LANGUAGES)}", found.at
            )
        return language

    def _partials(self, node: Node) -> Mapping[str, str]:
        found = node.get("partial_variables")
        fields = {} if found is None else found.fields
        return {name: one.value for name, one in fields.items() if isinstance(one.value, str)}

    def _source(self, node: Node, name: str) -> tuple[SourceText | None, TemplateFile]:
        """The text of a field, or of the file that `NAME_path` names."""
        here = node.get(name)
        if here is not None:
            return here.source, self._file
        path = node.get(f"{name}_path")
        if path is None:
            return None, self._file
        other = self._file.other(str(path.value))
        if other is None:
            raise bad_shape(
                f"the template {path.value!r} is not found", "Put it beside this one, or name its folder", path.at
            )
        return SourceText.of_file(other), other

    # --- few shots ---

    def _few_shot(self, node: Node, depth: int) -> TextTemplate:
        language = self._language(node)
        separator = node.text("example_separator") or "\n\n"
        pieces: list[TextTemplate] = []
        source, file = self._source(node, "prefix")
        if source is not None and source.text:
            pieces.append(read_text(source, language, file))
        examples, example = self._examples(node), self._example_prompt(node)
        if example is None:
            raise bad_shape("the example_prompt is missing", "Give it", node.at)
        if examples is None:
            where = node.at
            return TextTemplate((), None, (f"{where.path}:{where.line}: examples are chosen by a program.",))
        shape = self.text(example, depth + 1)
        for one in examples.items:
            pieces.append(_filled(shape, one))
        source, file = self._source(node, "suffix")
        if source is not None and source.text:
            pieces.append(read_text(source, language, file))
        return _with_partials(_separated(pieces, separator), self._partials(node))

    def _examples(self, node: Node) -> Node | None:
        found = node.get("examples")
        if found is not None and isinstance(found.value, str):
            return self._document(found)
        return found

    def _example_prompt(self, node: Node) -> Node | None:
        path = node.get("example_prompt_path")
        return self._document(path) if path is not None else node.get("example_prompt")

    def _document(self, path: Node) -> Node:
        other = self._file.other(str(path.value))
        if other is None:
            raise bad_shape(f"the file {path.value!r} is not found", "Put it beside this one", path.at)
        return document(other)

    # --- chats ---

    def entries(self, messages: Node, chat: Node) -> list[Entry]:
        """The messages of a chat prompt."""
        partials = self._partials(chat)
        return [self._entry(one, partials) for one in messages.items]

    def _entry(self, node: Node, partials: Mapping[str, str]) -> Entry:
        given = _plain(node)
        kind = _class(node) or given.text("_type")
        if "variable_name" in given.fields:
            return History(given.text("variable_name"), node.at)
        role = _CLASS_ROLES.get(kind) or common_role(given.text("role") or "user")
        prompt = given.get("prompt")
        if prompt is None:
            content = given.get("content")
            if content is None or content.source is None:
                raise bad_shape(f"a message of the kind {kind or '?'!r} is not known", "Give it a prompt", node.at)
            return MessageTemplate(role, node.at, joined((content.source,), "plain", self._file))
        if prompt.items:
            # An image's template is no text.
            written = [one for one in prompt.items if _plain(one).text("template")]
            texts = [self.text(one) for one in written]
            return MessageTemplate(role, node.at, _with_partials(_separated(texts, "\n"), partials))
        return MessageTemplate(role, node.at, _with_partials(self.text(prompt), partials))


def _filled(shape: TextTemplate, example: Node) -> TextTemplate:
    """An example: the example prompt with values that stand in the file."""
    if shape.render is None:
        return shape
    values = example.value if isinstance(example.value, dict) else {}
    try:
        text = shape.render(values)
    except PrefixlabError as error:
        raise bad_shape(f"an example does not fit the example_prompt: {error.what}", "Correct it", example.at) from None
    return TextTemplate((Text(text, example.at),) if text else (), lambda given: text)


def _separated(pieces: Sequence[TextTemplate], separator: str) -> TextTemplate:
    parts: list[Part] = []
    for piece in pieces:
        if parts and piece.parts:
            parts.append(Text(separator, piece.parts[0].at))
        parts += piece.parts
    renders = [piece.render for piece in pieces]

    def render(values: Mapping[str, Any]) -> str:
        return separator.join([one(values) for one in renders if one is not None])

    notes = [note for piece in pieces for note in piece.notes]
    return TextTemplate(tuple(parts), render if all(renders) else None, tuple(notes))


def _with_partials(text: TextTemplate, partials: Mapping[str, str]) -> TextTemplate:
    """The text with values that the file gives for some variables."""
    if not partials:
        return text
    inner = text.render

    def render(values: Mapping[str, Any]) -> str:
        if inner is None:
            raise PrefixlabError("cannot be rendered", "Render it with LangChain")
        return inner({**partials, **values})

    return TextTemplate(_given(text.parts, partials), None if inner is None else render, text.notes)


def _given(parts: Sequence[Part], partials: Mapping[str, str]) -> tuple[Part, ...]:
    made: list[Part] = []
    for part in parts:
        if isinstance(part, Hole) and part.expression.source in partials:
            value = partials[part.expression.source]
            made += (Text(value, part.at),) if value else ()
        elif isinstance(part, Choice):
            made.append(part._replace(arms=tuple([_given(arm, partials) for arm in part.arms])))
        elif isinstance(part, Loop):
            made.append(part._replace(body=_given(part.body, partials)))
        else:
            made.append(part)
    return tuple(made)


DIALECT = LangChainFiles()
