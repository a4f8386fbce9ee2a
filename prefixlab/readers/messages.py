"""What every list of chat messages must be before a template may see it."""

from __future__ import annotations

from typing import Any

from prefixlab.readers.complaints import bad_record, shown
from prefixlab.readers.envelope import Record, as_object
from prefixlab.records import Location

_KINDS = {
    "tools": (list, "a list"),
    "functions": (list, "a list"),
    "documents": (list, "a list"),
    "chat_template_kwargs": (dict, "an object"),
    "add_generation_prompt": (bool, "true or false"),
    "continue_final_message": (bool, "true or false"),
}
"""What stands beside the messages and reaches a chat template, where it is not null."""

_CONVERSE_BLOCKS = frozenset(
    ("text", "image", "document", "video", "toolUse", "toolResult", "cachePoint", "guardContent", "reasoningContent")
)


def is_converse(body: Record) -> bool:
    """Whether a body with `messages` is one of Bedrock's Converse: its blocks have a key of their kind and no type."""
    messages = body.get("messages")
    first = messages[0] if type(messages) is list and messages else None
    for blocks in (body.get("system"), first.get("content") if type(first) is dict else None):
        block = blocks[0] if type(blocks) is list and blocks else None
        if type(block) is dict and block and _CONVERSE_BLOCKS.issuperset(block):
            return True
    return False


def check_settings(body: Record, where: Location) -> None:
    """Refuses a body whose settings are not of the kind that a server takes.

    Raises:
        BadRecord: one is of another kind.
    """
    for key, (kind, said) in _KINDS.items():
        value = body.get(key)
        if value is None or type(value) is kind or (kind is dict and as_object(value) is not None):
            continue
        raise bad_record(where, f"`{key}` must be {said}, not {shown(value)}")


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
