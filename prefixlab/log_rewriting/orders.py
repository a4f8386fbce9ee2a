"""Orders made canonical: lists, blocks of a text and keys of JSON as the family of prompts showed them first.

Content stays: what is put in another order is the same, element by element, as what was shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import orjson

from prefixlab.log_rewriting.json_splice import Edit, NotThere, Path, changed, with_edits, with_key_order, with_order
from prefixlab.log_rewriting.text_blocks import block_runs, json_in

KINDS = (
    "tool_order",
    "tool_set",
    "key_order",
    "tool_result_order",
    "permuted",
    "arguments_reserialised",
    "image_position",
)

_IMAGES = frozenset(("image", "image_url", "input_image"))

_SAID_BY_APPLICATION = frozenset(("system", "developer", "user", "tool", "function", "prompt"))
"""Roles whose texts are looked into; what the model wrote stays as it is."""


_TOOL_LISTS = (("tools",), ("functions",), ("input", "tools"), ("modelParameters", "tools"))
_MESSAGE_LISTS = (("messages",), ("messages", "data"), ("input",), ("input", "messages"))
"""Where bodies of the formats that can be rewritten keep them."""


class Ordered(NamedTuple):
    """A record in canonical order and how often each kind was put right."""

    raw: bytes
    changes: Counter[str]


class FirstForms:
    """What each family showed first; takes a log's records in order."""

    def __init__(self, kinds: Collection[str]) -> None:
        """`kinds` are those of `KINDS` that are put right; the others stay."""
        self._kinds = frozenset(kinds)
        self._orders: dict[tuple[int, str, bytes], tuple[bytes, ...]] = {}
        self._forms: dict[tuple[int, str, bytes], str] = {}
        self._json: dict[tuple[int, str, bytes], tuple[str, bytes]] = {}
        """JSON in texts as it was shown first, and its value."""
        self._tools: dict[int, dict[bytes, int]] = {}
        self._tool_sets: set[tuple[int, bytes]] = set()
        self._plain: set[tuple[int, str, int]] = set()
        """Texts, by their hash, that have nothing to put in order: a conversation repeats them in every request."""

    def ordered(self, raw: bytes, body_path: Path, body: Any, family: int) -> Ordered:
        """The record in canonical order. `body` is the parsed value at `body_path`."""
        record = _Record(raw, body_path, Counter())
        if isinstance(body, dict):
            for path, tools in _lists(
                body, ("tools",), ("functions",), ("input", "tools"), ("modelParameters", "tools")
            ):
                self._order_tools(record, path, tools, family)
            for path, documents in _lists(body, ("documents",)):
                self._permute(record, "permuted", path, documents, 0, family)
            for path in (("system",), ("instructions",), ("prompt",), ("text",), ("input",)):
                self._texts(record, path, body.get(path[0]), "system", family)
            for path, messages in _lists(body, *_MESSAGE_LISTS):
                self._messages(record, path, messages, family)
        return Ordered(record.raw, record.changes)

    # --- tools --------------------------------------------------------------------------------------------------------

    def _order_tools(self, record: _Record, path: Path, tools: list[Any], family: int) -> None:
        names = [_tool_name(tool) for tool in tools]
        ranks = self._tools.setdefault(family, {})
        for name in names:
            ranks.setdefault(name, len(ranks))
        together = (family, _digest(b"".join(sorted(names))))
        order = sorted(range(len(names)), key=lambda number: ranks[names[number]])
        if order != list(range(len(names))):
            record.reorder("tool_order" if together in self._tool_sets else "tool_set", path, 0, order, self._kinds)
        self._tool_sets.add(together)
        for index, tool in enumerate(tools):
            at = order.index(index) if record.has_changed(path) else index
            self._order_keys(record, "key_order", (*path, at), tool, f"tool {names[index].hex()}", family)

    def _order_keys(self, record: _Record, kind: str, path: Path, value: Any, place: str, family: int) -> None:
        """Keys of a JSON value in the order shown first at that place."""
        if not isinstance(value, dict | list) or not value:
            return
        form = orjson.dumps(value)
        key = (family, place, _digest(_canonical(value)))
        shown = self._forms.setdefault(key, form.decode())
        if shown.encode() != form and kind in self._kinds:
            record.change(kind, path, lambda raw: with_key_order(raw, orjson.loads(shown)))

    # --- lists --------------------------------------------------------------------------------------------------------

    def _permute(self, record: _Record, kind: str, path: Path, values: Sequence[Any], first: int, family: int) -> None:
        """Elements from number `first` on in the order in which the same ones were shown first."""
        if len(values) > 1:
            order = self._shown_first(kind, [_digest(orjson.dumps(value)) for value in values], family)
            if order is not None:
                record.reorder(kind, path, first, order, self._kinds)

    def _shown_first(self, place: str, parts: Sequence[bytes], family: int) -> list[int] | None:
        """The numbers of the parts in the order in which the same ones were shown first, if it is another."""
        key = (family, place, _digest(b"".join(sorted(parts))))
        shown = self._orders.setdefault(key, tuple(parts))
        if shown == tuple(parts):
            return None
        numbers: dict[bytes, list[int]] = {}
        for number, part in enumerate(parts):
            numbers.setdefault(part, []).append(number)
        return [numbers[part].pop(0) for part in shown]

    def _messages(self, record: _Record, path: Path, messages: list[Any], family: int) -> None:
        start = 0
        for index, message in enumerate([*messages, None]):
            if _is_result(message):
                continue
            self._permute(record, "tool_result_order", path, messages[start:index], start, family)
            start = index + 1
        for index, message in enumerate(messages):
            # Results in another order have other numbers now; their texts stay as they are.
            if isinstance(message, dict) and not (_is_result(message) and record.has_changed(path)):
                self._message(record, (*path, index), message, family)

    def _message(self, record: _Record, path: Path, message: dict[str, Any], family: int) -> None:
        for index, call in enumerate(message.get("tool_calls") or () if _has_calls(message) else ()):
            function = call.get("function") if isinstance(call, dict) else None
            if isinstance(function, dict):
                below = (*path, "tool_calls", index, "function", "arguments")
                self._arguments(record, below, function.get("arguments"), family)
        if message.get("type") == "function_call":
            self._arguments(record, (*path, "arguments"), message.get("arguments"), family)
        role = message.get("role") or ("tool" if message.get("type") == "function_call_output" else "")
        content = message.get("content")
        if isinstance(content, list):
            self._blocks(record, (*path, "content"), content, role, family)
        if role in _SAID_BY_APPLICATION and not record.has_changed((*path, "content")):
            self._texts(record, (*path, "content"), content, role, family)
            self._texts(record, (*path, "output"), message.get("output"), role, family)

    def _blocks(self, record: _Record, path: Path, content: list[Any], role: str, family: int) -> None:
        """Anthropic blocks: calls, and results of calls that were made together."""
        start = 0
        for index, block in enumerate([*content, None]):
            if isinstance(block, dict) and block.get("type") == "tool_use":
                self._arguments(record, (*path, index, "input"), block.get("input"), family)
            if isinstance(block, dict) and block.get("type") == "tool_result":
                continue
            self._permute(record, "tool_result_order", path, content[start:index], start, family)
            start = index + 1
        if role == "user":
            self._images_behind_text(record, path, content)
        if not record.has_changed(path) and role in _SAID_BY_APPLICATION:
            for index, block in enumerate(content):
                if isinstance(block, dict) and block.get("type") == "tool_result":
                    self._texts(record, (*path, index, "content"), block.get("content"), "tool", family)

    def _images_behind_text(self, record: _Record, path: Path, content: list[Any]) -> None:
        kinds = [part.get("type") if isinstance(part, dict) else None for part in content]
        if {*kinds} - _IMAGES <= {"text", "input_text"} and not record.has_changed(path):
            order = sorted(range(len(kinds)), key=lambda number: kinds[number] in _IMAGES)
            if order != list(range(len(kinds))):
                record.reorder("image_position", path, 0, order, self._kinds)

    def _arguments(self, record: _Record, path: Path, arguments: Any, family: int) -> None:
        """A call's arguments in the form shown first, be they logged as text or as an object."""
        kind = "arguments_reserialised"
        if isinstance(arguments, str):
            try:
                value = orjson.loads(arguments)
            except ValueError:
                return
            key = (family, str(path), _digest(_canonical(value)))
            shown = self._forms.setdefault(key, arguments)
            if shown != arguments and kind in self._kinds:
                record.edit(kind, path, [Edit(0, len(arguments), shown)])
        else:
            self._order_keys(record, kind, path, arguments, str(path), family)

    # --- texts --------------------------------------------------------------------------------------------------------

    def _texts(self, record: _Record, path: Path, value: Any, role: str, family: int) -> None:
        """The text at a path, or the texts of its parts."""
        if isinstance(value, str):
            self._text(record, path, value, role, family)
        elif isinstance(value, list):
            for index, part in enumerate(value):
                if isinstance(part, dict) and isinstance(part.get("text"), str):
                    self._text(record, (*path, index, "text"), part["text"], role, family)

    def _text(self, record: _Record, path: Path, text: str, role: str, family: int) -> None:
        place = str(path)
        seen = (family, place, hash(text))
        if seen in self._plain:
            return
        edits = self._json_edits(text, place, family)
        if not edits:
            edits = {"permuted": list(self._block_edits(text, place, role, family))}
        wanted = [kind for kind, found in edits.items() if found and kind in self._kinds]
        if not wanted:
            self._plain.add(seen)
        for kind in wanted:
            record.edit(kind, path, edits[kind])

    def _json_edits(self, text: str, place: str, family: int) -> dict[str, list[Edit]]:
        """JSON in a text in the form shown first, by kind: keys in another order, or else objects of a list."""
        edits: dict[str, list[Edit]] = {}
        for start, end, value, unordered in json_in(text):
            written = text[start:end]
            key = (family, place, _digest(unordered))
            shown, first = self._json.setdefault(key, (written, _digest(value)))
            if shown != written:
                kind = "key_order" if first == _digest(value) else "permuted"
                edits.setdefault(kind, []).append(Edit(start, end, shown))
        return edits

    def _block_edits(self, text: str, place: str, role: str, family: int) -> Iterator[Edit]:
        """Blocks of a text in the order in which the same ones were shown first.

        Of what people and tools say, lines stay in their order: a list of wishes is no list of documents.
        """
        for spans in block_runs(text, lines=role in ("system", "developer")):
            blocks = [text[start:end] for start, end in spans]
            order = self._shown_first(place, [_digest(block.encode(errors="replace")) for block in blocks], family)
            for (start, end), number in zip(spans, order or (), strict=False):
                if text[start:end] != blocks[number]:
                    yield Edit(start, end, blocks[number])


