"""Rendering equals `transformers` on every template we have, for the first request of a shape and for later ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from chat_strategies import asked, chats, families, placed, text_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference_templates import original

from prefixlab.errors import BadRecord
from prefixlab.records import Chat
from prefixlab.rendering import load_renderer
from tests.reference import reference_folder

DATA = Path(__file__).parent / "data"
TRICKY = sorted(path.name for path in (DATA / "templates").glob("*.jinja"))
FAMILIES = ("qwen3", "llama3_1", "gemma3", "deepseek_v3")
MANY = settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))
SOME = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def expected(template: str, chat: Chat, tokens: dict[str, Any]) -> str | Exception:
    """What transformers renders, or the error."""
    from transformers.utils.chat_template_utils import render_jinja_template

    try:
        rendered, _ = render_jinja_template(
            [chat.messages],
            tools=chat.tools,
            chat_template=template,
            add_generation_prompt=chat.add_generation_prompt,
            continue_final_message=chat.continue_final_message,
            **{**tokens, **chat.template_kwargs},
        )
    except Exception as error:
        return error
    return str(rendered[0])


def hold_equal(renderer: Any, template: str, chat: Chat, tokens: dict[str, Any]) -> None:
    want = expected(template, chat, tokens)
    if isinstance(want, Exception):
        with pytest.raises(BadRecord, match=r"log.jsonl:7: "):
            renderer.render(asked(chat))
        return
    for _ in range(2):
        rendering = renderer.render(asked(chat))
        assert text_of(rendering) == want
        assert all(segment.text for segment in rendering.segments)
    assert renderer._tracing, "a plan differed from plain rendering"


def check_random_chats(wanted: str, template: str, tokens: dict[str, Any], size: settings) -> Any:
    renderer = load_renderer(wanted, special_tokens=tokens)

    @size
    @given(families())
    def equal(family: list[Chat]) -> None:
        for chat in family:
            hold_equal(renderer, template, chat, tokens)

    equal()
    return renderer


@pytest.mark.parametrize("name", TRICKY)
def test_small_templates_with_every_construct(name: str) -> None:
    path = DATA / "templates" / name
    renderer = check_random_chats(str(path), path.read_text("utf-8"), {"bos_token": "<s>", "eos_token": "</s>"}, SOME)
    planned = [plans for plans in renderer._book._plans.values() if plans]
    assert bool(planned) == (not name.startswith("untraceable"))


@pytest.mark.parametrize("name", ["chatml", "llama3", "qwen3", "harmony", "openai"])
def test_built_in_templates_are_traced(name: str) -> None:
    from prefixlab.rendering.sources import built_in

    source = built_in(name)
    template = source.text.replace("strftime_now('%Y-%m-%d')", "'1970-01-01'")
    renderer = check_random_chats(name, template, dict(source.special_tokens), SOME)
    assert all(renderer._book._plans.values())


@pytest.mark.full
@pytest.mark.parametrize("family", FAMILIES)
def test_original_templates(family: str) -> None:
    template, tokens = original(family)
    check_random_chats(str(reference_folder(family)), template, tokens, MANY)


@pytest.mark.full
@pytest.mark.parametrize(("name", "family"), [("qwen3", "qwen3"), ("llama3", "llama3_1")])
def test_built_in_templates_equal_the_originals(name: str, family: str) -> None:
    template, tokens = original(family)
    check_random_chats(name, template, tokens, MANY)


@given(chats(), st.sampled_from(["  end \n", "end", ""]))
@SOME
def test_a_final_message_that_is_continued(chat: Chat, end: str) -> None:
    from prefixlab.rendering.sources import built_in

    messages = [*chat.messages, {"role": "assistant", "content": f"The answer is {end}"}]
    continued = Chat(messages, chat.tools, add_generation_prompt=False, continue_final_message=True)
    for name in ("llama3", "chatml"):
        source = built_in(name)
        want = expected(source.text, continued, dict(source.special_tokens))
        if isinstance(want, Exception):
            continue
        got = load_renderer(name).render(asked(continued))
        assert text_of(got) == want
        assert placed(got)[-1] == (
            f"The answer is {end}".rstrip() if name == "llama3" else f"The answer is {end}",
            f"messages[{len(messages) - 1}].content",
        )
