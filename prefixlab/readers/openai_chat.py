"""OpenAI chat completion bodies: `messages`, `tools`, and whatever a gateway logs around them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from prefixlab.contracts import ReadOptions
from prefixlab.readers import anthropic
from prefixlab.readers.answers import chat_output, told_output
from prefixlab.readers.complaints import bad_record, shown
from prefixlab.readers.envelope import Envelope, Record, as_object, envelope_of
from prefixlab.readers.facts import make_request
from prefixlab.readers.messages import check_messages, check_settings, is_converse
from prefixlab.records import Chat, Location, Output, Request

_PARAMETERS = ("model_parameters", "proxy_server_request", "optional_params")
"""Where gateways keep the tools of a request whose messages they log by themselves."""
_SETTINGS = frozenset(
    ("tools", "functions", "documents", "chat_template_kwargs", "reasoning_effort", "add_generation_prompt",
     "continue_final_message", *_PARAMETERS)
)  # fmt: skip
_NO_KWARGS: Mapping[str, Any] = MappingProxyType({})


class OpenAIChat:
    name = "openai_chat"
    summary = "OpenAI chat completions bodies (messages, tools), also inside gateway logs"

    def recognises(self, record: Any) -> bool:
        if type(record) is not dict:
            return False
        envelope = envelope_of(record)
        return envelope.kind == "messages" and not is_converse(envelope.body) and not anthropic.has_signs(envelope)

    def requests(self, record: Any, where: Location, options: ReadOptions) -> Iterable[Request]:
        if type(record) is not dict:
            raise bad_record(where, f"a chat request must be a JSON object, not {shown(record)}")
        return (self.request(envelope_of(record), where, options),)

    def request(self, envelope: Envelope, where: Location, options: ReadOptions) -> Request:
        """The request of a chat body that a wrapper of any kind holds."""
        messages, paths = _logged_messages(envelope.body, where)
        check_messages(messages, where)
        if paths is None and _SETTINGS.isdisjoint(envelope.body):
            chat = Chat(messages)
        else:
            check_settings(envelope.body, where)
            chat = Chat(messages, *_settings(envelope), paths)
        return make_request(envelope, where, options, chat, _answer(envelope))


def _logged_messages(body: Record, where: Location) -> tuple[Any, tuple[str, ...] | None]:
    messages = body.get("messages")
    if type(messages) is dict and type(messages.get("data")) is list:  # a stored completion's list of messages
        listed = messages["data"]
        return listed, tuple([f"messages.data[{index}].content" for index in range(len(listed))])
    if messages is None:
        raise bad_record(where, "no messages", "Give a chat request `messages`")
    return messages, None


def _settings(
    envelope: Envelope,
) -> tuple[list[Any] | None, list[Any] | None, Mapping[str, Any], bool, bool]:
    """Tools, documents, template variables, and the two switches of the generation prompt."""
    body = envelope.body
    tools = body.get("tools")
    if not tools:
        tools = _legacy_tools(body) or next(_tools_beside(body), None)
    documents = body.get("documents")
    kwargs: Mapping[str, Any] = _NO_KWARGS
    if "chat_template_kwargs" in body or "reasoning_effort" in body:
        kwargs = dict(as_object(body.get("chat_template_kwargs")) or {})
        if body.get("reasoning_effort") is not None:
            kwargs.setdefault("reasoning_effort", body["reasoning_effort"])
    return (
        tools if type(tools) is list else None,
        documents if type(documents) is list else None,
        kwargs,
        body.get("add_generation_prompt") is not False,
        body.get("continue_final_message") is True,
    )


def _legacy_tools(body: Record) -> list[Any] | None:
    functions = body.get("functions")
    return [{"type": "function", "function": each} for each in functions] if type(functions) is list else None


def _tools_beside(body: Record) -> Iterator[Any]:
    for key in _PARAMETERS:
        if key in body:
            tools = (as_object(body[key]) or {}).get("tools")
            if tools:
                yield tools


def _answer(envelope: Envelope) -> Output | None:
    return chat_output(envelope.response) or told_output(envelope.record)


FORMAT = OpenAIChat()
