"""Wordings of one place, taken apart into what stays and what varies.

`Current time: 09:14.` and `Current time: 09:15.` give the literals `Current time: ` and `.` with one hole between them.
Of more wordings those literals remain that all of them have; words that two free texts happen to share do not count.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from os.path import commonprefix

from prefixlab.attribution.value_kinds import widened

_WORDS = re.compile(r"[^\W_]+(?:[-_.'’@/\\+][^\W_]+)*|_+|\s+|.", re.DOTALL)
_LABEL = re.compile(r"""([^\W_][\w .'’/-]{0,40}?)["'`*_]*\s*[:=]+\s*["'`*_(<\[{]*$""")
_LAST_WORDS = re.compile(r"([^\W_][\w'’-]*(?: [^\W_][\w'’-]*){0,3})\W*$")
_MARKS = re.compile(r"[:=|\"\n;{(\[<>]")
_LONG_WORD = re.compile(r"[^\W\d_]{4,}")

LONGEST_TEXT = 4000
"""Characters a text may have to be compared word by word; a longer one is one value."""

LONGEST_UNIT = 20
"""Characters behind a value that may belong to it, as a unit or an ending does."""

MOST_HOLES = 12
"""Holes of one text; more of them are one value that has some words in common."""


class LineTemplate:
    """The literals of a text around its holes: `literals[0] + value + literals[1] + value + ... + literals[-1]`."""

    __slots__ = ("_least", "is_all_labels", "literals")

    def __init__(self, literals: tuple[str, ...]) -> None:
        self.literals = literals
        self._least = sum(map(len, literals))
        self.is_all_labels = _is_all_labels(literals)
        """Whether the text is nothing but labels and values, so that it makes sense wherever it stands."""

    def values(self, text: str) -> tuple[str, ...] | None:
        """The values in the holes, each as short as can be, or None where the text is not of this template."""
        first, *middle, last = self.literals
        if len(text) < self._least or not text.startswith(first) or not text.endswith(last):
            return None
        at, end = len(first), len(text) - len(last)
        values = []
        for literal in middle:
            found = text.find(literal, at, end)
            if found < 0:
                return None
            values.append(text[at:found])
            at = found + len(literal)
        return (*values, text[at:end])

    def label(self, hole: int) -> str:
        """What the text ahead of a hole calls its value: `Current time`, `session_id`; empty where it does not."""
        return label_before(self.literals[hole])


def label_before(text: str) -> str:
    """The label that ends `text`: a key or a name before a colon or an equals sign, else its last words."""
    line = text.rstrip("\n").rsplit("\n", 1)[-1]
    found = _LABEL.search(line)
    if found:
        return found.group(1).strip(" -.'’")
    found = _LAST_WORDS.search(line)
    return found.group(1) if found else ""


def is_reworded(one: str, other: str) -> bool:
    """Whether two texts differ in more than blanks and the order of their words."""
    return one.split() != other.split() and sorted(_WORDS.findall(one)) != sorted(_WORDS.findall(other))


def template_of(texts: Sequence[str]) -> LineTemplate:
    """The template of all of these distinct texts, at least two. Where they have nothing in common it is one hole."""
    first, second, *others = texts
    literals = _compared(first, second)
    for text in others:
        if len(literals) > 1 and LineTemplate(literals).values(text) is None:
            literals = _common(literals, text)
    literals = _told_apart(literals)
    template = LineTemplate(literals)
    if any([template.values(text) is None for text in texts]):
        template = LineTemplate((literals[0], literals[-1]))
    if any([template.values(text) is None for text in texts]):
        template = LineTemplate(("", ""))
    return template


_HOLE = ""
"""Stands for a hole among the words of a template; no word is empty."""


def _compared(one: str, other: str) -> tuple[str, ...]:
    """The literals of two texts."""
    if max(len(one), len(other)) > LONGEST_TEXT:
        return _around(one, other)
    literals = _literals(one, _WORDS.findall(other))
    return literals if LineTemplate(literals).values(other) is not None else _around(one, other)


def _common(literals: tuple[str, ...], text: str) -> tuple[str, ...]:
    """The literals that one more text has as well."""
    if len(text) > LONGEST_TEXT:
        return _around(literals[0], text)[0], _around(literals[-1], text)[1]
    words: list[str] = []
    for literal in literals:
        words += [_HOLE, *_WORDS.findall(literal)]
    return _literals(text, words[1:])


def _literals(text: str, words: list[str]) -> tuple[str, ...]:
    """What `text` has in common with other words, in order."""
    own = _WORDS.findall(text)
    ends = [0]
    for word in own:
        ends.append(ends[-1] + len(word))
    holes = [
        widened(text, ends[i1], ends[i2])
        for tag, i1, i2, _, _ in SequenceMatcher(None, own, words, autojunk=False).get_opcodes()
        if tag != "equal"
    ]
    literals = []
    at = 0
    for start, end in _joined(text, holes):
        literals.append(text[at:start])
        at = end
    return (*literals, text[at:])


def _around(one: str, other: str) -> tuple[str, str]:
    """What two texts have in common at their start and end, in whole words."""
    start = _whole_words(commonprefix([one, other]), one, other)  # noqa: RUF071 - texts, not paths
    rest, other_rest = one[len(start) :], other[len(start) :]
    end = commonprefix([rest[::-1], other_rest[::-1]])  # noqa: RUF071
    end = _whole_words(end, rest[::-1], other_rest[::-1])[::-1]
    return start, end


def _whole_words(common: str, one: str, other: str) -> str:
    """`common`, which starts both texts, without a word that goes on in one of them."""
    at = len(common)
    if all(text[at : at + 1].isalnum() is False for text in (one, other)):
        return common
    while at and common[at - 1].isalnum():
        at -= 1
    return common[:at]


def _told_apart(literals: tuple[str, ...]) -> tuple[str, ...]:
    """The literals without those in the middle that are no structure, but words that values happen to share."""
    first, *middle, last = literals
    kept = [literal for literal in middle if _is_structure(literal)]
    return (first, *kept, last) if len(kept) < MOST_HOLES else (first, last)


def _is_structure(literal: str) -> bool:
    """Whether text between two values tells them apart: it has a label, a mark of structure, or several words."""
    if _MARKS.search(literal) or len(literal.split()) >= 4:
        return any(character.isalpha() for character in literal)
    return "," in literal and _LONG_WORD.search(literal) is not None


def _is_all_labels(literals: tuple[str, ...]) -> bool:
    *leading, trailing = literals
    for literal in leading:
        if any(character.isalnum() for character in literal.replace(label_before(literal), "", 1)):
            return False
    # Of a language without blanks the words are not told apart.
    return len(trailing.split()) <= 2 and len(trailing.strip()) <= LONGEST_UNIT


def _joined(text: str, holes: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Holes with no letter or digit between them are one value."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(holes):
        if joined:
            before = joined[-1]
            between = text[before[1] : start]
            if start <= before[1] or (
                "\n" not in between and not any(character.isalnum() for character in between) and len(between) <= 3
            ):
                joined[-1] = (before[0], max(before[1], end))
                continue
        joined.append((start, end))
    return joined
