"""Where several values go, chosen together.

A value set behind the stable text stands ahead of the next one that is set there, so the better place of one depends
on the places of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from functools import partial
from itertools import product

from prefixlab.attribution.fix_replay import FixReplay, Hole, Target

FEW = 4
"""Values of which all choices of places are tried; of more one is changed at a time."""

MOST_ROUNDS = 3
"""Times that all values are gone through one by one."""

_Choice = tuple[Target, ...]
_Reached = Callable[[_Choice], list[int]]


def better_together(
    replay: FixReplay, holes: Set[Hole], as_logged: Sequence[int], block_tokens: int
) -> dict[Hole, Target]:
    """Places for `holes` that give at least a block a request more than those of the replay once all of them are
    fixed; empty where none do. For less the order of moved values, or a word of them, may decide.

    All other fixed holes stay where they are. `as_logged` is what the first requests reuse as they are: choices are
    judged on these. Of equal choices that is taken which gives the most on the way, front to back.
    """
    settled = replay.fixed
    order = [hole for hole in settled if hole in holes]
    if len(order) < 2:
        return {}
    known: dict[_Choice, list[int]] = {(): list(as_logged)}

    def reached(choice: _Choice) -> list[int]:
        """What each request reuses with the first values fixed, as many as are chosen; with all of them the other
        fixed holes as well."""
        if choice not in known:
            targets: Mapping[Hole, Target] = dict(zip(order, choice, strict=False))
            fixed = {**settled, **targets} if len(choice) == len(order) else targets
            known[choice] = replay.reached(fixed, len(as_logged))
        return known[choice]

    as_settled: _Choice = tuple([settled[hole] for hole in order])
    best = _of_all(len(order), reached) if len(order) <= FEW else _one_by_one(as_settled, reached)
    more = sum(reached(best)) - sum(reached(as_settled))
    return dict(zip(order, best, strict=True)) if more >= block_tokens * len(as_logged) else {}


def _of_all(count: int, reached: _Reached) -> _Choice:
    places: Sequence[Target] = ("newest", "own")
    choices = list(product(places, repeat=count))
    most = max([sum(reached(choice)) for choice in choices])
    return max([choice for choice in choices if sum(reached(choice)) == most], key=partial(_climbed, reached))


def _climbed(reached: _Reached, choice: _Choice) -> list[int]:
    """What all requests reuse with one value fixed more at a time; what a request has won it keeps."""
    best = reached(())
    sums = []
    for count in range(1, len(choice) + 1):
        best = list(map(max, best, reached(choice[:count])))
        sums.append(sum(best))
    return sums


def _one_by_one(choice: _Choice, reached: _Reached) -> _Choice:
    for _ in range(MOST_ROUNDS):
        before = choice
        for at, place in enumerate(choice):
            other: Target = "own" if place == "newest" else "newest"
            changed = (*choice[:at], other, *choice[at + 1 :])
            if sum(reached(changed)) > sum(reached(choice)):
                choice = changed
        if choice == before:
            break
    return choice
