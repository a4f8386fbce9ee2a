"""Anthropic Messages bodies: `tools`, `system`, `messages`, also as the `params` of a batch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from prefixlab.contracts import ReadOptions
from prefixlab.readers.answers import blocks_output
from prefixlab.readers.complaints import bad_record, shown
from prefixlab.readers.envelope import BATCH_KEY, Envelope, Record, envelope_of
from prefixlab.readers.facts import make_request, scalar
from prefixlab.readers.messages import check_messages, check_settings, is_converse
from prefixlab.records import AnthropicChat, Location, Output, Request

_OWN_BLOCKS = frozenset(("tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "document"))


class AnthropicMessages:
    name = "anthropic"
    summary = "Anthropic Messages bodies (tools, system, messages), also as batch params"

    def recognises(self, record: Any) -> bool:
        if type(record) is not dict:
            return False
        envelope = envelope_of(record)
        if envelope.kind == BATCH_KEY:
            return "params" in record or "result" in record
        return envelope.kind == "messages" and has_signs(envelope) and not is_converse(envelope.body)

    def requests(self, record: Any, where: Location, options: ReadOptions) -> Iterable[Request]:
        if type(record) is not dict:
            raise bad_record(where, f"a request must be a JSON object, not {shown(record)}")
        envelope = envelope_of(record)
        body = envelope.body
        if "messages" not in body:
            what = "a batch result holds an answer and no prompt" if "result" in record else "no messages"
            raise bad_record(where, what, "Give the file that was sent to the batch")
        check_settings(body, where)
        messages, system, tools = body["messages"], body.get("system"), body.get("tools")
        _check(messages, system, where)
        chat = AnthropicChat(messages, system, tools)
        return (make_request(envelope, where, options, chat, _output(envelope.response)),)


def has_signs(envelope: Envelope) -> bool:
    """Whether a body with `messages` is Anthropic's: by its own keys, its tools, its route, its blocks, its answer."""
    body = envelope.body
    if "anthropic_version" in body or type(body.get("system")) in (str, list):
        return True
    tools = body.get("tools")
    if type(tools) is list and tools:
        if type(tools[0]) is dict and "input_schema" in tools[0]:
            return True
        if type(tools[0]) is dict and "function" in tools[0]:
            return False
    if envelope.mentions_route("/v1/messages"):
        return True
    response = envelope.response
    if response is not None and response.get("type") == "message" and "choices" not in response:
        return True
    messages = body["messages"]
    return type(messages) is list and _has_own_blocks(messages)


def _has_own_blocks(messages: list[Any]) -> bool:
    for message in messages:
        if type(message) is dict:
            content = message.get("content")
            if type(content) is list:
                for block in content:
                    if type(block) is dict and (block.get("type") in _OWN_BLOCKS or "cache_control" in block):
                        return True
    return False


def _check(messages: Any, system: Any, where: Location) -> None:
    check_messages(messages, where)
    if type(system) not in (str, list, type(None)):
        raise bad_record(where, f"`system` must be text or a list of blocks, not {shown(system)}")
    _check_blocks(system, "system", where)
    for index, message in enumerate(messages):
        _check_blocks(message.get("content"), f"messages[{index}].content", where)


def _check_blocks(blocks: Any, path: str, where: Location) -> None:
    if type(blocks) is list:
        for index, block in enumerate(blocks):
            if type(block) is not dict or type(block.get("type")) is not str:
                raise bad_record(where, f"{path}[{index}] is no block with a type", "Use --skip-bad to leave it out")


def _output(response: Record | None) -> Output | None:
    if response is None:
        return None
    return blocks_output(response.get("content"), "text", scalar(response.get("stop_reason")))


FORMAT = AnthropicMessages()
