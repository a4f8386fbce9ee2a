"""A file that cannot be read says path, line and column. `¦` in a text stands ahead of where the fault is."""

from __future__ import annotations

from pathlib import Path

import pytest

from prefixlab.registry import known_dialects
from prefixlab.template_discovery import read_templates
from prefixlab.template_files import BadTemplate, TemplateFile

HERE = "¦"
DEEP = "{{ " + "(" * 2000 + "1" + ")" * 2000 + " }}"

JINJA2 = {
    "first character": "¦{% if a %}",
    "deep in a line": "Rules.\nThe name is {{ user.name ¦name }} today.",
    "behind characters of several bytes": "規則 é 🙂 {{ a ¦b }}",
    "a character of two code units is one": "🙂🙂{{ ¦@ }}",
    "behind a strip": "text   \n\n  {%- if a ¦b -%}  \n x {% endif %}",
    "behind a comment and raw": "{# {{ #}{% raw %}{{ x }}{% endraw %}{{ a ¦b }}",
    "a tag that is never closed, at the end": "Rules.\n ¦{{ user",
    "a statement that is never closed, at the end": "Rules.\n¦{% if user",
    "an innermost block": "{% if a %}\n  ¦{% for b in c %}\n{{ b }}\n",
    "a block behind one that is closed": "{% if a %}{% endif %}\n ¦{%- block b %}x\n",
    "a block with an else": "x ¦{% if a %}b{% elif c %}d{% else %}e",
    "a translation": "x\n ¦{% trans %}a",
    "a wrong end": "{% if a %}b{% ¦endfor %}",
    "an unknown tag": "a\nb {% ¦ifequal a %}",
    "a comment": "a\n b ¦{# never closed\n\n",
    "raw": "a\n b ¦{% raw %}\n\n{{ x }}",
    "a brace too few": "Hello {{ name ¦}!",
    "a wrong bracket": "{{ a[1¦) }}",
    "handlebars": "Hello {{¦#if a}}",
    "no expression": "a {{ ¦}}",
    "no filter": "a {{ b | ¦}}",
    "a number is set": "{% set ¦1 = 2 %}",
    "no attribute": "{{ a.¦}} b",
    "a number of thousands of digits": "{{ 1 + ¦" + "1" * 5000 + " }}",
    "an operator without its right side": "{{ a +\n  ¦}} b",
    "in a tag of several lines": "{{ f(a,\n     b¦ c) }}".replace("¦ ", " ¦"),
    "an unknown filter": "{{ a | upper | ¦nowhere }}",
    "an unknown filter of several names": "{{ nowhere | ¦no.where(1) }}",
    "an unknown filter in a statement": "x\n{% set a = b|¦nowhere %}",
    "an unknown filter of a block": "x\n {% filter ¦nowhere %}a{% endfilter %}",
    "an unknown test": "{% if a is not ¦nowhere %}b{% endif %}",
    "the first of two unknown filters": "{% if a %}{{ a | ¦b }}{% endif %}{{ a | c }}",
    "a missing file": "a\n b {{ c }} ¦{% include 'nowhere.j2' %}",
    "a missing parent": "¦{% extends 'nowhere.j2' %}",
    "missing macros": "a ¦{% from 'nowhere.j2' import b %}",
    "itself": "a\n  ¦{% include 'prompt.j2' %}",
}

