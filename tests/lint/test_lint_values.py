"""`lint --values`: rows that lack variables, and rows of other templates."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import prefixlab as pl
from prefixlab.dialects import jinja2 as dialect
from prefixlab.lint_findings import LintReport
from prefixlab.reporters.lint_wording import template_title
from prefixlab.template_files import TemplateFile
from prefixlab.template_values import variables

RULES = "Answer in two sentences, quote the order number, and never promise a refund date. Ask one question if unsure."


def linted(folder: Path, files: dict[str, str], rows: list[dict[str, object]]) -> LintReport:
    (folder / "prompts").mkdir()
    for name, text in files.items():
        (folder / "prompts" / name).write_text(text)
    (folder / "values.jsonl").write_text("".join([json.dumps(row) + "\n" for row in rows]))
    return pl.lint([str(folder / "prompts")], values=str(folder / "values.jsonl"))


@pytest.mark.parametrize(
    ("text", "needed", "read"),
    [
        ("{{ a }} {{ b.c }}", "a b", "a b"),
        ("{{ a | default('x') }} {{ b }}", "b", "a b"),
        ("{{ a or 'x' }}", "", "a"),
        ("{% if a is defined %}{{ a }}{% endif %}", "", "a"),
        ("{% if a %}{{ a }} {{ b }}{% endif %}", "b", "a b"),
        ("{{ a if a is defined else 'x' }}", "", "a"),
        ("{% for a in many %}{{ a.b }} {{ loop.index }}{% endfor %}", "many", "many"),
        ("{% set a = b %}{{ a }}", "b", "b"),
        ("{{ now() }}", "", ""),
        ("{% if a %}{{ b }}{% endif %}{{ a }}", "a b", "a b"),
    ],
)
def test_what_a_template_needs(text: str, needed: str, read: str) -> None:
    found = variables(dialect.read(TemplateFile("prompt.j2", text)))
    assert found == (frozenset(needed.split()), frozenset(read.split()))


def test_what_rows_lack_is_said(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"name": "Ann", "city": "Rome"}, {"name": "Bo"}, {"name": "Cy"}]
    report = linted(tmp_path, {"a.j2": RULES + "{{ name }} of {{ city }}"}, rows)
    path = str(tmp_path / "prompts" / "a.j2")
    assert report.notes == (f"Rows of {tmp_path / 'values.jsonl'} lack what {path} reads: city (2 of 3).",)
    assert report.templates[0].renderings == 3


def test_nothing_is_said_of_what_may_be_missing(tmp_path: Path) -> None:
    report = linted(tmp_path, {"a.j2": RULES + "{{ name | default('you') }} {{ q }}"}, [{"q": "a"}, {"q": "b"}])
    assert not report.notes
    assert report.templates[0].renderings == 2


def test_rows_of_other_templates_do_not_count(tmp_path: Path) -> None:
    files = {"a.j2": RULES + "{{ name }}", "b.j2": "{{ place }}" + RULES}
    rows: list[dict[str, object]] = [{"name": "A"}, {"place": "x"}, {"name": "B"}, {"place": "x"}, {"place": "x"}]
    report = linted(tmp_path, files, rows)
    alone = {one.path.rpartition("/")[2]: one.stable_tokens for one in pl.lint([str(tmp_path / "prompts")]).templates}
    figures = {one.path.rpartition("/")[2]: one for one in report.templates}
    assert {name: one.renderings for name, one in figures.items()} == {"a.j2": 2, "b.j2": 3}
    # The rows of the other would end it at once.
    assert figures["a.j2"].stable_tokens == alone["a.j2"]
    assert figures["b.j2"].stable_tokens > alone["b.j2"]
    assert sum(["do not count for" in note for note in report.notes]) == 2


def test_where_no_row_fits_the_figures_are_those_of_the_text(tmp_path: Path) -> None:
    files = {"a.j2": RULES + "{{ name }}", "b.mustache": "{{q}} " + RULES}
    report = linted(tmp_path, files, [{"nmae": "A"}])
    alone = pl.lint([str(tmp_path / "prompts")])
    assert [one.stable_tokens for one in report.templates] == [one.stable_tokens for one in alone.templates]
    (note,) = report.notes
    assert note.endswith("the figures are from the text alone.")
    assert "a.j2" in note
    assert "b.mustache" in note


def test_a_row_that_does_not_render_for_want_of_a_variable_is_left_out(tmp_path: Path) -> None:
    document = {"_type": "prompt", "input_variables": ["a", "b"], "template": RULES + "{a} {b}"}
    report = linted(tmp_path, {"a.json": json.dumps(document)}, [{"a": 1, "b": 2}, {"a": 1}, {"a": 3, "b": 2}])
    assert report.templates[0].renderings == 2
    assert "b (1 of 3)" in report.notes[0]
    assert "1 row does not count" in report.notes[1]


@pytest.mark.parametrize(
    ("rows", "title"),
    [
        (1, "Tokens of the one rendering"),
        (2, "Tokens that 2 renderings begin with"),
    ],
)
def test_the_title(rows: int, title: str, tmp_path: Path) -> None:
    report = linted(tmp_path, {"a.j2": RULES + "{{ name }}"}, [{"name": str(row)} for row in range(rows)])
    assert template_title(report) == title


def test_compare_says_it_too(tmp_path: Path) -> None:
    for name, text in {"a.j2": "{{ name }} {{ city }}\n", "b.j2": "{{ name }}\n"}.items():
        (tmp_path / name).write_text(RULES + text)
    (tmp_path / "values.jsonl").write_text('{"name": "A"}\n{"name": "B", "city": "C"}\n')
    found = pl.compare(str(tmp_path / "a.j2"), str(tmp_path / "b.j2"), values=str(tmp_path / "values.jsonl"))
    assert [note for note in found.notes if "lack what" in note] == [
        f"Rows of {tmp_path / 'values.jsonl'} lack what {tmp_path / 'a.j2'} reads: city (1 of 2)."
    ]
