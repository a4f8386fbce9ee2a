"""Every piece of a prompt knows where it came from, and what a template leaves out is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from chat_strategies import SPECIAL_TEXTS, TOOLS, asked, chats, placed, text_of
from hypothesis import HealthCheck, given, settings

from prefixlab.records import AnthropicChat, Chat, Origin, Text
from prefixlab.rendering import load_renderer

SOME = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))


def template(folder: Path, text: str, **options: Any) -> Any:
    path = folder / "template.jinja"
    path.write_text(text, "utf-8")
    return load_renderer(str(path), **options)


@given(chats())
@SOME
def test_every_content_has_its_segment(chat: Chat) -> None:
    rendering = load_renderer("chatml").render(asked(chat))
    found = [(text, path) for text, path in placed(rendering)]
    for index, message in enumerate(chat.messages):
        if message["content"]:
            assert (message["content"], f"messages[{index}].content") in found
    roles = {segment.origin.path: segment.origin.role for segment in rendering.segments}
    assert all(roles.get(f"messages[{i}].content", m["role"]) == m["role"] for i, m in enumerate(chat.messages))


def test_origins_of_a_tool_conversation() -> None:
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Weather?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c", "type": "function", "function": {"name": "get_weather", "arguments": '{"a":  1}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "c", "content": "mild"},
    ]
    for _ in range(2):
        assert placed(load_renderer("qwen3").render(asked(Chat(messages, TOOLS[1:])))) == [
            ("Be brief.", "messages[0].content"),
            (
                json.dumps(TOOLS[1], ensure_ascii=False),
                "tools[0]",
            ),
            ("Weather?", "messages[1].content"),
            ("get_weather", "messages[2].tool_calls[0].function.name"),
            ('{"a": 1}', "messages[2].tool_calls[0].function.arguments"),
            ("mild", "messages[3].content"),
        ]


def test_a_template_that_walks_inside_tools_gives_the_leaf() -> None:
    rendering = load_renderer("harmony").render(asked(Chat([{"role": "user", "content": "hi"}], TOOLS)))
    assert ('Weather <b> & "more"', "tools[0].function.description") in placed(rendering)
    assert ("Where", "tools[0].function.parameters.properties.city.description") in placed(rendering)
    assert ("1970-01-01", "strftime_now") in placed(rendering)


def test_literal_segments_of_a_plan_are_the_same_objects() -> None:
    renderer = load_renderer("chatml")
    first, second, third = [
        renderer.render(asked(Chat([{"role": "user", "content": text}]))).segments for text in ("one", "two", "three")
    ]
    assert second[0] is third[0]
    assert second[2] is third[2]
    assert first[0] == second[0]
    assert second[1].text == "two"


def test_content_paths_of_the_body_are_kept() -> None:
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
    chat = Chat(messages, content_paths=("instructions", "input[0].content"))
    assert placed(load_renderer("chatml").render(asked(chat))) == [("s", "instructions"), ("u", "input[0].content")]
    parts = Chat(
        [{"role": "user", "content": [{"type": "input_text", "text": "u"}]}], content_paths=("input[0].content",)
    )
    assert placed(load_renderer("chatml").render(asked(parts))) == [("u", "input[0].content[0].text")]


def test_template_parameters_and_documents(tmp_path: Path) -> None:
    renderer = template(
        tmp_path,
        "{{ effort }}|{% for d in documents %}{{ d.title }}:{{ d.text }};{% endfor %}{{ messages[0].content }}",
    )
    chat = Chat(
        [{"role": "user", "content": "q"}],
        documents=[{"title": "T", "text": "one"}, {"title": "U", "text": "two"}],
        template_kwargs={"effort": "low"},
    )
    other = Chat(
        [{"role": "user", "content": "r"}],
        documents=[{"title": "V", "text": "three"}, {"title": "W", "text": "four"}],
        template_kwargs={"effort": "low"},
    )
    for body, texts in ((chat, ["T", "one", "U", "two", "q"]), (other, ["V", "three", "W", "four", "r"])):
        assert placed(renderer.render(asked(body))) == list(
            zip(
                ["low", *texts],
                [
                    "chat_template_kwargs.effort",
                    "documents[0].title",
                    "documents[0].text",
                    "documents[1].title",
                    "documents[1].text",
                    "messages[0].content",
                ],
            )
        )


def test_plans_read_the_time_of_each_request(tmp_path: Path) -> None:
    renderer = template(tmp_path, "{{ strftime_now('%Y-%m-%d %H') }} {{ messages[0].content }}")
    chat = Chat([{"role": "user", "content": "q"}])
    times = [0.0, 86400.0, 3600.0 * 30, None]
    got = [text_of(renderer.render(asked(chat, time))) for time in times]
    assert got == ["1970-01-01 00 q", "1970-01-02 00 q", "1970-01-02 06 q", "2026-01-01 00 q"]
    assert renderer.undated_requests == 1
    assert renderer.notes == (
        "requests without a time were rendered as of 2026-01-01, for the chat template asks for it",
    )


def test_dropped_content_is_named() -> None:
    messages = [
        {"role": "user", "content": "hi"},
        {"role": "developer", "content": "late rule"},
        {"role": "function", "content": "result"},
        {"role": "function", "content": ""},
    ]
    renderer = load_renderer("qwen3")
    for _ in range(4):
        assert renderer.render(asked(Chat(messages))).dropped == ("messages[1].content", "messages[2].content")
    called = [{"function": {"name": "f", "arguments": "{}"}}, {"function": {"name": "g", "arguments": '{"x": 1}'}}]
    chat = Chat(
        [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ok", "tool_calls": called}], TOOLS
    )
    assert load_renderer("llama3").render(asked(chat)).dropped == (
        "messages[1].tool_calls[1].function.arguments",
        "tools",
    )


def test_plainly_rendered_content_is_found(tmp_path: Path) -> None:
    renderer = template(tmp_path, "{% for m in messages %}<{{ '%s' % m.content }}>{% endfor %}{{ messages[0].role }}")
    chat = Chat([{"role": "user", "content": text} for text in ("one", " \n", "two", "")])
    rendering = renderer.render(asked(chat))
    assert text_of(rendering) == "<one>< \n><two><>user"
    assert placed(rendering) == [("one", "messages[0].content"), ("two", "messages[2].content")]
    assert rendering.dropped == ()
    trimmed = template(tmp_path, "{% for m in messages %}<{{ ('%s' % m.content) | trim }}>{% endfor %}")
    assert placed(trimmed.render(asked(Chat([{"role": "user", "content": " one \n"}])))) == [
        ("one", "messages[0].content")
    ]
    none = template(tmp_path, "{{ '%s' % messages[0].role }}")
    assert none.render(asked(Chat([{"role": "user", "content": "gone"}]))).dropped == ("messages[0].content",)


@pytest.mark.parametrize("text", [text for text in SPECIAL_TEXTS if text])
def test_plain_prompts_are_one_segment(text: str) -> None:
    for name in ("none", "chatml", "anthropic"):
        rendering = load_renderer(name).render(asked(Text(text, "prompt")))
        assert rendering.segments == ((text, Origin("prompt", "prompt"), None, 0),)


def test_anthropic_bodies_keep_their_paths_in_other_templates() -> None:
    body = AnthropicChat(
        [
            {"role": "user", "content": "Weather?"},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "t", "name": "f", "input": {"city": "Oslo"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "mild"}]},
                    {"type": "text", "text": "And now?"},
                ],
            },
        ],
        [{"type": "text", "text": "One."}, {"type": "text", "text": "Two."}],
        [{"name": "f", "description": None, "input_schema": {"type": "object"}}],
    )
    renderer = load_renderer("qwen3")
    for _ in range(3):
        rendering = renderer.render(asked(body))
        assert placed(rendering) == [
            ("One.", "system[0].text"),
            ("Two.", "system[1].text"),
            (
                '{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}',
                "tools[0]",
            ),
            ("Weather?", "messages[0].content"),
            ("I look.", "messages[1].content[0].text"),
            ("f", "messages[1].content[1].name"),
            ('{"city": "Oslo"}', "messages[1].content[1].input"),
            ("mild", "messages[2].content[0].content[0].text"),
            ("And now?", "messages[2].content[1].text"),
        ]
        assert rendering.dropped == ()
    assert "<tool_response>\nmild\n</tool_response><|im_end|>\n<|im_start|>user\nAnd now?" in text_of(rendering)
