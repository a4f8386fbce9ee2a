"""Prompts logged as token ids: `prompt_token_ids`, with `output_token_ids` where the answer was logged too.

Ids win over text: a record with both is one of this format.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from prefixlab.contracts import ReadOptions
from prefixlab.readers.answers import chat_output
from prefixlab.readers.complaints import bad_record, shown
from prefixlab.readers.envelope import Envelope, envelope_of
from prefixlab.readers.facts import make_request, scalar
from prefixlab.readers.token_bytes import to_token_bytes
from prefixlab.records import Location, Output, Request, TokenIds


class TokenIdRecords:
    name = "token_ids"
    summary = "token ids: prompt_token_ids, with output_token_ids where logged"

    def recognises(self, record: Any) -> bool:
        return type(record) is dict and envelope_of(record).kind in ("prompt_token_ids", "input_ids")

    def requests(self, record: Any, where: Location, options: ReadOptions) -> Iterable[Request]:
        if type(record) is not dict:
            raise bad_record(where, f"a record of token ids must be a JSON object, not {shown(record)}")
        envelope = envelope_of(record)
        tokens = _ids(envelope, ("prompt_token_ids", "input_ids"), where)
        if tokens is None:
            raise bad_record(where, "no `prompt_token_ids`", "Log the ids of the prompt")
        if not tokens:
            raise bad_record(where, "`prompt_token_ids` is empty", "Remove the line, or use --skip-bad")
        return (make_request(envelope, where, options, TokenIds(tokens), _output(envelope, where)),)


def _ids(envelope: Envelope, keys: tuple[str, ...], where: Location) -> bytes | None:
    for layer, _ in reversed(envelope.layers):
        for key in keys:
            logged = layer.get(key)
            if logged is not None:
                tokens = to_token_bytes(logged)
                if tokens is None:
                    raise bad_record(where, f"`{key}` is no list of token ids (integers from 0 to 2^32 - 1)")
                return tokens
    return None


def _output(envelope: Envelope, where: Location) -> Output | None:
    tokens = _ids(envelope, ("output_token_ids", "output_ids"), where)
    if tokens is None:
        return chat_output(envelope.response)
    reason = next((layer["finish_reason"] for layer, _ in envelope.layers if "finish_reason" in layer), None)
    return Output(tokens=tokens, finish_reason=scalar(reason))


FORMAT = TokenIdRecords()
