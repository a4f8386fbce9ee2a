"""Jinja2 templates, and the chat templates of Hugging Face models, which are Jinja2 with settings of their own.

Follows Jinja2 3.1 and `transformers.utils.chat_template_utils`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import jinja2
from jinja2 import nodes

from prefixlab.dialects.chat_template_probe import partings_of
from prefixlab.dialects.jinja_expressions import dotted
from prefixlab.dialects.jinja_files import EXTENSIONS, JinjaFile
from prefixlab.dialects.jinja_reading import JinjaReading
from prefixlab.dialects.role_lines import is_prompt_flow
from prefixlab.prompt_templates import PLAIN, Message, Place, PromptTemplate, Render
from prefixlab.rendering.prompts import PromptEnvironment
from prefixlab.template_files import BadTemplate, TemplateFile

ENDINGS = (".j2", ".jinja", ".jinja2")


class Jinja2:
    """Files of Jinja2."""

    name = "jinja2"
    summary = "Jinja2 templates, with what they include, import and inherit; chat templates of Hugging Face models"
    endings = ENDINGS

    def recognises(self, file: TemplateFile) -> bool:
        """Whether the file is of this dialect; by its ending, for any text can be Jinja2.

        Beside a flow it is a prompt of prompt flow, where lines name the roles.
        """
        return file.path.endswith(self.endings) and not is_prompt_flow(file)

    def templates(self, file: TemplateFile) -> Iterator[PromptTemplate]:
        """The one template of a file.

        Raises:
            BadTemplate: it is none, or something that it includes is not there.
        """
        yield read(file)


def read(file: TemplateFile, dialect: str = "jinja2") -> PromptTemplate:
    """A Jinja2 file as a template."""
    environment = parsing_environment()
    first = JinjaFile(file, environment, file.own_names)
    is_chat_template = _renders_messages(first)
    if is_chat_template:
        environment = parsing_environment(is_chat_template=True)
        first = JinjaFile(file, environment, file.own_names)
    reading = JinjaReading(environment, partial(_opened, environment))
    parts = reading.read(first)
    return PromptTemplate(
        file.path,
        dialect,
        parts,
        Place(file.path, 1, 1),
        render=renderer(file),
        is_chat_template=is_chat_template,
        partings=partings_of(file, _source_of(file), first) if is_chat_template else (),
        notes=tuple(reading.notes),
    )


def parsing_environment(*, is_chat_template: bool = False) -> jinja2.Environment:
    """An environment that templates are parsed with; nothing is run in it."""
    environment = jinja2.Environment(  # noqa: S701 - prompts are no HTML
        trim_blocks=is_chat_template, lstrip_blocks=is_chat_template, extensions=EXTENSIONS
    )
    environment.filters.update(dict.fromkeys(("shuffle", "set", "ago", "strftime", "date"), str))
    return environment


def _opened(environment: jinja2.Environment, file: JinjaFile, name: str) -> JinjaFile | None:
    found = file.file.other(name)
    return None if found is None else JinjaFile(found, environment, found.own_names)


def _renders_messages(file: JinjaFile) -> bool:
    """Whether the template goes over the messages of a caller and looks at who speaks."""
    reads_role = any(
        dotted(node).endswith((".role", ".content")) for node in file.tree.find_all((nodes.Getattr, nodes.Getitem))
    )
    loops = any("messages" in source for loop in file.tree.find_all(nodes.For) for source in _names(loop.iter))
    return reads_role and loops


def _names(node: nodes.Node) -> list[str]:
    return [node.name] if isinstance(node, nodes.Name) else [one.name for one in node.find_all(nodes.Name)]


def renderer(file: TemplateFile) -> Render:
    """Renders the file with values, in the sandbox."""

    def render(values: Mapping[str, Any]) -> Sequence[Message]:
        return ((PLAIN, environment().render(file.path, values)),)

    made: list[PromptEnvironment] = []

    def environment() -> PromptEnvironment:
        if not made:
            made.append(PromptEnvironment(_source_of(file)))
        return made[0]

    return render


def _source_of(file: TemplateFile) -> Callable[[str, str | None], tuple[str, str] | None]:
    """What gives the text and the path of a template by its name and the path of the one that asks."""
    known = {file.path: file}

    def source(name: str, asked_by: str | None) -> tuple[str, str] | None:
        if name in known:
            return known[name].text, name
        asking = known.get(asked_by or file.path, file)
        found = asking.other(name)
        if found is None:
            return None
        known[found.path] = found
        return found.text, found.path

    return source


DIALECT = Jinja2()

__all__ = ["DIALECT", "BadTemplate", "read", "renderer"]
