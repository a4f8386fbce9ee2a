"""The fixes of a ladder, in terms of a request's own texts: what `fix_replay` does to pieces, as a log has it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from prefixlab.attribution.fix_replay import Hole, Target, newest_user_piece
from prefixlab.attribution.sites import Found, Located, Site
from prefixlab.records import TEMPLATE, Piece, Prompt
from prefixlab.text_moves import Cut, TextMove, Unmovable

LEAST_CONTENT = 16
"""Characters from which the same text at another place is no accident."""

COMPARED = 64
"""Pairs of prompts in which a value is looked for at another place."""


def is_reordered_text(hole: Hole, located: Located, prompts: Sequence[Prompt]) -> bool:
    """Whether what stands in a hole stands at another place in other prompts: content in another order, no value.

    Moved to the end it would be torn out of its list.
    """
    pairs = elsewhere = 0
    before, stood_once = "", False
    for prompt, found in zip(prompts, located[hole.site], strict=True):
        value = "" if found is None else found.values[hole.number].strip()
        if found is None or not value or value == before:
            continue
        text = prompt.pieces[found.piece].text
        if len(before) >= LEAST_CONTENT:
            pairs += 1
            elsewhere += stood_once and before in text
            if pairs == COMPARED:
                break
        before, stood_once = value, text.count(value) == 1
    return elsewhere * 2 >= pairs > 0


class PlannedMoves:
    """What fixing some holes does to the texts of each request of a log."""

    def __init__(self, located: Located, targets: Mapping[Hole, Target], prompts: Sequence[Prompt]) -> None:
        """`targets` has the holes in the order of their ladder."""
        self._prompts = prompts
        self._sites: dict[Site, dict[int, tuple[int, Target]]] = {}
        for step, (hole, target) in enumerate(targets.items()):
            self._sites.setdefault(hole.site, {})[hole.number] = (step, target)
        self._found = {site: located[site] for site in self._sites}

    def of(self, number: int) -> list[TextMove | Unmovable]:
        """What is moved in a prompt, in the order in which it is set behind a text."""
        prompt = self._prompts[number]
        moves: list[TextMove | Unmovable] = []
        for site, places in self._sites.items():
            found = self._found[site][number]
            if found is not None:
                moves += _moves(prompt, site, found, places)
        return moves


def _moves(
    prompt: Prompt, site: Site, found: Found, places: Mapping[int, tuple[int, Target]]
) -> Iterator[TextMove | Unmovable]:
    """The moves of one site.

    A line that is nothing but labels and values moves as a whole; of any other a value moves and takes its label along.
    """
    template = site.template
    piece = prompt.pieces[found.piece]
    at = sum([len(run.text) for run in piece.runs[: found.start]])
    values = list(_standing(site, found, at))
    if template.is_all_labels and len(places) == len(found.values):
        steps = tuple(sorted([step for step, _ in places.values()]))
        start, end = at, values[-1][1] + len(template.literals[-1])
        cut = _cut(prompt, found.piece, (start, end), values[0])
        target = cut and _target(prompt, found.piece, cut, places[0][1])
        if cut is None or target is None:
            yield Unmovable(steps)
        else:
            yield TextMove(steps, cut, target, cut.rendered[cut.start : cut.end].strip("\n"))
        return
    for number, value in enumerate(values):
        if number in places:
            step, place = places[number]
            cut = _cut(prompt, found.piece, value, value)
            target = cut and _target(prompt, found.piece, cut, place)
            if cut is None or target is None:
                yield Unmovable((step,))
            elif found.values[number].strip():
                label, text = template.label(number), found.values[number]
                yield TextMove((step,), cut, target, f"{label}: {text}" if label else text)


def _standing(site: Site, found: Found, at: int) -> Iterator[tuple[int, int]]:
    """Where each value stands in the piece's text, of which the site starts at `at`."""
    for literal, value in zip(site.template.literals, found.values, strict=False):
        at += len(literal)
        yield at, at + len(value)
        at += len(value)


def _cut(prompt: Prompt, number: int, stretch: tuple[int, int], value: tuple[int, int]) -> Cut | None:
    """A stretch of a piece's text as far as it is of the text that holds `value`; None where that is the template's."""
    piece = prompt.pieces[number]
    begin = 0
    for place, span in enumerate(piece.spans):
        end = begin + span.chars
        # A value without characters at the border of two texts belongs to the one that ends there.
        if value[0] < end or (value[0] == value[1] == end):
            if value[1] > end or span.origin.role == TEMPLATE.role:
                return None
            ahead = sum([one.chars for one in piece.spans[:place] if one.origin == span.origin])
            for other in prompt.pieces[:number]:
                ahead += sum([one.chars for one in other.spans if one.origin == span.origin])
            start, stop = max(stretch[0], begin) - begin, min(stretch[1], end) - begin
            return Cut(span.origin.path, piece.text[begin:end], ahead, start, stop)
        begin = end
    return None


def _target(prompt: Prompt, number: int, cut: Cut, place: Target) -> str | None:
    """The path of the text that the moved text is set behind."""
    if place == "newest":
        newest = newest_user_piece(prompt.pieces)
        if newest >= 0:
            return _last_path(prompt.pieces[newest], ("user", "prompt"))
    return cut.path


def _last_path(piece: Piece, roles: tuple[str, ...]) -> str | None:
    """The path of the piece's last text that is of one of the roles."""
    for span in reversed(piece.spans):
        if span.origin.role in roles:
            return span.origin.path
    return None
