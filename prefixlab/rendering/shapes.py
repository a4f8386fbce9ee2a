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
from prefixlab.rendering.steps import Guard, Step, Untraceable
from prefixlab.rendering.tracing import Pads, Rope, Traced

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


class Place:
    """A place in a conversation: the step that reads it and its JSON path. Requests share places, so that a log of
    many shapes does not make them again for each."""

    __slots__ = ("_children", "_origins", "path", "step")

    def __init__(self, step: Step, path: str) -> None:
        self.step = step
        self.path = path
        self._children: dict[str | int, Place] = {}
        self._origins: dict[str, Origin] = {}

    def child(self, key: str | int) -> Place:
        found = self._children.get(key)
        if found is None:
            path = f"{self.path}.{key}" if type(key) is str else f"{self.path}[{key}]"
            found = self._children[key] = Place(Step("{}[{}]", (self.step, key)), path)
        return found

    def moved(self, path: str) -> Place:
        """The same place of the conversation, which stands elsewhere in the body."""
        return self if path == self.path else Place(self.step, path)

    def origin(self, role: str) -> Origin:
        found = self._origins.get(role)
        if found is None:
            found = self._origins[role] = Origin(self.path, role)
        return found


class Expected(NamedTuple):
    """Something that should come out of a template, or else was dropped: what computes it (None: part of the shape),
    its path, and whether there is any of it in the request at hand."""

    step: Step | None
    path: str
    there: bool


class TracedConversation:
    """A conversation's values traced, for one run of a template. `contents` are what should come out."""

    def __init__(self, conversation: Conversation, messages: Place, documents: Place) -> None:
        self.guards: list[Guard] = []
        self.contents: list[Expected] = []
        self._content_paths = conversation.content_paths
        self.messages = [self._message(index, each, messages) for index, each in enumerate(conversation.messages)]
        self.tools = self._pinned(conversation.tools, "tools", "tools")
        self.documents = self._traced(conversation.documents, documents, "documents")
        self.contents += [Expected(None, "tools", True)] if self.tools else []
        self.contents += [Expected(None, "documents", True)] if self.documents else []
        self.template_kwargs = {
            name: self._pinned(value, f"chat_template_kwargs.{name}", "template")
            for name, value in conversation.template_kwargs.items()
        }

    def now(self, value: Any) -> Traced:
        """The time of the request, traced."""
        return Traced(value, Step("now"), Origin("strftime_now", "template"), self.guards)

    def _message(self, index: int, message: dict[str, Any], messages: Place) -> dict[str, Any]:
        place = messages.child(index)
        content = place.child("content")
        if self._content_paths is not None:
            path = self._content_paths[index]
            content = content.moved(path)
            place = place.moved(path.removesuffix(".content") if path.endswith(".content") else place.path)
        role = message.get("role")
        role = role if type(role) is str else ""
        traced: dict[str, Any] = {}
        for key, value in message.items():
            if key == "content":
                traced[key] = self._traced(value, content, role)
                if type(value) is str:
                    self.contents.append(Expected(content.step, content.path, bool(value)))
            else:
                traced[key] = value if key in PINNED_KEYS else self._traced(value, place.child(key), role, key)
        return traced

    def _traced(self, value: Any, place: Place, role: str, key: str = "") -> Any:
        kind = type(value)
        if kind is str:
            return value if key in PINNED_KEYS else Traced(value, place.step, place.origin(role), self.guards)
        if kind is dict:
            if key == "arguments":
                self.contents.append(Expected(place.step, place.path, bool(value)))
                return Traced(value, place.step, place.origin(role), self.guards)
            return {name: self._traced(inner, place.child(name), role, name) for name, inner in value.items()}
        if kind is list:
            return [self._traced(inner, place.child(index), role) for index, inner in enumerate(value)]
        return self._parts(value, place.step, role) if kind is Parts else value

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

    def _pinned(self, value: Any, path: str, role: str) -> Any:
        """A value that is part of the shape: each text or mapping knows its place and needs no guard."""
        if type(value) is list:
            return [self._pinned(inner, f"{path}[{index}]", role) for index, inner in enumerate(value)]
        if type(value) in (str, dict):
            return Traced(value, None, Origin(path, role), self.guards)
        return value
