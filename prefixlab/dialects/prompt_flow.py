"""Prompts of Microsoft's prompt flow: Jinja2 beside `flow.dag.yaml`, with lines that name the roles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from prefixlab.dialects.embedded import plain_render
from prefixlab.dialects.jinja_texts import jinja_text
from prefixlab.dialects.role_lines import RoleLines, is_prompt_flow
from prefixlab.dialects.source_text import SourceText
from prefixlab.prompt_templates import Message, Place, PromptTemplate, Turn, walk
from prefixlab.template_files import TemplateFile

_LINES = RoleLines(frozenset({"system", "user", "assistant", "function", "tool"}), None)


class PromptFlow:
    """Jinja2 files of a flow."""

    name = "promptflow"
    summary = "prompts of Microsoft's prompt flow: Jinja2 beside flow.dag.yaml, with lines that name the roles"
    endings = (".jinja2", ".j2", ".jinja")

    def recognises(self, file: TemplateFile) -> bool:
        """Whether the file stands beside a flow."""
        return is_prompt_flow(file)

    def templates(self, file: TemplateFile) -> Iterator[PromptTemplate]:
        """The one template of a file.

        Raises:
            BadTemplate: it is not Jinja2.
        """
        text = jinja_text(SourceText.of_file(file), file)
        parts = _LINES.parts(text.parts)
        render_text = text.render

        def render(values: Mapping[str, Any]) -> Sequence[Message]:
            assert render_text is not None
            return _LINES.messages(render_text(values))

        has_roles = any([isinstance(part, Turn) for part in walk(parts)])
        yield PromptTemplate(
            file.path,
            self.name,
            parts,
            Place(file.path, 1, 1),
            render=render if has_roles else plain_render(text),
            notes=text.notes,
        )


DIALECT = PromptFlow()
