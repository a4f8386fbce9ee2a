"""What every list of chat messages must be before a template may see it."""

from __future__ import annotations

from typing import Any

from prefixlab.readers.complaints import bad_record, shown
from prefixlab.records import Location


def check_messages(messages: Any, where: Location) -> None:
    """Refuses what no chat template could take.

    Raises:
        BadRecord: there are no messages, or one is no object with a role.
    """
    if type(messages) is not list:
        raise bad_record(where, f"`messages` must be a list, not {shown(messages)}")
    if not messages:
        raise bad_record(where, "no messages: the request is empty", "Remove the line, or use --skip-bad")
    for index, message in enumerate(messages):
        if type(message) is not dict:
            raise bad_record(where, f"messages[{index}] is {shown(message)}, not an object with a role and content")
        if type(message.get("role")) is not str:
            raise bad_record(where, f"messages[{index}] has no role", "Give each message a role, or use --skip-bad")
