"""What chat templates write otherwise once it is history, and where."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from prefixlab.dialects import jinja2 as dialect
from prefixlab.dialects.chat_template_files import DIALECT
from prefixlab.template_files import BadTemplate, TemplateFile

TURNS = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}</s>\n{% endfor %}"
ASKS = "{% if add_generation_prompt %}<|assistant|>{% endif %}"
BRIEF = "{% if loop.last and m.role == 'user' %}[Be brief] {% endif %}"
THINKS = (
    "{% for m in messages %}<|{{ m.role }}|>{% if m.reasoning_content and loop.last %}<think>{{ m.reasoning_content }}"
    "</think>{% endif %}{{ m.content }}</s>\n{% endfor %}"
)
STRIPS = "{% for m in messages %}<|{{ m.role }}|>{{ m.content.split('</think>')[-1] }}</s>\n{% endfor %}"
CALLS = (
    "{% for m in messages %}<|{{ m.role }}|>{% for c in m.tool_calls if loop.last %}{{ c.function | tojson }}"
    "{% endfor %}{{ m.content }}</s>\n{% endfor %}"
)
LAST_CALL = CALLS.replace(" if loop.last", "").replace("{% for c", "{% set l = loop %}{% for c")
SWITCHED = (
    "{% if add_generation_prompt %}<|assistant|>{% if enable_thinking is false %}<think></think>{% endif %}{% endif %}"
)


def partings(text: str) -> list[tuple[str, int, str]]:
    found = dialect.read(TemplateFile("a.jinja", text)).partings
    return [(one.kind, one.at.column, one.was) for one in found]


@pytest.mark.parametrize(
    ("text", "kind", "written", "was"),
    [
        (TURNS.replace("<|{{", BRIEF + "<|{{", 1) + ASKS, "user turn", "[Be brief]", "[Be brief] <|user|>Is the"),
        ("So far: {{ messages | length }}. " + TURNS.replace("\n", "") + ASKS, "head", "{{ messages", "2. <|system|>"),
        (TURNS.replace("\n", "") + SWITCHED, "generation prompt", "<think>", "<think></think>"),
        (THINKS.replace("\n", "") + ASKS, "thought", "{{ m.content", "<think>The hours hang"),
        (STRIPS.replace("\n", "") + ASKS, "thought", "{{ m.content", "<think>\nThe hours hang"),
    ],
)
def test_the_place_is_that_of_what_differs(text: str, kind: str, written: str, was: str) -> None:
    ((found, column, quote),) = partings(text)
    assert found == kind
    assert column == text.index(written) + 1
    assert quote.startswith(was)


@pytest.mark.parametrize("text", [TURNS + ASKS, TURNS + "<|assistant|>", LAST_CALL + ASKS])
def test_a_template_that_only_adds_is_sound(text: str) -> None:
    assert partings(text) == []


def test_what_is_shared_and_lost_is_the_prompt_with_its_answer() -> None:
    (one,) = dialect.read(TemplateFile("a.jinja", THINKS + ASKS)).partings
    assert one.shared.endswith("</s>\n<|assistant|>")
    assert one.lost == "<think>The hours hang on the door.</think>It is, from ten to four."


def test_a_template_without_end_is_tried_for_a_bounded_time() -> None:
    text = "{% for m in messages %}{{ m.role }}{% for i in range(90000) %}{{ m.content }}{% endfor %}{% endfor %}"
    assert partings(text) == []


@pytest.mark.parametrize("several", [False, True])
def test_json_of_a_tokenizer(several: bool) -> None:
    broken = (
        '{{ strftime_now("%d") }}\n{% for m in messages %}\n<|{{ m.role }}|>{{ m.content }}\n{% endfor %}' + SWITCHED
    )
    value = [{"name": "default", "template": TURNS}, {"name": "tool_use", "template": broken}] if several else broken
    text = json.dumps({"bos_token": "<s>", "chat_template": value}, indent=1)
    file = TemplateFile("tokenizer_config.json", text)
    assert DIALECT.recognises(file)
    templates = list(DIALECT.templates(file))
    assert [one.name for one in templates] == (["default", "tool_use"] if several else [""])
    last = templates[-1]
    line = text[: text.index("strftime_now")].count("\n")
    assert last.is_chat_template
    (parting,) = last.partings
    assert (parting.at.line, parting.at.column) == (line + 1, text.splitlines()[line].index("<think>") + 1)
    assert {part.at.line for part in last.parts} == {line + 1}


def test_json_without_a_chat_template_is_another_file(tmp_path: Path) -> None:
    for value in (None, [], 3, [{"name": "a"}]):
        assert not DIALECT.recognises(TemplateFile("tokenizer_config.json", json.dumps({"chat_template": value})))
    with pytest.raises(BadTemplate) as caught:
        list(DIALECT.templates(TemplateFile("a.json", json.dumps({"chat_template": "a\n{{ b ! }}"}))))
    assert (caught.value.line, caught.value.column) == (1, 28)