OTHERS = {
    "nowhere.mustache": "a\n {{b}} ¦{{> nowhere}}",
    "open.mustache": "é {{a}} ¦{{#b}} c",
    "tag.mustache": "é {{a}}\n ¦{{b",
    "wrong.mustache": "{{#a}}\n ¦{{/b}}",
    "open.hbs": "a\n  ¦{{#if b}} c",
    "nowhere.hbs": "a\n  é ¦{{> nowhere}}",
    "modelfile.Modelfile": 'FROM a\nTEMPLATE """{{ if .A }}\n é ¦{{ .B"""\n',
    "quotes.Modelfile": 'FROM a\nSYSTEM ¦"""You are\n',
    "open.prompty": "---\nname: a\n---\nsystem:\né {{ a ¦b }}\n",
    "matter.prompty": "# a\n¦---\nname: a\n",
    "yaml.prompty": "---\nname: a\n b¦: c\n---\nsystem:\nx\n",
    "open.prompt": "---\nmodel: a\n---\né ¦{{#if b}} c",
    "wrong.json": '[{"role": "user", "content": "é" ¦"b": 1}]',
    "jinja.json": '{"_type": "prompt", "template_format": "jinja2", "template": "\\u00e9\\n{{ a ¦b }}"}',
    "kernel.yaml": "template: |\n  é\n  é ¦{{ $a\ntemplate_format: semantic-kernel\nexecution_settings: {}\n",
    "liquid.yaml": "template: |\n  é\n  é ¦{% if a %}\ntemplate_format: liquid\nexecution_settings: {}\n",
    "brace.json": '{"_type": "prompt", "input_variables": [], "template": "é {a} ¦}"}',
    "promptfooconfig.yaml": "prompts:\n  - |\n    é\n    b {{ a ¦b }}\nproviders: [x]\n",
    "character.prompty": "---\nname: é¦\x01\n---\nx\n",
    "module.py": 'prompt = "é", ¦)\n',
    "null.py": 'prompt = "é¦\0"\n',
    "field.py": 'x = 1\nprompt = f"é {¦a b}"\n',
    "fields.py": 'prompt = ""\nx = (f"""\n\n  é {x} {¦a b}""")\n',
    "unclosed.py": "x = 1\nprompt = f¦(1,\n",
    "template.py": 'from jinja2 import Template\nprompt = Template("é {{ a ¦b }}")\nprint(prompt.render(a=1))\n',
    "long.py": 'from jinja2 import Template\nprompt = Template("""é\n  {{ a ¦b }}""")\nprint(prompt.render(a=1))\n',
    "comment.j2": "a\n{# prefixlab: volatility a=user, ¦b=nowhere #}",
}


def _fault(path: Path, marked: str) -> tuple[BadTemplate, tuple[str, int, int]]:
    at = marked.index(HERE)
    text = marked.replace(HERE, "")
    path.write_bytes(text.encode())
    before = text[:at]
    with pytest.raises(BadTemplate) as raised:
        _read(path)
    return raised.value, (str(path), before.count("\n") + 1, at - before.rfind("\n"))


def _read(path: Path) -> None:
    from prefixlab.suppressions import said_in

    file = TemplateFile.read(path)
    said_in(file)
    dialect = next(one for one in known_dialects().values() if one.recognises(file))
    list(read_templates(file, dialect))


def _said(error: BadTemplate) -> tuple[str | None, int | None, int | None]:
    return error.path, error.line, error.column


@pytest.mark.parametrize("what", JINJA2)
def test_jinja2(what: str, tmp_path: Path) -> None:
    error, wanted = _fault(tmp_path / "prompt.j2", JINJA2[what])
    assert _said(error) == wanted
    assert str(error).startswith(":".join(map(str, wanted)) + ": ")


@pytest.mark.parametrize("what", JINJA2)
def test_jinja2_with_line_breaks_of_windows(what: str, tmp_path: Path) -> None:
    error, wanted = _fault(tmp_path / "prompt.j2", JINJA2[what].replace("\n", "\r\n"))
    assert _said(error) == wanted


@pytest.mark.parametrize("name", OTHERS)
def test_other_dialects(name: str, tmp_path: Path) -> None:
    error, wanted = _fault(tmp_path / name, OTHERS[name])
    assert _said(error) == wanted, str(error)


def test_the_offset_of_a_character_is_not_said_twice(tmp_path: Path) -> None:
    error, _ = _fault(tmp_path / "prompt.j2", "Hello {{¦#if a}}")
    assert str(error).endswith(":1:9: is not a Jinja2 template: unexpected char '#'. Correct it.")


def test_a_ring_is_named_where_it_closes(tmp_path: Path) -> None:
    (tmp_path / "other.j2").write_text("a\nb {% include 'prompt.j2' %}")
    (tmp_path / "prompt.j2").write_text("{% include 'other.j2' %}")
    with pytest.raises(BadTemplate) as raised:
        _read(tmp_path / "prompt.j2")
    assert _said(raised.value) == (str(tmp_path / "other.j2"), 2, 3)


def test_a_text_that_goes_too_deep(tmp_path: Path) -> None:
    (tmp_path / "prompt.j2").write_text("a\n" + DEEP)
    with pytest.raises(BadTemplate, match="nested too deeply") as raised:
        _read(tmp_path / "prompt.j2")
    assert raised.value.line == 2
    assert 3 < (raised.value.column or 0) < len(DEEP)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "prompt.j2").write_bytes(b"\xef\xbb\xbf" + "a\né🙂".encode() + b"\xff b")
    with pytest.raises(BadTemplate) as raised:
        TemplateFile.read(tmp_path / "prompt.j2")
    assert (raised.value.line, raised.value.column) == (2, 3)
