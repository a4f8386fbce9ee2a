"""SGLang's request log: `request.finished` events as JSON, and `Finish: obj=...` lines of its text form."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from prefixlab.contracts import ReadOptions
from prefixlab.readers.complaints import bad_record, shown
from prefixlab.readers.envelope import Envelope, Record, envelope_of
from prefixlab.readers.facts import make_request
from prefixlab.readers.python_text import NoLiteral, any_literal, fields, literal_at
from prefixlab.readers.server_lines import ServerLine
from prefixlab.readers.timestamps import to_seconds
from prefixlab.readers.token_bytes import to_token_bytes
from prefixlab.records import Body, Location, Output, Request, Text, TokenIds

_EVENT = re.compile(r"(Receive|Finish): obj=\w+(?=\()")
_TIME = re.compile(r"[^\[]{0,100}\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)")
_FIELDS = frozenset(("rid", "text", "input_ids", "lora_path", "extra_key", "cache_salt"))
_HALF = 1024
_LEVEL = "Log with --log-requests-level 3, or use --skip-bad"


class SGLangLog:
    name = "sglang"
    summary = "SGLang request logs (request.finished events, Finish lines)"

    def recognises(self, record: Any) -> bool:
        if isinstance(record, ServerLine):
            return _EVENT.search(record) is not None
        return type(record) is dict and envelope_of(record).kind == "obj" and _is_event(record)

    def requests(self, record: Any, where: Location, options: ReadOptions) -> Iterable[Request]:
        if isinstance(record, str):
            record = _from_line(record, where)
        if type(record) is not dict or type(record.get("obj")) is not dict:
            raise bad_record(where, f"no event of SGLang's request log: {shown(record)}")
        if record.get("event") != "request.finished":
            return ()  # the finished event of the same request says all that this one does
        obj = record["obj"]
        out = record.get("out") or {}
        answers = out if type(out) is list else [out]
        bodies = _bodies(obj, where)
        return [
            _request(record, answer if type(answer) is dict else {}, body, where, options, number, len(bodies))
            for number, (body, answer) in enumerate(zip(bodies, answers + [{}] * (len(bodies) - len(answers))), 1)
        ]


def _is_event(record: Record) -> bool:
    return type(record.get("event")) is str and record["event"].startswith("request.")


def _request(
    record: Record, out: Record, body: Body, where: Location, options: ReadOptions, number: int, of: int
) -> Request:
    report = out.get("meta_info")
    report = report if type(report) is dict else {}
    ended = to_seconds(record.get("timestamp"))
    arrived = to_seconds(report.get("request_received_ts"))
    if arrived is None and ended is not None:
        took = report.get("e2e_latency")
        arrived = ended - took if isinstance(took, (int, float)) and 0 <= took <= ended else ended
    envelope = Envelope(record)
    envelope.add(record["obj"])
    envelope.add(out)
    return make_request(
        envelope,
        where,
        options,
        body,
        _output(out, report),
        part=number if of > 1 else None,
        arrived_at=arrived,
        ended_at=ended,
    )


def _bodies(obj: Record, where: Location) -> list[Body]:
    ids, text = obj.get("input_ids"), obj.get("text")
    if type(ids) is list and ids:
        return [TokenIds(_tokens(each, where)) for each in (ids if type(ids[0]) is list else [ids])]
    if type(text) is list and text and all(type(each) is str for each in text):
        return [Text(_whole(each, where), f"obj.text[{index}]") for index, each in enumerate(text)]
    if type(text) is str:
        return [Text(_whole(text, where), "obj.text")]
    raise bad_record(where, "the event has neither input_ids nor text: this log level leaves them out", _LEVEL)


def _tokens(ids: Any, where: Location) -> bytes:
    tokens = to_token_bytes(ids)
    if tokens:
        return tokens
    if type(ids) is list and "..." in ids:
        raise bad_record(where, "input_ids are cut in the middle", _LEVEL)
    raise bad_record(where, "input_ids hold no token ids")


def _whole(text: str, where: Location) -> str:
    """The text, unless log level 2 has replaced its middle by dots."""
    if len(text) > 2 * _HALF and text[_HALF:-_HALF].strip(" '\"") == "...":
        raise bad_record(where, "the text is cut in the middle", _LEVEL)
    return text


def _output(out: Record, report: Record) -> Output | None:
    reason = report.get("finish_reason")
    reason = reason.get("type") if type(reason) is dict else reason
    reason = reason if type(reason) is str else None
    tokens = to_token_bytes(out.get("output_ids"))
    if tokens:
        return Output(tokens=tokens, finish_reason=reason)
    return Output(out["text"], None, reason) if type(out.get("text")) is str else None


def _from_line(line: str, where: Location) -> Record:
    """A line of the text form as the event that the JSON form would have been."""
    match = _EVENT.search(line)
    if match is None:
        raise bad_record(where, "no `Finish` line of SGLang")
    if match[1] == "Receive":
        return {"event": "request.received", "obj": {}}
    obj: Record = {}
    end = match.end()
    for name, start in fields(line, match.end()):
        end = start
        if name in _FIELDS:
            try:
                obj[name], after = literal_at(line, start)
            except NoLiteral:
                raise bad_record(where, f"`{name}` is cut or unreadable", _LEVEL) from None
            if line.startswith(" ... ", after):
                raise bad_record(where, f"`{name}` is cut in the middle", _LEVEL)
    answer = line.find("out={", end)
    out = any_literal(line[answer + len("out=") :]) if answer >= 0 else None
    event: Record = {"event": "request.finished", "rid": obj.get("rid"), "obj": obj}
    time = _TIME.match(line)
    if time is not None:
        event["timestamp"] = time[1]
    return {**event, "out": out if type(out) is dict else {}}


FORMAT = SGLangLog()
