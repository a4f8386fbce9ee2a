"""New versions of a prompt: several values that change together once over the log, and never back.

That is what a deploy looks like. Nothing is to be moved there: the new text stays, and is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from prefixlab.attribution.field_rows import value_kind
from prefixlab.attribution.fix_replay import Hole
from prefixlab.attribution.sites import Found, Located
from prefixlab.records import Prompt

LEAST_REQUESTS = 4
"""Requests that have the old text, and the new one; fewer say nothing of what comes later."""

LEAST_VALUES = 2
"""Values that change together. One alone may be anything."""

_GOES_ON = frozenset(("clock", "date", "age", "counter", "uuid"))
"""Kinds of which one change is the first that was seen, not the last that comes."""


class PromptVersion(NamedTuple):
    """A new version of a prompt from request number `since` on."""

    holes: tuple[Hole, ...]
    since: int
    was: str
    became: str
    """A value of the old and of the new text."""


def versions_of(
    sites: Located, prompts: Sequence[Prompt], sessions: Callable[[], Sequence[object]]
) -> list[PromptVersion]:
    """The new versions of a log's prompts, in order of arrival. `sessions` tells the session of each request."""
    together: dict[int, list[tuple[Hole, str, str]]] = {}
    for site, found in sites.items():
        for number in range(site.holes):
            change = _only_change(found, number) if site.broken[number] else None
            if change is not None and value_kind(Hole(site, number), found) not in _GOES_ON:
                since, was, became = change
                together.setdefault(since, []).append((Hole(site, number), was, became))
    versions = []
    for since, changed in sorted(together.items()):
        if len(changed) < LEAST_VALUES:
            continue
        has_it = [number for number, found in enumerate(sites[changed[0][0].site]) if found is not None]
        old, new = has_it[: has_it.index(since)], has_it[has_it.index(since) :]
        if min(len(old), len(new)) >= LEAST_REQUESTS and not _is_of_somebody(prompts, sessions(), old, new):
            _, was, became = changed[0]
            versions.append(PromptVersion(tuple([hole for hole, _, _ in changed]), since, was.strip(), became.strip()))
    return versions


def _only_change(found: Sequence[Found | None], hole: int) -> tuple[int, str, str] | None:
    """The first request with a hole's second value, and both values, if there are no more and it never goes back."""
    old = new = None
    since = -1
    for number, one in enumerate(found):
        if one is None:
            continue
        value = one.values[hole]
        if old is None:
            old = value
        elif new is None:
            if value != old:
                new, since = value, number
        elif value != new:
            return None
    return None if old is None or new is None else (since, old, new)


def _is_of_somebody(
    prompts: Sequence[Prompt], sessions: Sequence[object], old: Sequence[int], new: Sequence[int]
) -> bool:
    """Whether all of the old text went to one session, user or other tag, and all of the new one to another."""
    told = [[prompt.tags.get(tag) for prompt in prompts] for tag in prompts[new[0]].tags]
    for of_request in (*told, sessions):
        before, after = ({of_request[number] for number in side} for side in (old, new))
        if len(before) == len(after) == 1 and before != after:
            return True
    return False
