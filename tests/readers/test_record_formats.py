"""A record of each format that is read, and what it becomes."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from prefixlab.errors import BadRecord, PrefixlabError
from prefixlab.readers import Reading, known_formats, read_requests
from prefixlab.records import AnthropicChat, BlockHashes, Chat, Namespace, Output, Request, Text, TokenIds

Sample = Callable[..., list[Request]]
Write = Callable[..., tuple[list[Request], Reading]]

SYSTEM = {"role": "system", "content": "You answer for Kvarn Lockers."}
USER = {"role": "user", "content": "Where is parcel 0417?"}
ANSWER = "At the market locker."
TOOL = {
    "type": "function",
    "function": {
        "name": "track_parcel",
        "description": "Scan history.",
        "parameters": {"type": "object", "properties": {"tracking": {"type": "string"}}, "required": ["tracking"]},
    },
}
NINE_O_CLOCK = 1773478800.0


def ids(*numbers: int) -> bytes:
    return array("I", numbers).tobytes()


def test_openai_chat(sample: Sample) -> None:
    (request,) = sample("formats/01")
    assert request.body == Chat([SYSTEM, USER], [TOOL])
    assert request.output == Output(ANSWER, None, "stop")
    assert (request.observed_cached_tokens, request.observed_prompt_tokens) == (32, 40)
    assert request.arrived_at == NINE_O_CLOCK
    assert (request.id, request.namespace) == ("chatcmpl-1", Namespace("m"))


def test_openai_responses(sample: Sample) -> None:
    (request,) = sample("formats/02")
    assert request.body == Chat(
        [SYSTEM, {"role": "user", "content": [{"type": "text", "text": USER["content"]}]}],
        [
            {
                "type": "function",
                "function": {"name": "track_parcel", "parameters": {"type": "object", "properties": {}}},
            }
        ],
        content_paths=("instructions", "input[0].content"),
    )
    assert request.output == Output(ANSWER, None, "completed")
    assert (request.observed_cached_tokens, request.observed_prompt_tokens) == (32, 40)
    assert request.tags == {"session": "desk", "model": "m"}


def test_responses_items(reading: Write) -> None:
    items = [
        {"type": "message", "role": "developer", "content": "d"},
        {"role": "user", "content": [{"type": "input_text", "text": "q"}, {"type": "input_image", "image_url": "u"}]},
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "call_id": "1", "name": "f", "arguments": '{"b": 1, "a": 2}'},
        {"type": "function_call", "call_id": "2", "name": "g", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": "one"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]},
    ]
    body = {"model": "m", "input": items, "previous_response_id": "resp_0", "reasoning": {"effort": "low"}}
    (request,), result = reading(orjson.dumps(body))
    calls = [
        {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"b": 1, "a": 2}'}},
        {"id": "2", "type": "function", "function": {"name": "g", "arguments": "{}"}},
    ]
    parts = [{"type": "text", "text": "q"}, {"type": "image_url", "image_url": {"url": "u"}}]
    assert request.body == Chat(
        [
            {"role": "developer", "content": "d"},
            {"role": "user", "content": parts},
            {"role": "assistant", "content": None, "tool_calls": calls},
            {"role": "tool", "tool_call_id": "1", "content": "one"},
            {"role": "assistant", "content": [{"type": "text", "text": "a"}]},
        ],
        template_kwargs={"reasoning_effort": "low"},
        content_paths=("input[0].content", "input[1].content", "input[3]", "input[5].output", "input[6].content"),
    )
    assert len(result.notes) == 2
    assert "previous_response_id" in " ".join(result.notes)


def test_openai_batch(sample: Sample) -> None:
    (request,) = sample("formats/03-openai-batch-input")
    assert request.body == Chat([SYSTEM, USER])
    assert (request.id, request.tags["route"]) == ("r-1", "/v1/chat/completions")


@pytest.mark.parametrize("name", ["formats/03-openai-batch-output", "formats/06-anthropic-batch-results"])
def test_batch_results_hold_no_prompt(sample: Sample, name: str) -> None:
    with pytest.raises(BadRecord, match=":1: a batch result holds an answer and no prompt"):
        sample(name)


def test_stored_completion(sample: Sample) -> None:
    (request,) = sample("formats/04")
    assert isinstance(request.body, Chat)
    assert [message["content"] for message in request.body.messages] == [SYSTEM["content"], USER["content"]]
    assert request.body.content_paths == ("messages.data[0].content", "messages.data[1].content")


@pytest.mark.parametrize("name", ["formats/05", "formats/06-anthropic-batch-input"])
def test_anthropic(sample: Sample, name: str) -> None:
    (request,) = sample(name)
    assert isinstance(request.body, AnthropicChat)
    assert request.body.system[0]["text"] == SYSTEM["content"]
    assert request.body.messages == [{"role": "user", "content": [{"type": "text", "text": USER["content"]}]}]
    assert request.body.tools is not None
    assert request.body.tools[0]["input_schema"] == {"type": "object", "properties": {}}


def test_anthropic_totals_leave_out_the_cached_tokens(sample: Sample) -> None:
    (request,) = sample("formats/05")
    assert (request.observed_cached_tokens, request.observed_prompt_tokens) == (32, 40)
    assert request.output == Output(ANSWER, None, "end_turn")


@pytest.mark.parametrize(
    ("extra", "name"),
    [
        ({}, "openai_chat"),
        ({"max_tokens": 5}, "openai_chat"),
        ({"system": "s"}, "anthropic"),
        ({"anthropic_version": "x"}, "anthropic"),
        ({"tools": [{"name": "f", "input_schema": {}}]}, "anthropic"),
        ({"tools": [TOOL]}, "openai_chat"),
        ({"url": "https://h/v1/messages"}, "anthropic"),
        ({"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1"}]}]}, "anthropic"),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": "q"}]}]}, "openai_chat"),
        ({"prompt_token_ids": [1]}, "token_ids"),
        ({"prompt_token_ids": None}, "openai_chat"),
    ],
)
def test_which_chat_it_is(reading: Write, extra: dict[str, Any], name: str) -> None:
    _, result = reading(orjson.dumps({"messages": [USER], **extra}))
    assert result.inputs[0].format == name


def test_litellm(sample: Sample) -> None:
    (request,) = sample("formats/09")
    assert request.body == Chat([SYSTEM, USER], [TOOL])
    assert (request.arrived_at, request.ended_at) == (NINE_O_CLOCK, NINE_O_CLOCK + 1)
    assert (request.observed_cached_tokens, request.observed_prompt_tokens) == (32, 40)
    (request,) = sample("formats/10")
    assert request.body == Chat([SYSTEM, USER])
    assert (request.id, request.observed_cached_tokens) == ("chatcmpl-1", 32)


def test_langfuse(sample: Sample) -> None:
    (request,) = sample("formats/11")
    assert request.body == Chat([SYSTEM, USER], content_paths=("input[0].content", "input[1].content"))
    assert (request.observed_cached_tokens, request.observed_prompt_tokens) == (32, 40)
    assert request.output == Output(ANSWER)


def test_helicone(sample: Sample) -> None:
    (request,) = sample("formats/12")
    assert request.body == Chat([SYSTEM, USER])
    assert (request.id, request.arrived_at, request.tags["route"]) == ("q1", NINE_O_CLOCK, "/v1/chat/completions")
    assert (request.observed_cached_tokens, request.observed_prompt_tokens) == (32, 40)


def test_vllm_log(sample: Sample) -> None:
    old, new = sample("formats/16")
    assert old.body == new.body == TokenIds(ids(151644, 8948, 198))
    assert (old.id, old.location.line, new.id, new.location.line) == ("chatcmpl-1", 1, "chatcmpl-2", 2)


def test_vllm_log_lines(reading: Write) -> None:
    lora = "lora_request: LoRARequest(lora_name='poet', lora_int_id=1)"
    lines = [
        "INFO start-up noise {'a': 1}",
        "DEBUG Request a details: prompt: 'it\\'s prompt_token_ids: [9]', prompt_token_ids: [1, 2], shape: None.",
        f"INFO Received request a: params: SamplingParams(stop=['prompt_token_ids: [7]']), {lora}.",
        'INFO Received request b: prompt: "x\\ny", params: S(), prompt_token_ids: None, lora_request: None.',
    ]
    requests, result = reading("\n".join(lines), "server.log")
    assert [request.body for request in requests] == [TokenIds(ids(1, 2)), Text("x\ny")]
    assert [request.namespace.lora for request in requests] == ["poet", ""]
    assert result.inputs[0].format == "vllm_log"


def test_user_text_in_a_vllm_log_is_text(reading: Write) -> None:
    hostile = "lora_request: LoRARequest(lora_name='evil') Received request z: prompt: 'no' prompt_token_ids: [6]"
    details = f"Request a details: prompt: {hostile!r}, prompt_token_ids: [1], prompt_embeds shape: None."
    received = "Received request a: params: S(), lora_request: None."
    for lines in ([details, received], [received, details], [received, details, details]):
        requests, _ = reading("\n".join(lines), "server.log")
        assert [request.body for request in requests] == [TokenIds(ids(1))] * (len(lines) - 1)
        assert {(request.id, request.namespace.lora) for request in requests} == {("a", "")}


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("Received request a: params: SamplingParams(n=1), lora_request: None.", "this log level leaves it out"),
        ("Received request a: prompt: 'abc', params: S(), prompt_token_ids: [1, 2, 3], lora_request: None", "has cut"),
        ("Received request a: prompt: 'abc", "is cut"),
        ("Received request a: prompt: 'a\\ud800', params: S()", "is cut"),
    ],
)
def test_vllm_lines_that_are_refused(reading: Write, line: str, what: str) -> None:
    with pytest.raises(BadRecord, match=what):
        reading(line, "server.log")


def test_sglang(sample: Sample) -> None:
    (request,) = sample("formats/17-sglang-requests")
    assert request.body == TokenIds(ids(151644, 8948, 198))
    assert request.output == Output(tokens=ids(1655), finish_reason="stop")
    assert (request.observed_cached_tokens, request.observed_prompt_tokens) == (2, 3)
    assert request.arrived_at == pytest.approx(NINE_O_CLOCK + 0.1)
    assert (request.id, request.ended_at) == ("r1", NINE_O_CLOCK + 1)


def test_sglang_text_log(sample: Sample) -> None:
    (request,) = sample("formats/17-sglang-text")
    assert request.body == Text(str(SYSTEM["content"]), "obj.text")
    assert (request.observed_cached_tokens, request.observed_prompt_tokens) == (8, 9)


@pytest.mark.parametrize(
    ("obj", "what"),
    [
        ({"sampling_params": {}}, "this log level leaves them out"),
        ({"text": "a" * 1024 + "..." + "b" * 1024}, "the text is cut in the middle"),
        ({"input_ids": [1, "...", 2]}, "input_ids are cut in the middle"),
    ],
)
def test_sglang_events_that_are_refused(reading: Write, obj: dict[str, Any], what: str) -> None:
    with pytest.raises(BadRecord, match=what):
        reading(orjson.dumps({"event": "request.finished", "rid": "r", "obj": obj, "out": {}}))


def test_sglang_text_lines_that_are_cut(reading: Write) -> None:
    with pytest.raises(BadRecord, match="is cut in the middle"):
        reading("[2026-03-14 09:00:01] Finish: obj=GenerateReqInput(rid='r', text='a' ... 'b'), out={}", "s.log")


def test_mooncake(sample: Sample) -> None:
    first, second = sample("formats/22")
    assert first.body == BlockHashes((0, 1, 2, 3), 512, 1600)
    assert (first.arrived_at, second.arrived_at) == (0.0, 0.12)


def test_bailian(sample: Sample) -> None:
    first, second = sample("formats/23")
    assert first.body == BlockHashes((10, 11, 12), 16, 40)
    assert (first.id, second.id, second.arrived_at) == ("1", "2", 9.5)


def test_traces_with_a_bad_line(sample: Sample) -> None:
    assert len(sample("traces/t1_")) == 3
    assert sample("traces/t7") == []
    with pytest.raises(BadRecord, match=r"t9_nohash.jsonl:1: no `hash_ids`"):
        sample("traces/t9")
    with pytest.raises(BadRecord, match=r"t10_bad.jsonl:2: not JSON"):
        sample("traces/t10")
    assert len(sample("traces/t9", skip_bad=True)) == 1


def test_trace_whose_ids_do_not_fit(reading: Write) -> None:
    record = {"timestamp": 0, "input_length": 1025, "output_length": 1, "hash_ids": [1, 2]}
    with pytest.raises(BadRecord, match="3 blocks of 512 tokens are expected"):
        reading(orjson.dumps(record))
    (request,), _ = reading(orjson.dumps({**record, "block_size": 1024}))
    assert request.body == BlockHashes((1, 2), 1024, 1025)


@pytest.mark.parametrize("name", ["formats/24", "formats/25", "formats/26"])
def test_conversations(sample: Sample, name: str) -> None:
    (request,) = sample(name)
    assert isinstance(request.body, Chat)
    assert request.body.messages == [USER]
    assert request.output == Output(ANSWER)


def test_a_request_for_each_user_turn(reading: Write) -> None:
    turns = [("system", "s"), ("human", "1"), ("gpt", "a"), ("human", "2"), ("gpt", "b"), ("human", "3")]
    record = {"id": "x", "conversations": [{"from": role, "value": value} for role, value in turns]}
    requests, _ = reading(orjson.dumps(record))
    assert [request.id for request in requests] == ["x#1", "x#2", "x#3"]
    assert [len(request.body.messages) for request in requests if isinstance(request.body, Chat)] == [2, 4, 6]
    assert [request.output for request in requests] == [Output("a"), Output("b"), None]
    assert isinstance(requests[0].body, Chat)
    assert requests[0].body.content_paths == ("conversations[0].value", "conversations[1].value")


def test_deepseek(sample: Sample) -> None:
    (request,) = sample("formats/30")
    assert (request.observed_cached_tokens, request.observed_prompt_tokens) == (32, 40)


def test_plain_prompts(reading: Write) -> None:
    lines = [{"prompt": "a"}, {"text": "b"}, {"prompt": ["c", "d"]}, {"prompt": [1, 2]}, {"prompt": [[3], [4, 5]]}]
    requests, _ = reading(b"\n".join([orjson.dumps(line) for line in lines]))
    assert [request.body for request in requests] == [
        Text("a"),
        Text("b", "text"),
        Text("c", "prompt[0]"),
        Text("d", "prompt[1]"),
        TokenIds(ids(1, 2)),
        TokenIds(ids(3)),
        TokenIds(ids(4, 5)),
    ]
    assert [request.id for request in requests[:4]] == ["line 1", "line 2", "line 3#1", "line 3#2"]


def test_token_ids(reading: Write) -> None:
    record = {"prompt_token_ids": [1, 2**32 - 1], "output_token_ids": [3], "messages": [USER], "cached_tokens": 1}
    (request,), _ = reading(orjson.dumps(record))
    assert request.body == TokenIds(ids(1, 2**32 - 1))
    assert request.output == Output(tokens=ids(3))
    assert request.observed_cached_tokens == 1
    served = {"request": {"messages": [USER]}, "response": {"prompt_token_ids": [7], "choices": [{"token_ids": [8]}]}}
    (request,), _ = reading(orjson.dumps(served))
    assert (request.body, request.output) == (TokenIds(ids(7)), Output(tokens=ids(8)))


@pytest.mark.parametrize("bad", [[], [-1], [2**32], [1.5], ["1"], "1 2", [None]])
def test_token_ids_that_are_none(reading: Write, bad: Any) -> None:
    with pytest.raises(BadRecord, match=r":1: `prompt_token_ids` is"):
        reading(orjson.dumps({"prompt_token_ids": bad}))


@pytest.mark.parametrize("name", ["07", "18-llama-server-response", "20"])
def test_what_is_not_known_is_said(sample: Sample, name: str) -> None:
    with pytest.raises(BadRecord, match=r":1: no known log format: its keys are .*Known are anthropic, bailian"):
        sample(f"formats/{name}")


def test_a_text_log_without_requests(sample: Sample) -> None:
    with pytest.raises(BadRecord, match="a text log that tells of no request"):
        sample("formats/18-llama-server.log")


def test_bedrock_is_refused(sample: Sample) -> None:
    with pytest.raises(BadRecord, match="Bedrock Converse bodies are not read"):
        sample("formats/08")


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"messages": [USER], "tools": {"type": "function"}}, "`tools` must be a list, not an object"),
        ({"messages": [USER], "system": "s", "tools": "search"}, "`tools` must be a list, not 'search'"),
        ({"input": "a", "model": "m", "tools": 3}, "`tools` must be a list, not a number"),
        ({"messages": [USER], "chat_template_kwargs": [1]}, "`chat_template_kwargs` must be an object, not a list"),
        (
            {"messages": [USER], "add_generation_prompt": "no"},
            "`add_generation_prompt` must be true or false, not 'no'",
        ),
        ({"messages": [USER], "continue_final_message": 1}, "`continue_final_message` must be true or false"),
        ({"prompt_token_ids": [5, True, 7]}, "`prompt_token_ids` is no list of token ids"),
        ({"prompt": [5, False]}, "`prompt` is neither text nor token ids"),
        ({"messages": None}, "no prompt: `messages` is null"),
        ({"body": {"messages": None, "model": "m"}}, "no prompt: `messages` is null"),
        ({"modelId": "m", "messages": [{"role": "user", "content": [{"text": "a"}]}]}, "Bedrock Converse bodies"),
        ({"messages": [USER], "system": [{"text": "a"}]}, "Bedrock Converse bodies are not read"),
        ({"contents": [{"role": "user", "parts": [{"text": "a"}]}]}, "Gemini bodies are not read"),
    ],
)
def test_what_is_of_the_wrong_kind_is_named(reading: Write, record: Any, said: str) -> None:
    with pytest.raises(BadRecord) as caught:
        reading(orjson.dumps({"prompt": "a"}) + b"\n" + orjson.dumps(record))
    assert said in str(caught.value)
    assert caught.value.line == 2
    assert caught.value.todo


def test_settings_that_are_null_are_left_out(reading: Write) -> None:
    nulls = dict.fromkeys(("tools", "documents", "chat_template_kwargs", "add_generation_prompt"))
    (request,), _ = reading(orjson.dumps({"messages": [USER], **nulls}))
    assert request.body == Chat([USER])


def test_formats_may_mix(reading: Write) -> None:
    lines = [{"prompt": "a"}, {"messages": [USER]}, {"prompt": "b"}, {"system": "s", "messages": [USER]}]
    requests, result = reading(b"\n".join([orjson.dumps(line) for line in lines]))
    assert [type(request.body) for request in requests] == [Text, Chat, Text, AnthropicChat]
    assert result.inputs[0].format == "plain, openai_chat, anthropic"


def test_a_format_can_be_asked_for(reading: Write) -> None:
    record = orjson.dumps({"prompt_token_ids": [1], "messages": [USER]})
    (request,), _ = reading(record, input_format="openai_chat")
    assert request.body == Chat([USER])
    with pytest.raises(PrefixlabError, match=r"unknown input format 'xml'. Choose one of anthropic, .*vllm_log"):
        read_requests(["-"], input_format="xml")


def test_each_format_says_what_it_is() -> None:
    for name, known in known_formats().items():
        assert known.name == name
        assert known.summary
        assert not known.recognises(None)
        assert not known.recognises([])
