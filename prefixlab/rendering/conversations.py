"""What a chat template is given: a body's messages as the server hands them over.

This follows vLLM (`entrypoints/chat_utils.py`): tool-call arguments are parsed, content parts are joined with a line
break unless the template walks over parts itself, a missing content is empty, an empty list of tool calls is none. A
message that needs none of this is passed on as it is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from prefixlab.records import Chat, Origin

ToolArguments = Literal["parsed", "raw"]

VISION_START, IMAGE_PAD, VISION_END = "<|vision_start|>", "<|image_pad|>", "<|vision_end|>"
TEXT_PARTS = {
    "text": "text",
    "input_text": "text",
    "output_text": "text",
    "refusal": "refusal",
    "thinking": "thinking",
}
IMAGE_PARTS = frozenset({"image_url", "input_image", "image"})
REASONING_KEYS = ("reasoning_content", "thinking", "reasoning")
CHANGING_KEYS = frozenset({"tool_calls", *REASONING_KEYS})
"""A message with a text as its content and none of these reaches a template as it is."""

CACHED_ARGUMENTS = 4096
"""Longest argument string whose parsed form is kept: an agent's calls come again with every turn."""


class Image(NamedTuple):
    """An image of a content: its URL or the digest of its payload, and the tokens that stand for it in the prompt."""

    identity: str
    pads: str

    @property
    def text(self) -> str:
        return f"{VISION_START}{self.pads}{VISION_END}"


class Parts(NamedTuple):
    """A content of several parts: texts and images, each with its JSON path. A template sees them joined."""

    entries: tuple[str | Image, ...]
    paths: tuple[str, ...]

    def separator(self, index: int) -> str:
        """What stands ahead of an entry: a line break between two texts, nothing beside an image."""
        between = index > 0 and isinstance(self.entries[index], str) and isinstance(self.entries[index - 1], str)
        return "\n" if between else ""

    def listed(self) -> list[dict[str, Any]]:
        """One part a text or image, for templates that walk over them: an image is the text that stands for it."""
        return [{"type": "text", "text": Parts((entry,), (path,))} for entry, path in zip(self.entries, self.paths)]

    @property
    def text(self) -> str:
        return "".join(
            [
                self.separator(index) + (entry if isinstance(entry, str) else entry.text)
                for index, entry in enumerate(self.entries)
            ]
        )


def plain(message: dict[str, Any]) -> dict[str, Any]:
    """The message with its parts as plain text."""
    content = message.get("content")
    if isinstance(content, Parts):
        return {**message, "content": content.text}
    if isinstance(content, list):
        return {**message, "content": [{**part, "text": part["text"].text} for part in content]}
    return message


@dataclass(slots=True)
class Conversation:
    """A chat as a template gets it, and where each of its contents stands in the body.

    `paths` says which places of the body the places of the conversation (`messages[1].tool_calls[0].function.name`)
    are, where they differ: each key stands for everything below it.
    """

    messages: list[dict[str, Any]]
    tools: list[Any] | None = None
    documents: list[Any] | None = None
    template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    add_generation_prompt: bool = True
    continue_final_message: bool = False
    content_paths: tuple[str, ...] | None = None
    paths: Mapping[str, str] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()

    def content_path(self, index: int) -> str:
        return self.content_paths[index] if self.content_paths else f"messages[{index}].content"

    def place(self, origin: Origin) -> Origin:
        """Where a place of the conversation is in the body."""
        path = origin.path
        end = len(path) if self.paths else 0
        while end > 0:
            found = self.paths.get(path[:end])
            if found is not None:
                return Origin(found + path[end:], origin.role)
            end = max(path.rfind(".", 0, end), path.rfind("[", 0, end))
        return origin


def path_of(wanted: Any, value: Any, path: str = "") -> str | None:
    """The JSON path of an object, the very same one, in a value."""
    if value is wanted:
        return path
    if isinstance(value, dict):
        inside = [(inner, f"{path}.{key}" if path else str(key)) for key, inner in value.items()]
    elif isinstance(value, list):
        inside = [(inner, f"{path}[{index}]") for index, inner in enumerate(value)]
    else:
        return None
    found = [path_of(wanted, *each) for each in inside if isinstance(each[0], dict | list)]
    return next((each for each in found if each is not None), None)


