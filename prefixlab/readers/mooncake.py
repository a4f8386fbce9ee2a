"""Mooncake traces: time stamps in milliseconds, prompts as ids of chained 512-token blocks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from prefixlab.contracts import ReadOptions
from prefixlab.readers.block_hashes import TRACE_KEYS, logged_blocks
from prefixlab.readers.envelope import envelope_of
from prefixlab.readers.facts import make_request
from prefixlab.records import Location, Request

BLOCK_TOKENS = 512


class MooncakeTrace:
    name = "mooncake"
    summary = "Mooncake traces (timestamp in ms, input_length, hash_ids of 512-token blocks)"

    def recognises(self, record: Any) -> bool:
        if type(record) is not dict:
            return False
        envelope = envelope_of(record)
        return envelope.kind in TRACE_KEYS and "chat_id" not in envelope.body

    def requests(self, record: Any, where: Location, options: ReadOptions) -> Iterable[Request]:
        envelope, blocks = logged_blocks(record, BLOCK_TOKENS, where)
        time = envelope.record.get("timestamp")
        arrived = time / 1e3 if isinstance(time, (int, float)) and 0 <= time < 1e14 else None
        return (make_request(envelope, where, options, blocks, arrived_at=arrived),)


FORMAT = MooncakeTrace()
