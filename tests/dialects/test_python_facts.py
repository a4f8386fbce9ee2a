# ruff: noqa: E501 - modules under test stand on one line each
"""What holes read, call and order: names through imports, formats of times, orders that are not fixed."""

from __future__ import annotations

from pathlib import Path

import pytest

from prefixlab.prompt_templates import Loop, walk
from tests.dialects.python_reading import holes, the_prompt


def of(
    expression: str, imports: str = "", before: str = ""
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Calls, formats and orders of an expression in a prompt."""
    template = the_prompt(f"{imports}\n{before}\ndef prompt(x, d):\n    return f'You are here: {{{expression}}}'\n")
    found = holes(template)[0].expression
    return found.calls, found.formats, found.orders


@pytest.mark.parametrize(
    ("expression", "imports", "calls", "formats"),
    [
        ("datetime.now()", "from datetime import datetime", ("datetime.datetime.now",), ()),
        ("dt.utcnow():%H:%M", "from datetime import datetime as dt", ("datetime.datetime.utcnow",), ("%H:%M",)),
        ('d8.datetime.now().strftime("%Y")', "import datetime as d8", ("datetime.datetime.now", "strftime"), ("%Y",)),
        ("date.today().isoformat()", "from datetime import date", ("datetime.date.today", "isoformat"), ()),
        ('time.strftime("%c")', "import time", ("time.strftime",), ("%c",)),
        ("int(time())", "from time import time", ("int", "time.time"), ()),
        ("uuid4()", "from uuid import uuid4", ("uuid.uuid4",), ()),
        ("str(uuid.uuid4())[:8]", "import uuid", ("uuid.uuid4",), ()),
        ("secrets.token_hex(4)", "import secrets", ("secrets.token_hex",), ()),
        ("random.choice(x)", "import random", ("random.choice",), ()),
        ("os.getcwd()", "import os", ("os.getcwd",), ()),
        ('os.environ.get("A")', "import os", ("os.environ.get",), ()),
        ("socket.gethostname()", "import socket", ("socket.gethostname",), ()),
        ("platform.platform()", "import platform", ("platform.platform",), ()),
        ("getpass.getuser()", "import getpass", ("getpass.getuser",), ()),
        ('subprocess.check_output(["git", "log"])', "import subprocess", ("subprocess.check_output",), ()),
    ],
)
def test_calls(expression: str, imports: str, calls: tuple[str, ...], formats: tuple[str, ...]) -> None:
    assert of(expression, imports)[:2] == (calls, formats)


@pytest.mark.parametrize(
    ("expression", "orders"),
    [
        ('", ".join({"a", "b"})', ("set",)),
        ('", ".join(set(x))', ("set",)),
        ('", ".join(TAGS)', ("set",)),
        ("list(TAGS)", ("set",)),
        ('", ".join(sorted(set(x)))', ()),
        ('", ".join(d.keys())', ("mapping",)),
        ('", ".join(sorted(d.keys()))', ()),
        ("json.dumps(d)", ("json",)),
        ("json.dumps(d, sort_keys=True)", ()),
        ("os.listdir(x)", ("directory",)),
        ('", ".join(sorted(os.listdir(x)))', ()),
        ("glob.glob(x)", ("directory",)),
        ('", ".join(random.sample(x, 2))', ("random",)),
    ],
)
def test_orders(expression: str, orders: tuple[str, ...]) -> None:
    assert of(expression, "import glob, json, os, random", "TAGS = {'a', 'b'}")[2] == orders


def test_a_shuffled_list() -> None:
    source = "import random\ndef prompt(x):\n    random.shuffle(x)\n    return 'You are one of ' + ', '.join(x)\n"
    (hole,) = holes(the_prompt(source))
    assert hole.expression.orders == ("random",)
    assert hole.at.line == 3


def test_a_loop_over_a_set_or_a_mapping() -> None:
    source = "def prompt(x: set[str], d):\n    s = 'You are'\n    for t in x:\n        s += t\n    for k, v in d.items():\n        s += k + v\n    return s\n"
    loops = [part for part in walk(the_prompt(source).parts) if isinstance(part, Loop)]
    assert [(loop.over.orders, loop.at.line) for loop in loops] == [(("set",), 3), (("mapping",), 5)]


def test_literal_mappings_and_sorted_sets_are_text() -> None:
    template = the_prompt(
        "import json\nT = {'a': 1}\ndef prompt(x):\n    s = 'You are ' + json.dumps(T)\n"
        "    for k, v in T.items():\n        s += f'{k}={v}'\n    return s + ','.join(sorted({'b', 'a'})) + x\n"
    )
    assert template.render is not None
    assert template.render({"x": "!"}) == (("prompt", 'You are {"a": 1}a=1a,b!'),)


def test_the_authors_names_of_results_count() -> None:
    template = the_prompt("def prompt(x):\n    session_id = x.get('sid')\n    return f'You are in {session_id}'\n")
    assert holes(template)[0].expression.names[0] == "session_id"


def test_a_build_function_with_four_faults(tmp_path: Path) -> None:
    template = the_prompt(
        '''import datetime, random, uuid
from langchain_core.prompts import ChatPromptTemplate
EXAMPLES = ["one", "two", "three", "four"]
TAGS = {"heavy", "fragile", "cold"}
def build(user, docs):
    shots = "\\n".join(random.sample(EXAMPLES, 3))
    tags = ", ".join(TAGS)
    system = f"""Run {uuid.uuid4()} at {datetime.datetime.now():%H:%M}.
Tags: {tags}.
{shots}"""
    return ChatPromptTemplate.from_messages([("system", system), ("human", "{question}")])
'''
    )
    found = [(hole.at.line, hole.expression.calls or hole.expression.orders) for hole in holes(template)]
    assert found == [
        (8, ("uuid.uuid4",)),
        (8, ("datetime.datetime.now",)),
        (7, ("set",)),
        (6, ("random.sample",)),
        (11, ()),
    ]
    assert holes(template)[1].expression.formats == ("%H:%M",)
    assert holes(template)[-1].expression.names == ("question",)
