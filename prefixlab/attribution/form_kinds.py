"""Whether two texts are the same but for their form: blanks, Unicode, the order of keys or of blocks."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Any

MOSTLY = 0.5
"""Part of a text that must only have moved for the rest to be values in between."""

MOST_CHARACTERS = 1 << 20
"""Longer texts are not looked into."""

_THOUGHTS = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>|<\|channel\|>analysis.*?(?=<\||$)", re.DOTALL)


def form_kind(text: str, other: str) -> str | None:
    """`whitespace`, `unicode_form`, `key_order` or `permuted`; None where the texts say something else.

    The texts are unlike.
    """
    if max(len(text), len(other)) > MOST_CHARACTERS:
        return None
    if text.split() == other.split() or "".join(text.split()) == "".join(other.split()):
        return "whitespace"
    if _normal(text) == _normal(other):
        return "unicode_form"
    if has_same_json(text, other):
        return "key_order"
    if is_permuted(_blocks(text), _blocks(other)):
        return "permuted"
    return None


def is_permuted(blocks: Sequence[str], others: Sequence[str]) -> bool:
    """Whether one is the other in another order. Blanks at the ends of a block do not count."""
    ours, theirs = [block.strip() for block in blocks], [block.strip() for block in others]
    return len(ours) > 1 and ours != theirs and Counter(ours) == Counter(theirs)


def is_mostly_permuted(lines: Sequence[str], others: Sequence[str]) -> bool:
    """Whether most of some lines, by their length, are the other's in another order, with values changed in between."""
    ours, theirs = [line.strip() for line in lines], [line.strip() for line in others]
    common = Counter(ours) & Counter(theirs)
    kept = sum([len(line) * count for line, count in common.items()])
    if kept < MOSTLY * max(sum(map(len, ours)), sum(map(len, theirs))):
        return False
    return [line for line in ours if line in common] != [line for line in theirs if line in common]


def has_same_json(text: str, other: str) -> bool:
    """Whether the JSON in two texts is the same but for the order of its keys and its blanks, and all else is equal."""
    ours, theirs = _json_in(text), _json_in(other)
    if ours is None or theirs is None:
        return False
    return ours == theirs


def without_thoughts(text: str) -> str:
    """The text without blocks of reasoning."""
    return _THOUGHTS.sub("", text).strip()


def _normal(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _blocks(text: str) -> list[str]:
    """Paragraphs where there are several, else lines."""
    paragraphs = [block for block in re.split(r"\n\s*\n", text) if block.strip()]
    return paragraphs if len(paragraphs) > 1 else [line for line in text.split("\n") if line.strip()]


def _json_in(text: str) -> tuple[str, Any, str] | None:
    """What stands ahead of the first JSON object or array, its value, and what stands behind."""
    for start in (text.find("{"), text.find("[")):
        if start < 0:
            continue
        try:
            value, end = json.JSONDecoder().raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict | list) and value:
            return text[:start], value, text[end:]
    return None
