"""Two wordings of one line, taken apart into what stays and what varies.

`Current time: 09:14.` and `Current time: 09:15.` give the literals `Current time: ` and `.` with one hole between them.
A template found once is then only matched, so that ten thousand lines cost one comparison of words.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from prefixlab.attribution.value_kinds import widened

_WORDS = re.compile(r"[^\W_]+(?:[-_.'’@/\\+][^\W_]+)*|_+|\s+|.", re.DOTALL)
_LABEL = re.compile(r"""([^\W_][\w .'’/-]{0,40}?)["'`*_]*\s*[:=]+\s*["'`*_(<\[]*$""")
_LAST_WORDS = re.compile(r"([^\W_][\w'’-]*(?: [^\W_][\w'’-]*){0,3})\W*$")

LONGEST_LINE = 4000
"""Characters a line may have to be compared word by word; a longer one is one value."""


class LineTemplate:
    """The literals of a line around its holes: `literals[0] + value + literals[1] + value + ... + literals[-1]`."""

    __slots__ = ("_pattern", "is_all_labels", "is_telling", "literals")

    def __init__(self, literals: tuple[str, ...]) -> None:
        self.literals = literals
        self._pattern = re.compile("(.*?)".join(re.escape(literal) for literal in literals), re.DOTALL)
        self.is_telling = any(character.isalpha() for literal in literals for character in literal)
        """Whether the literals hold a word, so that the line can be known by them alone."""
        self.is_all_labels = _is_all_labels(literals)
        """Whether the line is nothing but labels and values, so that it makes sense wherever it stands."""

    def values(self, line: str) -> tuple[str, ...] | None:
        """The values in the holes, or None where the line is not of this template."""
        found = self._pattern.fullmatch(line)
        return None if found is None else found.groups()

    def label(self, hole: int) -> str:
        """What the text ahead of a hole calls its value: `Current time`, `session_id`; empty where it does not."""
        return label_before(self.literals[hole])


def label_before(text: str) -> str:
    """The label that ends `text`: a key or a name before a colon or an equals sign, else its last words."""
    line = text.rsplit("\n", 1)[-1]
    found = _LABEL.search(line)
    if found:
        return found.group(1).strip(" -.'’")
    found = _LAST_WORDS.search(line)
    return found.group(1) if found else ""


def template_of(one: str, other: str) -> LineTemplate | None:
    """The template of two wordings, or None where they have no word in common or differ in order or blanks alone."""
    if max(len(one), len(other)) > LONGEST_LINE:
        return None
    left, right = _WORDS.findall(one), _WORDS.findall(other)
    if sorted(left) == sorted(right) or one.split() == other.split():
        return None
    holes: list[tuple[int, int]] = []
    ends = [0]
    for word in left:
        ends.append(ends[-1] + len(word))
    for tag, i1, i2, _, _ in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if tag != "equal":
            holes.append(widened(one, ends[i1], ends[i2]))
    literals = _literals(one, _joined(one, holes))
    template = LineTemplate(literals)
    if template.values(one) is None or template.values(other) is None or not "".join(literals).strip():
        return None
    return template


def _is_all_labels(literals: tuple[str, ...]) -> bool:
    *leading, trailing = literals
    for literal in leading:
        if any(character.isalnum() for character in literal.replace(label_before(literal), "", 1)):
            return False
    return len(trailing.split()) <= 2


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


def _literals(text: str, holes: list[tuple[int, int]]) -> tuple[str, ...]:
    literals = []
    at = 0
    for start, end in holes:
        literals.append(text[at:start])
        at = end
    return (*literals, text[at:])
