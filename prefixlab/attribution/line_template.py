"""Wordings of one place, taken apart into what stays and what varies.

`Current time: 09:14.` and `Current time: 09:15.` give the literals `Current time: ` and `.` with one hole between them.
Of more wordings those literals remain that all of them have; words that two free texts happen to share do not count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from os.path import commonprefix
from unicodedata import normalize

from prefixlab.attribution.value_kinds import widened
from prefixlab.attribution.value_splits import balanced, split_stretch

_MARKS_OF_LETTERS = "\u0300-\u036f\u0900-\u0963\u0966-\u0dff"
"""Where vowel signs and accents stand that belong to the letter before them, and that `\\w` does not take."""

_IDEOGRAPHS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
"""Letters of scripts that put no blank between a word and a value, `关于993的说明`: a number is a word of its own."""

_LETTERS = rf"(?:[^\W_{_IDEOGRAPHS}]++[{_MARKS_OF_LETTERS}]*+)++"
_WORDS = re.compile(rf"{_LETTERS}(?:[-_.'’@/\\+]{_LETTERS})*|[{_IDEOGRAPHS}]+|_+|\s+|.", re.DOTALL)
_IN_A_WORD = re.compile(rf"[^\W_{_IDEOGRAPHS}]{{2}}|[{_IDEOGRAPHS}]{{2}}")
_LABEL = re.compile(r"""([^\W_][\w .'’/-]{0,40}?)["'`*_]*\s*[:=]+\s*["'`*_(<\[{]*$""")
_WORD = rf"[^\W_][\w'’{_MARKS_OF_LETTERS}-]*"
_LAST_WORDS = re.compile(rf"({_WORD}(?: {_WORD}){{0,3}})\W*$")
_MARKS = re.compile(r"[:=|\"\n;{(\[<>]")
_LONG_WORD = re.compile(r"[^\W\d_]{4,}")

_STARTS = '.!?:;,|\n"([{<>。！？；，：、।'
"""What a name may stand behind within a line."""

_DECORATION = "#*=-_:：<>[]{}()\"'/, \t"
"""What marks a heading."""

LITTLE = 3
"""Letters of words such as `at`, `of`, `and`, which name nothing."""

LONGEST_WORD = 12
"""Characters of a word; a longer one that is not ASCII is a sentence without blanks, of which the end is taken."""

LONGEST_HEADING = 40

LONGEST_TEXT = 4000
"""Characters a text may have to be compared word by word; a longer one is one value."""

CONTEXT = 150
"""Characters of a long text that are looked at around what differs, so that a value is seen whole."""

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

    @property
    def has_text(self) -> bool:
        """Whether what stays is more than blanks, marks and a word that values may share by chance."""
        first, *_, last = self.literals
        return any(map(str.isalpha, first)) or _is_structure(last)

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


def name_before(text: str, goes_on: bool = False) -> str:
    """What a person would call the value behind `text`: its label, or the last words ahead of it if they say enough.

    `goes_on` says that the text goes on behind another value.
    """
    label = label_before(text)
    line = text.rstrip("\n").rsplit("\n", 1)[-1]
    if _LABEL.search(line):
        return label
    words = label.split()
    ahead = line[: line.rfind(label)].rstrip(" ")
    if ahead[-1] not in _STARTS if ahead else goes_on:
        # In the middle of a sentence little words are no name.
        while words and len(words[0]) <= LITTLE and words[0].isascii() and words[0].islower():
            if words[1:] and words[1][0].isdigit():
                break
            del words[0]
    if len(words) == 1 and len(words[0]) > LONGEST_WORD and not words[0].isascii():
        return words[0][-LONGEST_WORD // 2 :]
    return " ".join(words)


def heading_in(text: str) -> str:
    """The name that a line gives to what stands below it, if it is a heading: one that ends in a colon or a tag, that
    is marked as one, or that is a few words and no sentence."""
    line = text.strip().rsplit("\n", 1)[-1].strip()
    bare = line.strip(_DECORATION)
    if not bare or len(bare) > LONGEST_HEADING:
        return ""
    is_marked = bare != line and (line[0] in _DECORATION or line[-1] in _DECORATION)
    return bare if is_marked or (len(bare.split()) <= 4 and bare[-1].isalnum() and bare[0].isupper()) else ""


def is_reworded(one: str, other: str) -> bool:
    """Whether two texts differ in more than blanks, their Unicode form and the order of their words."""
    one, other = normalize("NFC", one), normalize("NFC", other)
    return one.split() != other.split() and sorted(_WORDS.findall(one)) != sorted(_WORDS.findall(other))


def template_of(texts: Sequence[str]) -> LineTemplate:
    """The template of all of these distinct texts, at least two. Where they have nothing in common it is one hole."""
    if max(map(len, texts)) > LONGEST_TEXT:
        head, tail = [max(chars - CONTEXT, 0) for chars in _alike_around(texts)]
        middles = [text[head : len(text) - tail] for text in texts]
        if max(map(len, middles)) <= LONGEST_TEXT:
            first, *between, last = template_of(middles).literals
            return LineTemplate((texts[0][:head] + first, *between, last + texts[0][len(texts[0]) - tail :]))
    literals: tuple[str, ...] = _told_apart(_of_all(texts, _literals))
    template = _holding(texts, literals) or _holding(texts, (literals[0], literals[-1])) or LineTemplate(("", ""))
    start, end = _alike_around(texts)
    if start + end > LONGEST_TEXT // 10 and sum(map(len, template.literals)) < (start + end) / 2:
        # The value stands within a word without an end, such as encoded bytes.
        template = LineTemplate((texts[0][:start], texts[0][len(texts[0]) - end :]))
    for finer in (_split, balanced):
        rows = [values for values in map(template.values, texts) if values is not None]
        template = _holding(texts, finer(template.literals, rows)) or template
    return template


def common_start(one: str, other: str) -> int:
    """Characters that two texts begin with alike, by halving."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def in_common(one: str, other: str) -> int:
    """Characters that two texts begin and end with alike."""
    start = common_start(one, other)
    low, high = 0, min(len(one), len(other)) - start
    while low < high:
        middle = (low + high + 1) // 2
        if one[len(one) - middle : len(one) - low] == other[len(other) - middle : len(other) - low]:
            low = middle
        else:
            high = middle - 1
    return start + low


def _alike_around(texts: Sequence[str]) -> tuple[int, int]:
    """Characters at the start and the end that all texts have."""
    start = common_start(min(texts), max(texts))
    rests = [text[start:][::-1] for text in texts]
    return start, common_start(min(rests), max(rests))


def _holding(texts: Sequence[str], literals: tuple[str, ...]) -> LineTemplate | None:
    """The template of these literals, if all of the texts have them."""
    template = LineTemplate(literals)
    return None if any([template.values(text) is None for text in texts]) else template


def _split(literals: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The literals with those between values that stand side by side in one hole, given the values of each text."""
    made = [literals[0]]
    for hole, literal in enumerate(literals[1:]):
        made += split_stretch(list(dict.fromkeys([row[hole] for row in rows])), _all_in_common)
        made.append(literal)
    return tuple(made) if len(made) <= MOST_HOLES + 1 else literals


def _all_in_common(texts: Sequence[str]) -> tuple[str, ...]:
    """All words that distinct texts have in common, structure or not."""
    return _of_all(texts, _words_in_common)


def _of_all(texts: Sequence[str], compared: Callable[[str, list[str]], tuple[str, ...]]) -> tuple[str, ...]:
    """What all of these texts have in common. `compared` gives that of a text and some words."""
    first, second, *others = texts
    literals: tuple[str, ...]
    if max(len(first), len(second)) > LONGEST_TEXT:
        literals = _around(first, second)
    else:
        literals = compared(first, _WORDS.findall(second))
        if LineTemplate(literals).values(second) is None:
            literals = _around(first, second)
    for text in others:
        if len(literals) > 1 and LineTemplate(literals).values(text) is None:
            literals = _common(literals, text, compared)
    return literals


_HOLE = ""
"""Stands for a hole among the words of a template; no word is empty."""


def _common(
    literals: tuple[str, ...], text: str, compared: Callable[[str, list[str]], tuple[str, ...]]
) -> tuple[str, ...]:
    """The literals that one more text has as well."""
    if len(text) > LONGEST_TEXT:
        return _around(literals[0], text)[0], _around(literals[-1], text)[1]
    words: list[str] = []
    for literal in literals:
        words += [_HOLE, *_WORDS.findall(literal)]
    return compared(text, words[1:])


def _literals(text: str, words: list[str]) -> tuple[str, ...]:
    """What `text` has in common with other words, in order, but for what is no more than a mark inside a value."""
    return _around_holes(text, _joined(text, _unlike(text, words)))


def _words_in_common(text: str, words: list[str]) -> tuple[str, ...]:
    """All that `text` has in common with other words, in order."""
    holes: list[tuple[int, int]] = []
    for start, end in sorted(_unlike(text, words)):
        if holes and start <= holes[-1][1]:
            start, end = holes[-1][0], max(holes.pop()[1], end)
        holes.append((start, end))
    return _around_holes(text, holes)


def _unlike(text: str, words: list[str]) -> list[tuple[int, int]]:
    """The stretches of `text` that other words do not have."""
    own = _WORDS.findall(text)
    ends = [0]
    for word in own:
        ends.append(ends[-1] + len(word))
    return [
        widened(text, ends[i1], ends[i2])
        for tag, i1, i2, _, _ in SequenceMatcher(None, own, words, autojunk=False).get_opcodes()
        if tag != "equal"
    ]


def _around_holes(text: str, holes: list[tuple[int, int]]) -> tuple[str, ...]:
    """The literals around the holes of a text."""
    literals = []
    at = 0
    for start, end in holes:
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
    while at and any(_IN_A_WORD.match(text, at - 1) for text in (one, other)):
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
