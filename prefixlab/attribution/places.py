"""Places collected from a log: each prompt is compared with one that came before it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from prefixlab.attribution.differences import Difference, differences, is_turn
from prefixlab.attribution.families import Families
from prefixlab.attribution.form_kinds import MOSTLY, is_mostly_permuted
from prefixlab.attribution.line_template import is_reworded
from prefixlab.attribution.sites import Place, around
from prefixlab.attribution.tool_lists import tool_of
from prefixlab.prefix_tree import Match
from prefixlab.records import Origin, Prompt, Run

MOST_PLACES = 256
"""Places of a log that are told apart; a log with more of them has other texts, not values in a text."""

PARAMETERS = "chat_template_kwargs"
"""Where parameters of a request that reach its chat template come from; they are no values in a text."""


class Places:
    """All places of a log, collected by comparing each prompt with one that came before it."""

    def __init__(self, block_tokens: int) -> None:
        self._enough = max(block_tokens, 16)
        self._places: dict[tuple[Origin, Run | None, Run | None, str | None, int], Place] = {}
        self.unnamed: set[int] = set()
        """Requests whose prefix ends for a reason that is no value: an order, blanks, a form."""

    def __iter__(self) -> Iterator[Place]:
        return iter(self._places.values())

    def collect(self, number: int, family: int, skeleton: frozenset[Run], prompt: Prompt, other: Prompt) -> None:
        """Compare a prompt with an earlier one of its family and note the places at which they differ."""
        found = differences(prompt, other, self._enough)
        for at, difference in enumerate(found):
            # What people and tools say differs of itself; it is a field only ahead of text that the application wrote.
            said = is_turn(prompt.pieces[difference.piece])
            behind = difference.stable_behind if said else difference.same_behind
            if behind < self._enough:
                return
            place = self._place(prompt, other, found, difference, skeleton)
            if place is not None:
                place.families.add(family)
                place.times += 1
            elif not at:
                self.unnamed.add(number)

    def _place(
        self,
        prompt: Prompt,
        other: Prompt,
        found: Sequence[Difference],
        difference: Difference,
        skeleton: frozenset[Run],
    ) -> Place | None:
        """The place of a difference, or None where it is no matter of a value."""
        piece = prompt.pieces[difference.piece]
        if any([span.origin.path.startswith(PARAMETERS) for span in piece.spans]):
            return None
        tool = tool_of(piece)
        if tool != tool_of(other.pieces[difference.piece]):
            # Another tool stands there: the set or its order is another, and no text of a tool has changed.
            return None
        runs, others = piece.runs, other.pieces[difference.piece].runs
        start, end = _widened(runs, difference.start, difference.end, skeleton)
        before = runs[start - 1] if start else None
        after = runs[end] if end < len(runs) else None
        nth = 0 if before is None else runs[: start - 1].count(before)
        key = (piece.origin, before, after, tool, nth)
        place = self._places.get(key)
        if place is None:
            if len(self._places) >= MOST_PLACES or _is_reordered(prompt, found, difference):
                return None
            place = Place(*key[:4], around(runs, start, end))
            where = place.find(other)
            ours = "".join([run.text for run in runs[start:end]])
            theirs = "" if where is None else "".join([run.text for run in others[where[1] : where[2]]])
            if not ours or not theirs or not is_reworded(ours, theirs):
                return None
            self._places[key] = place
            if where is not None:
                place.learn(others[where[1] : where[2]])
        place.learn(runs[start:end])
        return place


def collect_places(
    prompts: Sequence[Prompt], partners: Sequence[int | None], families: Families, block_tokens: int
) -> Places:
    """Compare each prompt with its partner and collect the places at which they part."""
    places = Places(block_tokens)
    for number, (prompt, partner, family) in enumerate(zip(prompts, partners, families.numbers, strict=True)):
        if partner is not None and prompt.unit == 1:
            places.collect(number, family, families.skeletons[family], prompt, prompts[partner])
    return places


def partners_of(matches: Sequence[Match], families: Sequence[int]) -> list[int | None]:
    """What each prompt is compared with: its best match, or the last prompt of its family where it has none there."""
    partners: list[int | None] = []
    latest: dict[int, int] = {}
    for number, (match, family) in enumerate(zip(matches, families, strict=True)):
        partner = match.matched
        if partner is None or families[partner] != family:
            partner = latest.get(family)
        partners.append(partner)
        latest[family] = number
    return partners


def _widened(runs: tuple[Run, ...], start: int, end: int, skeleton: frozenset[Run]) -> tuple[int, int]:
    """The range with the lines around it that are no part of the family's skeleton, so that a text of changing length
    is one value between two lines that stay."""
    while start and runs[start - 1] not in skeleton:
        start -= 1
    while end < len(runs) and runs[end] not in skeleton:
        end += 1
    return start, end


def _is_reordered(prompt: Prompt, found: Sequence[Difference], at: Difference) -> bool:
    """Whether what differs in a piece, or in all pieces of its role, is the other's in another order.

    That is a matter of order, not of a value. Blanks at the ends do not count: the last of several documents has no
    line break behind it.
    """
    role = prompt.pieces[at.piece].origin.role
    same_role = [one for one in found if prompt.pieces[one.piece].origin.role == role]
    for group in ([one for one in same_role if one.piece == at.piece], same_role):
        ours = sorted([run.text.strip() for one in group for run in one.runs])
        theirs = sorted([run.text.strip() for one in group for run in one.other_runs])
        if len(ours) > 1 and ours == theirs:
            return True
    same_piece = [one for one in found if one.piece == at.piece]
    return is_mostly_permuted(
        [run.text for one in same_piece for run in one.runs], [run.text for one in same_piece for run in one.other_runs]
    ) or _is_mostly_moved(same_piece)


def _is_mostly_moved(differences: Sequence[Difference]) -> bool:
    """Whether most of what differs in a piece went from one place of it to another."""
    gone: dict[str, int] = {}
    for place, one in enumerate(differences):
        for run in one.other_runs:
            gone.setdefault(run.text.strip(), place)
    moved = whole = 0
    for place, one in enumerate(differences):
        for run in one.runs:
            line = run.text.strip()
            whole += len(line)
            moved += len(line) if gone.get(line, place) != place else 0
    return whole > 0 and moved >= MOSTLY * whole
