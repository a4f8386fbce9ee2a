"""Mustache and Handlebars read into parts."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import pytest

from prefixlab.prompt_templates import History, Loop, walk
from prefixlab.template_files import BadTemplate
from tests.dialects.outlines import holes, outline, places, templates_of, written

SHARED_SECTION = (
    "{{! trace }}\n{{#user}}User {{name}}, session {{{session_id}}}{{/user}}\n1. Rules.\n\nQuestion: {{question}}\n"
)


def test_holes_in_a_mustache_section(tmp_path: Path) -> None:
    made = written(tmp_path, "a.mustache", SHARED_SECTION)
    assert places(made) == [("name", 2, 15), ("session_id", 2, 33), ("question", 5, 11)]
    section = ["User ", "{name}", ", session ", "{session_id}"]
    assert outline(made.parts) == [("choice", "user", section, []), "\n1. Rules.\n\nQuestion: ", "{question}", "\n"]


def test_mustache_sections(tmp_path: Path) -> None:
    made = written(
        tmp_path, "a.mustache", "{{#docs}}\n- {{.}}\n{{/docs}}\n{{^docs}}\nnone\n{{/docs}}\n{{^vip}}guest{{/vip}}"
    )
    assert outline(made.parts) == [
        ("choice", "docs", [("loop", "docs", ["- ", "{.}", "\n"])], ["none\n"]),
        ("choice", "vip", [], ["guest"]),
    ]
    assert holes(made)[0].expression.names == ("docs",)


def test_a_mustache_partial_is_entered_where_it_is_called(tmp_path: Path) -> None:
    (tmp_path / "head.mustache").write_text("It is {{now}}\n")
    made = written(tmp_path, "a.mustache", "Hello\n  {{> head}}\nRules\n")
    (hole,) = holes(made)
    assert (Path(hole.at.path).name, hole.at.line, hole.at.column) == ("head.mustache", 1, 7)
    assert (Path(hole.entered_at.path).name, hole.entered_at.line) == ("a.mustache", 2)
    assert outline(made.parts) == ["Hello\n  It is ", "{now}", "\nRules\n"]


@pytest.mark.parametrize(
    ("template", "partial", "values", "expected"),
    [
        # Of the specification's own examples: standalone indentation, delimiters, context misses.
        ("\\\n {{>p}}\n/\n", "|\n{{{content}}}\n|\n", {"content": "<\n->"}, "\\\n |\n <\n->\n |\n/\n"),
        (">\n  {{>p}}\n>", ">\n>", {}, ">\n  >\n  >>"),
        ("{{=<% %>=}}(<%text%>)", "", {"text": "Hey!"}, "(Hey!)"),
        ("Begin.\n  {{=@ @=}}\nEnd.", "", {}, "Begin.\nEnd."),
        ('"{{a.b.c.name}}" == ""', "", {"a": {"b": {}}, "c": {"name": "Jim"}}, '"" == ""'),
        ("| {{#bool}} * {{/bool}} |\r\n", "", {"bool": True}, "|  *  |\r\n"),
        ("12345 {{! Comment }} 67890", "", {}, "12345  67890"),
    ],
)
def test_mustache_renders_as_specified(
    tmp_path: Path, template: str, partial: str, values: dict[str, object], expected: str
) -> None:
    (tmp_path / "p.mustache").write_text(partial)
    made = written(tmp_path, "a.mustache", template)
    assert made.render is not None
    assert made.render(values) == (("prompt", expected),)


def test_facts_of_handlebars_expressions(tmp_path: Path) -> None:
    made = written(
        tmp_path,
        "a.hbs",
        '{{formatDate now "YYYY-MM-DD"}} {{#each users as |one i|}}{{one.name}}{{i}}{{../team}}{{@root.id}}{{/each}}'
        "{{#with user}}{{name}}{{/with}}{{json data}}{{lookup map key}}",
    )
    facts = [(one.expression.names, one.expression.calls, one.expression.formats) for one in holes(made)]
    assert facts == [
        (("now",), ("formatDate",), ("YYYY-MM-DD",)),
        (("users.name",), (), ()),
        ((), (), ()),
        (("team",), (), ()),
        (("id",), (), ()),
        (("user.name",), (), ()),
        (("data",), ("json",), ()),
        (("map", "key"), (), ()),
    ]
    assert holes(made)[6].expression.orders == ("json",)
    assert made.render is None  # the helpers are the project's


def test_handlebars_partials(tmp_path: Path) -> None:
    (tmp_path / "card.hbs").write_text("Name: {{name}}, {{extra}}\n{{> @partial-block}}")
    made = written(
        tmp_path,
        "a.hbs",
        '{{#*inline "sign"}}Yours, {{who}}{{/inline}}{{#> card user extra=today}}(body){{/card}}\n{{> sign}}',
    )
    assert outline(made.parts) == ["Name: ", "{name}", ", ", "{extra}", "\n(body)\nYours, ", "{who}"]
    assert [one.expression.names for one in holes(made)] == [("user.name",), ("today",), ("who",)]


def test_escapes_and_raw_blocks(tmp_path: Path) -> None:
    made = written(tmp_path, "a.hbs", r"\{{not}} {{{{raw}}}}{{neither}}{{{{/raw}}}} {{x}} \\{{y}}")
    assert [hole.expression.source for hole in holes(made)] == ["x", "y"]


@pytest.mark.parametrize(
    ("name", "text", "line", "what"),
    [
        ("a.mustache", "ok\n{{#a}}\n", 2, "never closed"),
        ("a.mustache", "ok\n{{/a}}\n", 2, "never opened"),
        ("a.mustache", "{{#a}}\n{{#b}}{{/a}}", 2, "'b' is open"),
        ("a.mustache", "ok\n\n{{a", 3, "never closed"),
        ("a.mustache", "{{> gone}}", 1, "not found"),
        ("a.mustache", "{{> " + "x" * 300 + "}}", 1, "not found"),
        ("a.mustache", "{{> \0}}", 1, "not found"),
        ("a.mustache", "{{> ../../etc/x}}", 1, "not found"),
        ("a.mustache", "{{> a}}", 1, "includes itself"),
        ("a.mustache", "{{#a}}" * 200, 1, "deep"),
        ("a.hbs", "ok\n{{#if a}}\n", 2, "never closed"),
        ("a.hbs", "{{#if a}}{{/unless}}", 1, "'if' is open"),
        ("a.hbs", "\n{{a b", 2, "never closed"),
        ("a.hbs", "{{else}}", 1, "no block"),
        ("a.hbs", '{{a "b}}', 1, "never closed"),
        ("a.hbs", "{{> gone}}", 1, "not found"),
        ("a.hbs", "{{> a}}", 1, "includes itself"),
        ("a.hbs", "{{#if a}}" * 200, 1, "deep"),
        ("a.hbs", "{{" + "(" * 5000, 1, "nested"),
        ("a.hbs", "{{a b=1 c}}", 1, "behind one with a name"),
    ],
)
def test_bad_templates(tmp_path: Path, name: str, text: str, line: int, what: str) -> None:
    with pytest.raises(BadTemplate, match=what) as caught:
        written(tmp_path, name, text)
    assert caught.value.line == line
    assert caught.value.path == str(tmp_path / name)


@pytest.mark.parametrize("ending", [".mustache", ".hbs", ".tmpl"])
@pytest.mark.parametrize("text", ["{{a}} ", "{{{{", "{{!x}}\n", "{{#a}}{{/a}}", "{{ ", "{", "\\{{a}}", '{{"', "(((("])
def test_hostile_files_take_little_time(tmp_path: Path, ending: str, text: str) -> None:
    started = time.process_time()
    (tmp_path / f"a{ending}").write_text(text * (200_000 // len(text)))
    with suppress(BadTemplate):
        templates_of(tmp_path / f"a{ending}")
    assert time.process_time() - started < 8


def test_dotprompt(tmp_path: Path) -> None:
    (tmp_path / "_rules.prompt").write_text("1. Be kind to {{who}}.\n")
    text = (
        "---\nmodel: some/model\ninput:\n  schema:\n    now: string\n---\n"
        '{{role "system"}}\nYou help at {{now}}.\n{{>rules who=name}}\n{{history}}\n{{role "user"}}\n{{question}}\n'
    )
    made = written(tmp_path, "desk.prompt", text)
    assert outline(made.parts) == [
        *("@system", "\nYou help at ", "{now}", ".\n1. Be kind to ", "{who}", ".\n"),
        *("@@history", "@user", "\n", "{question}"),
    ]
    assert places(made)[0] == ("now", 8, 13)
    assert any(isinstance(part, History) for part in made.parts)
    assert made.render is not None
    history = [{"role": "user", "content": "A"}, {"role": "model", "content": "B"}]
    assert list(made.render({"now": "nine", "name": "Ada", "question": "Why & <how>?", "history": history})) == [
        ("system", "\nYou help at nine.\n1. Be kind to Ada.\n"),
        ("user", "A"),
        ("assistant", "B"),
        ("user", "\nWhy & <how>?"),
    ]


def test_dotprompt_puts_history_before_the_last_user_message(tmp_path: Path) -> None:
    made = written(tmp_path, "a.prompt", 'Hi {{name}}\n{{role "model"}}ok{{role "user"}}{{q}}')
    assert outline(made.parts) == ["@user", "Hi ", "{name}", "\n", "@assistant", "ok", "@user", "{q}"]
    assert made.render is not None
    messages = made.render({"name": "Ada", "q": "Why?", "history": [{"role": "user", "content": "A"}]})
    assert list(messages) == [("user", "Hi Ada\n"), ("assistant", "ok"), ("user", "A"), ("user", "Why?")]


@pytest.mark.parametrize(
    ("partials", "text", "parts", "rendered"),
    [
        (
            {"topic-2.sub": "A partial!"},
            "{{> topic-2.sub}} Main.\n",
            ["@user", "A partial! Main.\n"],
            "A partial! Main.\n",
        ),
        (
            {"licensed": "{{!--\n  A licence\n--}}\nHello, {{name}}!\n"},
            '{{> licensed name="World"}}\n',
            ["@user", "Hello, World!\n"],
            "Hello, World!\n",
        ),
        ({"outer": "From {{> inner}}!", "inner": "inside"}, "{{> outer}}\n", ["@user", "From inside!"], "From inside!"),
        ({}, "Hello, {{name}}!\n", ["@user", "Hello, ", "{name}", "!\n"], "Hello, <b>!\n"),
    ],
)
def test_dotprompt_as_its_specification_has_it(
    tmp_path: Path, partials: dict[str, str], text: str, parts: list[str], rendered: str
) -> None:
    for name, partial in partials.items():
        (tmp_path / f"_{name}.prompt").write_text(partial)
    made = written(tmp_path, "a.prompt", text)
    assert outline(made.parts) == parts
    assert made.render is not None
    assert list(made.render({"name": "<b>"})) == [("user", rendered)]


def test_what_is_looked_up_by_a_key_that_is_written_out_is_an_attribute(tmp_path: Path) -> None:
    made = written(tmp_path, "a.hbs", '{{lookup ctx "requestId"}}{{lookup (lookup a "b") "c"}}{{lookup this "d"}}')
    assert [one.expression.names for one in holes(made)] == [("ctx.requestId",), ("a.b.c",), ("d",)]


@pytest.mark.parametrize("name", ["a.hbs", "a.prompt"])
@pytest.mark.parametrize(
    ("body", "orders"),
    [
        ("{{#each tools}}{{@key}}{{/each}}", [("mapping",)]),
        ("{{#each tools}}{{#if @key}}x{{/if}}{{/each}}", [("mapping",)]),
        ("{{#each tools as |tool key|}}{{key}}{{/each}}", [("mapping",)]),
        ("{{#each a}}{{#each b}}{{@../key}}{{/each}}{{/each}}", [("mapping",), ()]),
        ("{{#each a}}{{#each b}}{{@key}}{{/each}}{{/each}}", [(), ("mapping",)]),
        ("{{#each tools}}{{@index}}{{this}}{{/each}}", [()]),
        ("{{#each tools as |tool index|}}{{index}}{{key}}{{/each}}", [()]),
    ],
)
def test_keys_tell_that_a_mapping_is_gone_through(
    tmp_path: Path, name: str, body: str, orders: list[tuple[str, ...]]
) -> None:
    made = written(tmp_path, name, body)
    assert [part.over.orders for part in walk(made.parts) if isinstance(part, Loop)] == orders


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("{{#if}}x{{/if}}", "#if requires exactly one argument"),
        ("{{#unless a b}}x{{/unless}}", "#unless requires exactly one argument"),
        ("{{#with}}x{{/with}}", "#with requires exactly one argument"),
        ("{{#if a}}{{else if}}x{{/if}}", "#if requires exactly one argument"),
        ("{{#each}}x{{/each}}", "#each has nothing to go through"),
    ],
)
def test_blocks_without_their_argument(tmp_path: Path, body: str, what: str) -> None:
    with pytest.raises(BadTemplate, match=what) as caught:
        written(tmp_path, "a.hbs", f"Hi\n{body}")
    assert caught.value.line == 2
