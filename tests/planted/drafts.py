"""Requests before their values are filled in, and the bodies made of them, as sent or with values moved."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.planted.values import Moment

Text = tuple[str | int, ...]
"""Strings and the numbers of holes."""

OWN, NEWEST = "own", "newest"
"""Where a value can go: the end of the message it stands in, or the end of the newest user message."""


@dataclass(frozen=True)
class Message:
    """A message of a conversation, or with the role `prompt` all of a plain prompt."""

    role: str
    text: Text
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Other keys of the message, such as tool calls."""


@dataclass(frozen=True)
class Hole:
    """A planted place: `path` and lines are what a report has to name. `form` is the line it was set into."""

    number: int
    kind: str
    path: str
    form: str
    pattern: str = "request"
    template: int = 0
    control: bool = False


@dataclass(frozen=True)
class Draft:
    """One request: texts with holes, and what stands in them."""

    messages: tuple[Message, ...]
    tools: tuple[dict[str, Any], ...]
    tool_texts: tuple[Text, ...]
    values: Mapping[int, str]
    moment: Moment

    def body(self, moved: Mapping[int, str]) -> dict[str, Any]:
        """The request's body with the holes in `moved` (number to `own` or `newest`) set at their new places."""
        behind: list[str] = []
        filled = [_fill(message.text, self.values, moved, behind) for message in self.messages]
        described = [_fill(text, self.values, moved, behind) for text in self.tool_texts]
        if self.messages[0].role == "prompt":
            return {"prompt": "\n".join([filled[0], *behind])}
        newest = max(n for n, message in enumerate(self.messages) if message.role == "user")
        filled[newest] = "\n".join([filled[newest], *behind])
        body: dict[str, Any] = {"model": "desk"}
        if self.tools:
            body["tools"] = [copy.deepcopy(tool) for tool in self.tools]
            for tool, text in zip(body["tools"], described, strict=True):
                tool["function"]["description"] = text
        pairs = zip(self.messages, filled, strict=True)
        body["messages"] = [{"role": m.role, "content": text} | copy.deepcopy(dict(m.extra)) for m, text in pairs]
        return body

    def lines(self, hole: int) -> range | None:
        """The lines, from 1, that the hole's value takes in its text; None where the request has no such hole."""
        for message in self.messages:
            if hole in message.text:
                at = message.text.index(hole)
                first = _fill(message.text[:at], self.values, {}, []).count("\n") + 1
                return range(first, first + self.values[hole].count("\n") + 1)
        return range(1, 2) if any(hole in text for text in self.tool_texts) else None


def _fill(text: Text, values: Mapping[int, str], moved: Mapping[int, str], behind: list[str]) -> str:
    """The text; values that go to the newest user message are put into `behind`."""
    parts: list[str] = []
    own: list[str] = []
    for part in text:
        if isinstance(part, str):
            parts.append(part)
        elif part not in moved:
            parts.append(values[part])
        else:
            (own if moved[part] == OWN else behind).append(values[part])
    return "\n".join(["".join(parts), *own])


@dataclass(frozen=True)
class Log:
    """A planted log. `chat` names its chat template; None for plain prompts."""

    seed: int
    title: str
    drafts: tuple[Draft, ...]
    holes: tuple[Hole, ...]
    chat: str | None

    def records(self, moved: Mapping[int, str] | None = None) -> list[dict[str, Any]]:
        """The log as a file would have it, one record a request."""
        rows = []
        for draft in self.drafts:
            body = draft.body(moved or {})
            stamp = draft.moment.time.isoformat() + "Z"
            head = {"id": f"r{draft.moment.number}", "timestamp": stamp}
            rows.append(head | body if self.chat is None else head | {"request": body})
        return rows

    def values_of(self, hole: int) -> list[str]:
        """All values of a hole, each once, in order."""
        return list(dict.fromkeys(draft.values[hole] for draft in self.drafts if hole in draft.values))
