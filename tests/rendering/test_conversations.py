"""Bodies reach a template as a server hands them over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from chat_strategies import asked, placed, text_of

from prefixlab.records import Chat
from prefixlab.rendering import load_renderer
from prefixlab.rendering.conversations import parse_arguments

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
WALKING = (
    "{% for message in messages[0:] %}{% if message['content'] is string %}{{ message.content }}"
    "{% else %}{% for part in message['content'] %}<{{ part.type }}:{{ part['text'] | trim }}>{% endfor %}{% endif %}"
    "{% endfor %}"
)


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("", {}),
        ("  ", {}),
        (None, {}),
        ('{"a": 1}', {"a": 1}),
        ("[1]", [1]),
        ("not JSON", "not JSON"),
        ('{"a"', '{"a"'),
    ],
)
def test_tool_arguments_are_parsed(text: str | None, parsed: Any) -> None:
    assert parse_arguments(text) == parsed


def test_parsed_and_raw_arguments() -> None:
    call = {"function": {"name": "f", "arguments": '{"b":1,  "a":"\\u00e9"}'}}
    chat = Chat([{"role": "user", "content": "u"}, {"role": "assistant", "content": "", "tool_calls": [call]}])
    assert '"arguments": {"b": 1, "a": "é"}}' in text_of(load_renderer("qwen3").render(asked(chat)))
    raw = load_renderer("qwen3", tool_arguments="raw").render(asked(chat))
    assert '"arguments": {"b":1,  "a":"\\u00e9"}}' in text_of(raw)
    assert call["function"]["arguments"] == '{"b":1,  "a":"\\u00e9"}', "the record stays as logged"


def test_text_parts_are_the_same_prompt_as_the_text() -> None:
    parts = Chat([{"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]}])
    text = Chat([{"role": "user", "content": "one\ntwo"}])
    for name in ("qwen3", "llama3", "harmony", "openai"):
        renderer = load_renderer(name)
        for _ in range(3):
            rendering = renderer.render(asked(parts))
            assert text_of(rendering) == text_of(renderer.render(asked(text)))
            assert ("two", "messages[0].content[1].text") in placed(rendering)


@pytest.mark.parametrize("name", ["qwen3", "chatml", "openai", "llama3", "walking", "plain"])
def test_images_are_pads_with_an_identity(name: str, tmp_path: Path) -> None:
    if name in ("walking", "plain"):
        path = tmp_path / "t.jinja"
        path.write_text(WALKING if name == "walking" else "{{ '%s' % messages[0].content }}", "utf-8")
        name = str(path)
    renderer = load_renderer(name, image_tokens=3)
    other = {"type": "input_image", "image_url": "https://example.org/b.png"}
    identities = []
    for image in (IMAGE, other, IMAGE, other):
        chat = Chat([{"role": "user", "content": [image, {"type": "text", "text": "Read it"}]}])
        rendering = renderer.render(asked(chat))
        assert "<|vision_start|>" + "<|image_pad|>" * 3 + "<|vision_end|>" in text_of(rendering)
        (pads,) = [segment for segment in rendering.segments if segment.image]
        assert (pads.text, pads.origin, pads.image_tokens) == (
            "<|image_pad|>" * 3,
            ("messages[0].content[0]", "user"),
            3,
        )
        assert ("Read it", "messages[0].content[1].text") in placed(rendering)
        identities.append(pads.image)
    assert identities[0] == identities[2] != identities[1] == identities[3] == "https://example.org/b.png"


def test_an_image_stands_right_beside_its_text() -> None:
    chat = Chat(
        [{"role": "user", "content": [IMAGE, {"type": "text", "text": "Read"}, {"type": "text", "text": "it"}]}]
    )
    assert "<|vision_end|>Read\nit<|im_end|>" in text_of(load_renderer("chatml").render(asked(chat)))


def test_other_parts_are_dropped_and_named() -> None:
    parts = [{"type": "input_audio", "input_audio": {}}, {"type": "text", "text": "hi"}, {"type": "file"}, 7]
    for name in ("chatml", "anthropic"):
        rendering = load_renderer(name).render(asked(Chat([{"role": "user", "content": parts}])))
        assert rendering.dropped == ("messages[0].content[0]", "messages[0].content[2]", "messages[0].content[3]")
        assert ("hi", "messages[0].content[1].text") in placed(rendering)


def test_templates_that_walk_over_parts_get_them(tmp_path: Path) -> None:
    path = tmp_path / "t.jinja"
    path.write_text(WALKING, "utf-8")
    renderer = load_renderer(str(path))
    for words in ((" one", "two"), ("three", ""), ("", "")):
        chat = Chat(
            [
                {"role": "system", "content": "s"},
                {"role": "user", "content": [{"type": "text", "text": word} for word in words]},
                {"role": "tool", "content": [{"type": "text", "text": "joined"}, {"type": "text", "text": "too"}]},
            ]
        )
        rendering = renderer.render(asked(chat))
        one, two = (word.strip() for word in words)
        assert text_of(rendering) == f"s<text:{one}><text:{two}>joined\ntoo"
    assert renderer._tracing


def test_missing_and_empty_values() -> None:
    chat = Chat(
        [{"role": "user", "content": None}, {"role": "assistant", "tool_calls": []}, {"role": "user", "content": ""}]
    )
    assert text_of(load_renderer("qwen3").render(asked(chat))) == (
        "<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n<|im_end|>\n<|im_start|>user\n<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
