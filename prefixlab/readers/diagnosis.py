"""Why the bytes of a record are no JSON, in words."""

from __future__ import annotations

import orjson

from prefixlab.errors import BadRecord
from prefixlab.readers.complaints import bad_record, shown
from prefixlab.records import Location

_NO_NUMBERS = (b"NaN", b"Infinity", b"-Infinity")


def not_utf8(data: bytes, where: Location) -> BadRecord | None:
    """The complaint about the first byte that is no UTF-8, if there is one."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        byte, column = data[error.start], error.start + 1
        return bad_record(
            where, f"not UTF-8: byte 0x{byte:02x} in column {column}", "Convert the log to UTF-8, or use --skip-bad"
        )
    return None


def not_json(data: bytes, error: orjson.JSONDecodeError, where: Location) -> BadRecord:
    """The complaint about bytes that `orjson` refused with `error`."""
    undecodable = not_utf8(data, where)
    if undecodable is not None:
        return undecodable
    said = error.msg.partition(": line ")[0]
    if "surrogate" in said or ("hex escape" in said and b"\\u" in data):
        return bad_record(
            where,
            "a lone surrogate (such as \\ud800) is not valid text",
            "Write the character whole or remove it, or use --skip-bad",
        )
    if "recursion" in said.lower() or "depth" in said:
        return bad_record(where, "the JSON is nested too deeply", "Remove the record, or use --skip-bad")
    text = data.decode()
    position = min(error.pos, len(text))
    rest = text[position:].strip()
    if not rest or "unexpected end" in said or "EOF" in said:
        return bad_record(where, "the JSON is cut", "Complete the record, or use --skip-bad")
    if rest.encode()[:9].startswith(_NO_NUMBERS):
        return bad_record(where, "NaN and Infinity are not JSON", "Write null, or use --skip-bad")
    return bad_record(
        where, f"not JSON from column {position + 1}: {shown(rest[:30])}", "Correct the record, or use --skip-bad"
    )
