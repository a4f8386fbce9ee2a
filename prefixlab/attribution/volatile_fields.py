"""Volatile fields: the values at which prompts of one family part, in the order to fix them, with what each gives.

The ladder is measured, not estimated: the log is replayed with the first field fixed, then with the first two, and so
on. A field's recoverable tokens are what its step adds, so the rows add up to the whole volatile loss.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from prefixlab.attribution.families import Families
from prefixlab.attribution.fix_replay import Encode, FixReplay, Hole, Replayed, Target
from prefixlab.attribution.fixed_log import FixedLog, FixedReuse
from prefixlab.attribution.severity import severity_of
from prefixlab.attribution.sites import (
    Found,
    Located,
    Place,
    collect_places,
    count_breaks,
    located,
    partners_of,
)
from prefixlab.attribution.value_kinds import kind_of
from prefixlab.contracts import Engine
from prefixlab.findings import Field, Outcome
from prefixlab.prefix_tree import Match
from prefixlab.records import TOKEN_BYTES, Origin, Prompt

MOST_FIELDS = 8
"""Fields that are replayed; the rest of a log with more stays in `first_seen`."""

TRIAL_REQUESTS = 256
"""Requests on which the place of a moved value is chosen."""

PLACES_LOOKED_INTO = 24
"""Places that are looked into, those first that differ in most requests."""

EXAMPLES = 3


class Ladder(NamedTuple):
    """The fields by rank and what every request could reuse with all of them fixed."""

    fields: tuple[Field, ...]
    aligned_if_fixed: list[int]
    shared_if_fixed: list[int]
    field_of: dict[int, str]
    """Request number to the name of the field at which its prefix ends."""
    unnamed: Counter[str]
    """Requests by the path at which their prefix ends, ahead of text that is the same again, but not at a value."""
    if_fixed: FixedReuse
    """The whole log with all fields fixed."""
    tried: list[str]
    """Names of values whose move does not pay."""
    targets: Mapping[Hole, Target]
    """Where the value of each field goes, by rank."""
    sites: Located


def find_fields(
    prompts: Sequence[Prompt],
    matches: Sequence[Match],
    families: Families,
    outcomes: Sequence[Outcome],
    engine: Engine,
    encode: Encode,
    *,
    cuts: bool,
    serve: Callable[[FixedLog], FixedReuse] | None = None,
    written: int = 0,
) -> Ladder:
    """Find the volatile fields of a log and measure what fixing them gives, front to back.

    `cuts` says that text may be encoded piecewise at any blank behind a non-blank. `serve` serves a log with
    fixes; None where all that is aligned is cached. `written` is what the log as it is writes to the cache.
    """
    best = [outcome.aligned_tokens for outcome in outcomes]
    shared = [outcome.raw_shared_tokens for outcome in outcomes]
    partners = partners_of(matches, families.numbers)
    places = collect_places(prompts, partners, families, engine.granularity)
    sites = _sites(places, prompts, families.numbers)
    count_breaks(sites, prompts, partners, matches)
    replay = FixReplay(prompts, sites, engine, encode, cuts=cuts)
    steps: list[_Step] = []
    paid = 0
    use = FixedReuse(sum([outcome.cached_tokens for outcome in outcomes]), written, _prompt_tokens(outcomes))
    most = sum(best)
    reached, reached_shared, reached_use = best, shared, use
    for hole in _candidates(sites, outcomes):
        target, replayed = replay.fix(hole, TRIAL_REQUESTS, best)
        aligned = _aligned(engine, replayed, outcomes)
        better = [max(pair) for pair in zip(best, aligned, strict=True)]
        gain = sum(better) - sum(best)
        best = better
        if gain:
            use = FixedReuse(sum(best), 0, use.prompt_tokens) if serve is None else serve(replayed.log)
        steps.append(_Step(hole, target, gain, use.cached_tokens))
        if gain and sum(aligned) > most:
            # Some requests win by a move and others lose by it; a step counts once the log as a whole has won.
            most, paid = sum(aligned), len(steps)
            reached, reached_shared, reached_use = best, replayed.shared_tokens, use
        # A replay holds its whole log; the next one need not stand beside it.
        del replayed
    tried = [_name(step.hole) for step in steps[paid:]]
    del steps[paid:]
    fields, field_of = _rows(steps, prompts, families.numbers, outcomes, sites, encode)
    targets = {step.hole: step.target for step in steps}
    return Ladder(fields, reached, reached_shared, field_of, places.unnamed, reached_use, tried, targets, sites)


def _aligned(engine: Engine, replayed: Replayed, outcomes: Sequence[Outcome]) -> list[int]:
    """What an unlimited cache reuses of every request of a log with fixes."""
    if not engine.is_rule_exact:
        return replayed.aligned_tokens
    # What is shared no further than as logged is not won by a fix, whatever the engine denies of it.
    return [
        aligned if shared > outcome.raw_shared_tokens else min(aligned, outcome.aligned_tokens)
        for aligned, shared, outcome in zip(replayed.aligned_tokens, replayed.shared_tokens, outcomes, strict=True)
    ]


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


def _prompt_tokens(outcomes: Sequence[Outcome]) -> int:
    return sum([outcome.prompt_tokens for outcome in outcomes])


class _Step(NamedTuple):
    hole: Hole
    target: Target
    gain: int
    cached: int
    """Cached tokens of the whole log with this fix and those before it."""


def _candidates(sites: Located, outcomes: Sequence[Outcome]) -> list[Hole]:
    """The holes worth fixing, front to back."""
    holes = []
    for site in sites:
        for number in range(site.holes):
            if site.broken[number]:
                lost = sum([outcomes[request].prompt_tokens for request in site.first[number]])
                holes.append((lost, site.broken[number], Hole(site, number)))
    worth = sorted(holes, key=lambda row: (row[0], row[1]), reverse=True)[:MOST_FIELDS]
    chosen = {hole for _, _, hole in worth}
    return [hole for _, _, hole in holes if hole in chosen]


def _position(found: Sequence[Found | None]) -> tuple[int, int]:
    """Piece and run of a site's first appearance."""
    for one in found:
        if one is not None:
            return one.piece, one.start
    return 1 << 30, 0


