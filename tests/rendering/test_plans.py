"""Plans are used again, hold only what they were recorded for, and are given up where they would be wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from chat_strategies import TOOLS, asked, text_of

from prefixlab.records import Chat, Origin
from prefixlab.rendering import load_renderer, plans
from prefixlab.rendering.shapes import pinned_key
from prefixlab.rendering.steps import Step, Untraceable
from prefixlab.rendering.tracing import Rope, Traced, concatenate


def talk(number: int, **more: Any) -> Chat:
    messages = [{"role": "system", "content": f"rules {number}"}, {"role": "user", "content": f"question {number}"}]
    return Chat(messages, **more)


@pytest.mark.parametrize("name", ["chatml", "llama3", "qwen3", "harmony", "openai"])
def test_one_run_of_the_template_serves_a_shape(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    renderer: Any = load_renderer(name)
    for number in range(3):
        renderer.render(asked(talk(number, tools=TOOLS)))

    def run(*_: Any) -> None:
        raise AssertionError("the template ran again")

    monkeypatch.setattr(renderer, "_trace", run)
    monkeypatch.setattr(renderer, "_plain_text", run)
    for number in range(3, 9):
        text = text_of(renderer.render(asked(talk(number, tools=TOOLS))))
        assert f"rules {number}" in text
        assert f"question {number}" in text


@pytest.mark.parametrize(
    "other",
    [
        Chat([{"role": "user", "content": "q"}], TOOLS[::-1]),
        Chat([{"role": "user", "content": "q"}], [{"function": TOOLS[0]["function"], "type": "function"}, TOOLS[1]]),
        Chat([{"role": "user", "content": "q"}], TOOLS, template_kwargs={"enable_thinking": False}),
        Chat([{"role": "user", "content": "q"}], TOOLS, template_kwargs={"enable_thinking": 0}),
        Chat([{"role": "user", "content": "q"}], TOOLS, add_generation_prompt=False),
        Chat([{"role": "system", "content": "q"}], TOOLS),
        Chat([{"role": "user", "content": "q", "name": "x"}], TOOLS),
        Chat([{"content": "q", "role": "user"}], TOOLS),
        Chat([{"role": "user", "content": [{"type": "text", "text": "q"}]}], TOOLS),
        Chat([{"role": "user", "content": "q"}], TOOLS, content_paths=("input",)),
    ],
)
def test_what_a_template_can_see_is_the_shape(other: Chat) -> None:
    renderer: Any = load_renderer("qwen3")
    renderer.render(asked(Chat([{"role": "user", "content": "q"}], TOOLS)))
    renderer.render(asked(other))
    assert len(renderer._book._plans) == 2


def test_pinned_keys_tell_json_values_apart() -> None:
    values = [1, 1.0, True, None, float("nan"), "1", [1], {"a": 1, "b": 2}, {"b": 2, "a": 1}, "\ud800", 2**70]
    assert len({repr(pinned_key(value)) for value in values}) == len(values)


def test_a_shape_keeps_a_bounded_number_of_plans(tmp_path: Path) -> None:
    path = tmp_path / "t.jinja"
    path.write_text(
        "{% if messages[0].content == 'x' %}{% endif %}{{ messages[0].content[messages[1].content | length] }}"
    )
    renderer: Any = load_renderer(str(path))
    for length in range(40):
        chat = Chat([{"role": "user", "content": "abc" * 20}, {"role": "user", "content": "y" * length}])
        assert text_of(renderer.render(asked(chat))) == ("abc" * 20)[length]
    ((shape, kept),) = renderer._book._plans.items()
    assert len(kept) == plans.PLANS_PER_SHAPE
    assert renderer._book._stored == len(shape) + sum(plan.size for plan in kept)


def test_all_shapes_together_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "STORED_PIECES", 300)
    renderer: Any = load_renderer("chatml")
    for length in range(1, 60):
        renderer.render(asked(Chat([{"role": "user", "content": "q"}] * length)))
        book = renderer._book
        assert book._stored == sum(len(s) + sum(plan.size for plan in kept) for s, kept in book._plans.items())
    assert book._stored <= 300 or len(book._plans) == 1
    assert text_of(renderer.render(asked(Chat([{"role": "user", "content": "q"}])))).count("q") == 1


@pytest.mark.parametrize("operation", ["x.replace('q', x)", "(x ~ m.content) | upper"])
def test_steps_that_grow_without_end_are_not_compiled(operation: str, tmp_path: Path) -> None:
    path = tmp_path / "t.jinja"
    path.write_text(
        "{% set ns = namespace(x='') %}{% for m in messages %}{% set ns.x = ns.x ~ m.content %}"
        "{% set x = ns.x %}{% set ns.x = (OPERATION)[:50] %}{% endfor %}{{ ns.x }}".replace("OPERATION", operation)
    )
    renderer: Any = load_renderer(str(path))
    for number in range(3):
        chat = Chat([{"role": "user", "content": f"q{number}"}] * 300)
        assert len(text_of(renderer.render(asked(chat)))) == 50
    assert renderer._tracing


def test_a_plan_that_differs_from_plain_rendering_ends_tracing(monkeypatch: pytest.MonkeyPatch) -> None:
    renderer: Any = load_renderer("chatml")
    honest = renderer._trace

    def lying(*arguments: Any) -> Any:
        plan, filled = honest(*arguments)
        return plan, filled._replace(segments=filled.segments[1:])

    monkeypatch.setattr(renderer, "_trace", lying)
    for number in range(3):
        assert text_of(renderer.render(asked(talk(number)))).startswith("<|im_start|>system\nrules")
    assert renderer.notes == ("the chat template cannot be recorded faithfully: requests are rendered plainly",)


def test_traced_values_never_pass_for_text() -> None:
    traced = Traced("abc", Step("messages"), Origin("p", "user"), [])
    rope = concatenate(["x", traced])
    assert isinstance(rope, Rope)
    for value in (traced, rope):
        assert not isinstance(value, str | dict | list)
        for operation in (str, repr, hash, int, float, bytes, "{}".format, "%s".__mod__, {}.get, set().add, reversed):
            with pytest.raises((Untraceable, TypeError)):
                operation(value)
    with pytest.raises(Untraceable):
        list(traced)
    with pytest.raises(Untraceable):
        traced.attribute("format")
    with pytest.raises(Untraceable):
        traced.call("__class__")


def test_text_of_a_log_is_never_source() -> None:
    renderer: Any = load_renderer("qwen3")
    evil = "'''); import os; os._exit(1)  # \"\"\" {0} {} \\"
    for number in range(4):
        messages = [
            {"role": "user", "content": f"{evil}{number}", evil: evil},
            {"role": evil, "content": evil},
            {
                "role": "assistant",
                "content": evil,
                "tool_calls": [{"function": {"name": evil, "arguments": {evil: evil}}}],
            },
        ]
        assert f"{evil}{number}" in text_of(renderer.render(asked(Chat(messages, [{evil: evil}]))))
    assert renderer._tracing
