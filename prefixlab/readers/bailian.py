"""Qwen-Bailian traces: time stamps in seconds, prompts as ids of 16-token blocks, turns linked by chat ids."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from prefixlab.contracts import ReadOptions
from prefixlab.readers.block_hashes import TRACE_KEYS, logged_blocks
from prefixlab.readers.envelope import envelope_of
from prefixlab.readers.facts import make_request
from prefixlab.records import Location, Request

BLOCK_TOKENS = 16


class BailianTrace:
    name = "bailian"
    summary = "Qwen-Bailian traces (chat_id, timestamp in s, input_length, hash_ids of 16-token blocks)"

    def recognises(self, record: Any) -> bool:
        if type(record) is not dict:
            return False
        envelope = envelope_of(record)
        return envelope.kind in TRACE_KEYS and "chat_id" in envelope.body

    def requests(self, record: Any, where: Location, options: ReadOptions) -> Iterable[Request]:
        envelope, blocks = logged_blocks(record, BLOCK_TOKENS, where)
        return (make_request(envelope, where, options, blocks),)


FORMAT = BailianTrace()
