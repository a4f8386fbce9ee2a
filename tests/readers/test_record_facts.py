"""What a record says beside its prompt."""

from __future__ import annotations

import io
from typing import Any

import orjson
import pytest

from prefixlab.contracts import ReadOptions
from prefixlab.errors import BadRecord
from prefixlab.readers import read_requests
from prefixlab.readers.timestamps import to_seconds
from prefixlab.records import Chat, Namespace, Output, Request

CHAT: dict[str, Any] = {"messages": [{"role": "user", "content": "q"}]}
MOMENT = 1793606400.0


def read(record: dict[str, Any], tags: dict[str, str] | None = None) -> Request:
    (request,) = read_requests(["-"], ReadOptions(tags or {}), stdin=io.BytesIO(orjson.dumps(record)))
    return request


@pytest.mark.parametrize(
    "value",
    [
        "2026-11-02T08:00:00Z", "2026-11-02T09:00:00+01:00", "2026-11-02 08:00:00", "2026-11-02T08:00:00.000000000Z",
        "2026-11-02 08:00:00 UTC", MOMENT, int(MOMENT), int(MOMENT) * 1000, int(MOMENT) * 10**6, int(MOMENT) * 10**9,
        "1793606400", "1793606400000",
    ],
)  # fmt: skip
def test_time_stamps(value: Any) -> None:
    assert to_seconds(value) == MOMENT


@pytest.mark.parametrize("value", ["", "soon", "nan", "-1", "9" * 100, True, [], {}, -1, 1e300, "0001-01-01", None])
def test_what_is_no_time_stamp(value: Any) -> None:
    assert to_seconds(value) is None


def test_only_a_bad_timestamp_is_an_error() -> None:
    assert read({**CHAT, "timestamp": None, "created": "soon", "start_time": MOMENT}).arrived_at == MOMENT
    with pytest.raises(BadRecord, match="-:1: timestamp 'soon' is no point in time"):
        read({**CHAT, "timestamp": "soon"})


@pytest.mark.parametrize("key", ["timestamp", "arrived_at", "created", "created_at", "startTime", "request_created_at"])
def test_arrival_wherever_it_stands(key: str) -> None:
    assert read({**CHAT, key: MOMENT}).arrived_at == MOMENT
    assert read({key: MOMENT, "request": {"body": CHAT}}).arrived_at == MOMENT


@pytest.mark.parametrize("wrap", ["body", "request", "params", "request_body", "proxy_server_request"])
def test_wrappers(wrap: str) -> None:
    for inner in (CHAT, orjson.dumps(CHAT).decode()):
        request = read({"request_id": 7, "tenant": "t", wrap: inner, "time": MOMENT})
        assert request.body == Chat(CHAT["messages"])
        assert (request.id, request.tags, request.arrived_at) == ("7", {"tenant": "t"}, MOMENT)


def test_an_empty_wrapper_hides_nothing() -> None:
    assert read({**CHAT, "proxy_server_request": {}, "request": None}).body == Chat(CHAT["messages"])
    assert read({"messages": None, "request": CHAT}).body == Chat(CHAT["messages"])


def test_ids() -> None:
    assert read(CHAT).id == "line 1"
    assert read({**CHAT, "id": "a"}).id == "a"
    assert read({"request": CHAT, "response": {"id": "b"}}).id == "b"


@pytest.mark.parametrize(
    ("extra", "namespace"),
    [
        ({"model": "m"}, Namespace("m")),
        ({"lora": "l"}, Namespace(lora="l")),
        ({"lora_request": {"lora_name": "l"}}, Namespace(lora="l")),
        ({"lora_path": None}, Namespace()),
        ({"cache_salt": "s"}, Namespace(salt="s")),
        ({"cache_salt": "s", "extra_key": "e"}, Namespace(salt="se")),
    ],
)
def test_namespaces(extra: dict[str, Any], namespace: Namespace) -> None:
    assert read({**CHAT, **extra}).namespace == namespace
    assert read({"body": {**CHAT, **extra}}).namespace == namespace


