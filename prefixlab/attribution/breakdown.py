"""Figures, losses and causes of a log's requests, broken down by their tags."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from prefixlab.findings import Losses, Outcome, Totals
from prefixlab.records import Prompt

WITHOUT = "(none)"
"""The value of requests that do not have the tag."""


class Breakdown(NamedTuple):
    """By tag and by value of the tag, values in order of first appearance."""

    totals: Mapping[str, Mapping[str, Totals]]
    losses: Mapping[str, Mapping[str, Losses]]
    causes: Mapping[str, Mapping[str, Mapping[str, int]]]
    """Names of fields and kinds of breaks, with the requests whose prefix ends there; the most frequent first."""


def broken_down(
    tags: Sequence[str],
    prompts: Sequence[Prompt],
    outcomes: Sequence[Outcome],
    losses: Sequence[Losses],
    families: Sequence[int],
    cause_of: Mapping[int, str],
) -> Breakdown:
    """The figures for each value of each tag; every request counts for one value of a tag."""
    totals: dict[str, dict[str, Totals]] = {}
    lost: dict[str, dict[str, Losses]] = {}
    causes: dict[str, dict[str, Mapping[str, int]]] = {}
    for tag in tags:
        groups: dict[str, list[int]] = {}
        for number, prompt in enumerate(prompts):
            groups.setdefault(prompt.tags.get(tag, WITHOUT), []).append(number)
        totals[tag], lost[tag], causes[tag] = {}, {}, {}
        for value, group in groups.items():
            totals[tag][value] = Totals.of([outcomes[one] for one in group], len({families[one] for one in group}))
            lost[tag][value] = sum_of([losses[one] for one in group])
            causes[tag][value] = dict(Counter([cause_of[one] for one in group if one in cause_of]).most_common())
    return Breakdown(totals, lost, causes)


def sum_of(losses: Sequence[Losses]) -> Losses:
    """The losses of several requests together."""
    return Losses(*[sum(column) for column in zip(*losses, strict=True)]) if losses else Losses()
