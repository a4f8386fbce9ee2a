"""Lists, mappings, formats, arguments and includes of Jinja2 are followed to the value that enters the prompt."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import jinja2
import pytest
from jinja2.ext import do

from prefixlab.dialects import jinja2 as dialect
from prefixlab.prompt_templates import Choice, Hole, Text, walk
from prefixlab.template_files import TemplateFile


def holes(text: str) -> Iterator[tuple[str, int]]:
    for part in walk(dialect.read(TemplateFile("a.j2", text)).parts):
        if isinstance(part, Hole):
            yield part.expression.source, part.at.column


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("{% set l = [] %}{% do l.append(now()) %}{{ l[0] }}", "now()"),
        ("{% set l = [] %}{% set _ = l.append(now()) %}{{ l[0] }}", "now()"),
        ("{% set l = [] %}{% set _ = l.insert(0, now()) %}{{ l | first }}", "now()"),
        ("{% set d = {} %}{% set _ = d.update(t=now()) %}{{ d['t'] }}", "now()"),
        ("{% set l = ['a'] %}{% if l.append(now()) %}{% endif %}{{ l | join }}", "now()"),
        ("{% set l = ['a'] %}{{ l.append(now()) or '' }}{{ l | join }}", "now()"),
        ("{% set l = ['a'] %}{% if true %}{% do l.append(now()) %}{% endif %}{{ l | join }}", "now()"),
        ("{% set l = [] %}{% for i in [1] %}{% do l.append(now()) %}{% endfor %}{{ l | last }}", "now()"),
        ("{% macro h() %}At {{ varargs[0] }}{% endmacro %}{{ h(now()) }}", "now()"),
        ("{% macro h() %}At {{ kwargs.k }}{% endmacro %}{{ h(k=now()) }}", "now()"),
        ("{% macro h() %}{{ caller() }}{% endmacro %}{% call h() %}{{ now() }}{% endcall %}", "{{ now() }}"),
        ('{% set c = {"t": now(), "v": 3} %}{{ c.t }} {{ c.v }}', "now()"),
        ('{{ {"t": now(), "v": a}.t }}', "now()"),
        ('{{ ["Time", now()] | join(": ") }}', "now()"),
        ('{{ "Now %s" | format(now()) }}', "now()"),
        ('{{ "Now {}".format(now()) }}', "now()"),
        ('{{ "{a} {1}".format(1, now(), a="b") }}', "now()"),
        ("{{ 'Now: ' + strftime_now('%H:%M') + 'x' }}", "strftime_now('%H:%M')"),
        ("{{ 'Now: ' ~ (now() | upper) }}", "(now() | upper)"),
        ("{{ 'a' if x else now() }}", "now()"),
    ],
)
def test_a_value_stands_where_it_is_written(text: str, source: str) -> None:
    ((found, column),) = holes(text)
    assert (found, column) == (source.strip("{ }"), text.index(source) + 1)


def test_what_a_loop_gives_a_namespace_is_known_behind_it() -> None:
    text = '{% set ns = namespace(t="") %}{% for i in [1] %}{% set ns.t = now() %}{% endfor %}{{ ns.t }}'
    assert list(holes(text)) == [("now()", text.index("{% set ns.t") + 1)]


def test_texts_around_them_are_as_jinja2_makes_them() -> None:
    text = (
        '{% set l = ["a"] %}{% do l.append(x) %}{% set d = {"k": x, "v": 3} %}{{ l | join(", ") }}|'
        '{{ d.v }}|{{ d["k"] }}|'
        '{{ "%s and %s%%" | format("b", x) }}|{{ "{{}} {b} {0}".format(x, b=1) }}|{{ l[1] }}|{{ l | first }}'
    )
    rendered = jinja2.Environment(extensions=[do]).from_string(text).render(x="X")
    parts = dialect.read(TemplateFile("a.j2", text)).parts
    assert "".join([part.text if isinstance(part, Text) else "X" for part in parts]) == rendered


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('{{ ctx.get("timestamp") }}', ("ctx.timestamp",)),
        ('{{ ctx.get("timestamp", fallback) }}', ("fallback", "ctx.timestamp")),
        ('{{ users | map(attribute="session_id") | join }}', ("users.session_id",)),
        ('{{ users | selectattr("vip") | list }}', ("users.vip",)),
    ],
)
def test_attributes_that_filters_and_get_read(text: str, names: tuple[str, ...]) -> None:
    ((part),) = dialect.read(TemplateFile("a.j2", text)).parts
    assert isinstance(part, Hole)
    assert part.expression.names == names


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ('"a.j2" if x else "b.j2"', ["a.j2", "b.j2"]),
        ('"a.j2" if x', ["a.j2"]),
        ('"a.j2" if x else ("b.j2" if y else "c.j2")', ["a.j2", "b.j2", "c.j2"]),
        ('("a" if x else "b") ~ ".j2"', ["a.j2", "b.j2"]),
        ('["gone.j2" if x else "b.j2", "c.j2"]', ["c.j2", "b.j2"]),
        ('["gone.j2", "b.j2"]', ["b.j2"]),
    ],
)
def test_an_include_by_condition_reads_all_that_it_names(name: str, files: list[str], tmp_path: Path) -> None:
    for file in ("a.j2", "b.j2", "c.j2"):
        (tmp_path / file).write_text(f"{{{{ {file[0]} }}}}")
    (tmp_path / "main.j2").write_text(f"{{% include {name} %}}")
    template = dialect.read(TemplateFile.read(tmp_path / "main.j2"))
    found = [Path(part.at.path).name for part in walk(template.parts) if isinstance(part, Hole)]
    assert (found, template.notes) == (files, ())
    assert isinstance(template.parts[0], Choice) == (" if " in name)


def test_a_mapping_with_a_default_has_no_order_either() -> None:
    (loop,) = dialect.read(TemplateFile("a.j2", "{% for k in (prefs or {}).items() %}{{ k }}{% endfor %}")).parts
    assert loop.over.orders == ("mapping",)  # type: ignore[union-attr]
