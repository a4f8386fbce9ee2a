"""Lists of a request's body in the order that its restored prompt has: messages, results, tools."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from prefixlab.attribution.parts import parts_of
from prefixlab.records import Prompt
from prefixlab.text_moves import ListOrder

_ELEMENT = re.compile(r"([\w.]+)\[(\d+)\]")
"""An element of a list of the body, such as a message or a tool."""


class _Element(NamedTuple):
    """What a prompt has of one element: its texts by their path below it."""

    number: int
    texts: tuple[tuple[str, str], ...]


def planned_orders(prompt: Prompt, restored: Prompt) -> list[ListOrder]:
    """Lists of a request whose elements are put in another order."""
    if prompt is restored:
        return []
    theirs = _elements(restored)
    orders = []
    for path, ours in _elements(prompt).items():
        texts, wanted = [one.texts for one in ours], [one.texts for one in theirs.get(path, ())]
        # A prompt that is restored in part has elements of an earlier one, with that one's numbers.
        first = min([one.number for one in ours])
        is_whole = sorted([one.number for one in ours]) == list(range(first, first + len(ours)))
        if texts == wanted or not is_whole or Counter(texts) != Counter(wanted):
            continue
        numbers: dict[object, list[int]] = {}
        for number, text in enumerate(texts):
            numbers.setdefault(text, []).append(number)
        orders.append(ListOrder(path, first, tuple([numbers[text].pop(0) for text in wanted])))
    return orders


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
