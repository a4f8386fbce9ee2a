"""Whole conversations (ShareGPT, LMSYS-Chat, WildChat): one request for each user turn, with the turns before it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from prefixlab.contracts import ReadOptions
from prefixlab.readers.complaints import bad_record, shown
from prefixlab.readers.envelope import Record, envelope_of
from prefixlab.readers.facts import make_request
from prefixlab.records import Chat, Location, Output, Request

_KEYS = ("conversations", "conversation")
_ROLES = {
    "human": "user",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "bing": "assistant",
    "bard": "assistant",
    "model": "assistant",
    "observation": "tool",
}


class Conversations:
    name = "sharegpt"
    summary = "whole conversations (ShareGPT, LMSYS-Chat, WildChat), one request a user turn"

    def recognises(self, record: Any) -> bool:
        if type(record) is not dict:
            return False
        envelope = envelope_of(record)
        return envelope.kind in _KEYS and type(envelope.body[envelope.kind]) is list

    def requests(self, record: Any, where: Location, options: ReadOptions) -> Iterable[Request]:
        envelope = envelope_of(record) if type(record) is dict else None
        key = _key(envelope.body) if envelope else None
        if envelope is None or key is None:
            raise bad_record(where, "no list of turns in `conversations` or `conversation`")
        messages, paths = _messages(envelope.body, key, where)
        turns = [index for index, message in enumerate(messages) if message["role"] == "user"]
        if not turns:
            raise bad_record(where, "the conversation has no user turn", "Use --skip-bad to leave it out")
        return [
            make_request(
                envelope,
                where,
                options,
                Chat(messages[: turn + 1], content_paths=paths[: turn + 1]),
                _answer(messages, turn),
                part=number if len(turns) > 1 else None,
            )
            for number, turn in enumerate(turns, 1)
        ]


def _key(record: Record) -> str | None:
    return next((key for key in _KEYS if type(record.get(key)) is list), None)


def _messages(record: Record, key: str, where: Location) -> tuple[list[Record], tuple[str, ...]]:
    messages: list[Record] = []
    paths: list[str] = []
    if type(record.get("system")) is str and record["system"]:
        messages.append({"role": "system", "content": record["system"]})
        paths.append("system")
    for index, turn in enumerate(record[key]):
        field = "value" if type(turn) is dict and "value" in turn else "content"
        role = turn.get("from", turn.get("role")) if type(turn) is dict else None
        if type(role) is not str or type(turn.get(field)) is not str:
            raise bad_record(where, f"{key}[{index}] is no turn with a speaker and text: {shown(turn)}")
        messages.append({"role": _ROLES.get(role, role), "content": turn[field]})
        paths.append(f"{key}[{index}].{field}")
    return messages, tuple(paths)


def _answer(messages: list[Record], turn: int) -> Output | None:
    following = messages[turn + 1] if turn + 1 < len(messages) else None
    return Output(following["content"]) if following and following["role"] == "assistant" else None


FORMAT = Conversations()
