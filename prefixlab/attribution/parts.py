"""A prompt as its request has it: tools, messages and their parts, with the text that each became.

Structural causes are a matter of parts (a tool that moved, a message that was dropped), so prompts are compared part by
part: what was rendered, not what was logged.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from prefixlab.attribution.differences import TURNS
from prefixlab.records import Prompt

_MESSAGE = re.compile(r"(?:messages|input|contents|conversations?)\[(\d+)\]")


class Part(NamedTuple):
    """Consecutive text of one JSON path. It begins in piece number `piece`."""

    path: str
    role: str
    text: str
    piece: int
    last_piece: int


class Turn(NamedTuple):
    """A message of the conversation: its parts by their path below the message, and the pieces that hold them."""

    number: int
    role: str
    content: tuple[tuple[str, str], ...]
    first_piece: int
    last_piece: int

    @property
    def text(self) -> str:
        return "".join([text for _, text in self.content])


class Outline(NamedTuple):
    """The parts of a prompt, in order of rendering."""

    tools: tuple[Part, ...]
    turns: tuple[Turn, ...]
    parameters: tuple[Part, ...]
    """What request parameters were rendered as."""


def outline(prompt: Prompt) -> Outline:
    """The prompt's parts. Text of the template is none."""
    parts = parts_of(prompt)
    tools = tuple([part for part in parts if part.role == "tools"])
    parameters = tuple([part for part in parts if part.path.startswith("chat_template_kwargs")])
    turns: list[Turn] = []
    for part in parts:
        at = _MESSAGE.match(part.path)
        if at is None or part.role not in TURNS:
            continue
        index = int(at[1])
        below = part.path[at.end() :]
        if turns and turns[-1].number == index:
            turn = turns[-1]
            content = (*turn.content, (below, part.text))
            turns[-1] = turn._replace(content=content, last_piece=max(turn.last_piece, part.last_piece))
        else:
            turns.append(Turn(index, part.role, ((below, part.text),), part.piece, part.last_piece))
    return Outline(tools, tuple(turns), parameters)


def parts_of(prompt: Prompt) -> list[Part]:
    """All parts of a prompt, in order of rendering."""
    parts: list[Part] = []
    for number, piece in enumerate(prompt.pieces):
        text = piece.text
        at = 0
        for origin, chars in piece.spans:
            if origin.path:
                stretch = text[at : at + chars]
                if parts and parts[-1].path == origin.path and parts[-1].last_piece >= number - 1:
                    last = parts[-1]
                    parts[-1] = last._replace(text=last.text + stretch, last_piece=number)
                else:
                    parts.append(Part(origin.path, origin.role, stretch, number, number))
            at += chars
    return parts


def texts(parts: Sequence[Part]) -> list[str]:
    """The parts' texts without blanks at their ends, which separators put there."""
    return [part.text.strip() for part in parts]
