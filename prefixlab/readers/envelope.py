"""Where in a record the prompt lies: wrappers around a body, and the answer beside it.

A log repeats few shapes of objects many times, so what a set of keys means is worked out once (`Shape`), and a record
costs the look-ups of the keys it really has.
"""

from __future__ import annotations

from typing import Any

import orjson

from prefixlab.readers.usage import FLAT_CACHED, USAGE_KEYS

Record = dict[str, Any]

WRAPPERS = ("body", "request", "params", "request_body", "proxy_server_request", "payload")
RESPONSES = ("response", "response_body", "result", "output")
ROUTES = ("route", "endpoint", "request_path", "path", "url")

PROMPT_KEYS = (
    "prompt_token_ids", "messages", "obj", "hash_ids", "input_ids", "input", "conversations", "conversation", "prompt",
    "text", "text_input", "input_length",
)  # fmt: skip
"""What may hold a prompt; where an object has several, the first one is the prompt."""
BATCH_KEY = "custom_id"
_SURE_PROMPTS = frozenset(
    ("messages", "prompt_token_ids", "obj", "hash_ids", "input_ids", "conversations", "conversation")
)
"""Where one of these stands, no wrapper beside it holds another prompt."""

_FACTS = {
    "id": ("id", "custom_id", "request_id", "requestId", "rid", "chat_id"),
    "arrived_at": ("timestamp", "arrived_at", "arrival_time", "request_created_at", "startTime", "start_time",
                   "started_at", "created_at", "createdAt", "created", "time"),
    "ended_at": ("ended_at", "endTime", "end_time", "finished_at", "completed_at"),
    "lora": ("lora", "lora_name", "lora_request", "lora_path"),
    "cache_salt": ("cache_salt",),
    "extra_key": ("extra_key",),
    "priority": ("priority",),
    "prompt_logprobs": ("prompt_logprobs",),
    "cache_prompt": ("cache_prompt",),
}  # fmt: skip
_TAGS = {
    "tenant": ("tenant", "tenant_id", "tenantId", "organization", "organization_id", "org", "org_id", "customer_id",
               "team_id", "user_api_key_team_id"),
    "route": ROUTES,
    "session": ("session_id", "sessionId", "session", "conversation_id", "conversationId", "conversation_hash",
                "thread_id", "prompt_cache_key"),
    "model": ("model",),
    "user": ("user", "user_id", "userId", "request_user_id", "end_user", "safety_identifier", "user_api_key_user_id"),
}  # fmt: skip

_MANY_SHAPES = 1024
_MANY_KEYS = 64


class Shape:
    """What the keys of an object mean: pairs of a meaning and the key that carries it, best first."""

    __slots__ = ("facts", "has_metadata", "has_usage", "is_answer", "prompts", "responses", "routes",
                 "sure", "tags", "wrappers")  # fmt: skip

    def __init__(self, keys: tuple[str, ...]) -> None:
        have = frozenset(keys)
        self.facts = tuple([(field, key) for field, known in _FACTS.items() for key in known if key in have])
        self.tags = tuple([(tag, key) for tag, known in _TAGS.items() for key in known if key in have])
        self.routes = tuple([key for key in ROUTES if key in have])
        self.wrappers = tuple([key for key in WRAPPERS if key in have])
        self.responses = tuple([key for key in RESPONSES if key in have])
        self.prompts = tuple([key for key in PROMPT_KEYS if key in have])
        self.sure = tuple([key for key in self.prompts if key in _SURE_PROMPTS])
        self.has_usage = not have.isdisjoint((*USAGE_KEYS, *FLAT_CACHED))
        self.has_metadata = "metadata" in have
        self.is_answer = "choices" in have


_shapes: dict[tuple[str, ...], Shape] = {}


def shape_of(item: Record) -> Shape:
    """The shape of an object, from memory where its keys were met before."""
    keys = tuple(item)
    shape = _shapes.get(keys)
    if shape is None:
        shape = Shape(keys)
        if len(keys) <= _MANY_KEYS:
            if len(_shapes) >= _MANY_SHAPES:
                _shapes.clear()
            _shapes[keys] = shape
    return shape


