# ruff: noqa: E501 - modules under test stand on one line each
"""Every text and hole of a module has the place where it is written."""

from __future__ import annotations

import pytest

from prefixlab.prompt_templates import Hole, Text, walk
from tests.dialects.python_reading import CORPUS, holes, prompts, the_prompt

TRICKY = [
    'PROMPT = "You are å plain text."\n',
    'PROMPT = ("You are one, " \'and two\'\n    """\nand three""")\n',
    'def prompt(x, y):\n    return f"You are {x} and {{not}} {y!r:>{8}} end"\n',
    'def prompt(x, y):\n    return f"""You are\n\\t{x}\nåäö {y}\n{x} {x}"""\n',
    'def prompt(x, y):\n    return ("You are " f"{x}" # no {text}\n        rf"\\d {y} " "\\N{BULLET} \\x41" f"{x}z")\n',
    'def prompt(x):\n    return "You are {x}, {{so}} and {x}.\\n\\u00e5 {x} tail".format(x=x)\n',
    'import textwrap\ndef prompt(x):\n    return textwrap.dedent(f"""\\\n        You are {x}\n          {x} in\n        out\n        """)\n',
    'def prompt(x):\n    return "You are %s and %(y)s, 100%% %s" % x\n',
    'def prompt(d):\n    return f"You are {d[\'a:b\']} {d["x"] if d else {1: 2}} tail"\n'.replace('d["x"]', "d['x}']"),
    'def prompt(x):\n    return """You are {who}. Be kind.""".replace("{who}", x)\n',
]


@pytest.mark.parametrize("source", TRICKY)
def test_texts_stand_where_they_say(source: str) -> None:
    (template,) = prompts(source)
    lines = source.split("\n")
    for part in walk(template.parts):
        if not isinstance(part, Text):
            continue
        # The first word of each text, from its place on: written so, or as an escape.
        line = lines[part.at.line - 1][part.at.column - 1 :]
        first = part.text[0]
        escapes = {"\n": ("\\n",), "\t": ("\\t",), "•": ("\\N{BULLET}",), "å": ("\\u00e5",), "{": ("{{",)}
        # A line break inside triple quotes is the end of its line.
        written = line.startswith((first, *escapes.get(first, ()))) or (first == "\n" and line == "")
        assert written or first in "%", (part, line)


@pytest.mark.parametrize("source", TRICKY)
def test_holes_enter_where_they_say(source: str) -> None:
    (template,) = prompts(source)
    lines = source.split("\n")
    for hole in holes(template):
        behind = lines[hole.entered_at.line - 1][hole.entered_at.column - 1 :]
        assert behind[0] in "xyd{%", (hole, behind)


def test_a_hole_is_where_it_is_written_and_enters_where_it_is_used() -> None:
    source = (CORPUS / "faulty_clock_in_system_prompt.py").read_text()
    (template,) = prompts(source)
    clock = holes(template)[0]
    assert "datetime.now()" in source.split("\n")[clock.at.line - 1]
    assert '"content": system_prompt()' in source.split("\n")[clock.entered_at.line - 1]


def test_repeated_expressions_of_one_literal_have_places_of_their_own() -> None:
    template = the_prompt('def prompt(x):\n    return f"""You are {x}\n  {x}\n{x}"""\n')
    assert [tuple(hole.at[1:]) for hole in holes(template)] == [(2, 25), (3, 4), (4, 2)]


def test_line_breaks_of_other_systems() -> None:
    template = the_prompt('def prompt(x):\r\n    y = 1\r\n    return f"You are {x}."\r\n')
    assert template.parts[1] == Hole(holes(template)[0].expression, *[holes(template)[0].at] * 2)
    assert holes(template)[0].at == ("module.py", 3, 23)
