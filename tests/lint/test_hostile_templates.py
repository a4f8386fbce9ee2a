"""Templates that ask for any time or memory while they are read, and what follows from a constant that is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from prefixlab.dialects import jinja2 as dialect
from prefixlab.prompt_templates import Hole, Text
from prefixlab.template_files import BadTemplate, TemplateFile
from tests.command import prefixlab

RULES = (
    "Answer in two sentences, quote the order number, and never promise a refund date. Ask one question if unsure.\n"
)


@pytest.mark.parametrize(
    "text",
    [
        '{{ "a" * 999999 }}',
        '{{ "%099999d" % 3 }}',
        '{{ "a" | center(999999) }}',
        "{{ 2 ** 4000 }}",
        "{{ 9 ** 9 ** 9 }}",
        "{{ [0] * 99999 }}",
        '{{ "a" | replace("a", "b" * 999999) }}',
    ],
)
def test_an_expression_that_makes_much_of_little_is_left_to_the_run(text: str) -> None:
    parts = dialect.read(TemplateFile("prompt.j2", text)).parts
    assert [type(part) for part in parts] == [Hole]


@pytest.mark.parametrize(
    ("text", "column", "what"),
    [
        ('{{ "a" * 9999999999 }}', 4, "9,999,999,999 characters"),
        ('{{ "%0999999999d" % 3 }}', 4, "999,999,999 characters"),
        ('{{ "a" | center(999999999) }}', 4, "999,999,999 characters"),
        ("{{ 2 ** 1000000 }}", 4, "a number"),
        ("{{ [0] * 999999999 }}", 4, "a text or a list"),
        ('{{ "a" | replace("a", "b" * 99999999) }}', 23, "99,999,999 characters"),
        ("{% for i in range(10 ** 12) %}x{% endfor %}", 13, "1,000,000,000,000 numbers"),
        ("{% for i in range(9999) %}{% for j in range(9999) %}x{% endfor %}{% endfor %}", 13, "nested loops"),
        ("{{ ''.__class__.__mro__ }}", 4, "__class__"),
        ("{{ a['__globals__'] }}", 4, "__globals__"),
        ("{{ a | attr('__init__') }}", 4, "__init__"),
        ("{{ items | map(attribute='b.__dict__') }}", 4, "__dict__"),
        ("{{ '{0.__class__}'.format(a) }}", 4, "__class__"),
        ("{{ f.gi_frame }}", 4, "gi_frame"),
        ("{{ a" + ".b" * 5000 + " }}", 4, "nested too deeply"),
        ("{{ " + " + ".join(["a"] * 5000) + " }}", 4, "nested too deeply"),
        ("{{ a" + " | upper" * 5000 + " }}", 4, "nested too deeply"),
    ],
)
def test_what_the_sandbox_would_refuse_is_an_error_with_its_place(text: str, column: int, what: str) -> None:
    with pytest.raises(BadTemplate, match=what) as caught:
        dialect.read(TemplateFile("prompt.j2", "\n" + text))
    assert (caught.value.line, caught.value.column) == (2, column)


@pytest.mark.parametrize(
    "text",
    [
        "{{ doc._id }}",
        "{{ a.__typename }}",
        "{% for i in range(9999) %}x{% endfor %}",
        "{{ a.mro }}",
        "{{ range(999999) | random }}",
    ],
)
def test_what_values_may_be_called_is_none(text: str) -> None:
    assert dialect.read(TemplateFile("prompt.j2", text)).parts


def test_macros_that_go_deep_do_not_call_themselves() -> None:
    text = "{% macro m0() %}x{% endmacro %}" + "".join(
        [f"{{% macro m{number + 1}() %}}{{{{ m{number}() }}}}{{% endmacro %}}" for number in range(60)]
    )
    with pytest.raises(BadTemplate, match="more than 40 deep"):
        dialect.read(TemplateFile("prompt.j2", text + "{{ m60() }}"))
    with pytest.raises(BadTemplate, match="calls itself"):
        dialect.read(TemplateFile("prompt.j2", "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"))


def test_a_text_that_doubles_again_and_again_is_bounded() -> None:
    text = '{% set a = "aaaaaaaaaa" %}' + "".join(
        [f"{{% set {name} = {'~'.join([before] * 10)} %}}" for before, name in zip("abcdefg", "bcdefgh", strict=True)]
    )
    parts = dialect.read(TemplateFile("prompt.j2", text + "{{ h }}")).parts
    assert sum([len(part.text) for part in parts if isinstance(part, Text)]) < 5_000_000


def test_they_are_a_line_and_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "power.j2").write_text(f"{{{{ 2 ** 1000000 }}}}\n{RULES}")
    ran = prefixlab("lint", str(tmp_path / "power.j2"), "--no-config")
    assert (ran.returncode, ran.stderr.count(b"\n")) == (2, 1)
    assert b"power.j2:1:4: makes a number that is longer" in ran.stderr


@pytest.mark.parametrize("condition", ["is_premium", "vip", "user.is_admin", "not guest"])
def test_a_condition_on_who_asks_splits_the_cache(tmp_path: Path, condition: str) -> None:
    text = f"{{% if {condition} %}}You speak to a member.{{% else %}}You speak to a visitor.{{% endif %}}\n{RULES}"
    (tmp_path / "prompt.j2").write_text(text)
    ran = prefixlab("lint", str(tmp_path / "prompt.j2"), "--no-config", "--fail-on", "medium")
    assert ran.returncode == 1
    assert b"PL401" in ran.stdout


@pytest.mark.parametrize("condition", ["debug", "tools", "enable_search"])
def test_a_condition_on_the_deployment_does_not(tmp_path: Path, condition: str) -> None:
    (tmp_path / "prompt.j2").write_text(f"{{% if {condition} %}}Say more.{{% endif %}}\n{RULES}")
    assert prefixlab("lint", str(tmp_path / "prompt.j2"), "--no-config", "--fail-on", "info").returncode == 0


def test_a_date_ahead_of_the_first_message_of_a_loop(tmp_path: Path) -> None:
    text = (
        "{% for m in messages %}{% if loop.first %}Today: {{ strftime_now('%d %b %Y') }}\n{% endif %}"
        "<|{{ m.role }}|>{{ m.content }}\n{% endfor %}"
    )
    (tmp_path / "chat_template.jinja").write_text(text)
    ran = prefixlab("lint", str(tmp_path / "chat_template.jinja"), "--no-config", "--fail-on", "low")
    assert (ran.returncode, b"PL404" in ran.stdout) == (1, True)


def test_unique_keeps_its_order(tmp_path: Path) -> None:
    (tmp_path / "prompt.j2").write_text('{{ tags | unique | join(",") }}\n' + RULES)
    assert prefixlab("lint", str(tmp_path / "prompt.j2"), "--no-config", "--fail-on", "info").returncode == 0
