"""Half-measures: what is won if a value stays where it stands, but coarser, more seldom, or only when it is asked for.

They are measured as the ladder's steps are, by replaying the log, with the steps ahead of theirs taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from prefixlab.attribution.differences import is_turn
from prefixlab.attribution.field_rows import value_kind
from prefixlab.attribution.fix_replay import FixReplay, Hole, Replayed, Target
from prefixlab.attribution.sites import Found
from prefixlab.attribution.value_kinds import day_of
from prefixlab.findings import Alternative
from prefixlab.records import Piece, Prompt

MOST_PAYING = 3
"""Steps of the ladder that are looked at: those that win most."""

MOST_REPLAYED = 10_000
"""Requests that are replayed for half-measures, all replays of a log together: each costs as much as a step of the
ladder. Of any log there is at least one replay."""


class Paying(NamedTuple):
    """A step that pays: the log with it and those before it fixed, and what every request could reuse before it."""

    replay: FixReplay
    fixed: Mapping[Hole, Target]
    holes: tuple[Hole, ...]
    """The value, behind those right ahead of it that win only together with it."""
    best: Sequence[int]
    gain: int


Measure = Callable[[Replayed], tuple[Sequence[int], int | None]]
"""Aligned tokens of each request of a replayed log, and cached tokens of the whole where those are others."""


def sessions_of(prompts: Sequence[Prompt], bases: Sequence[int | None]) -> list[object]:
    """The session of each request: what the log says, else that of the request whose conversation it goes on with."""
    sessions: list[object] = []
    for number, (prompt, base) in enumerate(zip(prompts, bases, strict=True)):
        told = prompt.tags.get("session")
        if told is not None:
            sessions.append((prompt.namespace, told))
        elif base is not None and _goes_on(prompt, prompts[base]):
            sessions.append(sessions[base])
        else:
            sessions.append(number)
    return sessions


def _goes_on(prompt: Prompt, base: Prompt) -> bool:
    """Whether a prompt has all turns of an earlier one ahead of its own, whatever became of the text ahead of them."""
    mine, yours = _turns(prompt), _turns(base)
    return 0 < len(yours) < len(mine) and mine[: len(yours)] == yours


def _turns(prompt: Prompt) -> list[Piece]:
    return [piece for piece in prompt.pieces if is_turn(piece)]


def alternatives_of(
    paying: Sequence[Paying], sessions: Callable[[], Sequence[object]], measure: Measure, whole: int
) -> dict[Hole, tuple[Alternative, ...]]:
    """The half-measures that give something, for the fields that win most. `whole` is all prompt tokens.

    What would leave the log as it is, or be the fix itself, is not replayed; of the rest only as much as `MOST_PAYING`
    and `MOST_REPLAYED` allow, so that an audit of 10,000 requests takes no more than a tenth longer.
    """
    found: dict[Hole, list[Alternative]] = {}
    for step, hole, what, values in islice(_planned(paying, sessions), _most_replays(paying)):
        aligned, cached = measure(step.replay.instead(hole, values, step.fixed))
        reached = sum(map(max, step.best, aligned))
        won = reached - sum(step.best)
        # A tool call that gives what the fix gives is only more to do.
        if won > (step.gain if what == "tool_call" else 0):
            row = Alternative(what, won, reached / whole, (reached if cached is None else cached) / whole)
            found.setdefault(hole, []).append(row)
    return {hole: tuple(rows) for hole, rows in found.items()}


def _most_replays(paying: Sequence[Paying]) -> int:
    requests = max([len(step.best) for step in paying], default=1)
    return max(MOST_REPLAYED // requests, 1)


def _planned(
    paying: Sequence[Paying], sessions: Callable[[], Sequence[object]]
) -> Iterator[tuple[Paying, Hole, str, list[str | None]]]:
    """What is worth a replay, that of the steps that win most first."""
    for step in sorted(paying, key=lambda step: -step.gain)[:MOST_PAYING]:
        for hole in step.holes:
            if hole.site.origin.role != "tools":
                for what, values in _kept(hole, step.replay.located(hole.site), sessions):
                    yield step, hole, what, values


def _kept(
    hole: Hole, found: Sequence[Found | None], sessions: Callable[[], Sequence[object]]
) -> Iterator[tuple[str, list[str | None]]]:
    """What may stay in the place of a value, request by request; None where the request keeps what it has."""
    own = [None if one is None else one.values[hole.number] for one in found]
    if value_kind(hole, found) == "clock":
        days = [None if value is None else day_of(value) for value in own]
        if len(set(days)) < len(set(own)):
            yield "date", days
    first: dict[object, str] = {}
    held: list[str | None] = []
    for value, session in zip(own, sessions(), strict=True):
        kept = None if value is None else first.setdefault(session, value)
        held.append(None if kept == value else kept)
    if any([value is not None for value in held]):
        yield "once_a_session", held
    if len(first) < len(own) - own.count(None):
        yield "tool_call", [None if value is None else "" for value in own]
