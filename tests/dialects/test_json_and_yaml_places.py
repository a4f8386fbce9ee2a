"""Texts in JSON and YAML know where each of their characters stands."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from prefixlab.dialects.document_nodes import Node
from prefixlab.dialects.documents import read
from prefixlab.dialects.source_text import SourceText
from prefixlab.template_files import BadTemplate, TemplateFile

words = st.text(st.sampled_from("ab{}:#-'\"\\ \n\täß漢😀&*!|>%@`,[]?"), max_size=30)
values = st.recursive(words, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3))


def node_of(text: str, *, is_yaml: bool) -> Node:
    return read(SourceText.of_file(TemplateFile("file", text)), is_yaml=is_yaml)


def texts(node: Node) -> list[SourceText]:
    own = [node.source] if node.source is not None else []
    return [*own, *[text for one in (*node.fields.values(), *node.items) for text in texts(one)]]


def check_places(node: Node, written: str) -> None:
    """Each letter of a text that is written as itself stands where its place says."""
    lines = written.split("\n")
    for text in texts(node):
        for at, character in enumerate(text.text):
            if character.isalpha() and character.isascii():
                place = text.place(at)
                assert lines[place.line - 1][place.column - 1] == character


@settings(max_examples=150, deadline=None)
@given(values, st.sampled_from([None, 2]), st.booleans())
def test_json(value: Any, indent: int | None, ascii_only: bool) -> None:
    written = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    node = node_of(written, is_yaml=False)
    assert node.value == value
    if not ascii_only:
        check_places(node, written)


@settings(max_examples=200, deadline=None)
@given(values, st.sampled_from([None, '"', "'", "|", ">"]), st.sampled_from([20, 80]))
def test_yaml(value: Any, style: str | None, width: int) -> None:
    written = yaml.safe_dump(value, default_style=style, width=width, allow_unicode=True)
    node = node_of(written, is_yaml=True)
    assert node.value == yaml.safe_load(written)
    check_places(node, written)


BLOCKS = """
plain: one
  two
folded: >-
  one two
  three

  four
literal: |+2
    indented
  text

quoted: "one\\
  \\ two\\n\\u00e4b
  c"
single: 'it''s
  here'
"""


def test_yaml_styles() -> None:
    node = node_of(BLOCKS, is_yaml=True)
    assert node.value == yaml.safe_load(BLOCKS)
    assert {name: node.fields[name].source.place(0)[1:] for name in node.fields} == {  # type: ignore[union-attr]
        "plain": (2, 8),
        "folded": (5, 3),
        "literal": (10, 3),
        "quoted": (13, 10),
        "single": (16, 10),
    }
    check_places(node_of(BLOCKS.replace("\\n\\u00e4", ""), is_yaml=True), BLOCKS.replace("\\n\\u00e4", ""))


def test_yaml_with_windows_line_ends() -> None:
    node = node_of("a: |\r\n  one\r\n  two {{x}}\r\nb: c\r\n", is_yaml=True)
    text = node.fields["a"].source
    assert text is not None
    assert text.text == "one\ntwo {{x}}\n"
    assert text.place(text.text.index("{"))[1:] == (3, 7)


def test_an_escape_that_is_two_halves_is_one_character() -> None:
    written = '["\\ud83d\\ude00 {x}"]'
    (text,) = texts(node_of(written, is_yaml=False))
    assert text.text == "😀 {x}"
    assert written[text.place(2).column - 1] == "{"


def test_merged_and_named_values() -> None:
    node = node_of("base: &b\n  role: system\nall:\n  <<: *b\n  content: {{x}}\n".replace("{{x}}", "hi"), is_yaml=True)
    assert node.fields["all"].value == {"role": "system", "content": "hi"}


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    [f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi")]
)


@pytest.mark.parametrize(
    ("text", "is_yaml", "what", "line"),
    [
        ('{"a": 1,\n}', False, "name in double quotes", 2),
        ('["a"\n "b"]', False, "comma", 2),
        ('["a', False, "unterminated string", 1),
        ("[" * 100_000, False, "nested", 1),
        ('{"a":\n' * 50_000, False, "nested", 65),
        ('["\\ud800"]', False, "half of a character", 1),
        ("[1] 2", False, "behind the end", 1),
        ("nope", False, "value is missing", 1),
        ("a: [1\nb: 2", True, "YAML", 2),
        ("[" * 100_000, True, "nest", 1),
        ("a: *b", True, "names nothing|undefined alias", 1),
        (BOMB, True, "aliases", 6),
    ],
)  # fmt: skip
def test_bad_documents(text: str, is_yaml: bool, what: str, line: int) -> None:
    started = time.process_time()
    with pytest.raises(BadTemplate, match=what) as caught:
        node_of(text, is_yaml=is_yaml)
    assert caught.value.line == line
    assert time.process_time() - started < 5


def test_no_tag_makes_an_object() -> None:
    node = node_of("a: !!python/object/apply:os.system ['echo no']\nb: !own x\n", is_yaml=True)
    assert node.value == {"a": ["echo no"], "b": "x"}


def test_a_large_file_takes_little_time() -> None:
    written = json.dumps([{"role": "user", "content": "word \n" * 50} for _ in range(5000)])
    for is_yaml in (False, True):
        started = time.process_time()
        node_of(written, is_yaml=is_yaml)
        assert time.process_time() - started < 8
