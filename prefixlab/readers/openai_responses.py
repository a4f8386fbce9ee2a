"""OpenAI Responses bodies: `instructions` and `input`, turned into the chat messages that they stand for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from prefixlab.contracts import ReadOptions
from prefixlab.readers.answers import blocks_output
from prefixlab.readers.complaints import bad_record, shown
from prefixlab.readers.envelope import Envelope, Record, as_object, envelope_of
from prefixlab.readers.facts import make_request, scalar
from prefixlab.readers.langfuse import is_observation
from prefixlab.readers.messages import check_settings
from prefixlab.records import Chat, Location, Output, Request

_HISTORY_KEYS = ("previous_response_id", "conversation")


class OpenAIResponses:
    name = "openai_responses"
    summary = "OpenAI Responses bodies (instructions, input items)"

    def recognises(self, record: Any) -> bool:
        if type(record) is not dict:
            return False
        envelope = envelope_of(record)
        if envelope.kind != "input" or is_observation(envelope):
            return False
        given = envelope.body["input"]
        if type(given) is list:
            return all(type(item) is dict for item in given)
        known = "instructions" in envelope.body or "model" in envelope.body
        return type(given) is str and (known or envelope.mentions_route("/responses"))

    def requests(self, record: Any, where: Location, options: ReadOptions) -> Iterable[Request]:
        if type(record) is not dict:
            raise bad_record(where, f"a Responses request must be a JSON object, not {shown(record)}")
        return (self.request(envelope_of(record), where, options),)

    def request(self, envelope: Envelope, where: Location, options: ReadOptions) -> Request:
        """The request of a Responses body that a wrapper of any kind holds."""
        body = envelope.body
        check_settings(body, where)
        conversation = _Conversation(where)
        instructions, given = body.get("instructions"), body.get("input")
        if instructions:
            conversation.add({"role": "system", "content": _content(instructions)}, "instructions")
        if type(given) is str:
            conversation.add({"role": "user", "content": given}, "input")
        elif type(given) is list:
            for index, item in enumerate(given):
                conversation.add_item(item, f"input[{index}]")
        else:
            raise bad_record(where, "no `input`", "Give the input as text or as a list of items")
        if not conversation.messages:
            raise bad_record(where, "no messages: the input is empty", "Remove the line, or use --skip-bad")
        kwargs = dict(as_object(body.get("chat_template_kwargs")) or {})
        effort = (as_object(body.get("reasoning")) or {}).get("effort")
        if effort is not None:
            kwargs.setdefault("reasoning_effort", effort)
        chat = Chat(
            conversation.messages,
            _chat_tools(body.get("tools")),
            template_kwargs=kwargs,
            content_paths=tuple(conversation.paths),
        )
        return make_request(envelope, where, options, chat, _output(envelope.response))

    def notes(self, record: Any) -> Iterable[str]:
        """What of the prompt the record does not hold."""
        body = envelope_of(record).body
        if any(body.get(key) for key in _HISTORY_KEYS):
            yield "the log lacks the history that previous_response_id or conversation points to"
        items = body.get("input")
        if type(items) is list and any(item.get("type") in ("reasoning", "item_reference") for item in items):
            yield "reasoning and referenced items of the input are hidden from the log and left out"


class _Conversation:
    """Chat messages, and the JSON path of each one's content."""

    def __init__(self, where: Location) -> None:
        self.messages: list[Record] = []
        self.paths: list[str] = []
        self._where = where
        self._calls: list[Any] | None = None

    def add(self, message: Record, path: str) -> None:
        self.messages.append(message)
        self.paths.append(path)
        self._calls = None

    def add_item(self, item: Any, path: str) -> None:
        if type(item) is not dict:
            raise bad_record(self._where, f"{path} is {shown(item)}, not an input item")
        kind = item.get("type", "message")
        if kind == "message":
            if type(item.get("role")) is not str:
                raise bad_record(self._where, f"{path} has no role", "Give each message a role, or use --skip-bad")
            self.add({"role": item["role"], "content": _content(item.get("content"))}, f"{path}.content")
        elif kind == "function_call":
            self._add_call(item, path)
        elif kind == "function_call_output":
            answer = {"role": "tool", "tool_call_id": item.get("call_id"), "content": _content(item.get("output"))}
            self.add(answer, f"{path}.output")

    def _add_call(self, item: Record, path: str) -> None:
        """Calls in a row are one assistant message, as the model made them."""
        if self._calls is None:
            calls: list[Any] = []
            self.add({"role": "assistant", "content": None, "tool_calls": calls}, path)
            self._calls = calls
        function = {"name": item.get("name"), "arguments": item.get("arguments")}
        self._calls.append({"id": item.get("call_id"), "type": "function", "function": function})


def _content(content: Any) -> Any:
    """Content in the parts of a chat message."""
    return [_part(part) for part in content] if type(content) is list else content


def _part(part: Any) -> Any:
    kind = part.get("type") if type(part) is dict else None
    if kind in ("input_text", "output_text"):
        return {"type": "text", "text": part.get("text")}
    if kind == "input_image" and "image_url" in part:
        return {"type": "image_url", "image_url": {"url": part["image_url"]}}
    return part


def _chat_tools(tools: Any) -> list[Any] | None:
    if type(tools) is not list:
        return None
    return [_chat_tool(tool) for tool in tools] or None


def _chat_tool(tool: Any) -> Any:
    if type(tool) is not dict or tool.get("type") != "function" or "function" in tool:
        return tool
    return {"type": "function", "function": {key: value for key, value in tool.items() if key != "type"}}


def _output(response: Record | None) -> Output | None:
    items = response.get("output") if response else None
    if type(items) is not list or len(items) != 1 or type(items[0]) is not dict or items[0].get("type") != "message":
        return None
    return blocks_output(items[0].get("content"), "output_text", scalar(response.get("status")) if response else None)


FORMAT = OpenAIResponses()
