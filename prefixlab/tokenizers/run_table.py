"""Text cut where it is sure to tokenize piecewise, each distinct stretch encoded once and kept as one `Run`.

The cuts are those that `patterns.py` proves: behind the last line break of a run of blanks, unless `/` follows, and in
long lines also before the blank behind a sentence or a comma. They depend on the text around them alone, never on a
distance, so that a changed value costs its own line and the lines behind it are found again.
"""

from __future__ import annotations

import re

from prefixlab.contracts import TextTokenizer
from prefixlab.records import Run

LONG_LINE = 400
"""Characters from which on a line is cut at its sentences as well."""

LONG_SENTENCE = 2000
"""Characters from which on a sentence is cut at commas, colons and closing brackets as well."""

_SENTENCES = re.compile(r"[^.!?;]*+(?:[.!?;]++(?! )[^.!?;]*+)*+[.!?;]*+")
_CLAUSES = re.compile(r"[^,:)}\]]*+(?:[,:)}\]]++(?! )[^,:)}\]]*+)*+[,:)}\]]*+")


class _Irregular(Exception):
    """A line that does not start at a cut, or is long."""


class _Lines(dict[str, Run]):
    """Runs by line, for lines that start at a cut whatever stands before them."""

    def __init__(self, tokenizer: TextTokenizer) -> None:
        self._encode = tokenizer.encode_ordinary

    def __missing__(self, line: str) -> Run:
        if len(line) > LONG_LINE or continues(line):
            raise _Irregular
        run = self[line] = Run(line, self._encode(line))
        return run


def continues(line: str) -> bool:
    """Whether a line may belong to a pre-token of the line before it: it is blank, or a `/`, or has a stray return."""
    if line[0] == "/" or line.isspace():
        return True
    return "\r" in line and line[0].isspace() and "\r" in line[: len(line) - len(line.lstrip())]


class RunTable:
    """All runs of ordinary text of a log."""

    def __init__(self, tokenizer: TextTokenizer) -> None:
        self._tokenizer = tokenizer
        self._cuts = tokenizer.cuts_at_whitespace
        self._lines = _Lines(tokenizer)
        self._others: dict[str, Run] = {}

    def runs(self, text: str) -> list[Run]:
        """The runs of text that holds no special token, or whose look-alikes count as text. It is not empty."""
        if not self._cuts:
            return [self._other(text)]
        lines = text.splitlines(True)
        if len(lines) != text.count("\n") + (text[-1] != "\n"):
            lines = [f"{line}\n" for line in text.split("\n")]
            last = lines.pop()[:-1]
            if last:
                lines.append(last)
        try:
            return list(map(self._lines.__getitem__, lines))
        except _Irregular:
            return self._irregular(lines)

    def _irregular(self, lines: list[str]) -> list[Run]:
        """Runs of lines of which some continue the line before them or are long."""
        chunks: list[str] = []
        pending: list[str] = []
        for line in lines:
            if pending and not continues(line):
                chunks.append("".join(pending) if len(pending) > 1 else pending[0])
                pending.clear()
            pending.append(line)
        chunks.append("".join(pending))
        runs: list[Run] = []
        for chunk in chunks:
            if len(chunk) <= LONG_LINE:
                runs.append(self._chunk(chunk))
            else:
                runs += map(self._chunk, split_long(chunk))
        return runs

    def _chunk(self, text: str) -> Run:
        run = self._lines.get(text) or self._others.get(text)
        if run is not None:
            return run
        if len(text) > LONG_LINE or continues(text):
            return self._other(text)
        return self._lines[text]

    def _other(self, text: str) -> Run:
        run = self._others.get(text)
        if run is None:
            run = self._others[text] = Run(text, self._tokenizer.encode_ordinary(text))
        return run


def split_long(text: str) -> list[str]:
    """A long line cut before blanks behind sentences, and behind clauses where a sentence is very long."""
    pieces: list[str] = []
    for sentence in _SENTENCES.findall(text):
        if len(sentence) > LONG_SENTENCE:
            pieces += filter(None, _CLAUSES.findall(sentence))
        elif sentence:
            pieces.append(sentence)
    return pieces
