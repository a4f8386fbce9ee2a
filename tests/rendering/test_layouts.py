"""The layouts that are our own: Anthropic's stand-in, OpenAI's stand-in, and none."""

from __future__ import annotations

import pytest
from chat_strategies import TOOLS, asked, placed, text_of

from prefixlab.errors import BadRecord
from prefixlab.records import AnthropicChat, Chat
from prefixlab.rendering import load_renderer

BODY = AnthropicChat(
    [
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {"role": "assistant", "content": "c"},
    ],
    [{"type": "text", "text": "nonce=1", "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": "Rules"}],
    [{"name": "f", "description": "é", "input_schema": {"type": "object"}}, {"name": "g"}],
)


def test_the_anthropic_layout() -> None:
    renderer = load_renderer("anthropic")
    for _ in range(2):
        rendering = renderer.render(asked(BODY))
        assert text_of(rendering) == (
            '{"name": "f", "description": "é", "input_schema": {"type": "object"}}\n{"name": "g"}\n'
            "nonce=1\nRules\n"
            "<|im_start|>user\na\nb<|im_end|>\n<|im_start|>assistant\nc<|im_end|>\n"
        )
        assert [path for _, path in placed(rendering)] == [
            "tools[0]",
            "tools[1]",
            "system[0].text",
            "system[1].text",
            "messages[0].content[0].text",
            "messages[0].content[1].text",
            "messages[1].content",
        ]
        assert all(segment.text for segment in rendering.segments)
    assert "not public" in renderer.notes[0]


def test_tool_blocks_and_images_in_the_anthropic_layout() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    body = AnthropicChat(
        [
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {"x": 1}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}, image]},
            {"role": "user", "content": [{"type": "strange"}]},
        ],
        "Rules",
    )
    rendering = load_renderer("anthropic", image_tokens=2).render(asked(body))
    assert text_of(rendering) == (
        'Rules\n<|im_start|>assistant\nf\n{"x": 1}<|im_end|>\n'
        "<|im_start|>user\nok\n<|vision_start|><|image_pad|><|image_pad|><|vision_end|><|im_end|>\n"
        "<|im_start|>user\n<|im_end|>\n"
    )
    assert rendering.dropped == ("messages[2].content[0]",)
    pads = [segment for segment in rendering.segments if segment.image]
    assert [(p.text, p.origin.path, p.image_tokens) for p in pads] == [
        ("<|image_pad|>" * 2, "messages[1].content[1]", 2)
    ]
    assert pads[0].image is not None
    assert pads[0].image.startswith("sha256:")


def test_an_openai_chat_in_the_anthropic_layout() -> None:
    chat = Chat([{"role": "system", "content": "s"}, {"role": "user", "content": "u"}], TOOLS[1:])
    assert text_of(load_renderer("anthropic").render(asked(chat))) == (
        '{"name": "no_arguments", "description": "é", "parameters": {"type": "object"}}\n\n'
        "<|im_start|>system\ns<|im_end|>\n<|im_start|>user\nu<|im_end|>\n"
    )


def test_the_openai_layout() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "no_arguments", "arguments": '{"a":1}'}}
    chat = Chat(
        [
            {"role": "developer", "content": "d"},
            {"role": "user", "name": "Ann", "content": [{"type": "text", "text": "u"}]},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "r"},
        ],
        TOOLS[1:],
    )
    renderer = load_renderer("openai")
    assert text_of(renderer.render(asked(chat))) == (
        '<|im_start|>system\n# Tools\n\n{"type": "function", "function": {"name": "no_arguments", "description": "é", '
        '"parameters": {"type": "object"}}}<|im_end|>\n'
        "<|im_start|>developer\nd<|im_end|>\n<|im_start|>user name=Ann\nu<|im_end|>\n"
        '<|im_start|>assistant\nto=functions.no_arguments\n{"a": 1}<|im_end|>\n'
        "<|im_start|>tool\nr<|im_end|>\n<|im_start|>assistant\n"
    )
    raw = load_renderer("openai", tool_arguments="raw").render(asked(chat))
    assert ('{"a":1}', "messages[2].tool_calls[0].function.arguments") in placed(raw)
    assert "not published" in renderer.notes[0]


CALL = {"id": "c", "type": "function", "function": {"name": "no_arguments", "arguments": '{"a":1}'}}
OTHER_CALL = {"id": "d", "type": "function", "function": {"name": "other", "arguments": "not json"}}


@pytest.mark.parametrize(
    "answer",
    [
        {"role": "assistant", "content": "a"},
        {"role": "assistant", "name": "planner", "content": "a"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "assistant", "content": "a", "tool_calls": [CALL, OTHER_CALL]},
        {"role": "assistant", "name": "planner", "content": "", "tool_calls": [OTHER_CALL]},
    ],
)
@pytest.mark.parametrize("arguments", ["parsed", "raw"])
def test_history_goes_on_where_the_generation_prompt_ends(answer: dict[str, object], arguments: str) -> None:
    """Whatever an answer consists of: the stand-in for OpenAI's layout makes no break of its own."""
    renderer = load_renderer("openai", tool_arguments="raw" if arguments == "raw" else "parsed")
    asking: list[dict[str, object]] = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
    before = text_of(renderer.render(asked(Chat(asking, TOOLS[1:]))))
    behind = [*asking, answer, {"role": "tool", "tool_call_id": "c", "content": "r"}]
    assert text_of(renderer.render(asked(Chat(behind, TOOLS[1:])))).startswith(before)


@pytest.mark.parametrize("name", ["anthropic", "openai", "chatml", "qwen3"])
def test_a_request_without_messages_is_named(name: str) -> None:
    with pytest.raises(BadRecord, match=r"log.jsonl:7: the request has no messages"):
        load_renderer(name).render(asked(Chat([])))


def test_a_chat_needs_a_template() -> None:
    with pytest.raises(BadRecord, match=r"log.jsonl:7: this is a chat, which needs a chat template"):
        load_renderer("none").render(asked(Chat([{"role": "user", "content": "u"}])))
