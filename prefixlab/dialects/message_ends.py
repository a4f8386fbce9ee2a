"""The ends of messages: blanks that a format strips there."""

from __future__ import annotations

from collections.abc import Sequence

from prefixlab.prompt_templates import Choice, History, Loop, Part, Place, Text, Turn, walk


def stripped(parts: Sequence[Part], blanks: str | None = None) -> list[Part]:
    """The parts without `blanks`, all where it is None, at both ends of each message."""
    made: list[Part] = []
    at_start = True
    for part in parts:
        if isinstance(part, Turn | History):
            _strip_end(made, blanks)
            at_start = True
        elif isinstance(part, Text):
            if at_start:
                part = text_from(part, len(part.text) - len(part.text.lstrip(blanks)))
            at_start = at_start and not part.text
            if not part.text:
                continue
        elif isinstance(part, Loop):
            part = part._replace(body=tuple(stripped(part.body, blanks))) if has_turn(part) else part
            at_start = False
        elif isinstance(part, Choice):
            if has_turn(part):
                part = part._replace(arms=tuple([tuple(stripped(arm, blanks)) for arm in part.arms]))
            at_start = False
        else:
            at_start = False
        made.append(part)
    _strip_end(made, blanks)
    return made


def _strip_end(made: list[Part], blanks: str | None) -> None:
    while made and isinstance(last := made[-1], Text):
        text = last.text.rstrip(blanks)
        if text:
            made[-1] = last._replace(text=text)
            return
        made.pop()


def has_turn(part: Part) -> bool:
    """Whether a message begins in a part."""
    return any([isinstance(one, Turn) for one in walk((part,))])


def text_from(part: Text, start: int) -> Text:
    """The end of a text, with its place."""
    lead = part.text[:start]
    lines = lead.count("\n")
    column = len(lead) - lead.rfind("\n") if lines else part.at.column + len(lead)
    return Text(part.text[start:], Place(part.at.path, part.at.line + lines, column))
