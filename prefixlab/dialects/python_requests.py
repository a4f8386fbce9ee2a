"""Requests to models in Python: which calls are some, and the prompt that their arguments make.

Not by the names of packages alone, for clients are wrapped: what tells is a list of messages, or a keyword that only a
prompt has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from prefixlab.dialects.python_arguments import Call
from prefixlab.dialects.python_facts import facts, inside, parts_of
from prefixlab.dialects.python_literals import Piece
from prefixlab.dialects.python_message_forms import first_of_batch, first_of_many, role_word, with_pairs_as_messages
from prefixlab.dialects.python_rewriting import hands_on, has_own_text
from prefixlab.dialects.python_tools import TOOLS, behind_tools
from prefixlab.dialects.python_values import (
    MOST_INSIDE,
    MOST_PARTS,
    NONE,
    Alternatives,
    Dictionary,
    Items,
    MessageValue,
    Opaque,
    Repeated,
    Spread,
    TemplateValue,
    TextPart,
    TextValue,
    TooLarge,
    Value,
)
from prefixlab.dialects.template_objects import ROLES
from prefixlab.prompt_templates import Choice, History, Loop, Place, Turn, walk

SYSTEM = (
    "system",
    "instructions",
    "system_instruction",
    "system_prompt",
    "system_message",
    "preamble",
)
"""Keywords of what is said ahead of all messages."""

_EARLIER = ("chat_history", "history")
_MESSAGES = ("messages", "input", "contents", "input_messages")
_SAID = {"content": None, "parts": None, "message": None, "tool_calls": None}.keys()
_ASKED = ("prompt", "message", "input", "contents", "user_prompt", "user_message", "inputs")

_CALLS = (
    "completions.create",
    "completions.parse",
    "completions.stream",
    "responses.create",
    "responses.parse",
    "responses.stream",
    "messages.create",
    "messages.stream",
    "messages.parse",
    "messages.count_tokens",
    "chat.complete",
    "chat.complete_async",
    "chat.stream",
    "chat.stream_async",
    "chat.parse",
    "ChatCompletion.create",
    "ChatCompletion.acreate",
    "Completion.create",
    "Completion.acreate",
    "litellm.completion",
    "litellm.acompletion",
    "litellm.text_completion",
    "ollama.chat",
    "ollama.generate",
    "generate_content",
    "generate_content_async",
    "generate_content_stream",
    "chat_stream",
    "create_chat_completion",
    "create_completion",
    "chat_completion",
    "text_generation",
    "apply_chat_template",
)
"""Ends of the names of calls that are requests to a model, whatever their arguments are called."""

_ENDS = {
    last: tuple([one for one in _CALLS if one.rpartition(".")[2] == last])
    for last in {one.rpartition(".")[2] for one in _CALLS}
}

_POSTS = frozenset(
    [
        "post",
        "apost",
        "request",
        "stream",
        "fetch",
        "Request",
        "urlopen",
        "invoke_model",
        "invoke_model_with_response_stream",
    ]
)
_ASKING = frozenset(
    [
        "invoke",
        "ainvoke",
        "stream",
        "astream",
        "predict",
        "apredict",
        "batch",
        "abatch",
        "complete",
        "acomplete",
        "chat",
        "achat",
        "generate",
        "agenerate",
        "run",
        "run_sync",
        "send_message",
        "__call__",
    ]
)
_TALK = {"input", "instructions", "contents", "prompt"}
_LEAST_WORDS = 6
"""Words of a text that may be a prompt where only a keyword speaks for it."""


_BODIES = ("json", "data", "content", "body")

KEYWORDS = frozenset(
    [*SYSTEM, *_MESSAGES, *_ASKED, *_EARLIER, *_BODIES, "prompts", "requests", "template", "partial_variables"]
)
"""Keywords without which no call of known names is a request."""

METHODS = frozenset([*[end.rpartition(".")[2] for end in _CALLS], *_POSTS, *_ASKING])
"""Names of methods that can be requests with plain arguments."""


class Asked(NamedTuple):
    """A request to a model."""

    parts: tuple[TextPart, ...]
    is_sure: bool
    """Whether the call is known to be one; else it may be something on the way to it."""


def asked(call: Call, path: str, owner: Value | None) -> Asked | None:
    """The request that a call is; None where it is none."""
    body: dict[str, Value] = dict(call.named)
    method = path.rpartition(".")[2]
    ends = _ENDS.get(method, ()) or _ENDS.get(call.name.rpartition(".")[2], ())
    is_sure = any([path == end or path.endswith("." + end) or call.name == end for end in ends])
    if "message" in body and ("preamble" in body or "chat_history" in body):
        is_sure = True
    if not is_sure and (method in _POSTS or call.name.rpartition(".")[2] in _POSTS):
        sent = _sent(body)
        if sent is not None:
            body, is_sure = sent, True
        elif method not in _ASKING:
            return None
    batch = first_of_batch(body.get("requests"))
    if batch is not None:
        body, is_sure = {**body, **batch}, True
    for value in call.positional:
        if isinstance(value, Dictionary) and "messages" in value.flat():
            body.update(value.flat())
    for known in (owner.given if isinstance(owner, Opaque) else {}), _config(body.get("config")):
        body.update({key: value for key, value in known.items() if key in (*SYSTEM, *TOOLS)})
    first = call.positional[0] if call.positional else None
    if method in _ASKING:
        paired = with_pairs_as_messages(body.get("messages", first), call.at)
        body.update({} if paired is None else {"messages": paired})
    talk = next((value for value in call.positional if has_messages(value)), None)
    if talk is not None and not any([key in body for key in _MESSAGES]):
        body["messages"] = talk
    first = first_of_many(method, body.get("prompts", first)) or first
    least = 2 if is_sure else _LEAST_WORDS
    if talk is None and isinstance(first, TextValue) and (is_sure or method in _ASKING) and _words(first) >= least:
        body.setdefault("prompt", first)
    parts = behind_tools(body, _body_parts(body, is_sure, call), call.at)
    return Asked(parts, is_sure) if parts and has_text(parts) else None


def _sent(body: Mapping[str, Value]) -> dict[str, Value] | None:
    """The JSON that is posted, where it is a request to a model."""
    for key in _BODIES:
        value = body.get(key)
        data = value.data if isinstance(value, TextValue) else value
        if isinstance(data, Dictionary):
            flat = data.flat()
            inner = flat.get("body")
            flat = inner.flat() if isinstance(inner, Dictionary) else flat
            if any([has_messages(flat.get(name)) for name in _MESSAGES]) or isinstance(flat.get("prompt"), TextValue):
                return flat
            if isinstance(flat.get("messages"), Opaque | Spread | Items) or ("model" in flat and flat.keys() & _TALK):
                return flat
    return None


def _config(value: Value | None) -> Mapping[str, Value]:
    if isinstance(value, Opaque):
        return value.given
    return value.flat() if isinstance(value, Dictionary) else {}


def _body_parts(body: Mapping[str, Value], is_sure: bool, call: Call) -> tuple[TextPart, ...]:
    parts: list[TextPart] = []
    messages = next((body[key] for key in _MESSAGES if has_messages(body.get(key))), None)
    is_talk = is_sure or messages is not None
    for key in SYSTEM:
        value = body.get(key)
        if value is None or value == NONE or (not is_talk and not _is_long(value)):
            continue
        if isinstance(value, TextValue | Items | Opaque | Dictionary | Alternatives | MessageValue):
            parts += [Turn("system", call.at), *content_parts(value, call.at)]
    for key in _EARLIER:
        if key in body and (is_sure or messages is not None):
            parts += message_parts(body[key], call.at)
    if messages is None and is_sure and isinstance(body.get("messages"), Opaque):
        messages = body["messages"]
    if messages is not None:
        return (*parts, *own_parts(messages, call.at))
    for key in _ASKED:
        value = body.get(key)
        if isinstance(value, TextValue | Items | Opaque | Dictionary) and (
            is_talk or (key == "prompt" and _is_long(value))
        ):
            # A prompt alone is no message of a conversation.
            is_plain = not parts and key == "prompt"
            return (*parts, *([] if is_plain else [Turn("user", call.at)]), *content_parts(value, call.at))
    return tuple(parts)


def has_messages(value: Value | None) -> bool:
    """Whether a value is a list with messages in it."""
    if isinstance(value, TemplateValue):
        return value.kind == "chat"
    if not isinstance(value, Items | Repeated | Alternatives):
        return False
    waiting: list[Value] = [value]
    looked_at = 0
    while waiting and looked_at < MOST_INSIDE:
        one = waiting.pop()
        looked_at += 1
        if is_message(one):
            return True
        if isinstance(one, Items | Repeated | Alternatives):
            waiting += one.arms if isinstance(one, Alternatives) else one.items[:MOST_INSIDE]
    return False


def is_message(value: Value) -> bool:
    """Whether a value is a message: it has a role and says something."""
    if isinstance(value, Dictionary):
        keys = {name for name, _ in value.entries}
        return "role" in keys and bool(keys & _SAID)
    return isinstance(value, MessageValue)


def own_parts(value: Value, at: Place) -> list[TextPart]:
    """Turns and their texts, of a list of messages; of one that hands on what came in, just that it does."""
    parts = message_parts(value, at)
    handed_on: set[str] = set()
    for one in inside(value):
        if isinstance(one, Repeated):
            body = [part for inner in one.items for part in message_parts(inner, at, 1)]
            if hands_on(body):
                handed_on.update(one.over.names, facts(one).names)
    if not handed_on or has_own_text(parts, handed_on):
        return parts
    return [part for part in walk(parts) if isinstance(part, History)][:1]


def message_parts(value: Value, at: Place, depth: int = 0) -> list[TextPart]:
    """Turns and their texts, of a list of messages or of one."""
    if depth > 12:
        return []
    if isinstance(value, Items):
        parts: list[TextPart] = []
        for one in value.items:
            parts += message_parts(one, at, depth + 1)
            if len(parts) > MOST_PARTS:
                raise TooLarge
        return parts
    if isinstance(value, TemplateValue):
        return [part for one in value.messages for part in message_parts(one, at, depth + 1)]
    if isinstance(value, MessageValue):
        return _message(role_word(value.role), value.role, value.content, value.at)
    if isinstance(value, Dictionary) and is_message(value):
        said = value.get("role") or NONE
        content = next((one for one in map(value.get, _SAID) if one is not None), NONE)
        return _message(role_word(said), said, content, value.at or at)
    if isinstance(value, Repeated):
        body = [part for one in value.items for part in message_parts(one, at, depth + 1)]
        if not body or hands_on(body):
            return [History(_name(value.over.names, value.over.source), value.at)]
        return [Loop(value.over, value.at, tuple(body))]
    if isinstance(value, Alternatives):
        arms = tuple([tuple(message_parts(one, at, depth + 1)) for one in value.arms])
        return [Choice(value.condition, value.at, arms)] if any(arms) else []
    if isinstance(value, TextValue):
        return [Turn("user", at), *parts_of(value, at)]
    inner = value.value if isinstance(value, Spread) else value
    if inner == NONE:
        return []
    if isinstance(inner, Items | Dictionary | TemplateValue):
        return message_parts(inner, at, depth + 1)
    expression = facts(inner)
    return [History(_name(expression.names, expression.source), inner.at if isinstance(inner, Opaque) else at)]


def _name(names: Sequence[str], source: str) -> str:
    return names[0] if names else source


def _message(role: str | None, said: Value | str, content: Value, at: Place) -> list[TextPart]:
    if role is None:
        expression = facts(said)
        return [History(_name(expression.names, expression.source), at)]
    return [Turn(ROLES.get(role, role), at), *content_parts(content, at)]


def content_parts(value: Value, at: Place, depth: int = 0) -> list[TextPart]:
    """The text of a message, or of its blocks."""
    if depth > 8 or value == NONE:
        return []
    if isinstance(value, Items):
        parts: list[TextPart] = []
        for one in value.items:
            parts += content_parts(one, at, depth + 1)
            if len(parts) > MOST_PARTS:
                raise TooLarge
        return parts
    if isinstance(value, MessageValue):
        return content_parts(value.content, at, depth + 1)
    if isinstance(value, TemplateValue):
        return [part for one in value.messages for part in content_parts(one, at, depth + 1)]
    known = value.flat() if isinstance(value, Dictionary) else value.given if isinstance(value, Opaque) else {}
    for key in ("text", "content", "parts"):
        if key in known:
            return content_parts(known[key], at, depth + 1)
    if isinstance(value, Dictionary):
        return []
    if isinstance(value, Spread | Repeated):
        return [] if isinstance(value, Repeated) else content_parts(value.value, at, depth + 1)
    if isinstance(value, TextValue):
        # Where it enters is where it was put into the message.
        return list(value.parts)
    here = value.at if isinstance(value, Opaque) and value.is_plain else at
    return list(parts_of(value, here, facts(value).source))


def has_text(parts: Sequence[TextPart]) -> bool:
    """Whether there is text that the module itself writes."""
    for part in parts:
        if isinstance(part, Piece) and part.text.strip():
            return True
        if isinstance(part, Choice) and any([has_text(arm) for arm in part.arms]):
            return True
        if isinstance(part, Loop) and has_text(part.body):
            return True
    return False


def _words(value: Value) -> int:
    if not isinstance(value, TextValue):
        return 0
    words = 0
    for part in value.parts:
        words += len(part.text[:400].split()) if isinstance(part, Piece) else 1
    return words


def _is_long(value: Value) -> bool:
    return isinstance(value, TextValue) and _words(value) >= _LEAST_WORDS and has_text(value.parts)
