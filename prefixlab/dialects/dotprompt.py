"""Dotprompt files: YAML, then Handlebars with helpers for roles, history and media, as dotprompt renders them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from prefixlab.dialects.document_nodes import Node
from prefixlab.dialects.embedded import TextTemplate, common_role
from prefixlab.dialects.front_matter import FrontMatter, front_matter
from prefixlab.dialects.handlebars_helpers import Helpers
from prefixlab.dialects.handlebars_nodes import Call, Literal
from prefixlab.dialects.handlebars_rendering import as_json, as_text
from prefixlab.dialects.handlebars_texts import handlebars_text
from prefixlab.dialects.source_text import SourceText
from prefixlab.errors import PrefixlabError
from prefixlab.prompt_templates import Expression as Written
from prefixlab.prompt_templates import History, Hole, Message, Part, Place, PromptTemplate, Render, Text, Turn, walk
from prefixlab.template_files import TemplateFile

_MARK = "<<<dotprompt:"
_END = ">>>"


def _role_part(call: Call, at: Place) -> Sequence[Part]:
    role = call.arguments[0] if call.arguments else None
    return (Turn(common_role(str(role.value)), at),) if isinstance(role, Literal) else ()


def _history_part(call: Call, at: Place) -> Sequence[Part]:
    # What follows is the model's, until a role is named.
    return (History("history", at), Turn("assistant", at))


def _media_part(call: Call, at: Place) -> Sequence[Part]:
    url = dict(call.named).get("url")
    if isinstance(url, Literal):
        return (Text(str(url.value), at),)
    return (Hole(Written(call.source, (url.source,) if url is not None else ()), at, at),)


_HELPERS = Helpers(
    values={
        "role": lambda given, named: f"{_MARK}role:{as_text(given[0] if given else None)}{_END}",
        "history": lambda given, named: f"{_MARK}history{_END}",
        "section": lambda given, named: f"{_MARK}section {as_text(given[0] if given else None)}{_END}",
        "media": lambda given, named: f"{_MARK}media:url {as_text(named.get('url'))}{_END}",
        "json": lambda given, named: as_json(given[0] if given else None, int(named.get("indent") or 0)),
    },
    conditions={
        "ifEquals": lambda given: len(given) > 1 and given[0] == given[1],
        "unlessEquals": lambda given: len(given) > 1 and given[0] != given[1],
    },
    parts={
        "role": _role_part,
        "history": _history_part,
        "section": lambda call, at: (),
        "media": _media_part,
    },
    is_escaping=False,
    partial_names=("_{name}.prompt",),
)


class Dotprompt:
    """Files of dotprompt."""

    name = "dotprompt"
    summary = "dotprompt files: YAML, then Handlebars with roles, history and media"
    endings = (".prompt",)

    def recognises(self, file: TemplateFile) -> bool:
        """Whether the file is of this dialect and no partial, which is read where it is called."""
        return file.path.endswith(self.endings) and not Path(file.path).name.startswith("_")

    def templates(self, file: TemplateFile) -> Iterator[PromptTemplate]:
        """The one template of a file.

        Raises:
            BadTemplate: its YAML or its text cannot be read, or a partial is not there.
        """
        found = front_matter(file)
        body = found.body if found is not None else SourceText.of_file(file)
        if found is not None:
            kept = body.text.strip()
            start = len(body.text) - len(body.text.lstrip())
            body = body.part(start, start + len(kept))
        text = handlebars_text(body, file, _HELPERS)
        head = (found or FrontMatter(Node(Place(file.path, 1, 1), {}), body)).head
        yield PromptTemplate(
            file.path,
            self.name,
            _with_turns(text.parts),
            Place(file.path, 1, 1),
            name=head.text("name"),
            render=_render(text, _defaults(head)),
            notes=text.notes,
        )


def _with_turns(parts: Sequence[Part]) -> tuple[Part, ...]:
    """The parts; text ahead of the first role is the user's, and an empty message is none."""
    made: list[Part] = []
    has_roles = any([isinstance(part, Turn | History) for part in walk(parts)])
    if not has_roles:
        return (Turn("user", parts[0].at), *parts) if parts else ()
    turn: Turn | None = None
    blanks: list[Part] = []
    for part in parts:
        if isinstance(part, Turn | History):
            # A message of blanks alone is left out.
            blanks = []
            if isinstance(part, History):
                made.append(part)
                turn = None
            else:
                turn = part
            continue
        if isinstance(part, Text) and not part.text.strip() and (turn is not None or not made):
            blanks.append(part)
            continue
        if turn is not None:
            made.append(turn)
        elif not any([isinstance(one, Turn) for one in made]) and not isinstance(part, Text):
            if not any([isinstance(one, Turn) for one in walk((part,))]):
                made.append(Turn("user", part.at))
        elif not made:
            made.append(Turn("user", part.at))
        turn = None
        made += [*blanks, part]
        blanks = []
    return tuple(made)


def _defaults(head: Node) -> dict[str, Any]:
    given = head.get("input")
    default = given.get("default") if given is not None else None
    return dict(default.value) if default is not None and isinstance(default.value, dict) else {}


def _render(text: TextTemplate, defaults: Mapping[str, Any]) -> Render | None:
    render_text = text.render
    if render_text is None:
        return None

    def render(values: Mapping[str, Any]) -> Sequence[Message]:
        return _messages(render_text({**defaults, **values}), values.get("history") or values.get("messages") or ())

    return render


def _messages(rendered: str, history: Any) -> list[Message]:
    """The messages of a rendered text, as dotprompt cuts it."""
    if isinstance(history, str) or not all([isinstance(one, Mapping) for one in history]):
        raise PrefixlabError("the history is a list of messages with role and content", "Correct the values")
    earlier = [(common_role(str(one.get("role", "user"))), str(one.get("content", ""))) for one in history]
    messages: list[Message] = []
    role, source = "user", ""
    is_placed = False

    def ends() -> None:
        if source:
            messages.append((role, _without_marks(source)))

    for number, piece in enumerate(rendered.split(_MARK)):
        text = piece
        if number:
            mark, end, behind = piece.partition(_END)
            if not end or not mark.startswith(("role:", "history")):
                source += _MARK + piece
                continue
            if mark == "history":
                ends()
                messages += earlier
                is_placed = bool(earlier)
                role, source = "assistant", ""
            else:
                if source.strip():
                    ends()
                    source = ""
                role = common_role(mark[5:].partition(" ")[0])
            text = behind
        if text.strip():
            source += text
    ends()
    if earlier and not is_placed:
        last = messages[-1:] if messages and messages[-1][0] == "user" else []
        messages = [*messages[: len(messages) - len(last)], *earlier, *last]
    return messages


def _without_marks(source: str) -> str:
    """The text parts of a message; of media its address."""
    made: list[str] = []
    for number, piece in enumerate(source.split(_MARK)):
        text = piece
        if number:
            mark, end, behind = piece.partition(_END)
            if not end:
                made.append(_MARK + piece)
                continue
            if mark.startswith("media:url "):
                made.append(mark[10:].split(" ")[0])
            text = behind
        if text.strip():
            made.append(text)
    return "".join(made)


DIALECT = Dotprompt()
