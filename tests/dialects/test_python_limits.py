# ruff: noqa: E501 - modules under test stand on one line each
"""Bad input and hostile modules: a clear line, bounded time, nothing run."""

from __future__ import annotations

import time
from contextlib import nullcontext

import pytest

from prefixlab.template_files import BadTemplate
from tests.dialects.python_reading import prompts, text

HEAD = "# prompt\n"
HOSTILE = {
    "a sum of itself": "def prompt(x):\n  s = 'You are ' + x\n" + "  s = s + s\n" * 60 + "  return s\n",
    "a choice of itself": "def prompt(x):\n  s = 'You are ' + x\n"
    + "  s = 'a' + s if x else 'b' + s\n" * 60
    + "  return s\n",
    "functions that double": "def f0(x):\n  return 'You are ' + x\n"
    + "".join(f"def f{i}(x):\n  return f{i - 1}(x) + f{i - 1}(x)\n" for i in range(1, 40))
    + "def prompt(x): return f39(x)\n",
    "functions that call each other": "def f(x): return 'You are' + g(x)\ndef g(x): return f(x) + f(x)\ndef prompt(x): return f(x)\n",
    "a long text": "prompt = 'You are' * 10**9\n",
    "wide formats": "prompt = f'You are {1:>1000000000}' + '%1000000000d' % 3 + 'x'.center(10**9)\n",
    "many returns": "def prompt(x):\n  s = 'You are'\n"
    + "".join(f"  if x.a{i}:\n    if x.b{i}:\n      return s\n    s += 'A'\n" for i in range(100))
    + "  return s\n",
    "loops in one another": "def prompt(x):\n  s = 'You are'\n  "
    + "".join("  " * i + f"for a{i} in range(150):\n  " for i in range(8))
    + "  " * 8
    + "s += 'x'\n  return s\n",
    "lists in one another": "def prompt(d):\n  d = [{'role': 'user', 'content': 'You are'}]\n"
    + "  d = [d, d, d]\n" * 60
    + "  return d\n",
    "mappings in one another": "import json\nd = {'a': 'You are'}\n"
    + "d = {'a': d, 'b': d}\n" * 60
    + "prompt = json.dumps(d) + 'x'\n",
    "a list in itself": "def prompt(x):\n  l = []\n  l.append(l)\n  l.append({'role': 'user', 'content': l})\n  return l\n",
    "a class in itself": "class B:\n  def __init__(self): self.b = B()\n  def prompt(self): return 'You are ' + self.b.b.prompt()\n",
    "a power": "prompt = 'You are ' + str(9**9**9)\n",
    "a Jinja2 loop": "from jinja2 import Template\nprompt = Template('You are {% for x in range(10**9) %}{{ x }}{% endfor %}')\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_modules_end(name: str) -> None:
    start = time.process_time()
    # What the sandbox of Jinja2 refuses is an error.
    with pytest.raises(BadTemplate, match="a range") if "Jinja2" in name else nullcontext():
        prompts(HEAD + HOSTILE[name])
    assert time.process_time() - start < 10


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("def f(:\n", r"m.py:2:7: is not Python that this Python reads"),
        ("x = '\0'\n", r"m.py:2:6: is not Python"),
        ("x = " + "(" * 5000 + ")" * 5000, r"m.py(:2:\d+)?: is n"),
        ("def prompt(x):\n  return 'You are ' + x" + ".a" * 5000, r"m.py: is nested too deeply"),
        (
            "from jinja2 import Template\nprompt = Template('''You are\n{{ x''')\n",
            r"m.py:4:1: is not a Jinja2 template",
        ),
    ],
)
def test_bad_input_is_said_with_its_line(source: str, said: str) -> None:
    with pytest.raises(BadTemplate, match=said):
        prompts(HEAD + source, "m.py")


def test_nothing_of_a_module_is_run() -> None:
    source = HEAD + "import sys\nsys.exit(3)\nopen('/nowhere/at/all')\nprompt = f'You are {1 / 0} {[].pop()}'\n"
    (template,) = prompts(source)
    assert template.name == "prompt"


def test_a_module_of_a_thousand_lines_is_fast() -> None:
    function = (
        "def helper_{0}(x):\n    y = [z.name for z in x if z]\n    if y:\n        log('a {{}}'.format(len(y)))\n"
        "    for one in y:\n        y.append(one + 1)\n    total = sum(y)\n    print(f'{{total}} of {{x}}')\n    return y\n\n"
    )
    source = (
        HEAD
        + "".join(function.format(number) for number in range(99))
        + "def build_prompt(q):\n    return f'You are {q}'\n"
    )
    assert source.count("\n") > 990
    prompts(source)
    times = []
    for _ in range(5):
        start = time.process_time()
        prompts(source)
        times.append(time.process_time() - start)
    # Far below this on an idle machine; the bound is for crowded ones.
    assert min(times) < 0.15


def test_a_text_that_grows_line_by_line_is_a_prompt() -> None:
    lines = "".join(f"    p += 'Rule {number} holds.\\n'\n" for number in range(10_000))
    (template,) = prompts(f"def build_prompt(q):\n    p = 'You are a clerk.'\n{lines}    return p + q\n")
    assert len(template.parts) > 10_000


def test_objects_of_the_module_keep_their_attributes() -> None:
    source = """
class Desk:
    def __init__(self, rules):
        self.rules = rules
    def prompt(self, q):
        return self.rules + q
desk = Desk('You are the desk of a shop.')
def ask(q):
    return client.messages.create(system=desk.prompt(''), messages=[{'role': 'user', 'content': q}])
"""
    assert [text(one.parts) for one in prompts(source) if one.name == "ask"] == ["You are the desk of a shop.<q>"]


def test_a_helper_gives_the_same_for_the_same_and_other_things_for_others() -> None:
    source = """
class Desk:
    def name(self, x):
        return f'{self.mark}-{x}'
    def build_prompt(self, q):
        self.mark = 'one'
        first = self.name(q) + self.name(q)
        self.mark = 'two'
        return 'You are ' + first + self.name(q) + self.name(1) + self.name(True) + self.name('1')
"""
    assert text(prompts(source)[0].parts) == "You are one-<q>one-<q>two-<q>two-1two-Truetwo-1"
