"""Values read back from what a template made, against Jinja2 that made it."""

from __future__ import annotations

from pathlib import Path

import pytest

from prefixlab.dialects import jinja2 as dialect
from prefixlab.prompt_templates import Part
from prefixlab.template_files import TemplateFile
from prefixlab.template_matching import fill, key_of, reach, read_back
from tests.lint.random_templates import random_template
from tests.lint.test_static_and_dynamic import rendered, written


def parts_of(text: str) -> tuple[Part, ...]:
    return dialect.read(TemplateFile("prompt.j2", text)).parts


@pytest.mark.parametrize("part", range(2))
def test_what_a_template_made_is_read_back_and_filled_in_again(tmp_path: Path, part: int) -> None:
    """Whatever was read back gives the same text once more, and most of what can be told is told."""
    read = total = 0
    for seed in range(1000 + part, 1300, 2):
        folder = tmp_path / str(seed)
        folder.mkdir()
        made = random_template(seed)
        parts = dialect.read(TemplateFile.read(written(made, folder))).parts
        for text in rendered(made):
            total += 1
            found = read_back(parts, text)
            if found is not None:
                read += 1
                assert fill(parts, found.found) == (text, []), f"seed {seed}"
    # A hole that is repeated in another form, or an empty one, can make a text that literals do not tell apart.
    assert read > 0.6 * total


def test_a_value_is_the_text_between_literals() -> None:
    parts = parts_of("Time: {{ now() }}.\n{% if vip %}Be kind. {% endif %}You talk to {{ user.name }}.\n{{ question }}")
    read = read_back(parts, "Time: 09:14.\nBe kind. You talk to Ines Falk.\nWhere is it?")
    assert read is not None
    assert read.is_unique
    assert read.found == {
        ("hole", "now()"): "09:14",
        ("choice", "vip"): 0,
        ("hole", "user.name"): "Ines Falk",
        ("hole", "question"): "Where is it?",
    }


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ a }} and {{ b }}.", "x and y and z."),
        ("{{ a }}{{ b }}", "xy"),
        ("{% if a %}x{% endif %}{% if b %}x{% endif %}", "x"),
        ("{% for a in b %}- {{ a }}\n{% endfor %}{{ c }}", "- x\n- y\n"),
    ],
)
def test_what_can_be_read_in_two_ways_says_so(template: str, text: str) -> None:
    read = read_back(parts_of(template), text)
    assert read is not None
    assert not read.is_unique


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("Hello {{ a }}.", "Hallo x."),
        ("{{ a }}!", "x"),
        ("x", "xy"),
        ("{{ a }} is {{ a }}", "one is two"),
    ],
)
def test_what_another_template_made_is_none(template: str, text: str) -> None:
    assert read_back(parts_of(template), text) is None


def test_a_repeated_value_tells_where_the_literals_are() -> None:
    read = read_back(parts_of("{{ a }} and {{ b }}, {{ a }}"), "x and y and z, x and y")
    assert read is not None
    assert read.found == {("hole", "a"): "x and y", ("hole", "b"): "z"}


def test_a_choice_with_many_conditions_ends() -> None:
    template = "".join([f"{{% if c{number} %}}a{{% endif %}}" for number in range(60)])
    assert read_back(parts_of(template), "b") is None


def test_expressions_are_the_same_whatever_blanks_they_have() -> None:
    one, other = parts_of("{{ now( ) }}"), parts_of("{{now( )}}")
    assert [key_of(part) for part in one] == [key_of(part) for part in other]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("template", "text", "reached", "wanted"),
    [
        ("Time: {{ now }}\nBe kind.", "Time: 10:00\nBe brief.", len("Time: 10:00\nBe "), "kind."),
        ("Time: {{ now }}\nBe kind.", "T: 10:00\nBe kind.", 1, "ime: "),
        ("Be kind.", "Be kind. And brief.", len("Be kind."), ""),
        ("A{% if b %} bee{% endif %}.", "A bed.", len("A be"), "e."),
    ],
)
def test_how_far_a_text_is_made_of_a_template(template: str, text: str, reached: int, wanted: str) -> None:
    found = reach(parts_of(template), text)
    assert (found.at, found.wanted) == (reached, wanted)
