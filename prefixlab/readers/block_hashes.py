"""What the traces of block hashes have in common: lengths, and one id for each block of the prompt."""

from __future__ import annotations

from typing import Any

from prefixlab.readers.complaints import bad_record, shown
from prefixlab.readers.envelope import Envelope, envelope_of
from prefixlab.records import BlockHashes, Location

TRACE_KEYS = ("hash_ids", "input_length")


def logged_blocks(record: Any, default_block: int, where: Location) -> tuple[Envelope, BlockHashes]:
    """A trace's record taken apart, and its prompt.

    Raises:
        BadRecord: it lacks a length or its ids, or the two do not fit.
    """
    if type(record) is not dict:
        raise bad_record(where, f"a trace's record must be a JSON object, not {shown(record)}")
    envelope = envelope_of(record)
    body = envelope.body
    ids, length, block = body.get("hash_ids"), body.get("input_length"), body.get("block_size", default_block)
    if type(ids) is not list:
        raise bad_record(where, "no `hash_ids`", "Export the trace with its block hashes, or use --skip-bad")
    if type(length) is not int or not 0 <= length < 1 << 32:
        raise bad_record(where, "`input_length` is no number of tokens", "Give the length of the prompt")
    if type(block) is not int or not 0 < block < 1 << 32:
        raise bad_record(where, "`block_size` is no number of tokens", "Give the tokens of a block")
    if not all([type(each) is int for each in ids]):
        raise bad_record(where, "`hash_ids` holds something else than integers", "Write the hashes as integers")
    try:
        return envelope, BlockHashes(tuple(ids), block, length)
    except ValueError as error:
        raise bad_record(where, str(error), "Set `block_size` in the record, or use --skip-bad") from None
