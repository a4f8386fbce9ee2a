"""A text as an earlier request showed it, with its own values: its lines in that order, its blanks and characters in
that form.

A line that both texts have once tells which lines around it are the same, so that lines that stand in a text several
times go with their neighbours: a document moves as a whole. Lines that only one of them has are values. Each stays with
the line that it stands at, or else keeps its turn.
"""

from __future__ import annotations

import itertools
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from os.path import commonprefix
from typing import NamedTuple

from prefixlab.attribution.form_kinds import MOSTLY
from prefixlab.attribution.parts import parts_of
from prefixlab.attribution.structural_breaks import Structures
from prefixlab.records import Prompt
from prefixlab.text_moves import Cut, TextEdit

KINDS = ("permuted", "whitespace", "unicode_form")
"""What may be put right in a text."""


_Gap = tuple[int, int]
"""The first line, and the one behind the last."""


class Shown(NamedTuple):
    """A text put right, and of what kind that was."""

    text: str
    kind: str


def as_shown(text: str, shown: str, kinds: Collection[str]) -> Shown | None:
    """The text as `shown` has it; None where it is, where it says something else, or where only a kind that is not
    among `kinds` parts them."""
    if text == shown:
        return None
    if "whitespace" in kinds and "".join(text.split()) == "".join(shown.split()):
        return Shown(shown, "whitespace")
    ours, theirs = _Lines(text, kinds), _Lines(shown, kinds)
    pairs = _paired(ours.keys, theirs.keys)
    size = sum([len(ours.keys[at]) for at in pairs])
    if size < MOSTLY * max(sum(map(len, ours.keys)), sum(map(len, theirs.keys))):
        return None
    is_ordered = sorted(pairs.values()) == [pairs[at] for at in sorted(pairs)]
    gaps, places = _Gaps(ours.keys, pairs), _Gaps(theirs.keys, set(pairs.values()))
    if len(gaps.found) != len(places.found) or ("permuted" not in kinds and not is_ordered):
        return None
    into = _placed(gaps, places, pairs)
    parts = [theirs.head]
    at = 0
    for start, end in places.found:
        parts += theirs.lines[at:start]
        own = "".join(ours.lines[slice(*into[start, end])]).rstrip()
        last = theirs.lines[end - 1]
        parts += [own, last[len(last.rstrip()) :]]
        at = end
    new = "".join([*parts, *theirs.lines[at:]])
    if new == text:
        return None
    if not is_ordered:
        return Shown(new, "permuted")
    is_blanks = "".join(new.split()) == "".join(text.split())
    kind = "whitespace" if is_blanks else "unicode_form"
    return Shown(new, kind) if kind in kinds else None


class ShownEdit(NamedTuple):
    """The text at a path of a request, which is written as `shown` is."""

    path: str
    shown: Shown


def shown_edits(prompts: Sequence[Prompt], structures: Structures, kinds: Collection[str]) -> Iterator[list[ShownEdit]]:
    """For each prompt the texts that are put right, at the paths at which the ladder found such breaks: as the request
    that it continues has them once they are put right there."""
    paths = _paths(structures, kinds)
    last_use = {base: number for number, base in enumerate(structures.bases) if base is not None}
    written: dict[int, dict[str, str]] = {}
    for number, (prompt, base) in enumerate(zip(prompts, structures.bases, strict=True)):
        texts = _texts(prompt, paths) if base is not None or number in last_use else {}
        edits = []
        if base is not None:
            for path, text in texts.items():
                shown = as_shown(text, written[base][path], kinds) if path in written[base] else None
                if shown is not None:
                    texts[path] = shown.text
                    edits.append(ShownEdit(path, shown))
            if last_use[base] == number:
                del written[base]
        if number in last_use:
            written[number] = texts
        yield edits


def text_edit(prompt: Prompt, edit: ShownEdit) -> TextEdit:
    """An edit as the stretch of the logged text that it changes."""
    now, new = _texts(prompt, {edit.path})[edit.path], edit.shown.text
    head = len(commonprefix([now, new]))  # noqa: RUF071 - texts, not paths
    tail = len(commonprefix([now[head:][::-1], new[head:][::-1]]))  # noqa: RUF071
    return TextEdit(Cut(edit.path, now, 0, head, len(now) - tail), new[head : len(new) - tail])


