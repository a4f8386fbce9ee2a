"""Prompts whose messages stand in `<message role="...">` and `</message>`, as Semantic Kernel has them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape, unescape
from typing import Any

from prefixlab.dialects.embedded import RenderText, common_role
from prefixlab.dialects.message_ends import stripped, text_from
from prefixlab.prompt_templates import PLAIN, Choice, History, Hole, Loop, Message, Part, Text, Turn, walk

_TAG = re.compile(r"<message\s+role\s*=\s*(?:\"([^\"<>]*)\"|'([^'<>]*)')\s*>|</message\s*>", re.IGNORECASE)
_OF_HISTORY = ("history", "messages", "conversation", "thread")


def with_turns(parts: Sequence[Part]) -> tuple[Part, ...]:
    """The parts with turns in place of the tags; text between messages is none of the prompt."""
    texts = [part for part in walk(parts) if isinstance(part, Text)]
    has_tags = any([_TAG.search(text.text) or _opens_dynamically(text) for text in texts])
    return tuple([_decoded(part) for part in stripped(_cut(parts, [False]))]) if has_tags else tuple(parts)


def _opens_dynamically(part: Part) -> bool:
    return isinstance(part, Text) and part.text.rstrip().endswith(('<message role="', "<message role='"))


def _cut(parts: Sequence[Part], is_inside: list[bool]) -> list[Part]:
    """`is_inside` holds whether a message is open, and is kept up to date."""
    made: list[Part] = []
    skips_quote = False
    for number, part in enumerate(parts):
        following = parts[number + 1] if number + 1 < len(parts) else None
        if isinstance(part, Text):
            text = part.text
            if skips_quote:
                # The end of a tag whose role is a value.
                cut = text.find(">") + 1
                part, skips_quote = text_from(part, cut), False
            if _opens_dynamically(part) and isinstance(following, Hole):
                part = part._replace(text=part.text[: part.text.rindex("<message")])
                made += _cut_text(part, is_inside)
                skips_quote, is_inside[0] = True, True
            else:
                made += _cut_text(part, is_inside)
        elif isinstance(part, Hole) and skips_quote:
            made.append(Turn(part.expression.source, part.at))
        elif isinstance(part, Choice):
            arms = [tuple(_cut(arm, list(is_inside))) for arm in part.arms]
            made += (part._replace(arms=tuple(arms)),) if any(arms) else ()
        elif isinstance(part, Loop):
            body = tuple(_cut(part.body, list(is_inside)))
            name = part.over.names[0] if part.over.names else part.over.source
            turns = any([isinstance(one, Turn) for one in walk(body)])
            if turns and name.rpartition(".")[2].lower().endswith(_OF_HISTORY):
                made.append(History(name, part.at))
            elif body:
                made.append(part._replace(body=body))
        elif is_inside[0] or isinstance(part, History):
            made.append(part)
        elif isinstance(part, Hole):
            # Between messages only other messages can stand.
            made.append(History(part.expression.source, part.at))
    return made


def _cut_text(part: Text, is_inside: list[bool]) -> list[Part]:
    made: list[Part] = []
    at = 0
    for found in _TAG.finditer(part.text):
        if is_inside[0] and found.start() > at:
            made.append(_piece(part, at, found.start()))
        role = found[1] if found[1] is not None else found[2]
        is_inside[0] = role is not None
        if role is not None:
            made.append(Turn(common_role(role), text_from(part, found.start()).at))
        at = found.end()
    if is_inside[0] and at < len(part.text):
        made.append(_piece(part, at, len(part.text)))
    return made


def _piece(part: Text, start: int, end: int) -> Text:
    return text_from(part, start)._replace(text=part.text[start:end])


def _decoded(part: Part) -> Part:
    """The part with `&lt;` and the like in its texts restored."""
    if isinstance(part, Text):
        return part._replace(text=unescape(part.text))
    if isinstance(part, Choice):
        return part._replace(arms=tuple([tuple([_decoded(one) for one in arm]) for arm in part.arms]))
    if isinstance(part, Loop):
        return part._replace(body=tuple([_decoded(one) for one in part.body]))
    return part


def messages_of(render: RenderText, values: Mapping[str, Any]) -> Sequence[Message]:
    """The messages of a rendered text. Values cannot make messages: they are escaped before and restored behind."""
    if not _TAG.search(text := render(values)):
        return ((PLAIN, text),)
    text = render({name: escape(one, quote=False) if isinstance(one, str) else one for name, one in values.items()})
    messages: list[Message] = []
    role: str | None = None
    at = 0
    for found in _TAG.finditer(text):
        if role is not None:
            messages.append((common_role(role), unescape(text[at : found.start()].strip())))
        role = found[1] if found[1] is not None else found[2]
        at = found.end()
    return messages


__all__ = ["messages_of", "with_turns"]
