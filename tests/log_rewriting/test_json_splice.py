"""JSON changed in place: what is changed is as asked for, every other byte is as it was."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefixlab.log_rewriting.json_splice import (
    Edit,
    NotThere,
    Path,
    changed,
    spliced,
    value_at,
    with_edits,
    with_key_order,
    with_order,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NUMBERS = st.sampled_from([0, -1, 1.5, 1e300, 12345678901234567890, True, False, None])
VALUES = st.recursive(
    st.one_of(TEXTS, NUMBERS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=12,
)
STYLES = st.fixed_dictionaries(
    {
        "ensure_ascii": st.booleans(),
        "indent": st.sampled_from([None, None, 0, 2]),
        "separators": st.sampled_from([None, (",", ":"), (" , ", " : ")]),
    }
)


def places(value: Any, path: Path = ()) -> list[Path]:
    found = [path]
    if isinstance(value, dict):
        for key, below in value.items():
            found += places(below, (*path, key))
    elif isinstance(value, list):
        for index, below in enumerate(value):
            found += places(below, (*path, index))
    return found


def with_value(value: Any, path: Path, new: Any) -> Any:
    if not path:
        return new
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = with_value(value[path[0]], path[1:], new)
    return copy


@given(st.data(), VALUES, STYLES)
def test_a_value_is_replaced_and_nothing_else(data: st.DataObject, value: Any, style: dict[str, Any]) -> None:
    raw = b" " + json.dumps(value, **style).encode() + b"\r\n"
    path = data.draw(st.sampled_from(places(value)))
    old = value
    for step in path:
        old = old[step]
    assert json.dumps(value_at(raw, path)) == json.dumps(old)
    assert changed(raw, path, lambda same: same) == raw
    new = changed(raw, path, lambda logged: b'"new"')
    assert json.loads(new) == with_value(value, path, "new")
    taken: list[bytes] = []
    changed(raw, path, lambda logged: taken.append(logged) or logged)  # type: ignore[func-returns-value]
    assert new.replace(b'"new"', taken[0], 1) == raw or raw.count(taken[0]) > 1 or b'"new"' in raw


@given(st.data(), TEXTS, TEXTS, st.booleans(), st.booleans())
def test_characters_keep_their_escapes(
    data: st.DataObject, text: str, new: str, ascii_only: bool, slashes: bool
) -> None:
    logged = json.dumps(text, ensure_ascii=ascii_only).replace("/", "\\/" if slashes else "/").encode()
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    made = spliced(logged, [Edit(start, end, new)])
    assert json.loads(made) == text[:start] + new + text[end:]
    ahead = json.dumps(text[:start], ensure_ascii=ascii_only)[:-1].replace("/", "\\/" if slashes else "/")
    behind = json.dumps(text[end:], ensure_ascii=ascii_only)[1:].replace("/", "\\/" if slashes else "/")
    assert made.startswith(ahead.encode())
    assert made.endswith(behind.encode())
    assert spliced(logged, [Edit(start, start, "")]) == logged


@pytest.mark.parametrize(
    ("logged", "new", "made"),
    [
        (b'"a"', "\u00e9", '"a\u00e9"'),
        (b'"\\u00fc"', "\u00e9", '"\\u00fc\\u00e9"'),
        ('"\u00fc"'.encode(), "\u00e9", '"\u00fc\u00e9"'),
        (b'"a\\/b"', "/", '"a\\/b\\/"'),
        (b'"a/b"', "/", '"a/b/"'),
        (b'"\\u003cb"', "<", '"\\u003cb\\u003c"'),
        (b'"\\ud83d\\ude00"', "\U0001f600\n", '"\\ud83d\\ude00\\ud83d\\ude00\\n"'),
    ],
)
def test_new_characters_are_escaped_in_the_style_of_the_string(logged: bytes, new: str, made: str) -> None:
    end = len(json.loads(logged))
    assert spliced(logged, [Edit(end, end, new)]).decode() == made


def test_a_document_held_as_text_keeps_its_own_escapes() -> None:
    inner = '{"messages": [{"content": "caf\\u00e9 \\/ now"}], "n": 1.50}'
    raw = json.dumps({"body": inner, "caf\u00e9": 1}).encode()
    path = ("body", "messages", 0, "content")
    assert value_at(raw, path) == "caf\u00e9 / now"
    made = with_edits(raw, path, {(): [Edit(7, 10, "then")]})
    assert json.loads(made)["body"] == inner.replace("now", "then")


def test_elements_change_places_and_what_is_between_them_stays() -> None:
    raw = b'{"tools": [ 1.0,\n {"b": 2}  ,3 ], "x": 0}'
    assert with_order(raw, ("tools",), 0, [2, 0, 1]) == b'{"tools": [ 3,\n 1.0  ,{"b": 2} ], "x": 0}'
    assert with_order(raw, ("tools",), 1, [1, 0]) == b'{"tools": [ 1.0,\n 3  ,{"b": 2} ], "x": 0}'


def test_keys_change_places_with_their_values_as_written() -> None:
    raw = b'{"b" : 1.50, "a":[{"d":1,"c":2}]}'
    assert with_key_order(raw, {"a": [{"c": 0, "d": 0}], "b": 0}) == b'{"a":[{"c":2,"d":1}], "b" : 1.50}'
    with pytest.raises(NotThere):
        with_key_order(b'{"a":1,"a":2}', {"a": 0})


@pytest.mark.parametrize("path", [("b",), ("a", "b"), ("a", 0), (0,), ("a", 0, 0)])
def test_a_path_to_nothing_is_refused(path: Path) -> None:
    with pytest.raises(NotThere):
        with_edits(b'{"a": 1}', (), {path: []})


def test_of_a_key_that_stands_twice_the_last_counts() -> None:
    assert with_edits(b'{"a": "x", "a": "y"}', (), {("a",): [Edit(0, 1, "z")]}) == b'{"a": "x", "a": "z"}'
