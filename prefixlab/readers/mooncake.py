"""Mooncake traces: time stamps in milliseconds, prompts as ids of chained 512-token blocks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from prefixlab.contracts import ReadOptions
from prefixlab.readers.block_hashes import logged_blocks
from prefixlab.readers.envelope import Envelope
from prefixlab.readers.facts import make_request
from prefixlab.records import Location, Request

BLOCK_TOKENS = 512


class MooncakeTrace:
    name = "mooncake"
    summary = "Mooncake traces (timestamp in ms, input_length, hash_ids of 512-token blocks)"

    def recognises(self, record: Any) -> bool:
        return (
            type(record) is dict
            and ("hash_ids" in record or ("input_length" in record and "output_length" in record))
            and "chat_id" not in record
            and "custom_id" not in record
            and "messages" not in record
            and "prompt_token_ids" not in record
        )

    def requests(self, record: Any, where: Location, options: ReadOptions) -> Iterable[Request]:
        blocks = logged_blocks(record, BLOCK_TOKENS, where)
        time = record.get("timestamp")
        arrived = time / 1e3 if type(time) in (int, float) and 0 <= time < 1e14 else None
        return (make_request(Envelope(record), where, options, blocks, arrived_at=arrived),)


FORMAT = MooncakeTrace()
