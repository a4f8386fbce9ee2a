"""Prompty files: YAML, then Jinja2 or mustache with lines that name the roles. Follows Prompty 2.1.

Of older files `sample` and the `sample` of inputs are values too, as they were for Prompty 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from prefixlab.dialects.document_nodes import Node
from prefixlab.dialects.embedded import TextTemplate
from prefixlab.dialects.front_matter import FrontMatter, front_matter
from prefixlab.dialects.jinja_texts import jinja_text
from prefixlab.dialects.mustache_texts import mustache_text
from prefixlab.dialects.role_lines import RoleLines
from prefixlab.dialects.source_text import SourceText
from prefixlab.errors import PrefixlabError
from prefixlab.prompt_templates import PLAIN, Choice, History, Hole, Loop, Message, Part, Place, PromptTemplate, Render
from prefixlab.template_files import BadTemplate, TemplateFile

_ROLES = frozenset({"system", "user", "assistant", "developer", "function", "tool"})
_LINES = RoleLines(_ROLES, "\n")
_HISTORY = "\x00history\x00"


class Prompty:
    """Files of Prompty."""

    name = "prompty"
    summary = "Prompty files: YAML, then Jinja2 or mustache with lines that name the roles"
    endings = (".prompty",)

    def recognises(self, file: TemplateFile) -> bool:
        """Whether the file is of this dialect; by its ending."""
        return file.path.endswith(self.endings)

    def templates(self, file: TemplateFile) -> Iterator[PromptTemplate]:
        """The one template of a file.

        Raises:
            BadTemplate: its YAML or its text cannot be read.
        """
        found = front_matter(file) or FrontMatter(Node(Place(file.path, 1, 1), {}), SourceText.of_file(file))
        lead = len(found.body.text) - len(found.body.text.lstrip())
        body = found.body.part(lead, len(found.body.text))
        text = _text(body, _language(found.head, file), file)
        inputs = _inputs(found.head)
        threads = {name for name, one in inputs.items() if one.text("kind") == "thread"}
        is_chat = _is_chat(found.head)
        parts = _with_history(text.parts, threads)
        parts = _LINES.parts(parts) if is_chat else parts
        yield PromptTemplate(
            file.path,
            self.name,
            parts,
            Place(file.path, 1, 1),
            name=found.head.text("name"),
            render=_render(text, _values(found.head, inputs), threads, is_chat=is_chat),
            notes=text.notes,
        )


def _text(source: SourceText, language: str, file: TemplateFile) -> TextTemplate:
    return mustache_text(source, file) if language == "mustache" else jinja_text(source, file)


def _language(head: Node, file: TemplateFile) -> str:
    template = head.get("template")
    found: Any = "jinja2"
    if template is not None:
        form = template.get("format", "type") or template
        found = form.text("kind") or form.value
    if not isinstance(found, str) or found not in ("jinja2", "mustache", "handlebars"):
        found = found if isinstance(found, str) else "?"
        assert template is not None
        raise BadTemplate.at(
            template.at, f"the template language {found!r} is not known", "Prompty has jinja2 and mustache"
        )
    return found


def _is_chat(head: Node) -> bool:
    """Whether roles are looked for: not in a completion, and not where another parser is named."""
    model = head.get("model")
    if model is not None and "completion" in (model.text("api"), model.text("apiType")):
        return False
    template = head.get("template")
    parser = template.get("parser") if template is not None else None
    return parser is None or (parser.text("kind") or parser.value) == "prompty"


def _inputs(head: Node) -> Mapping[str, Node]:
    """The inputs by name, in whichever of its forms they are written."""
    found = head.get("inputs", "inputSchema")
    if found is None:
        return {}
    listed = found.get("properties") or found
    if listed.items:
        return {one.text("name"): one for one in listed.items if one.text("name")}
    return listed.fields


def _values(head: Node, inputs: Mapping[str, Node]) -> dict[str, Any]:
    """The values that the file itself gives."""
    sample = head.get("sample")
    values: dict[str, Any] = dict(sample.value) if sample is not None and isinstance(sample.value, dict) else {}
    for name, one in inputs.items():
        given = one.get("default", "sample") if one.fields else one
        if given is not None and given.value is not None and name not in values:
            values[name] = given.value
    return values


def _with_history(parts: Sequence[Part], threads: set[str]) -> tuple[Part, ...]:
    """The parts with the history where a thread is written."""
    made: list[Part] = []
    for part in parts:
        if isinstance(part, Hole) and threads.intersection(part.expression.names):
            made.append(History(part.expression.names[0], part.at))
        elif isinstance(part, Choice):
            made.append(part._replace(arms=tuple([_with_history(arm, threads) for arm in part.arms])))
        elif isinstance(part, Loop):
            made.append(part._replace(body=_with_history(part.body, threads)))
        else:
            made.append(part)
    return tuple(made)


def _render(text: TextTemplate, own: Mapping[str, Any], threads: set[str], *, is_chat: bool) -> Render | None:
    render_text = text.render
    if render_text is None:
        return None

    def render(values: Mapping[str, Any]) -> Sequence[Message]:
        given = {**own, **values}
        earlier = {name: f"{_HISTORY}{name}{_HISTORY}" for name in threads if name in given}
        rendered = render_text({**given, **earlier})
        if not is_chat:
            return ((PLAIN, rendered),)
        messages: list[Message] = []
        for role, content in _LINES.messages(rendered):
            pieces = content.split(_HISTORY)
            for number, piece in enumerate(pieces):
                if number % 2:
                    messages += _thread(given.get(piece))
                elif len(pieces) == 1 or piece.strip():
                    messages.append((role, piece.strip() if len(pieces) > 1 else piece))
        return messages

    return render


def _thread(value: Any) -> list[Message]:
    """Earlier messages that are given as values."""
    if not isinstance(value, list | tuple) or not all([isinstance(one, Mapping) for one in value]):
        raise PrefixlabError("a thread is a list of messages with role and content", "Correct the values")
    return [(str(one.get("role", "user")), str(one.get("content", ""))) for one in value]


DIALECT = Prompty()
