"""vLLM's text log: `Received request` lines, and the `details` lines that newer versions write at DEBUG."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from prefixlab.contracts import ReadOptions
from prefixlab.readers.complaints import bad_record
from prefixlab.readers.envelope import Envelope
from prefixlab.readers.facts import make_request
from prefixlab.readers.python_text import NoLiteral, literal_at
from prefixlab.readers.server_lines import ServerLine
from prefixlab.readers.token_bytes import to_token_bytes
from prefixlab.records import Body, Location, Request, Text, TokenIds

_ID = re.compile(r"Received request (\S+): |Request (\S+) details: ")
_PROMPT = re.compile(r"(?:Received request \S+:|details:) prompt: ")
_WHOLE = "Log without --max-log-len, or use --skip-bad"
_IDS = "prompt_token_ids: "
_LORA = "lora_request: "
_LORA_NAME = re.compile(r"LoRARequest\(.{0,200}?lora_name=")


class VLLMLog:
    name = "vllm_log"
    summary = "vLLM server logs (Received request and details lines)"

    def recognises(self, record: Any) -> bool:
        return isinstance(record, ServerLine) and _ID.search(record) is not None

    def requests(self, record: Any, where: Location, options: ReadOptions) -> Iterable[Request]:
        match = _ID.search(record) if isinstance(record, str) else None
        if match is None:
            raise bad_record(where, "no `Received request` line of vLLM")
        facts = {"id": match[1] or match[2], "lora": _lora(record)}
        return (make_request(Envelope(facts), where, options, _body(record, where)),)


def _body(line: str, where: Location) -> Body:
    prompt, ids = None, None
    start = _PROMPT.search(line)
    try:
        if start is not None:
            prompt, end = literal_at(line, start.end())
            # A stop string in the parameters may look like the field, so the last one counts.
            position = line.rfind(_IDS, end, len(line[end:].partition("\n")[0]) + end)
            if position >= 0:
                ids, _ = literal_at(line, position + len(_IDS))
    except NoLiteral:
        raise bad_record(
            where, "the prompt in the line is cut", "Log without --max-log-len, or use --skip-bad"
        ) from None
    if ids is None:
        if isinstance(prompt, str):
            return Text(prompt, "prompt")
        raise bad_record(
            where,
            "the line has no prompt: this log level leaves it out",
            "Log at DEBUG with --enable-log-requests, or use --skip-bad",
        )
    if prompt is not None and len(prompt) == len(ids) > 1:
        raise bad_record(
            where,
            f"prompt and ids end together after {len(ids)}: --max-log-len has cut them",
            _WHOLE,
        )
    tokens = to_token_bytes(ids)
    if not tokens:
        raise bad_record(where, "`prompt_token_ids` holds no token ids")
    return TokenIds(tokens)


def _lora(line: str) -> str | None:
    # Of two lines about one request the one that is no `details` line tells of the LoRA, behind all user text.
    received = next((part for part in line.split("\n") if (match := _ID.search(part)) and match[1]), "")
    position = received.rfind(_LORA)
    match = _LORA_NAME.match(received, position + len(_LORA)) if position >= 0 else None
    if match is None:
        return None
    try:
        name, _ = literal_at(received, match.end())
    except NoLiteral:
        return None
    return name if isinstance(name, str) else None


FORMAT = VLLMLog()
