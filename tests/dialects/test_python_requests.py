# ruff: noqa: E501 - modules under test stand on one line each
"""Calls of the common SDKs, plain HTTP, LangChain and template objects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from prefixlab.errors import PrefixlabError
from prefixlab.prompt_templates import History, Turn
from tests.dialects.python_reading import CORPUS, holes, prompts, text, the_prompt

CALLS = [
    (
        "client.chat.completions.create(messages=[{'role': 'system', 'content': 'Be A'}, {'role': 'user', 'content': q}])",
        "system user",
    ),
    ("OpenAI().responses.create(model='m', instructions='Be A', input=q)", "system user"),
    ("client.responses.create(input=[{'role': 'user', 'content': [{'type': 'input_text', 'text': 'Be A'}]}])", "user"),
    ("client.messages.create(system='Be A', messages=[{'role': 'user', 'content': q}])", "system user"),
    (
        "client.messages.create(system=[{'type': 'text', 'text': 'Be A'}], messages=[{'role': 'user', 'content': q}])",
        "system user",
    ),
    ("litellm.completion(model='m', messages=[{'role': 'user', 'content': 'Be A ' + q}])", "user"),
    ("ollama.chat(model='m', messages=[{'role': 'user', 'content': 'Be A ' + q}])", "user"),
    ("ollama.generate(model='m', prompt='Be A ' + q)", ""),
    ("ollama.generate(model='m', system='Be A', prompt=q)", "system user"),
    (
        "genai.Client().models.generate_content(model='m', contents=q, config=types.GenerateContentConfig(system_instruction='Be A'))",
        "system user",
    ),
    ("genai.GenerativeModel('m', system_instruction='Be A').generate_content(q)", "system"),
    ("Mistral().chat.complete(model='m', messages=[{'role': 'user', 'content': 'Be A'}])", "user"),
    ("co.chat(message=q, preamble='Be A')", "system user"),
    (
        "requests.post(u, json={'messages': [{'role': 'system', 'content': 'Be A'}, {'role': 'user', 'content': q}]})",
        "system user",
    ),
    ("httpx.post(u, data=json.dumps({'prompt': 'Be A ' + q}))", ""),
    ("requests.post(u, json={'model': 'm', 'prompt': f'Be A {q}'})", ""),
    ("client.chat.completions.create(**{'messages': [dict(role='developer', content='Be A')]})", "developer"),
    ("llm.invoke([SystemMessage(content='Be A'), HumanMessage(q)])", "system user"),
    ("llm.invoke([('system', 'Be A'), ('human', q)])", "system user"),
    ("llm.stream([('system', 'Be A'), *[(m.role, m.text) for m in q]])", "system"),
    ("agent.invoke({'messages': [('system', 'Be A'), ('user', q)]})", "system user"),
    (
        "llm.chat([ChatMessage(role=MessageRole.SYSTEM, content='Be A'), ChatMessage(role=MessageRole.USER, content=q)])",
        "system user",
    ),
    ("llm.generate([f'Be A good helper of {x} today' for x in q])", ""),
    ("llm.generate(prompts=['Be A good helper of ' + q + ' today'])", ""),
    ("Anthropic().messages.stream(system='Be A', messages=[{'role': 'user', 'content': q}])", "system user"),
    (
        "client.messages.batches.create(requests=[{'params': {'system': 'Be A', 'messages': [{'role': 'user', 'content': x}]}} for x in q])",
        "system user",
    ),
    (
        "brt.invoke_model(modelId='m', body=json.dumps({'system': 'Be A', 'messages': [{'role': 'user', 'content': q}]}))",
        "system user",
    ),
    (
        "client.chat.completions.create(messages=[ChatCompletionSystemMessageParam(role='system', content='Be A')])",
        "system",
    ),
    ("ChatPromptTemplate.from_messages([('system', 'Be A'), ('ai', 'yes'), '{q}'])", "system assistant user"),
]


@pytest.mark.parametrize(("call", "roles"), CALLS)
def test_calls(call: str, roles: str) -> None:
    template = the_prompt(
        "import json, litellm, ollama, requests, httpx\nfrom google import genai\n"
        f"from langchain_core.prompts import *\ndef ask(q, u, client, co, llm):  # messages\n    return {call}\n"
    )
    assert " ".join([part.role for part in template.parts if isinstance(part, Turn)]) == roles
    assert text(template.parts).startswith("Be A")


def test_examples_stand_between_prefix_and_suffix() -> None:
    template = the_prompt(
        "from langchain_core.prompts import FewShotPromptTemplate, PromptTemplate\nfrom datetime import datetime\n"
        "one = PromptTemplate.from_template('Q: {q}\\nA: {a}')\n"
        "p = FewShotPromptTemplate(examples=[{'q': '2+2', 'a': '4'}], example_prompt=one, prefix='Now {now}', "
        "suffix='Q: {input}', partial_variables={'now': datetime.now})\n"
    )
    assert text(template.parts) == "Now <datetime.datetime.now()>\n\nQ: 2+2\nA: 4\n\nQ: <input>"
    assert "datetime.datetime.now" in holes(template)[0].expression.calls


@pytest.mark.parametrize("case", json.loads((Path(__file__).parent / "data" / "langchain_renderings.json").read_text()))
def test_langchain_renders_as_langchain_does(case: dict[str, Any]) -> None:
    """Recorded from langchain-core 1."""
    head = "from langchain_core.prompts import *\nfrom langchain_core.messages import *\n"
    template = the_prompt(head + case["source"])
    assert template.render is not None
    roles = {"human": "user", "ai": "assistant"}
    said = case["rendered"]
    wanted = [("prompt", said)] if isinstance(said, str) else [(roles.get(role, role), one) for role, one in said]
    assert [(roles.get(role, role), one) for role, one in template.render(case["values"])] == wanted


def test_the_recordings_are_of_the_installed_langchain() -> None:
    pytest.importorskip("langchain_core")
    from langchain_core.prompts import PromptTemplate

    assert PromptTemplate.from_template("Hello {name}").format(name="Bo") == "Hello Bo"


def test_langchain_partials_placeholders_and_values() -> None:
    template = the_prompt(
        "from datetime import date\nfrom langchain_core.prompts import *\n"
        "prompt = ChatPromptTemplate.from_messages([\n    ('system', 'Today is {today}. {tone}'),\n"
        "    MessagesPlaceholder('history'),\n    ('placeholder', '{scratch}'),\n    ('human', '{q}')],\n"
        ").partial(today=lambda: date.today().isoformat(), tone='Be kind.')\n"
    )
    assert [part.name for part in template.parts if isinstance(part, History)] == ["history", "scratch"]
    assert text(template.parts) == "Today is <date.today().isoformat()>. Be kind.<q>"
    clock = holes(template)[0]
    assert (clock.at.line, clock.entered_at.line) == (8, 4)
    assert template.render is None


def test_jinja_objects_have_places_in_the_module() -> None:
    template = the_prompt(
        "from jinja2 import Template\nfrom datetime import datetime\nPROMPT = Template('''You are {{ name }}.\n"
        "{% if strict %}Be strict.{% endif %}\nNow {{ now }}''')\n"
        "def ask(n):\n    return client.completions.create(prompt=PROMPT.render(name=n, now=datetime.now()))\n"
    )
    name, now = holes(template)
    assert (name.expression.names, name.entered_at.line) == (("n",), 7)
    assert (now.expression.calls, now.at.line) == (("datetime.datetime.now",), 7)


def test_jinja_object_alone_is_rendered_by_jinja() -> None:
    template = the_prompt(
        "from jinja2 import Template\nprompt = Template('You are {% for a in b %}{{ a }},{% endfor %}\\n')\n"
    )
    assert template.render is not None
    assert template.render({"b": [1, 2]}) == (("prompt", "You are 1,2,"),)


@pytest.mark.parametrize(
    ("body", "values", "said"),
    [
        ("f'You are {x} {y!r:>6} {x.a}'", {"x": {"a": 1}, "y": "k"}, "You are {'a': 1}    'k' 1"),
        ("'You are {} {y:03d}'.format(x, y=y)", {"x": None, "y": 7}, "You are None 007"),
        ("'You are %s and %05.1f%%' % (x, y)", {"x": "å", "y": 2}, "You are å and 002.0%"),
        ("Template('You are $x, ${y}$$').substitute(x=x, y=y)", {"x": 1, "y": 2}, "You are 1, 2$"),
    ],
)
def test_texts_are_rendered_as_python_does(body: str, values: dict[str, Any], said: str) -> None:
    template = the_prompt(f"from string import Template\ndef prompt(x, y):\n    return {body}\n")
    assert template.render is not None
    assert template.render(values) == (("prompt", said),)


def test_a_missing_value_is_said() -> None:
    template = the_prompt("def prompt(x):\n    return f'You are {x}'\n")
    assert template.render is not None
    with pytest.raises(PrefixlabError, match="no value is given for 'x'"):
        template.render({})


@pytest.mark.parametrize("path", sorted(CORPUS.glob("faulty_*.py")), ids=lambda path: path.stem)
def test_faults_of_the_corpus_are_at_their_lines(path: Path) -> None:
    _, line = path.with_name(path.name + ".expected").read_text().split()
    (template,) = prompts(path.read_text())
    found = [hole.at.line for hole in holes(template) if hole.expression.calls or hole.expression.orders]
    assert set(found) == {int(line)}


@pytest.mark.parametrize("path", sorted(CORPUS.glob("sound_*.py")), ids=lambda path: path.stem)
def test_sound_modules_of_the_corpus_have_no_hole_ahead_of_rules(path: Path) -> None:
    for template in prompts(path.read_text()):
        rules = next(
            number for number, part in enumerate(template.parts) if "4. Reply in the" in getattr(part, "text", "")
        )
        assert not [part for part in template.parts[:rules] if hasattr(part, "expression")]
