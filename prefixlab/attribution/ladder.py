"""The ladder: every cause of a lost prefix in the order to fix it, front to back, with what each fix gives.

It is measured, not estimated: the log is replayed with the first cause fixed, then with the first two, and so on. What
a step adds is its row's recoverable tokens, so the rows add up to the whole volatile loss.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from prefixlab.attribution.break_rows import break_row, tool_text_row
from prefixlab.attribution.families import Families
from prefixlab.attribution.field_rows import FieldStep, Reached, field_row, name_of, value_kind
from prefixlab.attribution.fix_replay import Encode, FixReplay, Hole, Replayed, Target
from prefixlab.attribution.fixed_log import FixedLog, FixedReuse
from prefixlab.attribution.known_values import KnownValues
from prefixlab.attribution.restored_prompts import Restorer
from prefixlab.attribution.sites import (
    Found,
    Located,
    Place,
    collect_places,
    count_breaks,
    located,
    partners_of,
    relocated,
)
from prefixlab.attribution.structural_breaks import Structural, Structures, structures_of
from prefixlab.contracts import Engine
from prefixlab.findings import Break, Field, Outcome
from prefixlab.prefix_tree import Match
from prefixlab.records import Prompt

MOST_FIELDS = 16
"""Fields that are replayed; what more there are is said, and stays in `first_seen`."""

TRIAL_REQUESTS = 256
"""Requests on which the place of a moved value is chosen."""

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


class Step(NamedTuple):
    """A cause fixed: the aligned tokens that this won, and the cached tokens of the log with it and those before it."""

    cause: Hole | Structural
    target: Target
    gain: int
    cached: int
    pays: bool
    is_known: bool


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
    _leave_to_one_cause(structures, sites)
    climber = _Climber(prompts, families, outcomes, engine, encode, cuts, sites, structures)
    best = [outcome.aligned_tokens for outcome in outcomes]
    shared = [outcome.raw_shared_tokens for outcome in outcomes]
    steps: list[Step] = []
    won = 0
    use = FixedReuse(sum([outcome.cached_tokens for outcome in outcomes]), written, _prompt_tokens(outcomes))
    most = sum(best)
    reached, reached_shared, reached_use = best, shared, use
    candidates, left_out = _candidates(sites, structures, outcomes)
    for is_known, cause in _known_last(candidates, sites, known):
        target, replayed = climber.fix(cause, best)
        aligned = climber.aligned(replayed)
        better = [max(pair) for pair in zip(best, aligned, strict=True)]
        gain = sum(better) - sum(best)
        best = better
        if gain:
            use = FixedReuse(sum(best), 0, use.prompt_tokens) if serve is None else serve(replayed.log)
            won = len(steps) + 1
            reached, reached_shared = best, climber.shared(replayed)
        # Some requests win by a fix and others lose by it: it pays if the log as a whole has won.
        pays = sum(aligned) > most
        steps.append(Step(cause, target, gain, use.cached_tokens, pays, is_known))
        if pays:
            most = sum(aligned)
            reached_use = reached_use if is_known else use
        # A replay holds its whole log; the next one need not stand beside it.
        del replayed
    rest = steps[won:]
    del steps[won:]
    lost = behind(reached, reached_shared)
    rows = _rows(steps, rest, still, families.numbers, outcomes, lost, found, encode)
    return Ladder(
        tuple([row for row in rows if isinstance(row, Field)]),
        tuple([row for row in rows if isinstance(row, Break)]),
        reached,
        reached_shared,
        _field_of(steps, rest, sites),
        lost,
        reached_use,
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


class _Climber:
    """Fixes one cause more at a time and replays the log."""

    def __init__(
        self,
        prompts: Sequence[Prompt],
        families: Families,
        outcomes: Sequence[Outcome],
        engine: Engine,
        encode: Encode,
        cuts: bool,
        sites: Located,
        structures: Structures,
    ) -> None:
        self._prompts = prompts
        self._families = families
        self._outcomes = outcomes
        self._engine = engine
        self._encode = encode
        self._cuts = cuts
        self._sites = sites
        self._restorer = Restorer(prompts, structures, encode)
        self._undone: list[Structural] = []
        self._restored: Sequence[Prompt] = prompts
        self._replay = FixReplay(prompts, sites, engine, encode, cuts=cuts)
        self._kept = [0] * len(prompts)
        """Tokens of additions that the restored history of each request keeps."""

    def fix(self, cause: Hole | Structural, best: Sequence[int]) -> tuple[Target, Replayed]:
        """Fix a cause beside those before it."""
        if isinstance(cause, Hole):
            return self._replay.fix(cause, TRIAL_REQUESTS, best)
        before, kept = self._restored, self._kept
        self._undone.append(cause)
        replayed = self._undo()
        if cause.moved:
            # An addition at the head of the newest message is gone from there a turn later. It can be set behind its
            # message, or kept there as the earlier request had it. A history that keeps it has tokens that the request
            # as logged has not: those are no gain, only what is reused of the request as logged counts. So both ways
            # give the message, and keeping it gives also what stands behind it: the template's few tokens, and the
            # answer where that was generated from it. It is kept where that is more than a block a request; for less
            # no history need grow.
            behind = self._gained(best, replayed)
            cause.is_kept = True
            grown = self._undo()
            pairs = zip(kept, self._restored, before, strict=True)
            self._kept = [more + max(one.token_count - other.token_count, 0) for more, one, other in pairs]
            if self._gained(best, grown) > behind + self._engine.granularity * len(cause.requests):
                return "own", grown
            cause.is_kept, self._kept = False, kept
            replayed = self._undo()
        return "own", replayed

    def _undo(self) -> Replayed:
        """Replay the log with the breaks undone so far, beside the holes that are fixed."""
        self._restored = self._restorer.restored(self._undone)
        sites = relocated(self._sites, self._prompts, self._restored, self._families.numbers)
        fixed = self._replay.fixed
        self._replay = FixReplay(self._restored, sites, self._engine, self._encode, cuts=self._cuts, fixed=fixed)
        return self._replay.again()

    def _gained(self, best: Sequence[int], replayed: Replayed) -> int:
        return sum(map(max, best, self.aligned(replayed)))

    def shared(self, replayed: Replayed) -> list[int]:
        """What every request as logged shares."""
        return [max(tokens - kept, 0) for tokens, kept in zip(replayed.shared_tokens, self._kept, strict=True)]

    def aligned(self, replayed: Replayed) -> list[int]:
        """What an unlimited cache reuses of every request, at most what its length as logged allows."""
        step = self._engine.granularity
        rounded = self._engine.aligned_tokens
        aligned = []
        for number, (tokens, outcome) in enumerate(zip(replayed.aligned_tokens, self._outcomes, strict=True)):
            most, kept = outcome.prompt_tokens, self._kept[number]
            if kept and self._engine.is_rule_exact:
                tokens = rounded(min(max(replayed.shared_tokens[number] - kept, 0), most), most)
            elif kept:
                tokens = max(tokens - kept, 0) // step * step
            aligned.append(min(tokens, max(most - 1, 0) // step * step))
        if not self._engine.is_rule_exact:
            return aligned
        # What is shared no further than as logged is not won by a fix, whatever the engine denies of it.
        return [
            tokens if shared > outcome.raw_shared_tokens else min(tokens, outcome.aligned_tokens)
            for tokens, shared, outcome in zip(aligned, self.shared(replayed), self._outcomes, strict=True)
        ]


def _prompt_tokens(outcomes: Sequence[Outcome]) -> int:
    return sum([outcome.prompt_tokens for outcome in outcomes])


def _candidates(
    sites: Located, structures: Structures, outcomes: Sequence[Outcome]
) -> tuple[list[Hole | Structural], int]:
    """The causes worth fixing, front to back, and how many fields more there are."""
    holes = []
    for site in sites:
        for number in range(site.holes):
            if site.broken[number]:
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
) -> list[Field | Break]:
    """The rows of the ladder; behind them structural breaks that cost tokens and that no fix wins back."""
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
        row = field_row(step, at + 1, reached, prompts, lost, sites[cause.site], encode, partner)
        rows.append(tool_text_row(row) if row.level == "tools_changed" else row)
    reached = Reached((reused + recovered) / prompt_tokens, cached / prompt_tokens, prompt_tokens, warm)
    for left in rest:
        if isinstance(left.cause, Structural) and left.cause.first:
            rows.append(break_row(left.cause, len(rows) + 1, 0, reached, prompts, lost))
    return rows


def _field_of(steps: Sequence[Step], rest: Sequence[Step], sites: Located) -> dict[int, str]:
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
    return named


def _sites(places: Iterable[Place], prompts: Sequence[Prompt], families: Sequence[int]) -> Located:
    """The sites of the places that differ most often, front to back; of places that overlap the more frequent."""
    kept: Located = {}
    for place in sorted(places, key=lambda place: -place.times)[:PLACES_LOOKED_INTO]:
        found = located(place, prompts, families)
        if not any([_overlap(one, other) for one in found.values() for other in kept.values()]):
            kept.update(found)
    return dict(sorted(kept.items(), key=lambda item: _position(item[1])))


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
