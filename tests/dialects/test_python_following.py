# ruff: noqa: E501 - modules under test stand on one line each
"""A module is followed: names, functions, classes, branches and loops."""

from __future__ import annotations

import pytest

from prefixlab.prompt_templates import Choice, History, Loop, Text, Turn
from tests.dialects.python_reading import holes, prompts, text, the_prompt

SEND = "client.chat.completions.create(model='m', messages=[{'role': 'system', 'content': s}, {'role': 'user', 'content': q}])"


def sent(body: str, head: str = "", arguments: str = "x, q") -> list:
    """The parts of the system message that a function sends."""
    lines = "\n".join(f"    {line}" for line in body.split("\n"))
    template = the_prompt(f"{head}\ndef ask({arguments}):\n{lines}\n    return {SEND}\n")
    assert template.name == "ask"
    assert isinstance(template.parts[0], Turn)
    end = next(number for number, part in enumerate(template.parts) if number and isinstance(part, Turn))
    return list(template.parts[1:end])


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("s = 'Be ' + x + '.'", "Be <x>."),
        ("s = 'Be %s, %d%%.' % (x, 3)", "Be <x>, 3%."),
        ("s = 'Be {} {0}'.format(x) if False else 'Be {0} {1}'.format(x, 'k')", "Be <x> k"),
        ("s = 'Be'\ns += f' {x.name}'\ns = s + '!'", "Be <x.name>!"),
        ("s = '\\n'.join(['Be', x, *['a', 'b']])", "Be\n<x>\na\nb"),
        ("s = ', '.join(f'{i}:{w}' for i, w in enumerate(['a', 'b'], 1))", "1:a, 2:b"),
        ("s = '  Be ' + x + '  '\ns = s.strip()", "Be <x>"),
        ("a, b = 'Be', x\ns = f'{a} {b}'", "Be <x>"),
        ("parts = []\nparts.append('Be')\nparts.extend([x, 'k'])\ns = ' '.join(parts)", "Be <x> k"),
        ("f = lambda who: f'Be {who}'\ns = f(x)", "Be <x>"),
        ("d = {'a': 'Be', 'b': x}\nd['c'] = '!'\ns = d['a'] + d.get('b') + d['c']", "Be<x>!"),
        ("s = 'Be {who}'.replace('{who}', x)", "Be <x>"),
        ("s = 'be'.upper() + 'ab' * 2", "BEabab"),
        (
            "import json\ns = json.dumps({'a': x, 'b': [1, 'z']}, indent=1)",
            '{\n "a": <x>,\n "b": [\n  1,\n  "z"\n ]\n}',
        ),
    ],
)
def test_texts(body: str, said: str) -> None:
    assert text(sent(body)) == said


def test_functions_are_followed_with_their_arguments() -> None:
    head = "def line(who, end='!'):\n    return 'Be ' + who + end\ndef two(a):\n    return line(a) + line('k', end='?')"
    assert text(sent("s = two(x)", head)) == "Be <x>!Be k?"


def test_early_returns_are_a_choice() -> None:
    head = "def f(x):\n    if x:\n        return 'Be A'\n    return 'Be B'"
    (choice,) = sent("s = f(x)", head)
    assert isinstance(choice, Choice)
    assert [text(arm) for arm in choice.arms] == ["Be A", "Be B"]
    assert choice.condition.source == "x"
    assert choice.at.line == 2


def test_what_branches_begin_with_is_no_choice() -> None:
    parts = sent("s = 'Be kind.'\nif x:\n    s += ' A'\nelif q:\n    s += ' B'\ns += ' End'")
    assert [type(part) for part in parts] == [Text, Choice, Text]
    assert [text(arm) for arm in parts[1].arms] == [" A", " B", ""]


def test_a_raise_is_no_branch() -> None:
    assert text(sent("if not x:\n    raise ValueError\ns = 'Be ' + x")) == "Be <x>"


def test_loops() -> None:
    (start, loop, end) = sent("s = 'Docs:'\nfor d in x:\n    s += f' {d.title}'\ns += '.'")
    assert isinstance(loop, Loop)
    assert loop.over.names == ("x",)
    assert text(loop.body) == " <x.title>"
    assert loop.body[1].expression.names == ("x.title",)
    assert (start.text, end.text) == ("Docs:", ".")


def test_classes() -> None:
    source = """
class Base:
    rules = 'Be kind.'
    @property
    def head(self):
        return f'{self.rules} {self.name}'
class Bot(Base):
    def __init__(self, name):
        self.name = name
        self.messages = [{'role': 'system', 'content': self.head}]
    def ask(self, q):
        self.messages.append({'role': 'user', 'content': q})
        return client.messages.create(messages=self.messages)
"""
    template = the_prompt(source)
    assert template.name == "Bot.ask"
    assert [part.role for part in template.parts if isinstance(part, Turn)] == ["system", "user"]
    assert text(template.parts) == "Be kind. <name><q>"


def test_dataclasses_and_enumerations() -> None:
    source = """
@dataclass
class Settings:
    rules: str = 'Be kind.'
    name: str = 'Bo'
class Tone(Enum):
    SOFT = 'softly'
def ask(q):
    return client.responses.create(instructions=Settings(name=q).rules + Settings(name=q).name + Tone.SOFT.value, input='Now answer')
"""
    assert text(the_prompt(source).parts) == "Be kind.<q>softlyNow answer"


def test_history() -> None:
    source = """
def ask(history, q):
    messages = [{'role': 'system', 'content': 'Be kind.'}]
    for m in history:
        messages.append({'role': m.role, 'content': m.content})
    messages += [{'role': 'user', 'content': q}]
    return litellm.completion(model='m', messages=messages)
"""
    template = the_prompt(source)
    assert [part.name for part in template.parts if isinstance(part, History)] == ["history"]
    assert template.parts[0].role == "system"


def test_the_same_prompt_is_given_once() -> None:
    source = """
SYSTEM_PROMPT = 'You are the one prompt of this module.'
def build_messages(q):
    return [{'role': 'system', 'content': SYSTEM_PROMPT}, {'role': 'user', 'content': q}]
def count(q):
    return len(build_messages(q))
def ask(q):
    return client.chat.completions.create(model='m', messages=build_messages(q))
"""
    assert [template.name for template in prompts(source)] == ["ask"]


def test_several_prompts_have_names_of_their_own() -> None:
    source = """
SUMMARY_PROMPT = 'Summarise the text in one sentence: {text}'
def build_prompt(q):
    return f'You are the first. {q}'
def ask(q):
    return client.chat.completions.create(messages=[{'role': 'user', 'content': f'Second: {q}'}])
"""
    assert [template.name for template in prompts(source)] == ["SUMMARY_PROMPT", "build_prompt", "ask"]


@pytest.mark.parametrize(
    "source",
    [
        "",
        "import openai\nprompt = None\n",
        "def ask(messages):\n    return client.chat.completions.create(messages=messages)\n",
        "name = input('prompt: ')\nprint(f'system {name}')\n",
        "def render(page):\n    return Template('<b>{{ messages }}</b>').render(messages=page)\n",
    ],
)
def test_modules_without_a_prompt(source: str) -> None:
    assert prompts(source) == []


def test_defaults_and_other_values_are_no_text() -> None:
    _, hole = sent("s = 'Be ' + (x or 'friend')")
    assert hole.expression.names == ("x",)
    assert [
        one.expression.names for one in holes(the_prompt("def prompt(x):\n    return f'You are {x.a} {x[\"b\"]}'\n"))
    ] == [
        ("x.a",),
        ("x.b",),
    ]
