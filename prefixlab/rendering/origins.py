"""Origins of text that was rendered plainly: each content is looked for, in order, in the rendered text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from prefixlab.records import TEMPLATE, Origin, Segment
from prefixlab.rendering.conversations import Conversation, Image, Parts


class Content(NamedTuple):
    """A text of the body that should come out in the prompt."""

    text: str
    origin: Origin
    image: str | None = None


def contents(conversation: Conversation) -> Iterator[Content]:
    """The texts and images of a conversation's messages, in order, without the empty ones."""
    for index, message in enumerate(conversation.messages):
        role = str(message.get("role", ""))
        content = message.get("content")
        listed = [part["text"] for part in content] if isinstance(content, list) else [content]
        for parts in listed:
            if isinstance(parts, Parts):
                for entry, path in zip(parts.entries, parts.paths):
                    if isinstance(entry, Image):
                        yield Content(entry.pads, Origin(path, role), entry.identity)
                    elif entry:
                        yield Content(entry, Origin(path, role))
        if isinstance(content, str) and content:
            yield Content(content, Origin(conversation.content_path(index), role))


def find(text: str, wanted: Iterable[Content], image_tokens: int) -> tuple[tuple[Segment, ...], tuple[str, ...]]:
    """The rendered text as segments, and the paths of the contents that are not in it.

    A content that is not there as it stands is looked for without the blanks around it. One that is nothing but blanks
    could be anywhere and is not looked for.
    """
    segments: list[Segment] = []
    dropped: list[str] = []
    end = 0
    for content in wanted:
        if content.text.isspace():
            continue
        start, size = text.find(content.text, end), len(content.text)
        if start < 0:
            stripped = content.text.strip()
            start, size = (text.find(stripped, end) if stripped else -1), len(stripped)
        if start < 0:
            dropped.append(content.origin.path)
            continue
        if start > end:
            segments.append(Segment(text[end:start], TEMPLATE))
        end = start + size
        tokens = image_tokens if content.image is not None else 0
        segments.append(Segment(text[start:end], content.origin, content.image, tokens))
    if end < len(text):
        segments.append(Segment(text[end:], TEMPLATE))
    return tuple(segments), tuple(dropped)