def test_tags() -> None:
    record = {
        **CHAT,
        "model": "m",
        "metadata": {"user_id": "u", "session_id": 5, "model": "other"},
        "tenant_id": "t",
        "url": "https://host:1/v1/chat/completions?x=1",
    }
    expected = {"model": "m", "user": "u", "session": "5", "tenant": "t", "route": "/v1/chat/completions"}
    assert read(record).tags == expected


def test_wanted_tags() -> None:
    record = {"meta": {"hosts": [{"name": "h1"}], "a.b": "dots"}, "flag": True, "request": {**CHAT, "seed": 3}}
    wanted = {
        "host": "meta.hosts[0].name",
        "last": "meta.hosts[-1].name",
        "seed": "seed",
        "flag": "flag",
        "no": "x[9].y",
    }
    assert read(record, wanted).tags == {"host": "h1", "last": "h1", "seed": "3", "flag": "true"}


@pytest.mark.parametrize(
    ("usage", "cached", "prompt"),
    [
        ({"prompt_tokens": 40, "prompt_tokens_details": {"cached_tokens": 0}}, 0, 40),
        ({"prompt_tokens": 40, "prompt_tokens_details": None}, None, 40),
        ({"input_tokens": 40, "input_tokens_details": {"cached_tokens": 32}}, 32, 40),
        ({"input_tokens": 8, "cache_read_input_tokens": 30, "cache_creation_input_tokens": 2}, 30, 40),
        ({"prompt_tokens": 40, "cache_read_input_tokens": 32}, 32, 40),
        ({"prompt_cache_hit_tokens": 32, "prompt_cache_miss_tokens": 8}, 32, 40),
        ({"prompt_tokens": "many"}, None, None),
        ({"prompt_tokens": -1, "cached_tokens": True}, None, None),
        ({}, None, None),
        (None, None, None),
    ],
)
def test_usage(usage: Any, cached: int | None, prompt: int | None) -> None:
    for record in ({**CHAT, "usage": usage}, {"request": CHAT, "response": {"usage": usage}}):
        request = read(record)
        assert (request.observed_cached_tokens, request.observed_prompt_tokens) == (cached, prompt)


@pytest.mark.parametrize(
    ("message", "output"),
    [
        ({"content": "a"}, Output("a", None, "stop")),
        ({"content": "a", "tool_calls": [{}]}, None),
        ({"content": "a", "tool_calls": []}, Output("a", None, "stop")),
        ({"content": "a", "reasoning_content": "r"}, None),
        ({"content": [{"type": "text", "text": "a"}]}, None),
        ({"content": None}, None),
    ],
)
def test_output(message: dict[str, Any], output: Output | None) -> None:
    answer = {"choices": [{"message": message, "finish_reason": "stop"}]}
    assert read({"request": CHAT, "response": answer}).output == output
    assert read({"request": {"body": CHAT}, "response": {"body": answer}}).output == output
    assert read({**CHAT, **answer}).output == output


def test_chat_settings() -> None:
    body = {
        **CHAT,
        "functions": [{"name": "f"}],
        "documents": [{"title": "d"}],
        "chat_template_kwargs": {"enable_thinking": False},
        "reasoning_effort": "low",
        "add_generation_prompt": False,
        "continue_final_message": True,
        "tool_choice": "none",
    }
    assert read(body).body == Chat(
        CHAT["messages"],
        [{"type": "function", "function": {"name": "f"}}],
        [{"title": "d"}],
        {"enable_thinking": False, "reasoning_effort": "low"},
        add_generation_prompt=False,
        continue_final_message=True,
    )


@pytest.mark.parametrize(
    ("messages", "what"),
    [
        ([], "no messages"),
        ("q", "`messages` must be a list"),
        ([{"content": "q"}], r"messages\[0\] has no role"),
        ([{"role": "user"}, "q"], r"messages\[1\] is 'q'"),
        ([{"role": None}], r"messages\[0\] has no role"),
    ],
)
def test_messages_that_are_none(messages: Any, what: str) -> None:
    for record in ({"messages": messages}, {"messages": messages, "system": "s"}):
        with pytest.raises(BadRecord, match=what):
            read(record)


def test_roles_and_names_are_kept() -> None:
    messages = [{"role": role, "content": "c", "name": "n"} for role in ("developer", "tool", "function", "critic")]
    assert read({"messages": messages}).body == Chat(messages)
