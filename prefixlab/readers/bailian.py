"""Qwen-Bailian traces: time stamps in seconds, prompts as ids of 16-token blocks, turns linked by chat ids."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from prefixlab.contracts import ReadOptions
from prefixlab.readers.block_hashes import logged_blocks
from prefixlab.readers.envelope import Envelope
from prefixlab.readers.facts import make_request
from prefixlab.records import Location, Request

BLOCK_TOKENS = 16


class BailianTrace:
    name = "bailian"
    summary = "Qwen-Bailian traces (chat_id, timestamp in s, input_length, hash_ids of 16-token blocks)"

    def recognises(self, record: Any) -> bool:
        return (
            type(record) is dict
            and "chat_id" in record
            and ("hash_ids" in record or "input_length" in record)
            and "custom_id" not in record
            and "messages" not in record
            and "prompt_token_ids" not in record
        )

    def requests(self, record: Any, where: Location, options: ReadOptions) -> Iterable[Request]:
        blocks = logged_blocks(record, BLOCK_TOKENS, where)
        return (make_request(Envelope(record), where, options, blocks),)


FORMAT = BailianTrace()
