"""Go templates and Modelfiles."""

from __future__ import annotations

from pathlib import Path

import pytest

from prefixlab.template_files import BadTemplate
from tests.dialects.outlines import holes, outline, places, templates_of, written


def test_actions(tmp_path: Path) -> None:
    text = (
        "{{- /* a comment */ -}}\n\n A {{ .Name }} {{- if eq .Kind `x` }} X "
        "{{ else if .B }} B {{ else }} C {{ end -}}  \n"
        "{{ range $i, $d := .Docs }}{{ $i }}{{ $d.Title }}{{ .Text }}{{ $.Top }}{{ else }}none{{ end }}"
        '{{ with $u := .User }}{{ $u.Id }}{{ .Mail }}{{ end }}{{ $now := now | date "15:04" }}{{ $now }}{{ "lit\\n" }}'
    )
    made = written(tmp_path, "a.gotmpl", text)
    assert outline(made.parts) == [
        *("A ", "{.Name}", ("choice", "eq .Kind `x`", [" X "], [" B "], [" C "])),
        ("choice", ".Docs", [("loop", ".Docs", ["{$i}", "{$d.Title}", "{.Text}", "{$.Top}"])], ["none"]),
        ("choice", ".User", ["{$u.Id}", "{.Mail}"], []),
        *("{$now}", "lit\n"),
    ]
    assert [one.expression.names for one in holes(made)] == [
        *(("Name",), (), ("Docs.Title",), ("Docs.Text",), ("Top",), ("User.Id",), ("User.Mail",), ()),
    ]
    now = holes(made)[-1].expression
    assert (now.calls, now.formats) == (("now", "date"), ("%H:%M",))
    assert places(made)[0] == (".Name", 3, 4)
    assert made.render is None


def test_defined_templates_are_entered_where_they_are_called(tmp_path: Path) -> None:
    text = (
        '{{ define "head" }}It is {{ .Now }}{{ end }}\nHello\n{{ template "head" .Clock }}{{ block "b" . }}B{{ end }}'
    )
    made = written(tmp_path, "a.tmpl", text)
    (hole,) = holes(made)
    assert hole.expression.names == ("Clock.Now",)
    assert (hole.at.line, hole.entered_at.line) == (1, 3)
    assert outline(made.parts) == ["\nHello\nIt is ", "{.Now}", "B"]


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("a\n{{ if .A }}", 2, "never ended"),
        ("{{ end }}", 1, "ends nothing"),
        ("\n{{ .A", 2, "never closed"),
        ("{{ /* a", 1, "never closed"),
        ('{{ template "gone" }}', 1, "not defined"),
        ('{{ define "a" }}{{ template "a" }}{{ end }}{{ template "a" }}', 1, "calls itself"),
        ("{{ if .A }}" * 200, 1, "deep"),
        ("{{ .A ; }}", 1, "cannot stand here"),
    ],
)
def test_bad_templates(tmp_path: Path, text: str, line: int, what: str) -> None:
    with pytest.raises(BadTemplate, match=what) as caught:
        written(tmp_path, "a.tmpl", text)
    assert caught.value.line == line


MODELFILE = '''# a comment
FROM llama3.2
TEMPLATE """{{ if .System }}<|system|>
{{ .System }}{{ end }}
{{ .Prompt }}"""
PARAMETER stop "<|end|>"
SYSTEM You help at {{ not a hole }}.
MESSAGE user "Hello"
MESSAGE assistant """Hi
there"""
'''


def test_modelfile(tmp_path: Path) -> None:
    (tmp_path / "Modelfile").write_text(MODELFILE)
    template, system = templates_of(tmp_path / "Modelfile")
    assert template.is_chat_template
    assert places(template) == [(".System", 4, 1), (".Prompt", 5, 1)]
    assert not system.is_chat_template
    assert outline(system.parts) == [
        *("@system", "You help at {{ not a hole }}.", "@user", "Hello", "@assistant", "Hi\nthere"),
    ]
    assert system.render is not None
    assert [role for role, _ in system.render({})] == ["system", "user", "assistant"]


def test_a_text_that_is_never_closed(tmp_path: Path) -> None:
    with pytest.raises(BadTemplate, match="SYSTEM is never closed") as caught:
        written(tmp_path, "Modelfile", 'FROM x\nSYSTEM """abc\n')
    assert caught.value.line == 2
