"""Prompts of Semantic Kernel: YAML with a template, and `skprompt.txt` beside `config.json`.

What it renders are messages where it holds `<message role="...">`, else a text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from prefixlab.dialects.conversations import bad_shape
from prefixlab.dialects.document_nodes import Node
from prefixlab.dialects.documents import document, document_or_none
from prefixlab.dialects.embedded import TextTemplate
from prefixlab.dialects.file_kinds import kind_of
from prefixlab.dialects.handlebars_helpers import Helpers
from prefixlab.dialects.handlebars_rendering import as_json
from prefixlab.dialects.handlebars_texts import handlebars_text
from prefixlab.dialects.jinja_texts import jinja_text
from prefixlab.dialects.kernel_texts import kernel_text
from prefixlab.dialects.liquid_texts import liquid_text
from prefixlab.dialects.message_tags import messages_of, with_turns
from prefixlab.dialects.source_text import SourceText
from prefixlab.prompt_templates import Message, Place, PromptTemplate, Render
from prefixlab.template_files import TemplateFile

_LANGUAGES = ("semantic-kernel", "handlebars", "liquid", "jinja2")
_PROMPT = "skprompt.txt"

_HELPERS = Helpers(
    values={"json": lambda given, named: as_json(given[0] if given else None)},
    conditions={"equals": lambda given: len(given) > 1 and given[0] == given[1]},
    frames={"message": ('<message role="{role}">', "</message>")},
)


class SemanticKernel:
    """Prompts of Semantic Kernel."""

    name = "semantic-kernel"
    summary = "prompts of Semantic Kernel in YAML, and skprompt.txt"
    endings = (".yaml", ".yml", _PROMPT)

    def recognises(self, file: TemplateFile) -> bool:
        """Whether the file is a prompt of Semantic Kernel."""
        if Path(file.path).name == _PROMPT:
            return True
        return file.path.endswith((".yaml", ".yml")) and kind_of(file) == "semantic-kernel"

    def templates(self, file: TemplateFile) -> Iterator[PromptTemplate]:
        """The one prompt of a file.

        Raises:
            BadTemplate: it cannot be read.
        """
        if Path(file.path).name == _PROMPT:
            config = file.other("config.json")
            node = document_or_none(config) if config is not None else None
            source = SourceText.of_file(file)
            at = Place(file.path, 1, 1)
        else:
            node = document(file)
            template = node.fields["template"]
            source = template.source or SourceText.of_file(file, 0, 0)
            at = template.at
        text = self._text(source, node, file)
        defaults = _defaults(node)
        yield PromptTemplate(
            file.path,
            self.name,
            with_turns(text.parts),
            at,
            node.text("name") if node is not None else "",
            _render(text, defaults),
            notes=text.notes,
        )

    def _text(self, source: SourceText, node: Node | None, file: TemplateFile) -> TextTemplate:
        found = node.get("template_format") if node is not None else None
        language = "semantic-kernel" if found is None else str(found.value)
        if language == "handlebars":
            return handlebars_text(source, file, _HELPERS)
        if language == "liquid":
            return liquid_text(source)
        if language == "jinja2":
            return jinja_text(source, file)
        if found is not None and language != "semantic-kernel":
            what = f"the template format {language!r} is not known"
            raise bad_shape(what, f"Semantic Kernel has {', '.join(_LANGUAGES)}", found.at)
        return kernel_text(source)


def _defaults(node: Node | None) -> Mapping[str, Any]:
    found = node.get("input_variables") if node is not None else None
    items = found.items if found is not None else ()
    return {one.text("name"): one.value["default"] for one in items if one.fields and one.get("default") is not None}


def _render(text: TextTemplate, defaults: Mapping[str, Any]) -> Render | None:
    render_text = text.render
    if render_text is None:
        return None

    def render(values: Mapping[str, Any]) -> Sequence[Message]:
        return messages_of(render_text, {**defaults, **values})

    return render


DIALECT = SemanticKernel()
