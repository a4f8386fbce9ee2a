"""Restored prompts in terms of a request's own body: what `restored_prompts` does to pieces, as a log has it.

Only what keeps its content is written: the same characters but for blanks and Unicode forms, the same elements of a
list. What the ladder takes from an earlier request beyond that is not in the record.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from os.path import commonprefix
from typing import NamedTuple

from prefixlab.attribution.parts import parts_of
from prefixlab.records import Piece, Prompt
from prefixlab.text_moves import Cut, ListOrder, TextEdit

_ELEMENT = re.compile(r"([\w.]+)\[(\d+)\]")
"""An element of a list of the body, such as a message or a tool."""


class _Element(NamedTuple):
    """What a prompt has of one element: its texts by their path below it."""

    number: int
    texts: tuple[tuple[str, str], ...]


def planned_edits(prompt: Prompt, restored: Prompt) -> list[TextEdit]:
    """What is written otherwise in the texts of a request, front to back."""
    if len(prompt.pieces) != len(restored.pieces):
        return []
    edits = []
    ahead: Counter[str] = Counter()
    for piece, other in zip(prompt.pieces, restored.pieces, strict=True):
        if piece is not other:
            edit = _edit(piece, other, ahead)
            if edit is not None:
                edits.append(edit)
        for origin, chars in piece.spans:
            ahead[origin.path] += chars
    return edits


def planned_orders(prompt: Prompt, restored: Prompt) -> list[ListOrder]:
    """Lists of a request whose elements are put in another order."""
    theirs = _elements(restored)
    orders = []
    for path, ours in _elements(prompt).items():
        texts, wanted = [one.texts for one in ours], [one.texts for one in theirs.get(path, ())]
        first = ours[0].number
        is_whole = [one.number for one in ours] == list(range(first, first + len(ours)))
        if texts == wanted or not is_whole or Counter(texts) != Counter(wanted):
            continue
        numbers: dict[object, list[int]] = {}
        for number, text in enumerate(texts):
            numbers.setdefault(text, []).append(number)
        orders.append(ListOrder(path, first, tuple([numbers[text].pop(0) for text in wanted])))
    return orders


def _edit(piece: Piece, other: Piece, ahead: Counter[str]) -> TextEdit | None:
    """How the one text of a piece becomes what the other piece has in the same place; None where it is not the same
    content. What the template writes around it stays."""
    paths = {span.origin.path for span in piece.spans} - {""}
    if len(paths) != 1 or not any([span.origin.path in paths for span in other.spans]):
        return None
    path = paths.pop()
    own = [at for at, span in enumerate(piece.spans) if span.origin.path]
    start = sum([span.chars for span in piece.spans[: own[0]]])
    end = start + sum([span.chars for span in piece.spans[own[0] : own[-1] + 1]])
    now, new = piece.text, other.text
    behind = len(now) - end
    if len(own) != own[-1] - own[0] + 1 or new[:start] != now[:start] or new[len(new) - behind :] != now[end:]:
        return None
    now, new = now[start:end], new[start : len(new) - behind]
    if now == new or _content(now) != _content(new):
        return None
    head = len(commonprefix([now, new]))  # noqa: RUF071 - texts, not paths
    tail = len(commonprefix([now[head:][::-1], new[head:][::-1]]))  # noqa: RUF071
    return TextEdit(Cut(path, now, ahead[path], head, len(now) - tail), new[head : len(new) - tail])


def _content(text: str) -> Counter[str]:
    """What a text says, whatever its order and form: its characters but for blanks."""
    return Counter("".join(unicodedata.normalize("NFKC", text).split()))


def _elements(prompt: Prompt) -> dict[str, list[_Element]]:
    """The elements of the body's lists, by the path of the list and in the order of the prompt."""
    lists: dict[str, list[_Element]] = {}
    for path, number, below, text in _texts(prompt):
        elements = lists.setdefault(path, [])
        if elements and elements[-1].number == number:
            elements[-1] = _Element(number, (*elements[-1].texts, (below, text)))
        else:
            elements.append(_Element(number, ((below, text),)))
    return lists


def _texts(prompt: Prompt) -> Iterator[tuple[str, int, str, str]]:
    for part in parts_of(prompt):
        found = _ELEMENT.match(part.path)
        if found is not None:
            # Blanks at the ends are the separators' and the role tells whose text it is.
            yield found[1], int(found[2]), f"{part.role}{part.path[found.end() :]}", part.text.strip()
