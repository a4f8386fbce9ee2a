"""The value at which a request's prefix ends, in it and in the request it was matched with."""

from __future__ import annotations

from collections.abc import Sequence

from prefixlab.attribution.families import Families
from prefixlab.attribution.sites import Located, Places, count_breaks, located
from prefixlab.prefix_tree import Match
from prefixlab.records import Prompt

_TEACHERS = 256
"""Prompts of the family that tell what of a place varies."""


def values_at_break(
    prompts: Sequence[Prompt], families: Families, number: int, partner: int, name: str, block_tokens: int
) -> tuple[str, str] | None:
    """The value of the field `name` in a request and in its partner, or None where they do not differ in one of that
    name."""
    family = families.numbers[number]
    members = [one for one, other in enumerate(families.numbers) if other == family and one not in (number, partner)]
    step = max(len(members) // _TEACHERS, 1)
    chosen = [partner, number, *members[::step][:_TEACHERS]]
    some = [prompts[one] for one in chosen]
    places = Places(block_tokens)
    places.collect(family, families.skeletons[family], prompts[number], prompts[partner])
    sites: Located = {}
    for place in places:
        sites.update(located(place, some, [family] * len(some)))
    partners: list[int | None] = [None] * len(some)
    partners[1] = 0
    count_breaks(sites, some, partners, [Match(0, None)] * len(some))
    differing = []
    for site, found in sites.items():
        was, now = found[0], found[1]
        if was is None or now is None:
            continue
        for hole, broken in enumerate(site.broken):
            if broken:
                first = bool(site.first[hole])
                label = site.label(hole) or f"value in {site.origin.path or site.origin.role}"
                differing.append((label != name, not first, (now.values[hole].strip(), was.values[hole].strip())))
    named = [row for row in differing if not row[0]]
    return min(named, key=lambda row: row[1])[2] if named else None
