"""Text of a template language inside a file of another format: what every language's reading gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from prefixlab.prompt_templates import PLAIN, Message, Part, Place, Render, Turn
from prefixlab.template_files import BadTemplate

RenderText = Callable[[Mapping[str, Any]], str]
"""Text for values of the template's variables."""

MOST_PARTS = 50_000
"""Parts that a template may become with all that it includes."""

DEEPEST = 40
"""Blocks, and files that include one another, in one another."""


class TextTemplate(NamedTuple):
    """A text with holes."""

    parts: tuple[Part, ...]
    render: RenderText | None
    """None where it cannot be rendered without running a program."""
    notes: tuple[str, ...] = ()


def plain_render(template: TextTemplate) -> Render | None:
    """What renders the text as a prompt without roles."""
    render_text = template.render
    if render_text is None:
        return None

    def render(values: Mapping[str, Any]) -> Sequence[Message]:
        return ((PLAIN, render_text(values)),)

    return render


class MessageTemplate(NamedTuple):
    """A message whose text is a template."""

    role: str
    at: Place
    content: TextTemplate

    @property
    def parts(self) -> tuple[Part, ...]:
        """The message's turn and text."""
        return (Turn(self.role, self.at), *self.content.parts)


_ROLES = {"human": "user", "ai": "assistant", "model": "assistant", "humanmessage": "user", "aimessage": "assistant"}


def common_role(word: str) -> str:
    """The word that most use for a role."""
    return _ROLES.get(word.lower(), word.lower())


def too_large(path: str) -> BadTemplate:
    """The fault of a template that grows without bound."""
    return BadTemplate("becomes too large when what it includes is followed", "Split it", path=path)


def too_deep(at: Place) -> BadTemplate:
    """The fault of a template that nests without bound."""
    return BadTemplate.at(at, f"goes more than {DEEPEST} blocks or files deep", "Make it flat")
