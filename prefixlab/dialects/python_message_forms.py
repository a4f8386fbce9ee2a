"""Other forms of requests in Python, brought into the usual one: pairs of role and text, batches, enums of roles."""

from __future__ import annotations

from collections.abc import Mapping

from prefixlab.dialects.python_facts import inside
from prefixlab.dialects.python_values import (
    Alternatives,
    Dictionary,
    Imported,
    Items,
    MessageValue,
    Repeated,
    TextValue,
    Value,
    constant_text,
)
from prefixlab.prompt_templates import Place

_PAIRED = frozenset[str | None]({"system", "developer", "human", "user", "ai", "assistant"})
"""First words of the pairs that LangChain takes for messages."""

_OF_MANY = frozenset({"generate", "agenerate", "batch", "abatch"})
"""Methods that take a list of prompts, each a request of its own."""


def role_word(said: Value | str) -> str | None:
    """The word of a role, also of one that is a member of an enumeration: `MessageRole.SYSTEM`."""
    if isinstance(said, str):
        return said
    if isinstance(said, Imported):
        owner, _, member = said.name.removesuffix(".value").rpartition(".")
        return member.lower() if owner.endswith("Role") and member.isupper() else None
    return constant_text(said)


def with_pairs_as_messages(value: Value | None, at: Place) -> Value | None:
    """A list of messages where pairs such as `("system", text)` are messages too; None where there are none."""
    if not isinstance(value, Items):
        return None
    pairs = [one for one in map(_pair, value.items) if one]
    if not any([constant_text(role) in _PAIRED for role, _ in pairs]):
        return None
    return Items(tuple([_with_message(one, at) for one in value.items]), value.kind)


def _pair(value: Value) -> tuple[Value, Value] | None:
    if isinstance(value, Items) and len(value.items) == 2 and value.kind in ("tuple", "list"):
        return value.items[0], value.items[1]
    return None


def _with_message(value: Value, at: Place) -> Value:
    pair = _pair(value)
    if pair is not None:
        return MessageValue(pair[0], pair[1], at)
    if isinstance(value, Repeated):
        return Repeated(value.over, value.at, tuple([_with_message(one, at) for one in value.items]))
    if isinstance(value, Alternatives) and value.is_items:
        arms = [Items(tuple([_with_message(one, at) for one in getattr(arm, "items", ())])) for arm in value.arms]
        return Alternatives(value.condition, value.at, tuple(arms), is_items=True)
    return value


def first_of_batch(requests: Value | None) -> Mapping[str, Value] | None:
    """The arguments of the first request of a batch: `batches.create(requests=[{"params": {...}}])`."""
    if not isinstance(requests, Items | Repeated):
        return None
    for one in inside(requests):
        found = one.get("params") or one.get("body") if isinstance(one, Dictionary) else None
        if isinstance(found, Dictionary):
            return found.flat()
    return None


def first_of_many(method: str, given: Value | None) -> Value | None:
    """The first of the prompts that a method takes at once: texts, or lists of messages."""
    if method not in _OF_MANY:
        return None
    one = given
    while isinstance(one, Items | Repeated) and one.items and not isinstance(one.items[0], MessageValue | Dictionary):
        one = one.items[0]
    return one if isinstance(one, TextValue) else None
