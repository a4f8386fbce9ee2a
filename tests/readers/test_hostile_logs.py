"""Whatever a log holds, it gives requests or a sentence; and text goes through exactly."""

from __future__ import annotations

import io
import json
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prefixlab.contracts import ReadOptions
from prefixlab.errors import PrefixlabError
from prefixlab.readers import known_formats, read_requests
from prefixlab.records import Chat, Location, Request, Text

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | text
)
KEYS = [
    "messages", "role", "content", "type", "text", "tools", "function", "functions", "system", "input", "instructions",
    "prompt", "prompt_token_ids", "output_token_ids", "input_ids", "token_ids", "hash_ids", "input_length",
    "output_length", "block_size", "chat_id", "timestamp", "created", "id", "model", "lora", "lora_request",
    "cache_salt", "extra_key", "body", "request", "params", "response", "result", "choices", "message", "usage",
    "metadata", "usage_object", "prompt_tokens", "prompt_tokens_details", "cached_tokens", "custom_id", "url",
    "conversations", "conversation", "from", "value", "event", "obj", "out", "meta_info", "finish_reason",
    "e2e_latency", "usageDetails", "modelParameters", "output", "data", "call_id", "arguments", "image_url",
    "chat_template_kwargs", "reasoning", "reasoning_effort", "documents", "user", "session_id", "cache_control",
    "previous_response_id", "system", "text_input", "route",
]  # fmt: skip
keys = st.sampled_from(KEYS) | text
values = st.recursive(
    scalars
    | st.sampled_from(["user", "assistant", "message", "function_call", "request.finished", "{", '{"messages": 3}']),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=6),
    max_leaves=25,
)
records = st.dictionaries(keys, values, min_size=1, max_size=8)
OPTIONS = ReadOptions({"x": "metadata.user[0].id", "y": "model"})


def complaint(paths: list[str], **options: Any) -> str:
    """What reading says about a log that it refuses; empty where it gives requests."""
    try:
        requests = list(read_requests(paths, OPTIONS, **options))
    except PrefixlabError as error:
        return str(error)
    assert all(isinstance(request, Request) for request in requests)
    return ""


def read(data: bytes, **options: Any) -> list[Request]:
    return list(read_requests(["-"], OPTIONS, stdin=io.BytesIO(data), **options))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(records)
def test_any_object_gives_requests_or_a_sentence(record: dict[str, Any]) -> None:
    line = orjson.dumps(record)
    for forced in (None, *known_formats()):
        said = complaint(["-"], stdin=io.BytesIO(line), input_format=forced)
        assert "\n" not in said
        assert len(said) < 600


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(records)
def test_formats_exclude_each_other(record: dict[str, Any]) -> None:
    assert len([name for name, known in known_formats().items() if known.recognises(record)]) <= 1


@settings(max_examples=300, deadline=None)
@given(
    st.binary(max_size=200)
    | st.lists(
        st.sampled_from(
            [b'{"prompt": "a"}', b"\n", b"[", b"]", b"{", b"}", b",", b'"', b"\\", b"\xff", b"\xef\xbb\xbf", b"PAR1",
             b"\x1f\x8b\x08\x00", b"\x28\xb5\x2f\xfd", b"\xff\xfe", b"Received request x: prompt: '", b"', params: ",
             b"prompt_token_ids: [1, 2]", b"Finish: obj=R(text='a', input_ids=", b"[1, 2]", b"out={", b"NaN", b"1e999",
             b'{"data": [', b'"\\ud800"', b"\r\n", b"\0", b"[2026-03-14 ", b"Request x details: "]
        ),
        max_size=12,
    ).map(b"".join)
)  # fmt: skip
def test_any_bytes_give_requests_or_a_sentence(data: bytes) -> None:
    for skip_bad in (False, True):
        said = complaint(["-"], stdin=io.BytesIO(data), skip_bad=skip_bad)
        assert not said or said.isprintable()


@pytest.mark.parametrize("ending", [".jsonl", ".json", ".csv", ".txt", ".log", ".parquet", ".tsv"])
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=120))
def test_any_file_gives_requests_or_a_sentence(tmp_path: Any, ending: str, data: bytes) -> None:
    path = tmp_path / f"log{ending}"
    path.write_bytes(data)
    for skip_bad in (False, True):
        said = complaint([str(path)], skip_bad=skip_bad)
        assert not said or said.startswith(str(path))


@settings(max_examples=300, deadline=None)
@given(st.lists(text, min_size=1, max_size=5), st.booleans())
def test_text_goes_through_exactly(contents: list[str], escaped: bool) -> None:
    chats = [{"messages": [{"role": "user", "content": content}]} for content in contents]
    data = "".join([json.dumps(chat, ensure_ascii=escaped) + "\n" for chat in chats]).encode()
    requests = read(data)
    assert [request.body for request in requests] == [Chat(chat["messages"]) for chat in chats]
    assert [request.location for request in requests] == [Location("-", line) for line in range(1, len(chats) + 1)]


@settings(max_examples=300, deadline=None)
@given(st.lists(text, min_size=1, max_size=5), st.sampled_from([None, 1, 4]))
def test_arrays_give_what_lines_give(contents: list[str], indent: int | None) -> None:
    prompts = [{"prompt": content} for content in contents]
    data = json.dumps(prompts, indent=indent, ensure_ascii=False).encode()
    assert [request.body for request in read(data)] == [Text(content) for content in contents]


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(text, values, max_size=5), text)
def test_key_order_and_arguments_are_kept(arguments: dict[str, Any], name: str) -> None:
    said = json.dumps(arguments, indent=2)
    message = {"role": "assistant", "content": None, "tool_calls": [{"function": {"arguments": said, "name": name}}]}
    tools = [{"function": {"parameters": arguments, "name": name}, "type": "function"}]
    (request,) = read(orjson.dumps({"messages": [message], "tools": tools}))
    assert isinstance(request.body, Chat)
    assert orjson.dumps(request.body.messages) == orjson.dumps([message])
    assert orjson.dumps(request.body.tools) == orjson.dumps(tools)


@pytest.mark.parametrize("opening", [b"[", b'{"messages":'])
def test_deep_nesting_is_a_sentence(opening: bytes) -> None:
    with pytest.raises(PrefixlabError, match=r"nested too deeply|cut|no known"):
        read(b'{"messages": ' + opening * 100_000)
    with pytest.raises(PrefixlabError, match="nested too deeply"):
        read(b'{"messages": ' + b"[" * 100_000 + b"]" * 100_000 + b"}")


def test_a_huge_line_is_read() -> None:
    content = "é word " * 4_000_000
    (request,) = read(orjson.dumps({"messages": [{"role": "user", "content": content}]}))
    assert request.body == Chat([{"role": "user", "content": content}])


def test_messages_quote_little_and_no_control_characters() -> None:
    record = {"x" * 500 + "\x1b[31m": 1, **{f"key {index}": 2 for index in range(100)}}
    with pytest.raises(PrefixlabError) as caught:
        read(orjson.dumps(record))
    said = str(caught.value)
    assert said.isprintable()
    assert "x" * 61 not in said
