"""A conversation as Ollama lays it out with a model's template. Follows Ollama 0.12.

A template that goes through `.Messages` is rendered once. Another one is rendered for each exchange, with `.System`,
`.Prompt` and `.Response`, the system text in the first exchange alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from prefixlab.dialects.go_scopes import Given
from prefixlab.dialects.go_texts import GoTemplate
from prefixlab.dialects.source_text import SourceText
from prefixlab.prompt_templates import Expression, Hole, Loop, Part, Text, walk

FUNCTIONS = frozenset(("json", "currentDate", "yesterdayDate", "toTypeScriptType"))
"""What Ollama adds to the functions of Go's templates."""

_SYSTEM, _PROMPT, _RESPONSE, _MESSAGES = "System", "Prompt", "Response", "Messages"
_OF_OTHER_MESSAGES = ("Images", "ToolCalls", "ToolName", "ToolCallID", "Thinking")
"""Fields that a message of a Modelfile has not."""


class GivenMessage(NamedTuple):
    """A message with which each conversation of a model begins."""

    role: str
    text: SourceText


def laid_out(template: GoTemplate, messages: Sequence[GivenMessage]) -> tuple[Part, ...]:
    """The prompt of a conversation that begins with messages and goes on with those of the caller."""
    system = _joined([_texts(one) for one in messages if one.role == "system"])
    if _MESSAGES in template.fields:
        items = [
            {"Role": (Text(role, parts[0].at),), "Content": parts, **dict.fromkeys(_OF_OTHER_MESSAGES, ())}
            for role, parts in _collated(messages)
        ]
        known: dict[str, tuple[Part, ...]] = {"Suffix": (), _RESPONSE: ()}
        if system:
            known[_SYSTEM] = system
        return template.parts(Given(known, {_MESSAGES: items}))
    parts: list[Part] = []
    pending: dict[str, tuple[Part, ...]] = {}
    for role, texts in _collated(messages):
        field = {"system": _SYSTEM, "user": _PROMPT}.get(role, _RESPONSE)
        # An exchange is written when what comes next is ahead of what it has.
        if _RESPONSE in pending or (field == _SYSTEM and _PROMPT in pending):
            parts += _exchange(template, pending)
            pending = {}
        pending[field] = texts
    if _PROMPT in pending or _RESPONSE in pending:
        parts += _exchange(template, pending)
        pending = {}
    known = {"Suffix": ()}
    if messages:
        known[_SYSTEM] = pending.get(_SYSTEM, ())
    return (*parts, *_of_the_caller(template.parts(Given(known, present=frozenset((_PROMPT,))))))


def _exchange(template: GoTemplate, pending: dict[str, tuple[Part, ...]]) -> tuple[Part, ...]:
    values = {"Suffix": (), _SYSTEM: (), _PROMPT: (), _RESPONSE: (), **pending}
    behind = () if _RESPONSE in template.fields else values[_RESPONSE]
    return (*template.parts(Given(values)), *behind)


def _of_the_caller(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """The exchanges of the caller: what is ahead of the first question is there once, all else for each of them."""
    for at, part in enumerate(parts):
        prompt = next((one for one in walk((part,)) if isinstance(one, Hole) and _PROMPT in one.expression.names), None)
        if prompt is not None:
            over = Expression(prompt.expression.source, (_MESSAGES,))
            return (*parts[:at], Loop(over, prompt.at, parts[at:]))
    return parts


def _texts(message: GivenMessage) -> tuple[Text, ...]:
    return (message.text.text_part(0, len(message.text.text)),) if message.text.text else ()


def _joined(texts: Sequence[tuple[Text, ...]]) -> tuple[Text, ...]:
    """Texts with an empty line between them."""
    made: list[Text] = []
    for one in texts:
        if made and one:
            made.append(Text("\n\n", one[0].at))
        made += one
    return tuple(made)


def _collated(messages: Sequence[GivenMessage]) -> list[tuple[str, tuple[Text, ...]]]:
    """Messages with their texts, those of one role that follow one another together; none without a text."""
    made: list[tuple[str, tuple[Text, ...]]] = []
    for one in messages:
        texts = _texts(one)
        if texts and made and made[-1][0] == one.role:
            made[-1] = one.role, _joined([made[-1][1], texts])
        elif texts:
            made.append((one.role, texts))
    return made
