"""Plain prompts: a `prompt` or `text` field, or a line of a text file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from prefixlab.contracts import ReadOptions
from prefixlab.readers.answers import chat_output
from prefixlab.readers.complaints import bad_record, shown
from prefixlab.readers.envelope import Envelope, Record, envelope_of
from prefixlab.readers.facts import make_request
from prefixlab.readers.server_lines import ServerLine
from prefixlab.readers.token_bytes import to_token_bytes
from prefixlab.records import Body, Location, Output, Request, Text, TokenIds

_KEYS = ("prompt", "text", "text_input")


class Plain:
    name = "plain"
    summary = "plain prompts: a prompt or text field, or one prompt a line of a .txt file"

    def recognises(self, record: Any) -> bool:
        if type(record) is not dict:
            return type(record) is str
        envelope = envelope_of(record)
        return envelope.kind in _KEYS and type(envelope.body[envelope.kind]) in (str, list)

    def requests(self, record: Any, where: Location, options: ReadOptions) -> Iterable[Request]:
        if isinstance(record, str) and not isinstance(record, ServerLine):
            return (Request(f"line {where.line}", where, Text(record, "")),)
        if type(record) is not dict:
            raise bad_record(where, f"a plain prompt is text or an object with `prompt` or `text`, not {shown(record)}")
        return self.of_object(envelope_of(record), where, options)

    def of_object(self, envelope: Envelope, where: Location, options: ReadOptions) -> list[Request]:
        """The requests of a completions body that a wrapper of any kind holds."""
        bodies = list(_bodies(envelope.body, where))
        output = chat_output(envelope.response) if len(bodies) == 1 else None
        if output is None and len(bodies) == 1:
            output = _logged_output(envelope.record)
        return [
            make_request(envelope, where, options, body, output, part=number if len(bodies) > 1 else None)
            for number, body in enumerate(bodies, 1)
        ]


def _prompt_key(body: Record) -> str | None:
    for key in _KEYS:
        if type(body.get(key)) in (str, list):
            return key
    return None


def _bodies(body: Record, where: Location) -> Iterator[Body]:
    key = _prompt_key(body)
    if key is None:
        raise bad_record(where, "no `prompt` or `text`", "Give the prompt as text")
    prompt = body[key]
    if type(prompt) is str:
        yield Text(prompt, key)
        return
    if not prompt:
        raise bad_record(where, f"`{key}` is an empty list")
    if type(prompt[0]) is int:
        yield TokenIds(_tokens(prompt, key, where))
        return
    for index, each in enumerate(prompt):
        path = f"{key}[{index}]"
        yield Text(each, path) if type(each) is str else TokenIds(_tokens(each, path, where))


def _tokens(ids: Any, path: str, where: Location) -> bytes:
    tokens = to_token_bytes(ids)
    if not tokens:
        raise bad_record(where, f"`{path}` is neither text nor token ids")
    return tokens


def _logged_output(record: Record) -> Output | None:
    for key in ("output", "completion", "response"):
        if type(record.get(key)) is str:
            return Output(record[key])
    return None


FORMAT = Plain()
