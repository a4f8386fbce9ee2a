"""The ladder: every cause of a lost prefix in the order to fix it, front to back, with what each fix gives.

It is measured, not estimated: the log is replayed with the first cause fixed, then with the first two, and so on. What
a step adds is its row's recoverable tokens, so the rows add up to the whole volatile loss.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from prefixlab.attribution.break_rows import VERSION, break_row, tool_text_row, version_row
from prefixlab.attribution.climbing import TRIAL_REQUESTS, Climbing, Step
from prefixlab.attribution.families import Families
from prefixlab.attribution.field_rows import FieldStep, Reached, field_row, name_of, value_kind
from prefixlab.attribution.fix_replay import Encode, Hole, Replayed, Target
from prefixlab.attribution.fixed_log import FixedLog, FixedReuse
from prefixlab.attribution.half_measures import alternatives_of, sessions_of
from prefixlab.attribution.known_values import KnownValues
from prefixlab.attribution.places import collect_places, partners_of
from prefixlab.attribution.places_together import better_together
from prefixlab.attribution.prompt_versions import PromptVersion, versions_of
from prefixlab.attribution.restored_prompts import Restorer
from prefixlab.attribution.sites import (
    Found,
    Located,
    Place,
    count_breaks,
    located,
    relocated,
)
from prefixlab.attribution.structural_breaks import Structural, Structures, structures_of
from prefixlab.contracts import Engine
from prefixlab.findings import Alternative, Break, Field, Outcome
from prefixlab.prefix_tree import Match
from prefixlab.records import Prompt

MOST_FIELDS = 16
"""Fields that are replayed; what more there are is said, and stays in `first_seen`."""

PLACES_LOOKED_INTO = 24
"""Places that are looked into, those first that differ in most requests."""

NOTHING_KNOWN = KnownValues(())


class Ladder(NamedTuple):
    """The causes by rank and what every request could reuse with all of them fixed."""

    fields: tuple[Field, ...]
    breaks: tuple[Break, ...]
    aligned_if_fixed: list[int]
    shared_if_fixed: list[int]
    field_of: dict[int, str]
    """Request number to the name of the field, or the kind of the break, at which its prefix ends."""
    behind: Sequence[int]
    """The tokens behind the first break of each request."""
    if_fixed: FixedReuse
    """The whole log with all causes fixed that pay and are not known."""
    targets: Mapping[Hole, Target]
    """Where the value of each field goes, by rank."""
    sites: Located
    structures: Structures
    left_out: int
    """Fields more than are replayed."""


def climb(
    prompts: Sequence[Prompt],
    matches: Sequence[Match],
    families: Families,
    outcomes: Sequence[Outcome],
    engine: Engine,
    encode: Encode,
    *,
    cuts: bool,
    behind: Callable[[Sequence[int], Sequence[int]], Sequence[int]],
    serve: Callable[[FixedLog], FixedReuse] | None = None,
    written: int = 0,
    known: KnownValues = NOTHING_KNOWN,
) -> Ladder:
    """Find the causes of a log's misses and measure what fixing them gives, front to back.

    `cuts` says that text may be encoded piecewise at any blank behind a non-blank. `behind` tells the tokens behind the
    first break of each request, given what each could reuse and what it shares with all causes fixed. `serve` serves a
    log with fixes; None where all that is aligned is cached. `written` is what the log as it is writes to the cache.
    `known` causes are fixed last, so that no other row's figures count on a fix that nobody is going to make.
    """
    partners = partners_of(matches, families.numbers)
    places = collect_places(prompts, partners, families, engine.granularity)
    structures = structures_of(prompts, matches, families, partners, frozenset(places.unnamed))
    # Values between lines that change their places are found once the lines stand still.
    still = _in_one_order(prompts, structures, encode)
    if still is not prompts:
        places = collect_places(still, partners, families, engine.granularity)
    found = _sites(places, still, families.numbers)
    count_breaks(found, still, partners, matches)
    sites = found if still is prompts else relocated(found, still, prompts, families.numbers)
    sessions = cache(lambda: sessions_of(prompts, structures.bases))
    versions = versions_of(sites, prompts, sessions)
    candidates, left_out = _candidates(sites, structures, outcomes, versions)
    causes = _known_last(candidates, sites, known)
    _leave_to_one_cause(structures, sites)
    climbing = Climbing(prompts, families, outcomes, engine, encode, cuts, sites, structures, serve, written)
    # Where values go is found out on the first requests; the whole log is climbed once.
    climbed, climber = climbing.first(TRIAL_REQUESTS).climb(causes)
    settled = {step.cause for step in climbed.steps if isinstance(step.cause, Hole) and not step.is_known}
    as_logged = [outcome.aligned_tokens for outcome in outcomes[:TRIAL_REQUESTS]]
    targets = better_together(climber.replay, settled, as_logged, engine.granularity)
    climbed, climber = climbing.climb(causes, {**climber.replay.fixed, **targets})
    steps, rest = climbed.steps[: climbed.won], climbed.steps[climbed.won :]

    def measure(replayed: Replayed) -> tuple[Sequence[int], int | None]:
        return climber.aligned(replayed), None if serve is None else serve(replayed.log).cached_tokens

    alternatives = alternatives_of(climbed.paying, sessions, measure, _prompt_tokens(outcomes))
    lost = behind(climbed.aligned_tokens, climbed.shared_tokens)
    rows = _rows(steps, rest, still, families.numbers, outcomes, lost, found, encode, alternatives, versions)
    return Ladder(
        tuple([row for row in rows if isinstance(row, Field)]),
        tuple([row for row in rows if isinstance(row, Break)]),
        climbed.aligned_tokens,
        climbed.shared_tokens,
        _field_of(steps, rest, versions),
        lost,
        climbed.use,
        {step.cause: step.target for step in steps if isinstance(step.cause, Hole)},
        sites,
        structures,
        left_out,
    )


def _in_one_order(prompts: Sequence[Prompt], structures: Structures, encode: Encode) -> Sequence[Prompt]:
    """The prompts with the lines that change their places in one order; the same prompts where there are none."""
    moving = [one for one in structures.breaks if one.lines]
    return Restorer(prompts, structures, encode).restored(moving) if moving else prompts


def _leave_to_one_cause(structures: Structures, sites: Located) -> None:
    """Leave each request whose prefix ends both at a structural break and at a value to the one that stands first.

    Values between lines that move are found with the lines in order, so either may be the first as logged.
    """
    ending = {number: one for one in structures.breaks for number in one.first}
    places: dict[int, tuple[int, int]] = {}
    for (number, at), one in structures.key_of.items():
        comparison = structures.comparisons[number]
        if comparison is not None and ending.get(number) is one and number not in places:
            start = comparison.regions[at].start
            piece = comparison.mine.piece_at(start)
            places[number] = piece, start - comparison.mine.firsts[piece]
    for site, found in sites.items():
        for hole, requests in enumerate(site.first):
            kept = []
            for number in requests:
                here = found[number]
                if number not in places:
                    kept.append(number)
                elif here is not None and (here.piece, here.start) <= places[number]:
                    kept.append(number)
                    del ending[number]
            site.first[hole] = kept
    for one in structures.breaks:
        one.first = [number for number in one.first if number in ending]


def _prompt_tokens(outcomes: Sequence[Outcome]) -> int:
    return sum([outcome.prompt_tokens for outcome in outcomes])


def _candidates(
    sites: Located, structures: Structures, outcomes: Sequence[Outcome], versions: Sequence[PromptVersion]
) -> tuple[list[Hole | Structural], int]:
    """The causes worth fixing, front to back, and how many fields more there are."""
    holes = []
    of_versions = {hole for version in versions for hole in version.holes}
    for site in sites:
        for number in range(site.holes):
            if site.broken[number] and Hole(site, number) not in of_versions:
                lost = sum([outcomes[request].prompt_tokens for request in site.first[number]])
                holes.append((lost, site.broken[number], Hole(site, number)))
    worth = sorted(holes, key=lambda row: (row[0], row[1]), reverse=True)[:MOST_FIELDS]
    chosen = {hole for _, _, hole in worth}
    causes: list[tuple[tuple[int, int], int, Hole | Structural]] = []
    for _, _, hole in holes:
        if hole in chosen:
            causes.append((_position(sites[hole.site]), len(causes), hole))
    causes += [(one.position, -1, one) for one in structures.breaks]
    return [cause for _, _, cause in sorted(causes, key=lambda row: row[:2])], len(holes) - len(worth)


def _known_last(
    causes: Sequence[Hole | Structural], sites: Located, known: KnownValues
) -> list[tuple[bool, Hole | Structural]]:
    """The causes, those behind the others that are known, which are told."""

    def is_known(cause: Hole | Structural) -> bool:
        if isinstance(cause, Structural):
            return known.accept_break(cause.kind)
        if cause.site.origin.role == "tools":
            return known.accept_break("tool_text")
        return known.accept_field(name_of(cause), value_kind(cause, sites[cause.site]))

    if not known:
        return [(False, cause) for cause in causes]
    return sorted([(is_known(cause), cause) for cause in causes], key=lambda one: one[0])


def _rows(
    steps: Sequence[Step],
    rest: Sequence[Step],
    prompts: Sequence[Prompt],
    families: Sequence[int],
    outcomes: Sequence[Outcome],
    lost: Sequence[int],
    sites: Located,
    encode: Encode,
    alternatives: Mapping[Hole, tuple[Alternative, ...]],
    versions: Sequence[PromptVersion],
) -> list[Field | Break]:
    """The rows of the ladder; behind them new versions of the prompt, and structural breaks that cost tokens and that
    no fix wins back."""
    prompt_tokens = _prompt_tokens(outcomes) or 1
    reused = sum([outcome.aligned_tokens for outcome in outcomes])
    warm = len(outcomes) - len(set(zip([prompt.namespace for prompt in prompts], families, strict=True)))
    rows: list[Field | Break] = []
    recovered = 0
    cached = sum([outcome.cached_tokens for outcome in outcomes])
    for at, (cause, target, gain, now_cached, pays, _) in enumerate(steps):
        recovered += gain
        cached = now_cached
        is_worth_it = pays or not gain
        reached = Reached(
            (reused + recovered) / prompt_tokens, cached / prompt_tokens, prompt_tokens, warm, is_worth_it
        )
        if isinstance(cause, Structural):
            rows.append(break_row(cause, at + 1, gain, reached, prompts, lost))
            continue
        after = steps[at + 1].cause if at + 1 < len(steps) else None
        is_followed = isinstance(after, Hole) and steps[at + 1].is_known == steps[at].is_known
        partner = name_of(after) if isinstance(after, Hole) and is_followed and not gain else ""
        step = FieldStep(cause, target, gain)
        less = alternatives.get(cause, ())
        row = field_row(step, at + 1, reached, prompts, lost, sites[cause.site], encode, partner, less)
        rows.append(tool_text_row(row) if row.level == "tools_changed" else row)
    reached = Reached((reused + recovered) / prompt_tokens, cached / prompt_tokens, prompt_tokens, warm)
    for version in versions:
        rows.append(version_row(version, len(rows) + 1, reached, prompts, lost, sites))
    for left in rest:
        if isinstance(left.cause, Structural) and left.cause.first:
            rows.append(break_row(left.cause, len(rows) + 1, 0, reached, prompts, lost))
    return rows


def _field_of(steps: Sequence[Step], rest: Sequence[Step], versions: Sequence[PromptVersion]) -> dict[int, str]:
    """What ends the prefix of each request, where it is known."""
    named: dict[int, str] = {}
    for step in [*steps, *rest]:
        if isinstance(step.cause, Structural):
            for request in step.cause.first:
                named.setdefault(request, step.cause.kind)
    for step in steps:
        if isinstance(step.cause, Hole):
            for request in step.cause.site.first[step.cause.number]:
                named.setdefault(request, name_of(step.cause))
    for version in versions:
        for hole in version.holes:
            for request in hole.site.first[hole.number]:
                named.setdefault(request, VERSION)
    return named


def _sites(places: Iterable[Place], prompts: Sequence[Prompt], families: Sequence[int]) -> Located:
    """The sites of the places that differ most often, front to back; of places that overlap the one that tells all
    that the others tell, else the more frequent."""
    kept: Located = {}
    for place in sorted(places, key=lambda place: -place.times)[:PLACES_LOOKED_INTO]:
        found = located(place, prompts, families)
        overlapped = [site for site in kept if any([_overlap(kept[site], one) for one in found.values()])]
        if all([any([_tells(one, kept[site]) for one in found.values()]) for site in overlapped]):
            for site in overlapped:
                del kept[site]
            kept.update(found)
    return dict(sorted(kept.items(), key=lambda item: _position(item[1])))


def _tells(one: Sequence[Found | None], other: Sequence[Found | None]) -> bool:
    """Whether a site has the values of another wherever that one stands: a line that changes once a day ends a place
    on one day and belongs to it on the next."""
    return all(
        mine is not None
        and mine.piece == yours.piece
        and mine.start <= yours.start
        and yours.end <= mine.end
        and any([mine.values[at : at + len(yours.values)] == yours.values for at in range(len(mine.values))])
        for mine, yours in zip(one, other, strict=True)
        if yours is not None
    )


def _overlap(one: Sequence[Found | None], other: Sequence[Found | None]) -> bool:
    """Whether two sites stand at the same text in some prompt."""
    return any(
        mine.piece == yours.piece and mine.start < yours.end and yours.start < mine.end
        for mine, yours in zip(one, other, strict=True)
        if mine is not None and yours is not None
    )


def _position(found: Sequence[Found | None]) -> tuple[int, int]:
    """Piece and run of a site's first appearance."""
    for one in found:
        if one is not None:
            return one.piece, one.start
    return 1 << 30, 0