def _rows(
    steps: Sequence[_Step],
    prompts: Sequence[Prompt],
    families: Sequence[int],
    outcomes: Sequence[Outcome],
    sites: Located,
    encode: Encode,
) -> tuple[tuple[Field, ...], dict[int, str]]:
    """The rows of the ladder, and for each request the field at which its prefix ends."""
    prompt_tokens = _prompt_tokens(outcomes)
    reused = sum([outcome.aligned_tokens for outcome in outcomes])
    warm = len(outcomes) - len(set(zip([prompt.namespace for prompt in prompts], families, strict=True)))
    fields = []
    field_of: dict[int, str] = {}
    recovered = 0
    for rank, (hole, target, gain, cached) in enumerate(steps, 1):
        site, number = hole
        standing = [(prompt, one) for prompt, one in zip(prompts, sites[site], strict=True) if one is not None]
        shown_in = standing[0]
        origin = _origin(hole, *shown_in)
        values = [one.values[number] for _, one in standing]
        distinct = dict.fromkeys(values)
        kind = kind_of(list(distinct)[:1000])
        name = _name(hole)
        recovered += gain
        first = site.first[number]
        for request in first:
            field_of.setdefault(request, name)
        fields.append(
            Field(
                rank=rank,
                name=name,
                kind=kind,
                path=origin.path,
                line=_line_in_text(hole, *shown_in),
                token_index=site.token_index
                if first and site.token_index >= 0
                else _token_index(hole, *shown_in, encode),
                requests=site.broken[number],
                distinct_values=len(distinct),
                examples=tuple([value.strip()[:200] for value in list(distinct)[:EXAMPLES]]),
                lost_tokens=sum([outcomes[one].prompt_tokens - outcomes[one].raw_shared_tokens for one in first]),
                recoverable_tokens=gain,
                reuse_after_fix=(reused + recovered) / prompt_tokens,
                cached_reuse_after_fix=cached / prompt_tokens,
                level=level_of(origin.role),
                severity=severity_of(gain / prompt_tokens, site.broken[number] / warm if warm else 0.0, gain),
                confidence="high" if len(distinct) >= 3 and kind != "text" else "medium",
                advice=_advice(name, kind, target, origin.role, _name(steps[rank].hole) if not gain else ""),
            )
        )
    return tuple(fields), field_of


def level_of(role: str) -> str:
    """The coarse label that hosted providers use for the part of a request that changed."""
    if role in ("system", "developer"):
        return "system_changed"
    return "tools_changed" if role == "tools" else "messages_changed"


def _origin(hole: Hole, prompt: Prompt, found: Found) -> Origin:
    """Where the value came from; a piece may hold text of several origins."""
    left = len(_text_before(hole, prompt, found))
    for span in prompt.pieces[found.piece].spans:
        left -= span.chars
        if left < 0:
            return span.origin
    return hole.site.origin


def _line_in_text(hole: Hole, prompt: Prompt, found: Found) -> int:
    """The line of the value in the text at its JSON path, from 1."""
    return _text_before(hole, prompt, found).count("\n") + 1


def _text_before(hole: Hole, prompt: Prompt, found: Found) -> str:
    """The piece's text ahead of the value."""
    runs = prompt.pieces[found.piece].runs[: found.start]
    return "".join([run.text for run in runs]) + _literals_before(hole, found.values)


def _token_index(hole: Hole, prompt: Prompt, found: Found, encode: Encode) -> int:
    """The token at which the value starts, from 0."""
    pieces = prompt.pieces
    ahead = sum([piece.token_count for piece in pieces[: found.piece]])
    ahead += sum([len(run.tokens) for run in pieces[found.piece].runs[: found.start]]) // TOKEN_BYTES
    text = _literals_before(hole, found.values).rstrip(" ")
    return ahead + sum([len(run.tokens) for run in encode(text, hole.site.origin)]) // TOKEN_BYTES


def _literals_before(hole: Hole, values: tuple[str, ...]) -> str:
    """The text of the site's line ahead of a hole."""
    literals = hole.site.template.literals
    ahead = zip(literals, values[: hole.number], strict=False)
    return "".join([literal + value for literal, value in ahead]) + literals[hole.number]


def _name(hole: Hole) -> str:
    """What the text calls a value, else where it stands."""
    origin = hole.site.origin
    return hole.site.label(hole.number) or f"value in {origin.path or origin.role}"


def _advice(name: str, kind: str, target: Target, role: str, partner: str) -> str:
    if role == "prompt":
        where = "to the end of the prompt"
    elif target == "newest":
        where = "to the end of the newest user message"
    else:
        where = "to the end of its own message"
    said = f"Move {name!r} {where}, behind the text that stays the same."
    if partner:
        said += f" It pays only together with {partner!r}, right behind it."
    if kind in ("clock", "date", "age"):
        return said + " If the model needs only the day, give the day: it then changes once in 24 hours."
    if kind in ("uuid", "id", "counter"):
        return said + " If the model does not need it, leave it to the request's metadata."
    return said