class _Record:
    """A record that is being put in order."""

    def __init__(self, raw: bytes, body_path: Path, changes: Counter[str]) -> None:
        self.raw = raw
        self.body_path = body_path
        self.changes = changes
        self._reordered: set[Path] = set()

    def has_changed(self, path: Path) -> bool:
        """Whether the elements of the list at a path were put in another order."""
        return path in self._reordered

    def reorder(self, kind: str, path: Path, first: int, order: Sequence[int], kinds: Collection[str]) -> None:
        if kind in kinds and self._try(kind, lambda raw: with_order(raw, (*self.body_path, *path), first, order)):
            self._reordered.add(path)

    def edit(self, kind: str, path: Path, edits: Sequence[Edit]) -> None:
        self._try(kind, lambda raw: with_edits(raw, self.body_path, {path: edits}))

    def change(self, kind: str, path: Path, change: Any) -> None:
        self._try(kind, lambda raw: changed(raw, (*self.body_path, *path), change))

    def _try(self, kind: str, change: Any) -> bool:
        try:
            self.raw = change(self.raw)
        except NotThere:
            return False
        self.changes[kind] += 1
        return True


def _lists(body: dict[str, Any], *paths: tuple[str, ...]) -> Iterator[tuple[Path, list[Any]]]:
    """Those of the paths that lead to a list with something in it."""
    for path in paths:
        value: Any = body
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, list) and value:
            yield path, value


def _tool_name(tool: Any) -> bytes:
    """What tells one tool from another: its name, else all of it."""
    if isinstance(tool, dict):
        holder = tool["function"] if isinstance(tool.get("function"), dict) else tool
        if isinstance(holder.get("name"), str):
            return _digest(holder["name"].encode(errors="replace"))
    return _digest(_canonical(tool))


def _is_result(message: Any) -> bool:
    return isinstance(message, dict) and (
        message.get("role") == "tool" or message.get("type") == "function_call_output"
    )


def _has_calls(message: dict[str, Any]) -> bool:
    return isinstance(message.get("tool_calls"), list)


def _canonical(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()
