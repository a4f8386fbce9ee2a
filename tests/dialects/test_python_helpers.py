# ruff: noqa: E501 - modules under test stand on one line each
"""Prompts that helpers of the standard library and of classes make."""

from __future__ import annotations

import pytest

from prefixlab.prompt_templates import walk
from tests.dialects.python_reading import prompts, text

HEAD = """import functools, io, uuid
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from openai import OpenAI
client = OpenAI()
RULES = "Be A."
def glued(head, rules, end="!"):
    return f"{head} {rules}{end}"
def send(system):
    return client.chat.completions.create(messages=[{"role": "system", "content": system}])
"""

MADE = [
    (
        "with_rules = partial(glued, rules=RULES)\ndef f(): return send(with_rules(f'Id {uuid.uuid4()}'))",
        "Id <uuid.uuid4()> Be A.!",
    ),
    ("def f(): return send(functools.partial(glued, str(uuid.uuid4()), end='?')(RULES))", "<uuid.uuid4()> Be A.?"),
    ("def f(): return send(partial(partial(glued, 'Hi'), end='')(rules=RULES))", "Hi Be A."),
    ("def f(name): return send('\\n'.join(filter(None, [name, '', None, RULES])))", "<name>\nBe A."),
    (
        "def f(names):\n b = io.StringIO()\n b.write('For')\n for n in names: b.write(f' {n}')\n b.write('.')\n return send(b.getvalue())",
        "For <names>.",
    ),
    (
        "def f(names):\n with ThreadPoolExecutor() as ex: return list(ex.map(lambda n: send(f'For {n}'), names))",
        "For <n>",
    ),
]


@pytest.mark.parametrize(("made", "prompt"), MADE)
def test_what_a_helper_makes(made: str, prompt: str) -> None:
    found = [text(list(walk(one.parts))) for one in prompts(f"{HEAD}{made}\n") if one.name == "f"]
    assert found == [prompt]


def test_an_inherited_method_is_read_with_what_a_class_overrides() -> None:
    source = (
        f"{HEAD}class Base:\n    tail = '.'\n    def header(self): raise NotImplementedError\n"
        "    def call(self): return send(self.header() + RULES + self.tail)\n"
        "class One(Base):\n    def header(self): return f'One {uuid.uuid4()} '\n"
        "class Two(One):\n    tail = '?'\n"
        "class Same(Base):\n    other = 1\n"
    )
    found = {one.name: text(one.parts) for one in prompts(source)}
    assert found["One.call"] == "One <uuid.uuid4()> Be A.."
    assert found["Two.call"] == "One <uuid.uuid4()> Be A.?"
    assert "Same.call" not in found
