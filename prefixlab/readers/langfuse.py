"""Langfuse observations: the messages lie in `input`, the usage in `usageDetails`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from prefixlab.contracts import ReadOptions
from prefixlab.readers.answers import message_output
from prefixlab.readers.complaints import bad_record, shown
from prefixlab.readers.envelope import Envelope, Record, as_object, envelope_of
from prefixlab.readers.facts import make_request
from prefixlab.readers.messages import check_messages
from prefixlab.records import Body, Chat, Location, Output, Request, Text

_SIGNS = frozenset(("usageDetails", "modelParameters", "traceId", "promptName", "promptVersion"))


def is_observation(envelope: Envelope) -> bool:
    """Whether a record with an `input` is an observation of a generation."""
    return not _SIGNS.isdisjoint(envelope.record)


class LangfuseObservations:
    name = "langfuse"
    summary = "Langfuse observations (input, usageDetails)"

    def recognises(self, record: Any) -> bool:
        if type(record) is not dict:
            return False
        envelope = envelope_of(record)
        return envelope.kind == "input" and is_observation(envelope)

    def requests(self, record: Any, where: Location, options: ReadOptions) -> Iterable[Request]:
        if type(record) is not dict:
            raise bad_record(where, f"an observation must be a JSON object, not {shown(record)}")
        envelope = envelope_of(record)
        return (make_request(envelope, where, options, _body(envelope.body, where), _output(record.get("output"))),)


def _body(record: Record, where: Location) -> Body:
    given = record.get("input")
    if type(given) is str:
        return Text(given, "input")
    path, tools = "input", None
    if type(given) is dict:
        path, tools = "input.messages", given.get("tools")
        given = given.get("messages")
    if given is None:
        raise bad_record(where, "the observation has no messages in `input`", "Use --skip-bad to leave it out")
    check_messages(given, where)
    tools = tools or (as_object(record.get("modelParameters")) or {}).get("tools")
    paths = tuple([f"{path}[{index}].content" for index in range(len(given))])
    return Chat(given, tools if type(tools) is list else None, content_paths=paths)


def _output(answer: Any) -> Output | None:
    if type(answer) is str:
        return Output(answer)
    return message_output(answer) if type(answer) is dict else None


FORMAT = LangfuseObservations()