def _paths(structures: Structures, kinds: Collection[str]) -> set[str]:
    paths = set()
    for (number, at), one in structures.key_of.items():
        comparison = structures.comparisons[number]
        if one.kind in kinds and comparison is not None:
            paths.add(comparison.regions[at].path)
    return paths


def _texts(prompt: Prompt, paths: Collection[str]) -> dict[str, str]:
    """The texts at these paths, as far as each stands in one place."""
    found: dict[str, list[str]] = {}
    for part in parts_of(prompt) if paths else ():
        if part.path in paths:
            found.setdefault(part.path, []).append(part.text)
    return {path: texts[0] for path, texts in found.items() if len(texts) == 1}


class _Lines:
    """The lines of a text that say something, each with the blanks behind it, and what is compared of each."""

    def __init__(self, text: str, kinds: Collection[str]) -> None:
        self.lines: list[str] = []
        self.head = ""
        for line in _split(text):
            if line.strip():
                self.lines.append(line)
            elif self.lines:
                self.lines[-1] += line
            else:
                self.head += line
        self.keys = [_key(line, kinds) for line in self.lines]


def _split(text: str) -> list[str]:
    *lines, last = text.split("\n")
    return [*[f"{line}\n" for line in lines], last]


def _key(line: str, kinds: Collection[str]) -> str:
    if "unicode_form" in kinds:
        line = unicodedata.normalize("NFKC", line)
    return "".join(line.split()) if "whitespace" in kinds else line.strip()


def _paired(ours: Sequence[str], theirs: Sequence[str]) -> dict[int, int]:
    """The lines of one text with the numbers of the same lines in the other."""
    count, other_count = Counter(ours), Counter(theirs)
    place = {line: at for at, line in enumerate(theirs)}
    pairs = {at: place[line] for at, line in enumerate(ours) if count[line] == 1 == other_count[line]}
    taken = set(pairs.values())
    for step, numbers in ((1, range(len(ours))), (-1, range(len(ours) - 1, -1, -1))):
        for at in numbers:
            near, there = at + step, pairs.get(at, -2) + step
            if at not in pairs or near in pairs or there in taken:
                continue
            if 0 <= near < len(ours) and 0 <= there < len(theirs) and ours[near] == theirs[there]:
                pairs[near] = there
                taken.add(there)
    left = defaultdict(list)
    for there in range(len(theirs) - 1, -1, -1):
        if there not in taken:
            left[theirs[there]].append(there)
    for at, line in enumerate(ours):
        if at not in pairs and left.get(line):
            pairs[at] = left[line].pop()
    return pairs


class _Gaps:
    """Stretches of lines that have no pair."""

    def __init__(self, lines: Sequence[str], paired: Collection[int]) -> None:
        self.lines = lines
        self.found: list[_Gap] = []
        for at in range(len(lines)):
            if at in paired:
                continue
            if self.found and self.found[-1][1] == at:
                self.found[-1] = self.found[-1][0], at + 1
            else:
                self.found.append((at, at + 1))


def _placed(ours: _Gaps, theirs: _Gaps, pairs: Mapping[int, int]) -> dict[_Gap, _Gap]:
    """For each gap of the text shown the one that goes there: one that begins alike and stands behind the same line, or
    ahead of the same line; else the next in turn."""
    starts, ends = {gap[0]: gap for gap in theirs.found}, {gap[1]: gap for gap in theirs.found}
    into: dict[_Gap, _Gap] = {}
    used: set[_Gap] = set()
    ahead, behind = {-1: -1, **pairs}, {len(ours.lines): len(theirs.lines), **pairs}
    near = (
        [(gap, starts.get(ahead[gap[0] - 1] + 1)) for gap in ours.found],
        [(gap, ends.get(behind[gap[1]])) for gap in ours.found],
    )
    for gap, place in itertools.chain(*near):
        if gap in used or place is None or place in into:
            continue
        if ours.lines[gap[0]][:1] == theirs.lines[place[0]][:1]:
            into[place] = gap
            used.add(gap)
    rest = iter([gap for gap in ours.found if gap not in used])
    return {place: into[place] if place in into else next(rest) for place in theirs.found}
