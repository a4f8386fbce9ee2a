"""The shape of a request, and its values traced.

The shape is all that a template may see of a request besides its texts: roles, keys and their order, kinds of parts,
numbers and flags, the tools, the parameters. Requests of one shape differ only in the values that are traced here.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import orjson

from prefixlab.records import Origin
from prefixlab.rendering.conversations import VISION_END, VISION_START, Conversation, Image, Parts
from prefixlab.rendering.tracing import Guard, Pads, Rope, Step, Traced, Untraceable

PINNED_KEYS = frozenset({"role", "type"})
"""Keys whose texts are part of the shape: templates branch on them, and there are few."""

_SIMPLE = ("role", "content")


def shape_of(conversation: Conversation, template_kwargs: Any) -> tuple[Any, ...]:
    """A hashable value that is equal for two conversations if they differ in traced values only."""
    messages: list[Any] = []
    for message in conversation.messages:
        keys = (*message,)
        if keys == _SIMPLE and type(message["content"]) is str and type(role := message["role"]) is str:
            messages.append(role)
        else:
            messages.append(_signature(message))
    tools, documents = conversation.tools, conversation.documents
    return (
        *messages,
        pinned_key(tools) if tools else None,
        None if documents is None else _signature(documents),
        template_kwargs,
        conversation.add_generation_prompt,
        conversation.continue_final_message,
        conversation.content_paths,
        tuple(conversation.paths.items()) if conversation.paths else None,
    )


def pinned_key(value: Any) -> Any:
    """A key that two JSON values share only if they are the same, key order and types of numbers included."""
    try:
        key = orjson.dumps(value)
    except TypeError:  # lone surrogates, long integers
        return json.dumps(value)
    return key if b"null" not in key else (key, repr(value))  # orjson writes null for NaN as well


def _signature(value: Any, key: str = "") -> Any:
    kind = type(value)
    if kind is str:
        return value if key in PINNED_KEYS else str
    if kind is dict:
        if key == "arguments":
            return dict
        signature: list[Any] = [dict]
        for name, inner in value.items():
            signature.append(name)
            if type(inner) is str:
                signature.append(inner if name in PINNED_KEYS else str)
            else:
                signature.append(_signature(inner, name))
        return tuple(signature)
    if kind is list:
        return (list, *[_signature(inner) for inner in value])
    if kind is Parts:
        return (Parts, value.paths, *[type(entry) for entry in value.entries])
    if value is None or kind in (bool, int, float):
        return (kind, value)
    raise Untraceable(f"a value of type {kind.__name__}")


class Expected(NamedTuple):
    """Something that should come out of a template, or else was dropped: what computes it (None: part of the shape),
    its path, and whether there is any of it in the request at hand."""

    step: Step | None
    path: str
    there: bool


class TracedConversation:
    """A conversation's values traced, for one run of a template. `contents` are what should come out."""

    def __init__(self, conversation: Conversation) -> None:
        self.guards: list[Guard] = []
        self.contents: list[Expected] = []
        self._conversation = conversation
        root = Step("messages")
        self.messages = [self._message(index, message, root) for index, message in enumerate(conversation.messages)]
        self.tools = self._pinned(conversation.tools, "tools", "tools")
        if conversation.tools:
            self.contents.append(Expected(None, "tools", True))
        documents = conversation.documents
        if documents:
            self.contents.append(Expected(None, "documents", True))
        self.documents = (
            self._traced(documents, Step("documents"), "documents", "documents") if documents else documents
        )
        self.template_kwargs = {
            name: self._pinned(value, f"chat_template_kwargs.{name}", "template")
            for name, value in conversation.template_kwargs.items()
        }

    def now(self, value: Any) -> Traced:
        """The time of the request, traced."""
        return Traced(value, Step("now"), Origin("strftime_now", "template"), self.guards)

    def _message(self, index: int, message: dict[str, Any], root: Step) -> dict[str, Any]:
        step = Step("{}[{}]", (root, index))
        role, path = message.get("role"), self._conversation.content_path(index)
        role = role if type(role) is str else ""
        traced: dict[str, Any] = {}
        for key, value in message.items():
            if key in PINNED_KEYS:
                traced[key] = value
                continue
            inner = Step("{}[{}]", (step, key))
            if key == "content":
                if type(value) is str:
                    traced[key] = Traced(value, inner, Origin(path, role), self.guards)
                    self.contents.append(Expected(inner, path, bool(value)))
                else:
                    traced[key] = self._traced(value, inner, path, role, key)
            else:
                base = path.removesuffix(".content") if path.endswith(".content") else f"messages[{index}]"
                traced[key] = self._traced(value, inner, f"{base}.{key}", role, key)
        return traced

    def _parts(self, parts: Parts, step: Step, role: str) -> Any:
        pieces: list[Any] = []
        entries = Step("{}.entries", (step,))
        for index, (entry, path) in enumerate(zip(parts.entries, parts.paths)):
            inner = Step("{}[{}]", (entries, index))
            pieces.append(parts.separator(index))
            if isinstance(entry, Image):
                identity = Step("{}.identity", (inner,))
                pads = Pads(entry.pads, identity, Origin(path, role), entry.identity)
                pieces += (VISION_START, pads, VISION_END)
            else:
                pieces.append(Traced(entry, inner, Origin(path, role), self.guards))
            self.contents.append(Expected(inner, path, bool(entry)))
        pieces = [piece for piece in pieces if type(piece) is not str or piece]
        if len(pieces) == 1:
            return pieces[0]
        return Rope(pieces) if pieces else ""

    def _traced(self, value: Any, step: Step, path: str, role: str, key: str = "") -> Any:
        kind = type(value)
        if kind is str:
            return value if key in PINNED_KEYS else Traced(value, step, Origin(path, role), self.guards)
        if kind is dict:
            if key == "arguments":
                self.contents.append(Expected(step, path, bool(value)))
                return Traced(value, step, Origin(path, role), self.guards)
            return {
                name: self._traced(inner, Step("{}[{}]", (step, name)), f"{path}.{name}", role, name)
                for name, inner in value.items()
            }
        if kind is Parts:
            return self._parts(value, step, role)
        if kind is list:
            return [
                self._traced(inner, Step("{}[{}]", (step, index)), f"{path}[{index}]", role)
                for index, inner in enumerate(value)
            ]
        return value

    def _pinned(self, value: Any, path: str, role: str) -> Any:
        """A value that is part of the shape: each text or mapping knows its place and needs no guard."""
        if type(value) is list:
            return [self._pinned(inner, f"{path}[{index}]", role) for index, inner in enumerate(value)]
        if type(value) in (str, dict):
            return Traced(value, None, Origin(path, role), self.guards)
        return value
