"""Where two prompts differ, front to back, in terms of their pieces and runs.

Runs are interned, so equal text is one object and most of the work is comparing references. Alignment goes on behind
the first difference as long as the prompts keep the same form.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import compress
from operator import is_not
from typing import NamedTuple

from prefixlab.records import TOKEN_BYTES, Piece, Prompt, Run

MOST_RUNS = 400
"""Runs between the common head and tail of two pieces that are still aligned one by one."""

FEW_RUNS = 8
"""Runs that may differ side by side before an insertion is looked for instead."""

TURNS = frozenset(("user", "assistant", "tool", "function"))
"""Roles of the conversation itself: text behind a value counts as stable only if it is of another role."""


class Difference(NamedTuple):
    """Runs `start:end` of piece number `piece` stand where the other prompt has `other_runs`; all around is equal."""

    piece: int
    start: int
    end: int
    runs: tuple[Run, ...]
    other_runs: tuple[Run, ...]
    same_behind: int
    """The most tokens in one stretch that are the same again somewhere behind."""
    stable_behind: int
    """The same of system, tool and template text alone, without a turn of the conversation in between."""


def differences(prompt: Prompt, other: Prompt, enough: int = 1) -> list[Difference]:
    """Every place where `prompt` has other text than `other`, as long as their pieces come from the same places.

    Turns of the conversation with less than `enough` stable tokens anywhere behind them are not looked into.
    """
    ours, theirs = prompt.pieces, other.pieces
    both = min(len(ours), len(theirs))
    first = first_unlike(ours, theirs)
    found: list[tuple[int, int, int, int, int]] = []
    same: list[int] = []
    stable: list[int] = []
    stretch = 0

    def passed(piece: Piece, tokens: int) -> None:
        nonlocal stretch
        if found and tokens:
            same[-1] += tokens
            # Behind a value in a message, lines of that message that both prompts have were written by one template.
            is_own = found[-1][0] == number and piece.origin.role == "user"
            stretch = stretch + tokens if is_own or not is_turn(piece) else 0
            stable[-1] = max(stable[-1], stretch)

    number = first
    for number in range(first, both):
        mine, yours = ours[number], theirs[number]
        if mine is yours:
            passed(mine, mine.token_count)
            continue
        if mine.origin != yours.origin or len(mine.spans) != len(yours.spans):
            break
        if is_turn(mine) and not (_may_hold(mine, enough) or _has_stable(ours[number + 1 :], enough)):
            break
        at = 0
        for start, end, other_start, other_end in unlike_runs(mine.runs, yours.runs):
            passed(mine, _tokens_from(mine, at, start))
            found.append((number, start, end, other_start, other_end))
            same.append(0)
            stable.append(0)
            stretch = 0
            if start < end and other_start < other_end:
                passed(mine, _same_at_end(mine.runs[end - 1], yours.runs[other_end - 1]))
            at = end
        passed(mine, _tokens_from(mine, at, len(mine.runs)))
    most_same = most_stable = 0
    rows: list[Difference] = []
    for place in range(len(found) - 1, -1, -1):
        most_same, most_stable = max(most_same, same[place]), max(most_stable, stable[place])
        number, start, end, other_start, other_end = found[place]
        rows.append(
            Difference(
                number,
                start,
                end,
                ours[number].runs[start:end],
                theirs[number].runs[other_start:other_end],
                most_same,
                most_stable,
            )
        )
    rows.reverse()
    return rows


def is_turn(piece: Piece) -> bool:
    """Whether a piece holds text of the conversation itself."""
    spans = piece.spans
    if len(spans) == 1:
        return spans[0].origin.role in TURNS
    return any([span.origin.role in TURNS for span in spans])


def _may_hold(piece: Piece, enough: int) -> bool:
    """Whether a message of a user is long enough, and of lines enough, to be a template with values in it."""
    return piece.origin.role == "user" and len(piece.runs) > 2 and piece.token_count > enough


def _has_stable(pieces: Sequence[Piece], enough: int) -> bool:
    """Whether there are so many tokens of system, tool or template text."""
    tokens = 0
    for piece in pieces:
        if not is_turn(piece):
            tokens += piece.token_count
            if tokens >= enough:
                return True
    return False


def first_unlike(ours: Sequence[Piece], theirs: Sequence[Piece]) -> int:
    """The number of the first piece that is not the same; the length of the shorter where there is none."""
    for number, (mine, yours) in enumerate(zip(ours, theirs, strict=False)):
        if mine is not yours:
            return number
    return min(len(ours), len(theirs))


def unlike_runs(ours: tuple[Run, ...], theirs: tuple[Run, ...]) -> list[tuple[int, int, int, int]]:
    """Half-open ranges of runs that differ, in both."""
    if len(ours) == len(theirs):
        unlike = list(compress(range(len(ours)), map(is_not, ours, theirs)))
        if len(unlike) <= FEW_RUNS:
            return [(start, end, start, end) for start, end in _ranges(unlike)]
    shortest = min(len(ours), len(theirs))
    head = 0
    while head < shortest and ours[head] is theirs[head]:
        head += 1
    tail = 0
    while tail < shortest - head and ours[-1 - tail] is theirs[-1 - tail]:
        tail += 1
    our_end, their_end = len(ours) - tail, len(theirs) - tail
    if max(our_end, their_end) - head > MOST_RUNS:
        return [(head, our_end, head, their_end)]
    matcher = SequenceMatcher(None, ours[head:our_end], theirs[head:their_end], autojunk=False)
    return [
        (head + i1, head + i2, head + j1, head + j2) for tag, i1, i2, j1, j2 in matcher.get_opcodes() if tag != "equal"
    ]


def _ranges(numbers: list[int]) -> list[tuple[int, int]]:
    """Ascending numbers as half-open ranges."""
    ranges: list[tuple[int, int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number:
            ranges[-1] = (ranges[-1][0], number + 1)
        else:
            ranges.append((number, number + 1))
    return ranges


def _same_at_end(one: Run, other: Run) -> int:
    """Tokens that two runs end in alike: text behind a value that has no line of its own."""
    ours, theirs = one.tokens, other.tokens
    low, high = 0, min(len(ours), len(theirs)) // TOKEN_BYTES
    while low < high:
        middle = (low + high + 1) // 2
        if ours[-middle * TOKEN_BYTES :] == theirs[-middle * TOKEN_BYTES :]:
            low = middle
        else:
            high = middle - 1
    return low


def _tokens_from(piece: Piece, start: int, end: int) -> int:
    """Tokens of the runs `start:end` of a piece."""
    runs = piece.runs
    if end == len(runs) and start * 2 < end:
        return piece.token_count - sum([len(run.tokens) for run in runs[:start]]) // TOKEN_BYTES
    return sum([len(run.tokens) for run in runs[start:end]]) // TOKEN_BYTES
