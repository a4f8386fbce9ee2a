"""Which orders are put right, and which are left because they say something."""

from __future__ import annotations

import json
from typing import Any

import pytest

from prefixlab.log_rewriting.orders import KINDS, FirstForms
from prefixlab.log_rewriting.text_blocks import block_runs, json_in


def runs(text: str, *, lines: bool = True) -> list[list[str]]:
    return [[text[start:end] for start, end in run] for run in block_runs(text, lines=lines)]


def ordered(*bodies: Any, kinds: Any = KINDS) -> list[Any]:
    forms = FirstForms(kinds)
    return [json.loads(forms.ordered(json.dumps(body).encode(), (), body, 0).raw) for body in bodies]


def said(text: str, role: str = "system") -> dict[str, Any]:
    return {"messages": [{"role": role, "content": text}]}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Read:\n<doc id=1>a\nb</doc>\n<doc id=2>c</doc>\nEnd.", [["<doc id=1>a\nb</doc>", "<doc id=2>c</doc>"]]),
        ("<all>\n<doc>a</doc> <doc>b</doc>\n</all>", [["<doc>a</doc>", "<doc>b</doc>"]]),
        ("<doc>a</doc> and <doc>b</doc>", []),
        ("<br>\n<br>\n<p>x", []),
        ("# A\ntext\n\n# B\nmore\n\nThe end.", [["# A\ntext", "# B\nmore"]]),
        ("Q: 1\nA: 2\n\nQ: 3\nA: 4", [["Q: 1\nA: 2", "Q: 3\nA: 4"]]),
        ("Do:\n- a\n- b\nDone.", [["- a", "- b"]]),
        ("[Source 1] a\n[Source 2] b", [["[Source 1] a", "[Source 2] b"]]),
        ("One sentence.\nAnother one.", []),
        ("One paragraph.\n\nAnother one.", []),
    ],
)
def test_blocks_that_open_alike(text: str, found: list[list[str]]) -> None:
    assert runs(text) == found


def test_json_is_the_same_only_where_its_numbers_are_written_alike() -> None:
    texts = ['x {"a": 1, "b": [2]} y', '{"b":[2],"a":1}', '{"b":[2],"a":1.0}', '{"a":1,"a":1,"b":[2]}', "{not} [json"]
    values = [[found.value for found in json_in(text)] for text in texts]
    assert values[0] == values[1] != values[2]
    # Of an object with a key twice nothing is known but what is in it.
    assert values[3:] == [[b'["\\u00002"]'], []] or values[3:] == [[], []]


def test_blocks_in_the_order_shown_first() -> None:
    first, second = "A\n\n<d>1</d>\n<d>2</d>\n\n<d>3</d>\nB", "A\n\n<d>3</d>\n<d>1</d>\n\n<d>2</d>\nB"
    assert ordered(said(first), said(second))[1] == said(first)
    assert ordered(said(first), said(second.replace("3", "4")))[1] == said(second.replace("3", "4"))


def test_text_that_goes_with_its_heading_stays_there() -> None:
    first, second = "# A\n- x\n# B\n- y", "# A\n- y\n# B\n- x"
    assert ordered(said(first), said(second))[1] == said(second)


@pytest.mark.parametrize("role", ["user", "assistant", "tool"])
def test_lists_that_people_and_models_write_stay(role: str) -> None:
    first, second = "I like:\n- tea\n- milk", "I like:\n- milk\n- tea"
    assert ordered(said(first, role), said(second, role))[1] == said(second, role)


def test_new_tools_go_to_the_end() -> None:
    tools = [{"type": "function", "function": {"name": name}} for name in "abcd"]
    a, b, c, d = tools
    bodies = [{"tools": [b, a]}, {"tools": [a, c, b]}, {"tools": [d, c, a]}, {"tools": [a, b]}]
    assert [body["tools"] for body in ordered(*bodies)] == [[b, a], [b, a, c], [a, c, d], [b, a]]
    assert ordered(*bodies, kinds=["tool_order"])[1:] == [bodies[1], bodies[2], {"tools": [b, a]}]


def test_keys_of_a_tool_and_of_arguments_in_the_order_shown_first() -> None:
    def body(tool: dict[str, Any], arguments: str) -> dict[str, Any]:
        call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
        return {"tools": [tool], "messages": [{"role": "assistant", "tool_calls": [call]}]}

    first = body({"name": "f", "input_schema": {"a": 1, "b": 2}}, '{"x": 1, "y": 2}')
    second = body({"input_schema": {"b": 2, "a": 1}, "name": "f"}, '{"y":2,"x":1}')
    assert json.dumps(ordered(first, second)[1]) == json.dumps(first)
    other = body({"input_schema": {"b": 2, "a": 3}, "name": "f"}, '{"y":2,"x":3}')
    assert json.dumps(ordered(first, other)[1]) == json.dumps(other)


def test_results_of_calls_made_together() -> None:
    results = [{"role": "tool", "tool_call_id": name, "content": name} for name in "abc"]
    a, b, c = results
    asked = {"role": "user", "content": "?"}
    bodies = [{"messages": [asked, a, b, asked, c]}, {"messages": [asked, b, a, asked, c]}, {"messages": [asked, c, b]}]
    assert ordered(*bodies) == [bodies[0], bodies[0], bodies[2]]


def test_images_go_behind_the_text() -> None:
    image, text = {"type": "image_url", "image_url": {"url": "u"}}, {"type": "text", "text": "t"}
    content = [image, text, image, text]
    body = {"messages": [{"role": "user", "content": content}]}
    assert ordered(body)[0]["messages"][0]["content"] == [text, text, image, image]
    other = {"messages": [{"role": "user", "content": [image, {"type": "file"}, text]}]}
    assert ordered(other) == [other]


def test_families_have_orders_of_their_own() -> None:
    forms = FirstForms(KINDS)
    for family, order in ((0, "ab"), (1, "ba"), (0, "ab"), (1, "ba")):
        body = {"tools": [{"name": name} for name in order]}
        raw = json.dumps(body).encode()
        assert forms.ordered(raw, (), body, family).raw == raw
