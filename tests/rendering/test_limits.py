"""A chat template that asks for any time or memory is refused, soon, in one line that names the record."""

from __future__ import annotations

import time
import tracemalloc
from pathlib import Path

import pytest
from chat_strategies import asked, text_of

from prefixlab.errors import BadRecord
from prefixlab.records import Chat
from prefixlab.rendering import chat_templates, load_renderer

HI = Chat([{"role": "user", "content": "hi"}])
TOO_MUCH = "log.jsonl:7: the chat template takes too many steps or makes too much text. Correct the template or give"


def again(start: str, next: str, end: str = "") -> str:
    """A template that makes the next value of the one before, sixty times."""
    return (
        f"{{% set ns = namespace(x={start}) %}}{{% for i in range(60) %}}{{% set ns.x = {next} %}}{{% endfor %}}{end}"
    )


def often(what: str) -> str:
    return "{% set long = 'ab' * 1000000 %}{% for i in range(90000) %}" + what + "{% endfor %}"


STEPS = {
    "loops": "{% for i in range(90000) %}{% for j in range(90000) %}x{% endfor %}{% endfor %}",
    "loops that pass over all": often("{% for j in range(90000) if false %}x{% endfor %}"),
    "macros": "{% macro a(n) %}{% if n %}{{ a(n - 1) }}{{ a(n - 1) }}{% endif %}{% endmacro %}{{ a(60) }}",
    "searches": often("{% if 'ba' * 100 in long %}{% endif %}"),
    "slices": often("{% set y = long[1:] %}"),
    "filters": often("{% set y = long | upper %}"),
    "methods": often("{% set y = long.upper() %}"),
    "lists": often("{% set y = range(90000) | list %}"),
    "longer lists": "{% set ns = namespace(x=[]) %}{% for i in range(90000) %}{% set ns.x = ns.x + [i] %}{% endfor %}",
    "JSON": often("{{ messages | tojson }}"),
    "wrapped": "{{ ('x' * 1000000) | wordwrap(10) }}",
    "nested, as text": again("[1]", "[ns.x, ns.x]", "{{ ns.x }}"),
    "nested, as JSON": again("[1]", "[ns.x, ns.x]", "{{ ns.x | tojson }}"),
    "nested, compared": again("[1]", "[ns.x, ns.x]", "{{ ns.x == [ns.x[0], ns.x[0]] }}"),
    "nested, as a key": again("(1,)", "(ns.x, ns.x)", "{{ {ns.x: 1} }}"),
    "nested, looked up": again("(1,)", "(ns.x, ns.x)", "{{ {1: 2}[ns.x] }}"),
}

TEXT = {
    "times": "{{ 'a' * 9999999999 }}",
    "times a list": "{{ 9999999999 * messages }}",
    "power": "{{ 10 ** (10 ** 8) }}",
    "squares": again("7", "ns.x * ns.x"),
    "doubled by ~": again("'aé'", "ns.x ~ ns.x"),
    "doubled by +": again("'aé'", "ns.x + ns.x"),
    "the request's text doubled by ~": again("messages[0].content", "ns.x ~ ns.x"),
    "the request's text doubled by +": again("messages[0].content", "ns.x + ns.x"),
    "lists doubled": again("messages", "ns.x + ns.x"),
    "center": "{{ messages[0].content | center(10000000000) }}",
    "center of a constant": "{{ 'x' | center(10000000000) }}",
    "ljust": "{{ 'x'.ljust(10 ** 10) }}",
    "ljust of the request's text": "{{ messages[0].content.ljust(10 ** 10) }}",
    "zfill": "{{ 'x'.zfill(10 ** 10) }}",
    "expandtabs": "{{ ('\t' * 1000000).expandtabs(1000000) }}",
    "percent": "{{ '%0999999999d' % 1 }}",
    "percent, width given": "{{ '%*d' % (999999999, 1) }}",
    "format filter": "{{ '%0999999999d' | format(1) }}",
    "format": "{{ '{:>9999999999}'.format(1) }}",
    "format, width given": "{{ '{:>{}}'.format(1, 9999999999) }}",
    "format, width named": "{{ '{0:>{x}}'.format(1, x=9999999999) }}",
    "join filter": "{{ range(99999) | join('x' * 100000) }}",
    "join": "{{ ('x' * 100000).join(range(99999) | map('string')) }}",
    "replace filter": "{{ ('a' * 1000000) | replace('a', 'b' * 1000000) }}",
    "replace": "{{ ('a' * 1000000).replace('', 'b' * 1000000) }}",
    "split": "{{ ('ab ' * 7000000).split() | length }}",
    "batch": "{{ [1] | batch(10 ** 10, 'x') | list }}",
    "slice": "{{ [1] | slice(10 ** 10) | list }}",
    "indent": "{{ ('x\n' * 100000) | indent(100000) }}",
    "wordwrap": "{{ ('x ' * 100000) | wordwrap(1, wrapstring='y' * 100000) }}",
    "JSON with indents": "{{ {'a': [1, 2]} | tojson(indent=10 ** 10) }}",
    "bytes": "{{ (1).to_bytes(10 ** 10, 'big') }}",
    "map": "{{ range(99999) | map('center', 100000) | list | length }}",
    "round": "{{ 5 | round(-10 ** 9) }}",
    "output": "{% for i in range(90000) %}{{ 'y' * 10000 }}{% endfor %}",
}