class Envelope:
    """A record taken apart: `layers` from the outermost object to the body and the response, each with its shape.

    `kind` is the key that decides of which family a record is: that of a batch, else the one that holds the prompt.
    """

    __slots__ = ("body", "kind", "layers", "record", "response")

    def __init__(self, record: Record) -> None:
        shape = shape_of(record)
        self.record = self.body = record
        self.response: Record | None = None
        self.layers: tuple[tuple[Record, Shape], ...] = ((record, shape),)
        if shape.wrappers and _first_filled(record, shape.sure) is None:
            inner = _unwrapped(record, shape, depth=4)
            if inner:
                self.layers += inner
                self.body, shape = inner[-1]
        self.kind = BATCH_KEY if BATCH_KEY in record else _first_filled(self.body, shape.prompts)
        if shape.responses or shape.is_answer or len(self.layers) > 1:
            self._find_response()

    def _find_response(self) -> None:
        for layer, shape in self.layers:
            for key in shape.responses:
                answer = as_object(layer[key])
                answer = answer and (as_object(answer.get("body")) or as_object(answer.get("message")) or answer)
                if answer:
                    self.response = answer
                    self.add(answer)
                    if self.kind != BATCH_KEY and answer.get("prompt_token_ids") is not None:
                        self.kind = "prompt_token_ids"
                    return
        for layer, shape in self.layers:
            if shape.is_answer:
                self.response = layer
                return

    def add(self, layer: Record) -> None:
        """Adds an object whose facts count where the layers so far have none."""
        self.layers += ((layer, shape_of(layer)),)

    def body_path(self) -> tuple[str, ...]:
        """The keys from the record to its body."""
        keys: list[str] = []
        outer, outer_shape = self.layers[0]
        for inner, shape in self.layers[1:]:
            if outer is self.body:
                break
            key = next((key for key in outer_shape.wrappers if as_object(outer[key]) == inner), None)
            if key is None:
                break
            keys.append(key)
            outer, outer_shape = inner, shape
        return tuple(keys)

    def mentions_route(self, route: str) -> bool:
        """Whether a URL or path beside the prompt holds `route`."""
        for layer, shape in self.layers:
            for key in shape.routes:
                value = layer[key]
                if type(value) is str and route in value:
                    return True
        return False


_newest: Envelope | None = None


def envelope_of(record: Record) -> Envelope:
    """A record taken apart; the newest one is remembered, since it is recognised first and then read."""
    global _newest
    envelope = _newest
    if envelope is None or envelope.record is not record:
        envelope = _newest = Envelope(record)
    return envelope


def _first_filled(item: Record, keys: tuple[str, ...]) -> str | None:
    """The first of the keys that has a value; where all are null, there is none."""
    for key in keys:
        if item[key] is not None:
            return key
    return None


def as_object(value: Any) -> Record | None:
    """A JSON object, also where a log holds it as text."""
    if type(value) is dict:
        return value
    if type(value) is str and value.startswith("{"):
        try:
            parsed = orjson.loads(value)
        except ValueError:
            return None
        return parsed if type(parsed) is dict else None
    return None


def _unwrapped(record: Record, shape: Shape, depth: int) -> tuple[tuple[Record, Shape], ...]:
    """The layers below a wrapper down to the object that holds a prompt; none where no wrapper leads to one."""
    for key in shape.wrappers:
        inner = as_object(record[key])
        if inner is None:
            continue
        inner_shape = shape_of(inner)
        layer = (inner, inner_shape)
        if inner_shape.wrappers and depth > 1 and _first_filled(inner, inner_shape.sure) is None:
            deeper = _unwrapped(inner, inner_shape, depth - 1)
            if deeper:
                return (layer, *deeper)
        if inner_shape.prompts or "instructions" in inner:
            return (layer,)
    return ()
