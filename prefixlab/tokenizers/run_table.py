"""Text cut where it is sure to tokenize piecewise, each distinct stretch encoded once and kept as one `Run`.

The cuts are those that `patterns.py` proves: behind the last line break of a run of blanks, unless `/` follows, and in
long lines also before the blank behind a sentence, before the mark behind a field, and so on to single words. They
depend on the text around them alone, never on a distance, so that a changed value costs its own stretch and those
behind it are found again.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from itertools import chain

from prefixlab.contracts import TextTokenizer
from prefixlab.records import Run
from prefixlab.tokenizers.patterns import BLANKS, SURE_LETTERS, SURE_MARKS

LONG_LINE = 600
"""Characters from which on a line is cut at its sentences as well, and what then is as long still at its fields and
words."""

LONG_SENTENCE = 2000
"""Characters from which on a sentence is cut at commas, colons and closing brackets as well."""

_SENTENCES = re.compile(r"[^.!?;]*+(?:[.!?;]++(?! )[^.!?;]*+)*+[.!?;]*+")
_CLAUSES = re.compile(r"[^,:)}\]]*+(?:[,:)}\]]++(?! )[^,:)}\]]*+)*+[,:)}\]]*+")
_FIELDS = re.compile(rf"(?<=[{SURE_LETTERS}])(?=\"?[,;|<}}\]。！？；])")
_WORDS = re.compile(rf"(?<=[^{BLANKS}])(?=[ \t])")
_MARKS = re.compile(rf"(?<=[{SURE_LETTERS}])(?=[{SURE_MARKS}])")


@cache
def _some_words() -> re.Pattern[str]:
    """Finds the blanks behind one in sixteen of all letters, so that a text of words gives stretches of some. Behind
    digits it finds none: they are more often a value's, and its end is to be the same in each request."""
    chosen = "".join([chr(code) for code in range(0x41, 0xD800) if code % 16 == 4 and chr(code).isalpha()])
    return re.compile(rf"(?<=[{chosen}])(?=[ \t])")


class RunTable:
    """All runs of ordinary text of a log."""

    def __init__(self, tokenizer: TextTokenizer) -> None:
        self._cuts = tokenizer.cuts_at_whitespace
        self._encode = tokenizer.encode_ordinary
        self._lines: dict[str, tuple[Run, ...]] = {}
        """By their text without the line feed: lines that start at a cut, whatever stands before them."""
        self._texts: dict[str, tuple[Run, ...]] = {}
        """All other text, by itself: last lines, parts of long lines, what does not start at a cut."""
        self._long_seen: set[int] = set()

    def runs(self, text: str) -> tuple[Run, ...]:
        """The runs of text that holds no special token, or whose look-alikes count as text. It is not empty."""
        if not self._cuts or (len(text) <= LONG_LINE and "\n" not in text):
            return self._text(text)
        return self._runs_by_line(text)

    def _runs_by_line(self, text: str) -> tuple[Run, ...]:
        lines = text.split("\n")
        is_closed = not lines[-1]
        if is_closed:
            lines.pop()
        found = list(map(self._lines.get, lines))
        if not is_closed:
            found[-1] = None if continues(lines[-1]) else self._texts.get(lines[-1])
        if None in found:
            self._complete(lines, found, is_closed)
        return tuple(chain.from_iterable(found))  # type: ignore[arg-type]

    def _complete(self, lines: list[str], found: list[tuple[Run, ...] | None], is_closed: bool) -> None:
        """Puts runs where a line is new or continues the line before it; lines joined to another get none."""
        at = 0
        while True:
            try:
                at = found.index(None, at)
            except ValueError:
                return
            start = at - 1 if at and continues(lines[at]) else at
            end = at + 1
            while end < len(lines) and continues(lines[end]):
                end += 1
            line = lines[at]
            if end - start > 1:
                found[start:end] = [()] * (end - start)
                line = "\n".join(lines[start:end])
            found[start] = self._line(line, is_closed or end < len(lines))
            at = end

    def _line(self, text: str, is_closed: bool) -> tuple[Run, ...]:
        """The runs of lines that belong together; the last one has a line feed behind it, or ends the whole text."""
        if not is_closed:
            return self._texts.get(text) or self._long(text, text, self._texts)
        runs = self._lines.get(text)
        if runs is not None:
            return runs
        if continues(text):
            return self._text(f"{text}\n")
        return self._long(text, f"{text}\n", self._lines)

    def _long(self, key: str, text: str, table: dict[str, tuple[Run, ...]]) -> tuple[Run, ...]:
        """New runs of lines. Long ones are kept as a key from their second sighting on only."""
        runs: tuple[Run, ...]
        if len(text) <= LONG_LINE:
            table[key] = runs = (Run(text, self._encode(text)),)
            return runs
        runs = tuple([self._text(piece)[0] for piece in split_long(text)])
        sighting = hash(text)
        if sighting in self._long_seen:
            table[key] = runs
        else:
            self._long_seen.add(sighting)
        return runs

    def _text(self, text: str) -> tuple[Run, ...]:
        runs = self._texts.get(text)
        if runs is None:
            runs = self._texts[text] = (Run(text, self._encode(text)),)
        return runs


def continues(line: str) -> bool:
    """Whether a line may belong to a pre-token of the line before it: it is blank, or a `/`, or has a stray return."""
    if not line or line[0] == "/" or line.isspace():
        return True
    return "\r" in line and line[0].isspace() and "\r" in line[: len(line) - len(line.lstrip())]


def split_long(text: str) -> list[str]:
    """A long line cut before blanks behind sentences, and what is long still into less and less."""
    pieces = _SENTENCES.findall(text)
    if max(map(len, pieces)) > LONG_LINE:
        pieces = _each_long(pieces, LONG_SENTENCE, _CLAUSES.findall)
        pieces = _each_long(pieces, LONG_LINE, _FIELDS.split)
        pieces = _each_long(pieces, LONG_LINE, lambda piece: _some_words().split(piece))
        pieces = _each_long(pieces, LONG_LINE, _WORDS.split)
        pieces = _each_long(pieces, LONG_LINE, _MARKS.split)
    return list(filter(None, pieces))


def _each_long(pieces: list[str], most: int, split: Callable[[str], list[str]]) -> list[str]:
    """The pieces, those of more than `most` characters cut."""
    return [part for piece in pieces for part in (split(piece) if len(piece) > most else (piece,))]