@pytest.mark.parametrize("tracing", [True, False])
@pytest.mark.parametrize("template", [*STEPS.values(), *TEXT.values()], ids=[*STEPS, *TEXT])
def test_too_much_is_refused(template: str, tracing: bool, tmp_path: Path) -> None:
    (tmp_path / "t.jinja").write_text(template, "utf-8")
    start = time.process_time()
    renderer = load_renderer(str(tmp_path / "t.jinja"))
    assert isinstance(renderer, chat_templates.ChatTemplateRenderer)
    renderer._tracing = tracing
    with pytest.raises(BadRecord) as caught:
        renderer.render(asked(HI))
    assert str(caught.value).startswith(TOO_MUCH)
    assert time.process_time() - start < 6  # about one second on a machine at rest


@pytest.mark.parametrize("name", ["doubled by ~", "lists doubled", "split", "join", "map", "output"])
def test_it_takes_little_memory(name: str, tmp_path: Path) -> None:
    (tmp_path / "t.jinja").write_text(TEXT[name], "utf-8")
    renderer = load_renderer(str(tmp_path / "t.jinja"))
    tracemalloc.start()
    try:
        with pytest.raises(BadRecord):
            renderer.render(asked(HI))
        assert tracemalloc.get_traced_memory()[1] < 500_000_000
    finally:
        tracemalloc.stop()


def test_random_text_is_not_offered(tmp_path: Path) -> None:
    (tmp_path / "t.jinja").write_text("{{ lipsum(n=100000) }}", "utf-8")
    with pytest.raises(BadRecord, match="'lipsum' is undefined"):
        load_renderer(str(tmp_path / "t.jinja")).render(asked(HI))


def test_a_large_request_has_a_large_allowance(tmp_path: Path) -> None:
    (tmp_path / "t.jinja").write_text(
        "{% set ns = namespace(x='') %}{% for m in messages %}{% set ns.x = ns.x ~ m.content %}{% endfor %}{{ ns.x }}"
    )
    chat = Chat([{"role": "user", "content": f"{number:050000}"} for number in range(60)])
    renderer = load_renderer(str(tmp_path / "t.jinja"))
    for tracing in (True, False):
        renderer._tracing = tracing  # type: ignore[attr-defined]
        assert text_of(renderer.render(asked(chat))) == "".join([message["content"] for message in chat.messages])


def test_a_chat_of_many_short_messages() -> None:
    chat = Chat([{"role": role, "content": "hi"} for role in ("user", "assistant") * 5_000])
    for name in ("qwen3", "harmony"):
        assert text_of(load_renderer(name).render(asked(chat))).count("hi") >= 10_000


def test_a_recorded_replacement_cannot_grow_with_the_next_request(tmp_path: Path) -> None:
    (tmp_path / "t.jinja").write_text("{{ messages[0].content.replace('a', messages[1].content) | length }}")
    renderer = load_renderer(str(tmp_path / "t.jinja"))
    for size in (1, 2, 3):
        chat = Chat([{"role": "user", "content": "a" * size}, {"role": "user", "content": "b" * size}])
        assert text_of(renderer.render(asked(chat))) == str(size * size)
    large = Chat([{"role": "user", "content": "a" * 1_000_000}, {"role": "user", "content": "b" * 1_000_000}])
    with pytest.raises(BadRecord, match="too much text"):
        renderer.render(asked(large))
