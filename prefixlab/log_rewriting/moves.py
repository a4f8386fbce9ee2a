"""Values of one record moved, texts written otherwise, lists put in order: in the record's own JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from prefixlab.log_rewriting.json_splice import Edit, NotThere, Path, with_edits, with_order
from prefixlab.text_moves import Cut, ListOrder, TextEdit, TextMove

StepsOf = Callable[[str], tuple[str | int, ...]]
"""The keys and indices of a JSON path."""

MOST_LEAVES = 20_000
"""Texts of a value that are looked at for one that holds a cut."""

CONTEXT = 60
"""Characters around a cut by which it is found in a text that the chat template has changed."""


class Moved(NamedTuple):
    """A record with moves made, and those of them that could be made."""

    raw: bytes
    made: list[TextMove]


def with_moves(raw: bytes, body_path: Path, body: Any, moves: Sequence[TextMove], steps_of: StepsOf) -> Moved:
    """The JSON of a record with the moves made that can be. Their paths start from `body`, the value at `body_path`."""
    made: list[TextMove] = []
    cuts: dict[Path, list[Edit]] = {}
    behind: dict[Path, list[str]] = {}

    def value(path: str) -> Any:
        return _value(body, steps_of(path))

    for move in moves:
        try:
            path, start, end = _place_of(move.cut, value(move.cut.path))
            path = (*steps_of(move.cut.path), *path)
            if not _may_be_cut(path, end - start, _value(body, path)):
                continue
            target = _target(move.target, value, steps_of)
        except NotThere:
            continue
        there = cuts.get(path, [])
        if any(start < edit.end and edit.start < end for edit in there):
            continue
        cuts.setdefault(path, []).append(Edit(start, end, ""))
        behind.setdefault(target, []).append(move.text)
        made.append(move)
    for path, texts in behind.items():
        text = _value(body, path)
        moved = "\n".join(texts)
        cuts.setdefault(path, []).append(Edit(len(text), len(text), f"\n{moved}" if text else moved))
    return Moved(with_edits(raw, body_path, cuts), made) if made else Moved(raw, made)


def with_texts(raw: bytes, body_path: Path, body: Any, edits: Sequence[TextEdit], steps_of: StepsOf) -> bytes:
    """The JSON of a record with those of the edits made that can be. Their paths start from `body`."""
    found: dict[Path, list[Edit]] = {}
    for cut, text in edits:
        try:
            path, start, end = _place_of(cut, _value(body, steps_of(cut.path)))
        except NotThere:
            continue
        found.setdefault((*steps_of(cut.path), *path), []).append(Edit(start, end, text))
    return with_edits(raw, body_path, found) if found else raw


def with_orders(raw: bytes, body_path: Path, orders: Sequence[ListOrder], steps_of: StepsOf) -> bytes:
    """The JSON of a record with those of its lists in order that there are."""
    for order in orders:
        with suppress(NotThere):
            raw = with_order(raw, (*body_path, *steps_of(order.path)), order.first, order.order)
    return raw


def texts_in_line(line: str, edits: Sequence[TextEdit]) -> str:
    """A prompt that is one line of text with the edits made that leave it one line."""
    for (_, rendered, _, start, end), text in reversed(edits):
        if line[start:end] == rendered[start:end] and not {"\n", "\r"} & {*text}:
            line = line[:start] + text + line[end:]
    return line


def _may_be_cut(path: Path, chars: int, text: str) -> bool:
    """Whether characters may be taken out of a text: a tool keeps its name, its schema and some of its description,
    and a call that was made stays as it was made."""
    if "tool_calls" in path or "function_call" in path:
        return False
    is_of_tool = path[0] in ("tools", "functions")
    return not is_of_tool or (path[-1] == "description" and chars < len(text))


def moved_in_line(line: str, moves: Sequence[TextMove]) -> tuple[str, list[TextMove]]:
    """A prompt that is one line of text with the moves made; it has to stay one line."""
    made = []
    edits: list[Edit] = []
    for move in moves:
        start, end = move.cut.start, move.cut.end
        if line[start:end] == move.cut.rendered[start:end]:
            edits.append(Edit(start, end, ""))
            made.append(move)
    for start, end, _ in sorted(edits, reverse=True):
        line = line[:start] + line[end:]
    return " ".join([line, *[move.text.replace("\n", " ") for move in made]]), made


def _value(body: Any, path: Path) -> Any:
    try:
        for step in path:
            body = body[step]
    except (LookupError, TypeError):
        raise NotThere from None
    return body


def _place_of(cut: Cut, value: Any) -> tuple[Path, int, int]:
    """The way on from the value at the cut's path to a text, and the characters of that text that are cut."""
    if isinstance(value, str):
        start = _found(cut, value)
        return (), start, start + cut.end - cut.start
    places = []
    for number, (path, leaf) in enumerate(_leaves(value, ())):
        if number == MOST_LEAVES:
            break
        covered = _covered(cut, leaf)
        if covered is not None:
            places.append((path, *covered))
    if len(places) != 1:
        raise NotThere
    return places[0]


def _found(cut: Cut, text: str) -> int:
    """Where in a text the cut starts; the template may have stripped the text, or taken only a part of it."""
    at = text.find(cut.rendered, min(cut.ahead, max(len(text) - len(cut.rendered), 0)))
    if at < 0:
        at = text.find(cut.rendered)
    if at >= 0:
        return at + cut.start
    before = cut.rendered[max(cut.start - CONTEXT, 0) : cut.start]
    wanted = before + cut.rendered[cut.start : cut.end + CONTEXT]
    if text.count(wanted) != 1:
        raise NotThere
    return text.index(wanted) + len(before)


def _covered(cut: Cut, leaf: str) -> tuple[int, int] | None:
    """The characters of a text that are cut, if `rendered` has the text around the cut, be it as JSON."""
    for form in dict.fromkeys((leaf, json.dumps(leaf, ensure_ascii=False)[1:-1], json.dumps(leaf)[1:-1])):
        if len(form) < cut.end - cut.start or not form:
            continue
        at = cut.rendered.find(form, max(cut.end - len(form), 0))
        if 0 <= at <= cut.start:
            ahead, held = form[: cut.start - at], form[cut.start - at : cut.end - at]
            if form == leaf:
                return len(ahead), len(ahead) + len(held)
            try:
                start = len(json.loads(f'"{ahead}"'))
                return start, start + len(json.loads(f'"{held}"'))
            except ValueError:
                return None
    return None


def _leaves(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, below in value.items():
            yield from _leaves(below, (*path, key))
    elif isinstance(value, list):
        for index, below in enumerate(value):
            yield from _leaves(below, (*path, index))


def _target(path: str, value: Callable[[str], Any], steps_of: StepsOf) -> Path:
    """The text that a moved value is set behind: the one at `path`, or the last text of the same message."""
    steps = steps_of(path)
    if isinstance(value(path), str):
        return steps
    if isinstance(steps[-1] if steps else "", int):
        # A part without text, such as an image: its message's last part that has some.
        steps, path = steps[:-1], path.rpartition("[")[0]
    parts = value(path)
    if isinstance(parts, list):
        for index in range(len(parts) - 1, -1, -1):
            part = parts[index]
            if isinstance(part, str):
                return (*steps, index)
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                return (*steps, index, "text")
    raise NotThere
