"""Long texts that differ from an earlier one in a few lines, as prompts with a clock in them do.

Of two texts with the same last characters the common first lines and the common last lines are kept. A later text that
has both is cut into lines and looked up in between only. First and last lines are cut off where lines are cut anyway,
so that the runs are those of the text as a whole.
"""

from __future__ import annotations

from typing import NamedTuple

from prefixlab.records import TOKEN_BYTES, Run
from prefixlab.tokenizers.run_table import RunTable, continues
from prefixlab.tokenizers.specials import SpecialTokens

HUGE_TEXT = 65536
"""Characters from which on a text is not kept: such texts are few, and take memory."""

KEPT_TEXTS = 64
KEY_CHARS = 64


class _Frame(NamedTuple):
    """What two texts had in common: whole lines without special tokens."""

    head: str
    end: str
    head_runs: tuple[Run, ...]
    end_runs: tuple[Run, ...]
    token_count: int


class AlikeTexts:
    """The lines that long texts have in common with earlier ones."""

    def __init__(self, runs: RunTable, specials: SpecialTokens, cuts: bool) -> None:
        self._runs = runs
        self._specials = specials
        self._are_cut = cuts and not specials.hold_line_breaks
        self._frames: dict[str, _Frame] = {}
        self._latest: dict[str, tuple[Run, ...]] = {}

    def runs(self, text: str) -> tuple[tuple[Run, ...], int] | None:
        """The runs of a text and the number of their tokens, if it has the common lines of earlier ones."""
        frame = self._frames.get(text[-KEY_CHARS:])
        if frame is None:
            return None
        head, end, head_runs, end_runs, token_count = frame
        if not text.startswith(head) or not text.endswith(end):
            return None
        middle = text[len(head) : len(text) - len(end)]
        if not middle or (end and middle[-1] != "\n") or continues(middle.partition("\n")[0]):
            return None
        if self._specials.found(middle):
            return None
        runs = self._runs.runs(middle)
        token_count += sum([len(run.tokens) for run in runs]) // TOKEN_BYTES
        return head_runs + runs + end_runs, token_count

    def learn(self, text: str, runs: tuple[Run, ...]) -> None:
        """Takes in the runs of a text that lacks the common lines of earlier ones."""
        if not self._are_cut or len(text) >= HUGE_TEXT:
            return
        key = text[-KEY_CHARS:]
        before = self._latest.get(key, ())
        if len(self._latest) >= KEPT_TEXTS:
            self._latest.clear()
            self._frames.clear()
        self._latest[key] = runs
        frame = _common_lines(runs, before)
        both = frame.head + frame.end
        if len(text) // 2 < len(both) < len(text) and not self._specials.found(both):
            self._frames[key] = frame


def _common_lines(runs: tuple[Run, ...], others: tuple[Run, ...]) -> _Frame:
    most = max(min(len(runs), len(others)) - 1, 0)
    head = next((place for place in range(most) if runs[place] is not others[place]), most)
    end = next((place for place in range(most - head) if runs[~place] is not others[~place]), most - head)
    while head and not _is_cut(runs, head):
        head -= 1
    while end and not _is_cut(runs, len(runs) - end):
        end -= 1
    head_runs, end_runs = runs[:head], runs[len(runs) - end :]
    token_count = sum([len(run.tokens) for run in head_runs + end_runs]) // TOKEN_BYTES
    return _Frame(_text(head_runs), _text(end_runs), head_runs, end_runs, token_count)


def _is_cut(runs: tuple[Run, ...], place: int) -> bool:
    """Whether lines are cut between two runs whatever else stands in them."""
    return runs[place - 1].text[-1] == "\n" and not continues(runs[place].text.split("\n", 1)[0])


def _text(runs: tuple[Run, ...]) -> str:
    return "".join([run.text for run in runs])
