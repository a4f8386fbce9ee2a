"""Anthropic Messages bodies: the layout used when no template is named, and their form for other templates."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from prefixlab.errors import BadRecord
from prefixlab.records import TEMPLATE, AnthropicChat, Chat, Origin, Rendering, Request, Segment, Text
from prefixlab.rendering.conversations import (
    IMAGE_PAD,
    VISION_END,
    VISION_START,
    Conversation,
    Image,
    Parts,
    Preparation,
    ToolArguments,
    image_identity,
)
from prefixlab.rendering.shapes import pinned_key

KEPT_TOOL_LISTS = 256
"""Distinct lists of tools whose segments are kept for the next request."""

_origin = lru_cache(maxsize=65536)(Origin)
_NEWLINE = Segment("\n", TEMPLATE)
_END = Segment("<|im_end|>\n", TEMPLATE)
_VISION_START = Segment(VISION_START, TEMPLATE)
_VISION_END = Segment(VISION_END, TEMPLATE)


class AnthropicRenderer:
    """A documented stand-in for the provider's layout, which is not public.

    Each tool as JSON and a line break; the system blocks joined by line breaks; a line break; then for each message
    `<|im_start|>ROLE`, a line break, its text, `<|im_end|>`, a line break. There is no generation prompt.
    """

    name = "anthropic"
    sha256: str | None = None
    notes: tuple[str, ...] = (
        "Anthropic's own prompt layout is not public: tools, system and messages are laid out ChatML-style",
    )

    def __init__(self, *, tool_arguments: ToolArguments = "parsed", image_tokens: int = 64) -> None:
        self._preparation = Preparation(tool_arguments=tool_arguments, image_tokens=image_tokens)
        self._image_tokens = image_tokens
        self._pads = IMAGE_PAD * image_tokens
        self._headings: dict[str, Segment] = {}
        self._tool_lists: dict[Any, list[Segment]] = {}

    def render(self, request: Request) -> Rendering:
        """The request's prompt."""
        body = request.body
        if isinstance(body, Text):
            return Rendering((Segment(body.prompt, Origin(body.path, "prompt")),) if body.prompt else ())
        if isinstance(body, Chat):
            body = _as_anthropic(body)
        if not isinstance(body, AnthropicChat):
            raise TypeError(f"{type(body).__name__} has no text to render")
        if not body.messages:
            path, line = request.location
            raise BadRecord("the request has no messages", "Remove the record or use --skip-bad", path=path, line=line)
        segments: list[Segment] = []
        dropped: list[str] = []
        if body.tools:
            segments += self._tools(body.tools)
        segments += self._texts(body.system, "system", "system", dropped)
        segments.append(_NEWLINE)
        for index, message in enumerate(body.messages):
            role = str(message.get("role", ""))
            segments.append(self._heading(role))
            segments += self._texts(message.get("content"), f"messages[{index}].content", role, dropped)
            segments.append(_END)
        return Rendering(tuple([segment for segment in segments if segment.text]), tuple(dropped))

    def _tools(self, tools: list[Any]) -> list[Segment]:
        key = pinned_key(tools)
        if key not in self._tool_lists:
            if len(self._tool_lists) >= KEPT_TOOL_LISTS:
                self._tool_lists.clear()
            texts = [json.dumps(tool, ensure_ascii=False) for tool in tools]
            pairs = [(Segment(text, _origin(f"tools[{n}]", "tools")), _NEWLINE) for n, text in enumerate(texts)]
            self._tool_lists[key] = [segment for pair in pairs for segment in pair]
        return self._tool_lists[key]

    def _heading(self, role: str) -> Segment:
        heading = self._headings.get(role)
        if heading is None:
            heading = self._headings[role] = Segment(f"<|im_start|>{role}\n", TEMPLATE)
        return heading

    def _texts(self, content: Any, path: str, role: str, dropped: list[str]) -> list[Segment]:
        """The content's blocks, joined by line breaks."""
        if content is None or content == "":
            return []
        if isinstance(content, str):
            return [Segment(content, _origin(path, role))]
        out: list[Segment] = []
        for index, block in enumerate(content if isinstance(content, list) else [content]):
            pieces = list(self._block(block, f"{path}[{index}]", role, dropped))
            if pieces and out:
                out.append(_NEWLINE)
            out += pieces
        return out

    def _block(self, block: Any, path: str, role: str, dropped: list[str]) -> Iterator[Segment]:
        if isinstance(block, str):
            yield Segment(block, _origin(path, role))
            return
        kind = block.get("type") if isinstance(block, dict) else None
        if kind in ("text", "input_text", "output_text") and isinstance(block.get("text"), str):
            yield Segment(block["text"], _origin(f"{path}.text", role))
        elif kind == "thinking" and isinstance(block.get("thinking"), str):
            yield Segment(block["thinking"], _origin(f"{path}.thinking", role))
        elif kind == "tool_use":
            yield Segment(f"{block.get('name', '')}", _origin(f"{path}.name", role))
            yield _NEWLINE
            yield Segment(json.dumps(block.get("input", {}), ensure_ascii=False), _origin(f"{path}.input", role))
        elif kind == "tool_result":
            yield from self._texts(block.get("content"), f"{path}.content", role, dropped)
        elif kind in ("image", "image_url", "input_image"):
            yield _VISION_START
            yield Segment(self._pads, _origin(path, role), image_identity(block), self._image_tokens)
            yield _VISION_END
        else:
            dropped.append(path)


