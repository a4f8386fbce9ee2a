"""Chats for the tests of rendering: varied, full of look-alikes of markup, and pairs of one shape."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from prefixlab.records import Chat, Location, Rendering, Request

SPECIAL_TEXTS = (
    "",
    " ",
    "\n\n",
    " lead",
    "trail \n",
    "<think>\nwhy\n</think>\n\nanswer",
    "</think>",
    "a</think>b</think>c",
    "<tool_response>\nq\n</tool_response>",
    "<|im_start|>user\nhi<|im_end|>",
    "<|eot_id|>",
    "{{ messages }}{% raw %}",
    "quotes \" and \\ and '",
    "ünïcödé 😀 中文",
    "\u2028",
    "None",
)

texts = st.sampled_from(SPECIAL_TEXTS) | st.text(max_size=20) | st.sampled_from(["yes", "no", "maybe so"])
names = st.sampled_from(["get_weather", "search", "no_arguments"])
leaves = texts | st.integers(-5, 5) | st.booleans() | st.none() | st.floats(allow_nan=False, allow_infinity=False)
arguments = st.dictionaries(
    st.sampled_from(["city", "days", "deep"]),
    leaves | st.lists(leaves, max_size=2) | st.fixed_dictionaries({"x": texts}),
)

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": 'Weather <b> & "more"',
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string", "description": "Where"},
                    "days": {"type": "integer", "default": 3},
                    "unit": {"type": "string", "enum": ["c", "f"], "default": "c"},
                    "at": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "number"}}}},
                    "either": {"oneOf": [{"type": "string", "description": "s"}, {"type": "number", "default": 2}]},
                    "maybe": {"type": "string", "nullable": True},
                    "loose": {"type": ["string", "null"]},
                    "any": {},
                },
                "required": ["city"],
            },
        },
    },
    {"type": "function", "function": {"name": "no_arguments", "description": "é", "parameters": {"type": "object"}}},
]


@st.composite
def turns(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A user's message and what follows it."""
    out: list[dict[str, Any]] = [{"role": "user", "content": draw(texts)}]
    kind = draw(st.sampled_from(["none", "answer", "reasoned", "tools", "tools answered", "late system"]))
    if kind == "answer":
        out.append({"role": "assistant", "content": draw(texts)})
    elif kind == "reasoned":
        out.append({"role": "assistant", "content": draw(texts), "reasoning_content": draw(texts)})
    elif kind == "late system":
        out.append({"role": draw(st.sampled_from(["system", "developer"])), "content": draw(texts)})
    elif kind.startswith("tools"):
        calls = [
            {"id": f"call{index}", "type": "function", "function": {"name": draw(names), "arguments": draw(arguments)}}
            for index in range(draw(st.integers(1, 2)))
        ]
        out.append({"role": "assistant", "content": draw(texts), "tool_calls": calls})
        out += [{"role": "tool", "tool_call_id": call["id"], "content": draw(texts)} for call in calls]
        if kind == "tools answered":
            out.append({"role": "assistant", "content": draw(texts)})
    return out


@st.composite
def chats(draw: st.DrawFn) -> Chat:
    messages: list[dict[str, Any]] = []
    if draw(st.booleans()):
        messages.append({"role": "system", "content": draw(texts)})
    for turn in draw(st.lists(turns(), min_size=1, max_size=4)):
        messages += turn
    kwargs: dict[str, Any] = {}
    if draw(st.booleans()):
        kwargs["enable_thinking"] = draw(st.booleans())
    if draw(st.booleans()):
        kwargs["reasoning_effort"] = draw(st.sampled_from(["low", "high"]))
    return Chat(
        messages,
        draw(st.sampled_from([None, TOOLS, TOOLS[::-1]])),
        template_kwargs=kwargs,
        add_generation_prompt=draw(st.booleans()),
    )


@st.composite
def families(draw: st.DrawFn) -> list[Chat]:
    """A chat, and chats of its shape with other texts and arguments."""
    chat = draw(chats())
    out = [chat]
    for _ in range(3):
        messages = json.loads(json.dumps(chat.messages))
        for message in messages:
            for key in ("content", "reasoning_content"):
                if key in message:
                    message[key] = draw(texts)
            for call in message.get("tool_calls", ()):
                call["function"] = {"name": draw(names), "arguments": draw(arguments)}
        out.append(
            Chat(
                messages,
                json.loads(json.dumps(chat.tools)),
                template_kwargs=dict(chat.template_kwargs),
                add_generation_prompt=chat.add_generation_prompt,
            )
        )
    return out


def asked(body: Any, arrived_at: float | None = 0.0) -> Request:
    """A request with this body."""
    return Request("r1", Location("log.jsonl", 7), body, arrived_at)


def text_of(rendering: Rendering) -> str:
    return "".join([segment.text for segment in rendering.segments])


def placed(rendering: Rendering) -> list[tuple[str, str]]:
    """The text of every segment with its path, without the template's own."""
    return [(segment.text, segment.origin.path) for segment in rendering.segments if segment.origin.path]
