"""Structural breaks: the causes that are no value in a text, found by comparing each request with the one it continues.

Each kind is one rung of the ladder, with all the requests in which it stands. Values are compared elsewhere; a request
is looked into here only if it lost some of the text of the one before it in another way than at a value met before.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from prefixlab.attribution.alignment import Region
from prefixlab.attribution.families import Families
from prefixlab.attribution.id_forms import id_region
from prefixlab.attribution.kinship import bases_of
from prefixlab.attribution.structure import Comparison, compare, continues
from prefixlab.prefix_tree import Match
from prefixlab.records import Prompt, Run

ALIKE = 16
"""Comparisons of one outward form that found nothing structural, after which that form is not looked into any more."""

MOST_KINDS = 12


@dataclass(slots=True)
class Structural:
    """A kind of break at a path, and where it stands."""

    kind: str
    path: str
    evidence: str
    position: tuple[int, int]
    """Piece and run of its first appearance, to order causes front to back."""
    token_index: int
    moved: str = ""
    """Text ahead of the rest of the newest message, which a fix sets behind it or keeps in the history."""
    is_kept: bool = False
    """Whether `moved` is kept."""
    lines: dict[str, Run] = field(default_factory=dict)
    """Lines of a text whose order changes, in the order in which the log showed them first."""
    requests: list[int] = field(default_factory=list)
    first: list[int] = field(default_factory=list)
    """Requests whose prefix ends at it."""


class Structures(NamedTuple):
    """How the requests of a log continue one another, and what changed in between."""

    bases: list[int | None]
    comparisons: list[Comparison | None]
    """None where a request has all of its base's text, or differs from it in values alone."""
    breaks: list[Structural]
    key_of: dict[tuple[int, int], Structural]
    """Request and number of a region to its break."""


def structures_of(
    prompts: Sequence[Prompt],
    matches: Sequence[Match],
    families: Families,
    partners: Sequence[int | None],
    unnamed: frozenset[int],
) -> Structures:
    """Compare each request with its base. `unnamed` are requests that are known to part from theirs at no value."""
    bases = bases_of(prompts, matches, families.numbers, partners)
    comparisons: list[Comparison | None] = []
    found: dict[tuple[str, str], Structural] = {}
    key_of: dict[tuple[int, int], Structural] = {}
    fruitless: dict[object, int] = {}
    for number, (prompt, base) in enumerate(zip(prompts, bases, strict=True)):
        comparison = None
        if base is None and is_of_ids(prompt):
            base = bases[number] = matches[number].matched
        if base is not None and prompt.unit == 1:
            comparison = _comparison(prompt, prompts[base], matches[number], number, unnamed, fruitless)
        comparisons.append(comparison)
        if comparison is None or base is None:
            continue
        is_first = True
        seen = set()
        for at, region in enumerate(comparison.regions):
            if region.kind is None:
                if region.other_start < region.other_end:
                    is_first = False
                continue
            key = region.kind, _general(region)
            one = found.get(key)
            if one is None:
                if len(found) >= MOST_KINDS:
                    continue
                one = found[key] = _structural(region, comparison, matches[number])
            if id(one) not in seen:
                seen.add(id(one))
                one.requests.append(number)
                if is_first:
                    one.first.append(number)
            key_of[number, at] = one
            if region.kind == "permuted" and "." in region.path:
                _learn_order(one.lines, comparison, region)
            is_first = False
    breaks = sorted(found.values(), key=lambda one: one.position)
    return Structures(bases, comparisons, breaks, key_of)


def _learn_order(lines: dict[str, Run], comparison: Comparison, region: Region) -> None:
    """Take the lines of a region into account that both prompts have; the older one's come first."""
    ours = {run.text.strip() for run in comparison.mine.runs[region.start : region.end]}
    for run in comparison.yours.runs[region.other_start : region.other_end]:
        line = run.text.strip()
        if line in ours:
            lines.setdefault(line, run)


def _comparison(
    prompt: Prompt,
    base: Prompt,
    match: Match,
    number: int,
    unnamed: frozenset[int],
    fruitless: dict[object, int],
) -> Comparison | None:
    if not prompt.pieces or not base.pieces:
        return None
    if is_of_ids(prompt):
        return id_region(prompt, base, match)
    if continues(prompt, base):
        return None
    form = _form(prompt, base)
    if fruitless.get(form, 0) >= ALIKE and number not in unnamed:
        return None
    comparison = compare(prompt, base)
    if any([region.kind is not None for region in comparison.regions]):
        return comparison
    fruitless[form] = fruitless.get(form, 0) + 1
    return None


def is_of_ids(prompt: Prompt) -> bool:
    """Whether the log has a prompt's ids and no text."""
    return bool(prompt.pieces) and not prompt.pieces[0].text


def _form(prompt: Prompt, base: Prompt) -> object:
    """What two requests look like from outside: where they part first, and how many pieces more or fewer there are."""
    first = next(
        (at for at, (one, other) in enumerate(zip(prompt.pieces, base.pieces, strict=False)) if one is not other),
        -1,
    )
    ours, theirs = len(prompt.pieces), len(base.pieces)
    paths = (prompt.pieces[first].origin, base.pieces[first].origin) if first >= 0 else None
    return paths, min(max(ours - theirs, -3), 9), [piece.origin.path for piece in prompt.pieces[:4]].count("")


def _general(region: Region) -> str:
    """The path by which breaks are told apart: the same in every message of the conversation."""
    if region.path.startswith(("messages", "input")):
        return region.path if region.kind == "permuted" and "." in region.path else "messages"
    return re.sub(r"\[\d+\]", "[*]", region.path)


def _structural(region: Region, comparison: Comparison, match: Match) -> Structural:
    piece = comparison.mine.piece_at(min(region.start, max(len(comparison.mine.runs) - 1, 0)))
    position = piece, region.start - comparison.mine.firsts[piece]
    return Structural(region.kind or "", region.path, region.evidence, position, match.shared, region.moved)
