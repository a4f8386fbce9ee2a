"""Which stretch of its line a finding marks, and that message, field and marks are of the same expression."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import prefixlab as pl
from prefixlab.finding_places import expression_span

RULES = "Answer in two sentences, quote the order number, and never promise a refund date. Ask one question if unsure."


@pytest.mark.parametrize(
    ("line", "start", "source", "marked"),
    [
        ("{{ now() }}", 0, "now()", "{{ now() }}"),
        ("{{- now() -}} a", 0, "now()", "{{- now() -}}"),
        ("{{ now() }}}}", 0, "now()", "{{ now() }}"),
        ("a {{ 'b' ~ now() }}", 2, "now()", "now()"),
        ("a {{ b|upper ~ c }}", 2, "b | upper", "b|upper"),
        ("{% set a = now() %}", 0, "now()", "now()"),
        ("{% if a.b %}c", 0, "a.b", "{% if a.b %}"),
        ("{%- for a, b in c.items() if a %}", 0, "c.items()", "c.items()"),
        ("{{{a}}} b", 0, "a", "{{{a}}}"),
        ("{{#if a.b}} b", 0, "a.b", "{{#if a.b}}"),
        ("{a:>8} b", 0, "a:>8", "{a:>8}"),
        ("$a b", 0, "a", "$a"),
        ("${a} b", 0, "a", "${a}"),
        ("{{ f(now()) }} f()", 0, "f()", "{{ f(now()) }}"),
        ("{{ now(", 0, "now('%H')", "{{ now("),
        ("{{ now() + 1", 0, "now()", "now()"),
        ("x = {a, b} | {c}", 4, "{a, b} | {c}", "{a, b} | {c}"),
        ("x = datetime.now(", 4, "datetime.now( tz)", "datetime.now("),
        ("規則 {{ 'é' ~ now() }}", 3, "now()", "now()"),
    ],
)
def test_spans(line: str, start: int, source: str, marked: str) -> None:
    begin, end = expression_span(line, start, source)
    assert line[begin:end] == marked


CASES = {
    '{% set a = now() %}Today is {{ a.strftime("%H:%M") }}.': ("now()", "now()"),
    '{% set a = now() %}{% set b = a.strftime("%H") %}{{ b }} {{ b }}': ("now()", "now()"),
    '{% macro m(x) %}At {{ x }}{% endmacro %}{{ m(now().strftime("%H:%M")) }}': (
        'now().strftime("%H:%M")',
        'now().strftime("%H:%M")',
    ),
    "Dear {{ 'a' ~ user_name | upper }}": ("user_name | upper", "user_name | upper"),
    "{% for k, v in prefs.items() %}{{ k }}{% endfor %}": ("prefs.items()", "prefs.items()"),
    "{% for k in a.values()|list if k %}{{ k }}{% endfor %}": ("a.values()|list", "a.values()|list"),
    '{{ "%s at %s" | format(model_name, now()) }}': ("now()", "now()"),
    '{{ ["Time", strftime_now("%H:%M")] | join(" ") }}': ('strftime_now("%H:%M")', 'strftime_now("%H:%M")'),
    '{{ "{}".format(now("%H")) }}': ('now("%H")', 'now("%H")'),
    "{{ one if user.is_premium else uuid4() }}": (None, "uuid4()"),
}


@pytest.mark.parametrize("line", CASES)
def test_a_part_of_a_statement_is_marked_alone(line: str, tmp_path: Path) -> None:
    (tmp_path / "a.j2").write_text(f"{line}\n{RULES}\n")
    said, marked = CASES[line]
    found = pl.lint([str(tmp_path / "a.j2")]).findings
    assert found
    texts = [one.line_text[one.column - 1 : one.ends_at - 1] for one in found]
    assert any([text.startswith(marked) for text in texts]), texts
    if said is not None:
        assert [said in one.message for one in found] == [True]


def test_python_says_what_is_written_where_it_points(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "from datetime import datetime\n\ndef system_prompt(user):\n    now = datetime.now()\n"
        f"    stamp = now.strftime('%H:%M:%S')\n    return f'Time {{stamp}}\\n{RULES}'\n"
    )
    (one,) = pl.lint([str(tmp_path / "a.py")]).findings
    assert one.line_text[one.column - 1 : one.ends_at - 1] == "datetime.now()"
    assert "`datetime.now()`" in one.message
    assert one.rendered_at.line == 6


def test_every_form_has_the_same_columns(tmp_path: Path) -> None:
    from prefixlab.reporters.lint_report import FORMS

    (tmp_path / "a.j2").write_text(f"{{% set a = now() %}}Now {{{{ a }}}}\n{RULES}\n")
    report = pl.lint([str(tmp_path / "a.j2")])
    made = {name: form(report, 80).decode() for name, form in FORMS.items()}
    (one,) = json.loads(made["json"])["findings"]
    assert (one["column"], one["end_column"]) == (12, 17)
    (result,) = json.loads(made["sarif"])["runs"][0]["results"]
    region = result["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 1, "startColumn": 12, "endColumn": 17}
    assert "col=12,endColumn=17," in made["github"]
    assert "a.j2:1:12: PL102" in made["text"]
    assert "a.j2:1:12" in made["junit"]
