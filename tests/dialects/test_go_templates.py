"""Go templates and Modelfiles."""

from __future__ import annotations

from pathlib import Path

import pytest

from prefixlab.prompt_templates import Text
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
    # Ollama writes the first exchange, the answer behind a template that has no place for it; then the caller's.
    assert outline(template.parts) == [
        "<|system|>\nYou help at {{ not a hole }}.\nHelloHi\nthere\n",
        ("loop", ".Prompt", ["{.Prompt}"]),
    ]
    assert [(one.at.line, one.at.column) for one in template.parts if isinstance(one, Text)] == [
        *((3, 29), (7, 8), (4, 23), (8, 15), (9, 22), (4, 23)),
    ]
    assert places(template) == [(".Prompt", 5, 1)]
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


MESSAGES = (
    '{{ if .Messages }}{{ with $.System }}<{{ . }}>{{ end }}{{ range .Messages }}{{ if eq .Role "system" }}'
    "{{ continue }}{{ end }}[{{ .Role }}: {{ .Content }}]{{ end }}{{ else }}{{ .Prompt }}{{ end }}"
)
LAST = "{{- $last := eq (len (slice $.Messages $i)) 1 -}}"


@pytest.mark.parametrize(
    ("template", "rest", "parts"),
    [
        # Without a system text nobody knows whether there is one.
        (
            "{{ if .System }}S {{ .System }} {{ end }}U {{ .Prompt }} A",
            "",
            [("choice", ".System", ["S ", "{.System}", " "], []), "U ", ("loop", ".Prompt", ["{.Prompt}", " A"])],
        ),
        (
            "{{ if not .System }}none{{ else }}S {{ .System }} {{ end }}{{ if .Prompt }}U {{ .Prompt }} {{ end }}A",
            "SYSTEM help",
            ["S help U ", ("loop", ".Prompt", ["{.Prompt}", " A"])],
        ),
        (
            "{{ .System }}{{ if .Tools }}{{ .Prompt }}!{{ else }}{{ .Prompt }}{{ end }}{{ .Response }}",
            "SYSTEM help",
            ["help", ("loop", ".Prompt", [("choice", ".Tools", ["{.Prompt}", "!"], ["{.Prompt}"]), "{.Response}"])],
        ),
        # The system text is of the first exchange alone.
        (
            "[{{ .System }}|{{ .Prompt }}|{{ .Response }}]",
            "SYSTEM s\nMESSAGE user q\nMESSAGE user r\nMESSAGE assistant a\nMESSAGE user z",
            ["[s|q\n\nr|a][|z|][|", ("loop", ".Prompt", ["{.Prompt}", "|", "{.Response}", "]"])],
        ),
        # With messages the template is rendered once, and `.System` is all system texts.
        (
            MESSAGES,
            "SYSTEM s\nMESSAGE system t\nMESSAGE user q",
            ["<s\n\nt>[user: q]", ("loop", ".Messages", ["[", "{.Role}", ": ", "{.Content}", "]"])],
        ),
        (
            "{{ range $i, $m := .Messages }}" + LAST + '{{ $m.Content }}{{ if and (ne .Role "assistant") $last }}'
            "A{{ else if or .ToolCalls $last }}B{{ else }}C{{ end }}{{ end }}",
            "MESSAGE user q",
            ["qC", ("loop", ".Messages", [
                "{$m.Content}",
                ("choice", 'and (ne .Role "assistant") $last', ["A"], ["B"], ["C"])])],
        ),
    ],
)  # fmt: skip
def test_ollama_lays_a_conversation_out(tmp_path: Path, template: str, rest: str, parts: list[object]) -> None:
    (tmp_path / "Modelfile").write_text(f'FROM x\nTEMPLATE """{template}"""\n{rest}\n')
    made = templates_of(tmp_path / "Modelfile")[0]
    assert outline(made.parts) == parts
    assert made.is_chat_template


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ('FROM x\nTEMPLATE """{{ .System }}\n{{ nosuch .Prompt }}"""', 3, 'function "nosuch" not defined'),
        ("FROM x\nTEMPLATE {{ if upper .System }}a{{ end }}", 2, 'function "upper" not defined'),
        ('FROM x\nTEMPLATE {{ define "a" }}{{ .Prompt | trim }}{{ end }}', 2, 'function "trim" not defined'),
        ("FROM x\n\n# SYSTEM\nBLAH x\n", 4, "no instruction of a Modelfile"),
        ("FROM x\nSYSTEM a\nof two lines\n", 3, "no instruction of a Modelfile"),
        ("FROM x\nSYSTEM\n", 2, "SYSTEM has no value"),
        ("FROM x\nMESSAGE bot hi\n", 2, "the role 'bot' is none"),
        ('FROM x\nSYSTEM "never closed\nhere', 2, "SYSTEM is never closed"),
    ],
)
def test_what_ollama_refuses(tmp_path: Path, text: str, line: int, what: str) -> None:
    with pytest.raises(BadTemplate, match=what) as caught:
        written(tmp_path, "Modelfile", text)
    assert caught.value.line == line


def test_texts_of_a_modelfile(tmp_path: Path) -> None:
    text = (
        'from x\n  PARAMETER stop "<|end|>"\nLICENSE """a\nBLAH "" b\n"""  \nMESSAGE user "of two\nlines"\r\n'
        'REQUIRES 0.14.0\nRENDERER r\nPARSER p\nDRAFT d\nADAPTER a\nSYSTEM  a "quoted" word \r\n'
        'TEMPLATE {{ json .Tools }}{{ currentDate "2006" | printf "%s" }}{{ yesterdayDate }}{{ .Prompt }}'
    )
    (tmp_path / "Modelfile").write_bytes(text.encode())
    template, messages = templates_of(tmp_path / "Modelfile")
    assert outline(messages.parts) == ["@system", 'a "quoted" word', "@user", "of two\nlines"]
    assert [call for one in holes(template) for call in one.expression.calls] == [
        *("json", "currentDate", "yesterdayDate"),
    ] * 2
