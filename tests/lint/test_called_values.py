"""Functions that a project provides when it renders: what the values give under their names, and what lacks them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import prefixlab as pl
from prefixlab.dialects import jinja2 as dialect
from prefixlab.errors import MissingValue
from prefixlab.template_files import BadTemplate, TemplateFile

RULES = "Answer in two sentences, quote the order number, and never promise a refund date. Ask one question if unsure."
ROW = {"now": "10:00", "uuid4": "7f", "made": {"at": "noon"}, "tags": ["a", "b"]}
OTHERS = {
    "base.j2": "<{% block top %}none {{ now() }}{% endblock %}>",
    "clock.j2": "{{ now() }}",
    "macros.j2": "{% macro stamp(sign) %}{{ sign }}{{ now('%H') }}{% endmacro %}",
}


def rendered(folder: Path, text: str, row: Mapping[str, Any] = ROW) -> str:
    for name, other in OTHERS.items():
        (folder / name).write_text(other)
    file = TemplateFile(str(folder / "prompt.j2"), text)
    return dialect.renderer(file)(row)[0][1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("T {{ now() }}", "T 10:00"),
        ("T {{ now('%H', tz=1) }}", "T 10:00"),
        ("{% for x in [1, 2] %}{{ now() }} {% endfor %}", "10:00 10:00 "),
        ("{% for x in [1, 2] %}{{ now(x) }}{{ uuid4() }} {% endfor %}", "10:007f 10:007f "),
        ("{% block top %}{{ now() }}{% endblock %}", "10:00"),
        ("{% block top scoped %}{% for x in [1] %}{{ now() }}{% endfor %}{% endblock %}", "10:00"),
        ("{% extends 'base.j2' %}", "<none 10:00>"),
        ("{% extends 'base.j2' %}{% block top %}T {{ now() }}{% endblock %}", "<T 10:00>"),
        ("{% extends 'base.j2' %}{% block top %}{{ super() }}!{% endblock %}", "<none 10:00!>"),
        ("{% include 'clock.j2' %}{% for x in [1] %}{% include 'clock.j2' %}{% endfor %}", "10:0010:00"),
        ("{% include 'clock.j2' without context %}", "10:00"),
        ("{% macro s(t) %}{{ t }} {{ now() }}{% endmacro %}{{ s(now()) }}", "10:00 10:00"),
        ("{% macro s(f) %}{{ f() }}{% endmacro %}{% for x in [1] %}{{ s(now) }}{% endfor %}", "10:00"),
        ("{% from 'macros.j2' import stamp %}{{ stamp('@') }}", "@10:00"),
        ("{% import 'macros.j2' as m with context %}{{ m.stamp('@') }}", "@10:00"),
        ("{% for x in [1] %}{{ now().upper() }}{{ now().split(':')[0] }}{{ now()[:2] }}{% endfor %}", "10:001010"),
        ("{{ made.at() }} {% for x in [1] %}{{ made.at(x) }}{% endfor %}", "noon noon"),
        ("{% set t = now() %}{{ t }}{% if now() > '09' %} late{% endif %}{{ now() | length }}", "10:00 late5"),
        ("{% for one in tags() %}{{ loop.index }}{{ one }}{% endfor %}", "1a2b"),
        ("{% for x in [1] %}{{ range(2) | list }}{{ loop.cycle('a', 'b') }}{% endfor %}", "[0, 1]a"),
    ],
)
def test_a_call_gives_what_the_values_give(text: str, expected: str, tmp_path: Path) -> None:
    assert rendered(tmp_path, text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "{{ uuid4() }}",
        "{% for x in [1] %}{{ uuid4() }}{% endfor %}",
        "{{ uuid4().hex }}",
        "{{ uuid4.hex() }}",
        "{{ 'a' ~ uuid4(1) }}",
        "{% macro m() %}{{ uuid4() }}{% endmacro %}{{ m() }}",
    ],
)
def test_what_is_lacking_has_a_name(text: str, tmp_path: Path) -> None:
    with pytest.raises(MissingValue) as raised:
        rendered(tmp_path, text, {"now": "10:00"})
    assert raised.value.name == "uuid4"


def linted(folder: Path, files: Mapping[str, str], rows: list[dict[str, Any]]) -> Any:
    (folder / "prompts").mkdir()
    for name, text in files.items():
        (folder / "prompts" / name).write_text(text)
    (folder / "values.jsonl").write_text("".join([json.dumps(row) + "\n" for row in rows]))
    return pl.lint([str(folder / "prompts")], values=str(folder / "values.jsonl"))


def test_a_function_that_no_row_gives_leaves_the_figures_of_the_text(tmp_path: Path) -> None:
    files = {"a.j2": "Id {{ uuid4() }}\n" + RULES, "b.j2": "Time {{ now() }}\n" + RULES}
    report = linted(tmp_path, files, [{"now": "10:00"}, {"now": "10:01"}])
    assert [finding.code for finding in report.findings] == ["PL103", "PL102"]
    assert [one.renderings for one in report.templates] == [0, 2]
    [note] = report.notes
    assert f"renders {tmp_path / 'prompts' / 'a.j2'} (lacking: uuid4): the figures are from the text alone." in note


def test_why_rows_do_not_render_is_said(tmp_path: Path) -> None:
    files = {"a.j2": RULES + "{{ now().strftime('%H') }}", "b.j2": RULES + "{{ 1 // count }}"}
    report = linted(tmp_path, files, [{"now": "10:00", "count": 1}, {"now": "10:01", "count": 0}])
    assert "no attribute 'strftime'" in report.notes[-1]
    assert f"1 row does not count for {tmp_path / 'prompts' / 'b.j2'} (" in report.notes[0]
    assert "zero" in report.notes[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{{ cycler.__init__.__globals__ }}", "__init__"),
        ("\n{{ 'a' * 10**12 }}", ":2:"),
        ("{% for a in range(10**12) %}a{% endfor %}", "asks for a range of 1,000,000,000,000 numbers"),
    ],
)
def test_a_template_that_no_values_make_right_is_refused(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(BadTemplate, match=r"a\.j2:") as raised:
        linted(tmp_path, {"a.j2": RULES + text}, [{"now": "10:00"}])
    assert said in str(raised.value)
    assert "chat template" not in str(raised.value)


def test_a_template_changes_lists_of_its_own_and_copies_of_the_values(tmp_path: Path) -> None:
    (tmp_path / "kept.j2").write_text("{% set kept = [] %}")
    text = (
        "{% import 'kept.j2' as k %}{% set p = ['a'] %}{% set _ = p.append('b') %}{% do k.kept.append(1) %}"
        "{% do tags.insert(0, 'z') %}{% do made.update(at='x') %}{% do p.extend(p | map('upper')) %}"
        "{{ p | join }} {{ tags | join }} {{ made.at }} {{ k.kept }}"
    )
    row = {"tags": ["a"], "made": {"at": "noon"}}
    render = dialect.renderer(TemplateFile(str(tmp_path / "prompt.j2"), text))
    assert [render(row)[0][1] for _ in range(2)] == ["abAB za x [1]"] * 2
    assert row == {"tags": ["a"], "made": {"at": "noon"}}


@pytest.mark.parametrize(
    "text",
    [
        "{% set p = [1] %}{% for x in p %}{% do p.append(x) %}{% endfor %}",
        "{% set p = [1] %}{% for x in range(99) %}{% do p.extend(p) %}{% endfor %}",
        "{% set p = [1] %}{% do p.append(p) %}{{ p }}",
        "{% do tags.append(tags) %}{{ tags }}",
    ],
)
def test_lists_that_grow_are_bounded(text: str, tmp_path: Path) -> None:
    with pytest.raises(BadTemplate, match="too many steps"):
        rendered(tmp_path, text)