class Preparation:
    """Makes conversations of chat bodies, under fixed options."""

    def __init__(
        self, *, tool_arguments: ToolArguments = "parsed", image_tokens: int = 64, lists: bool = False
    ) -> None:
        self.parse_arguments = tool_arguments == "parsed"
        self.image_tokens = image_tokens
        self.lists = lists
        """Whether the template walks over the parts of a content itself."""

    def conversation(self, chat: Chat) -> Conversation:
        """The chat as the template gets it; messages that need no change are those of the log."""
        messages = chat.messages
        dropped: list[str] = []
        for index, message in enumerate(chat.messages):
            if type(message.get("content")) is str and CHANGING_KEYS.isdisjoint(message):
                continue
            path = chat.content_paths[index] if chat.content_paths else f"messages[{index}].content"
            prepared = self._message(message, path, dropped)
            if prepared is not message:
                if messages is chat.messages:
                    messages = messages.copy()
                messages[index] = prepared
        return Conversation(
            messages,
            chat.tools or None,
            chat.documents,
            chat.template_kwargs,
            chat.add_generation_prompt,
            chat.continue_final_message,
            chat.content_paths,
            dropped=tuple(dropped),
        )

    def _message(self, message: dict[str, Any], path: str, dropped: list[str]) -> dict[str, Any]:
        changes: dict[str, Any] = {}
        content = message.get("content")
        if isinstance(content, list):
            parts = self.parts(content, path, dropped)
            changes["content"] = parts.listed() if self.lists and message.get("role") != "tool" else parts
        elif content is None:
            changes["content"] = ""
        elif not isinstance(content, str):
            changes["content"] = json.dumps(content, ensure_ascii=False)
        calls = message.get("tool_calls")
        if "tool_calls" in message and not calls:
            message = {key: value for key, value in message.items() if key != "tool_calls"}
            changes.setdefault("content", message.get("content"))
        elif isinstance(calls, list) and self.parse_arguments:
            parsed = [self._call(call) for call in calls]
            if any(new is not old for new, old in zip(parsed, calls)):
                changes["tool_calls"] = parsed
        reasoning = next((message[key] for key in REASONING_KEYS if message.get(key) is not None), None)
        if reasoning is not None:  # transformers fills both names of it, in this order
            message = {"thinking": reasoning, **message, "reasoning_content": reasoning}
        return {**message, **changes} if changes else message

    def parts(self, content: list[Any], path: str, dropped: list[str]) -> Parts:
        """A content's parts as texts and images; parts of another kind are left out and named in `dropped`."""
        entries: list[str | Image] = []
        paths: list[str] = []
        for index, part in enumerate(content):
            here = f"{path}[{index}]"
            if isinstance(part, str):
                entries.append(part)
                paths.append(here)
                continue
            kind = part.get("type") if isinstance(part, dict) else None
            key = TEXT_PARTS.get(kind) if isinstance(kind, str) else None
            if key is not None and isinstance(part.get(key), str):
                entries.append(part[key])
                paths.append(f"{here}.{key}")
            elif kind in IMAGE_PARTS:
                entries.append(Image(image_identity(part), IMAGE_PAD * self.image_tokens))
                paths.append(here)
            else:
                dropped.append(here)
        return Parts(tuple(entries), tuple(paths))

    @staticmethod
    def _call(call: Any) -> Any:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(arguments := function.get("arguments", ""), str | None):
            return call
        parsed = parse_arguments(arguments)
        return call if parsed is arguments else {**call, "function": {**function, "arguments": parsed}}


def parse_arguments(text: str | None) -> Any:
    """A tool call's argument string as JSON: an empty one is an empty object, one that is not JSON stays text."""
    if not text or not text.strip():
        return {}
    return _parse_often(text) if len(text) <= CACHED_ARGUMENTS else _parse(text)


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


_parse_often = lru_cache(maxsize=8192)(_parse)


def image_identity(part: dict[str, Any]) -> str:
    """What tells an image from another: its URL, or the digest of its payload."""
    source = part.get("image_url", part.get("source", part.get("image")))
    if isinstance(source, dict):
        source = source.get("url") or source.get("data") or source.get("file_id") or source
    if source is None:
        source = {key: value for key, value in part.items() if key not in ("type", "cache_control")}
    if not isinstance(source, str):
        source = json.dumps(source, ensure_ascii=False, sort_keys=True)
    if source.startswith(("http://", "https://", "file-")):
        return source
    return "sha256:" + hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()
