"""Tools of a request in Python: orders that are not fixed, and what changes in their texts."""

from __future__ import annotations

import pytest

from prefixlab.prompt_templates import Hole, Loop, Turn
from tests.dialects.python_reading import the_prompt

ASK = (
    "import random, datetime\nclass Agent:\n    def __init__(self): self.tools = {}\n"
    "    def ask(self, client, enabled, tools, q):\n        TOOL\n        return client.chat.completions.create("
    "tools=tools, messages=[{'role': 'system', 'content': 'Be A'}, {'role': 'user', 'content': q}])\n"
)

ORDERS = [
    ("tools = [REGISTRY[n] for n in set(enabled) | {'search'}]", "set"),
    ("tools = list({t.schema for t in enabled})", "set"),
    ("tools = [t.schema() for t in self.tools.values()]", "mapping"),
    ("random.shuffle(tools)", "random"),
    ("tools = [load(p) for p in os.listdir('tools')]", "directory"),
]


@pytest.mark.parametrize(("made", "order"), ORDERS)
def test_an_order_stands_ahead_of_the_first_text(made: str, order: str) -> None:
    turn, loop, *_ = the_prompt(f"import os\n{ASK.replace('TOOL', made)}").parts
    assert isinstance(turn, Turn)
    assert isinstance(loop, Loop)
    assert order in loop.over.orders
    assert loop.over.names[0] == "tools"
    assert loop.body == ()


def test_a_clock_in_a_text_of_a_tool() -> None:
    tool = "tools = [{'function': {'name': 'book', 'description': f'Book. Now is {datetime.datetime.now()}.'}}]"
    template = the_prompt(ASK.replace("TOOL", tool))
    hole = template.parts[1]
    assert isinstance(hole, Hole)
    assert hole.expression.calls == ("datetime.datetime.now",)
    assert template.render is None


SOUND = [
    "pass",
    "tools = [REGISTRY[n] for n in sorted(set(enabled))]",
    "tools = [{'function': {'name': 'book'}}]",
    "tools = [t.schema() for t in enabled]",
    "tools = sorted((t.schema() for t in self.tools.values()), key=lambda t: t['name'])",
]


@pytest.mark.parametrize("made", SOUND)
def test_tools_in_an_order_that_is_fixed_leave_the_prompt_as_it_is(made: str) -> None:
    turn, text, *_ = the_prompt(ASK.replace("TOOL", made)).parts
    assert isinstance(turn, Turn)
    assert getattr(text, "text", "") == "Be A"