def _as_anthropic(chat: Chat) -> AnthropicChat:
    """An OpenAI-style chat for the Anthropic layout: its messages as they are, the tools' functions as tools."""
    tools = [tool.get("function", tool) if isinstance(tool, dict) else tool for tool in chat.tools or ()]
    return AnthropicChat(chat.messages, None, tools or None)


def as_conversation(body: AnthropicChat, preparation: Preparation) -> Conversation:
    """An Anthropic body in the form that chat templates know, with the paths of the Anthropic body."""
    messages: list[dict[str, Any]] = []
    content_paths: list[str] = []
    paths: dict[str, str] = {}
    dropped: list[str] = []

    def add(role: str, content: Any, path: str, **more: Any) -> None:
        messages.append({"role": role, "content": content, **more})
        content_paths.append(path)

    if body.system:
        add("system", _content(body.system, "system", preparation, dropped), "system")
    for number, message in enumerate(body.messages):
        role, content, here = str(message.get("role", "")), message.get("content"), f"messages[{number}].content"
        if not isinstance(content, list):
            add(role, _content(content, here, preparation, dropped), here)
            continue
        entries: list[str | Image] = []
        entry_paths: list[str] = []
        calls: list[dict[str, Any]] = []
        results = len(messages)
        for index, block in enumerate(content):
            path = f"{here}[{index}]"
            kind = block.get("type") if isinstance(block, dict) else None
            if kind == "tool_result":
                inner = _content(block.get("content"), f"{path}.content", preparation, dropped)
                add("tool", inner, f"{path}.content", tool_call_id=block.get("tool_use_id"))
            elif kind == "tool_use":
                arguments = block.get("input", {})
                if not preparation.parse_arguments:
                    arguments = json.dumps(arguments, ensure_ascii=False)
                call = {"name": block.get("name"), "arguments": arguments}
                calls.append({"id": block.get("id"), "type": "function", "function": call})
                place = f"messages[{number}].tool_calls[{len(calls) - 1}]"
                paths |= {place: path, f"{place}.function": path, f"{place}.function.arguments": f"{path}.input"}
            else:
                parts = preparation.parts([block], here, dropped)
                entries += parts.entries
                entry_paths += [path + found.removeprefix(f"{here}[0]") for found in parts.paths]
        if entries or calls or len(messages) == results:
            more = {"tool_calls": calls} if calls else {}
            add(role, Parts(tuple(entries), tuple(entry_paths)), here, **more)
    tools = [_as_function(tool) for tool in body.tools or ()]
    for index in range(len(tools)):
        place = f"tools[{index}]"
        paths |= {f"{place}.function": place, f"{place}.function.parameters": f"{place}.input_schema"}
    return Conversation(
        messages, tools or None, content_paths=tuple(content_paths), paths=paths, dropped=tuple(dropped)
    )


def _as_function(tool: Any) -> Any:
    if not isinstance(tool, dict):
        return tool
    renamed = {"name": "name", "description": "description", "input_schema": "parameters"}
    return {
        "type": "function",
        "function": {new: tool[old] for old, new in renamed.items() if tool.get(old) is not None},
    }


def _content(content: Any, path: str, preparation: Preparation, dropped: list[str]) -> Any:
    if content is None:
        return ""
    return preparation.parts(content, path, dropped) if isinstance(content, list) else content
