"""Sites: the places where the prompts of a family part at a value while the text behind it is the same again.

A place is what stands between two lines that the family's prompts have in common. It is found by comparing prompts, not
by a list of patterns; its wordings, taken together, tell what in it varies. A site is a place, or one line of a place
that always has as many lines. It has one identity across the log and is looked for in every prompt of its families.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

from prefixlab.attribution.line_template import LineTemplate, heading_in, name_before, template_of
from prefixlab.attribution.tool_lists import tool_of
from prefixlab.attribution.value_kinds import kind_of
from prefixlab.prefix_tree import Match
from prefixlab.records import Origin, Prompt, Run

WORDINGS = 48
"""Distinct wordings of a place from which its template is made."""


SURROUNDINGS = 8
"""Lines ahead of and behind a place by which it is told from another between the same two lines."""


class Found(NamedTuple):
    """A site in one prompt: runs `start:end` of piece number `piece` hold the `values` of its holes."""

    piece: int
    start: int
    end: int
    values: tuple[str, ...]


_Around = tuple[tuple[Run, ...], tuple[Run, ...]]
"""The runs ahead of a range, the nearest first, and those behind it."""


def around(runs: tuple[Run, ...], start: int, end: int) -> _Around:
    """What stands ahead of and behind a range of runs."""
    return runs[max(start - SURROUNDINGS, 0) : start][::-1], runs[end : end + SURROUNDINGS]


def _alike(one: _Around, other: _Around) -> int:
    """How many runs are the same, counted from the range outwards."""
    return sum([len(list(takewhile(_is_pair, zip(*pair, strict=False)))) for pair in zip(one, other, strict=True)])


def _is_pair(runs: tuple[Run, Run]) -> bool:
    return runs[0] is runs[1]


class Place:
    """What stands between the runs `before` and `after` (None: the end of the piece) of pieces of one origin, which
    are about one `tool` if they are about one at all. Between lines that stand
    in a piece several times it is told by what is around it."""

    __slots__ = ("_around", "_hint", "after", "before", "families", "origin", "times", "tool", "wordings")

    def __init__(
        self, origin: Origin, before: Run | None, after: Run | None, tool: str | None, around: _Around
    ) -> None:
        self.origin = origin
        self.tool = tool
        self.before = before
        self.after = after
        self._around = around
        self.families: set[int] = set()
        self.times = 0
        """Comparisons in which the place differed."""
        self.wordings: dict[tuple[Run, ...], None] = {}
        self._hint = (0, 0, 0)

    def learn(self, runs: tuple[Run, ...]) -> None:
        """Take one more wording into account, while they are few."""
        if len(self.wordings) < WORDINGS:
            self.wordings[runs] = None

    def find(self, prompt: Prompt) -> tuple[int, int, int] | None:
        """Piece, first and end run of the place in a prompt, if it is there."""
        piece, start, end = self._hint
        if piece < len(prompt.pieces) and prompt.pieces[piece].origin == self.origin:
            runs = prompt.pieces[piece].runs
            starts = not start if self.before is None else 0 < start <= len(runs) and runs[start - 1] is self.before
            ends = end == len(runs) if self.after is None else end < len(runs) and runs[end] is self.after
            if starts and ends and start < end and self.tool == tool_of(prompt.pieces[piece]):
                return self._hint
        for number, candidate in enumerate(prompt.pieces):
            if candidate.origin == self.origin and self.tool == tool_of(candidate):
                found = self._between(candidate.runs)
                if found is not None:
                    self._hint = (number, *found)
                    return self._hint
        return None

    def _between(self, runs: tuple[Run, ...]) -> tuple[int, int] | None:
        """The narrowest range between the two lines; of several the one in the surroundings met first."""
        ranges = self._ranges(runs)
        if len(ranges) > 1:
            return max(ranges, key=lambda found: _alike(self._around, around(runs, *found)))
        return ranges[0] if ranges else None

    def _ranges(self, runs: tuple[Run, ...]) -> list[tuple[int, int]]:
        starts = [0] if self.before is None else [at + 1 for at, run in enumerate(runs) if run is self.before]
        ends = [len(runs)] if self.after is None else [at for at, run in enumerate(runs) if run is self.after]
        ranges = []
        for number, start in enumerate(starts):
            end = next((end for end in ends if end > start), None)
            following = starts[number + 1] if number + 1 < len(starts) else len(runs) + 1
            if end is not None and end < following:
                ranges.append((start, end))
        return ranges

    def sites(self) -> list[Site]:
        """The place as a site, or a site for each of its lines that varies."""
        counts = {len(wording) for wording in self.wordings}
        lines = self._line_sites(counts.pop()) if len(counts) == 1 and counts != {1} else []
        if lines:
            return lines
        texts = list(dict.fromkeys(["".join([run.text for run in wording]) for wording in self.wordings]))
        return [Site(self, None, template_of(texts))] if len(texts) > 1 else []

    def _line_sites(self, count: int) -> list[Site]:
        """A site for each line that varies, if each of them says by itself what its value is."""
        sites = []
        for line in range(count):
            texts = list(dict.fromkeys([wording[line].text for wording in self.wordings]))
            if len(texts) > 1:
                sites.append(Site(self, line, template_of(texts)))
        return sites if all([self._tells_itself(site) for site in sites]) else []

    def _tells_itself(self, site: Site) -> bool:
        """Whether a line says what its value is: by the text around it, or because it looks like a clock, an id, a
        path. Lines of running text do not; together they are one value."""
        if site.template.has_text:
            return True
        line = site.line
        texts = [wording[line].text for wording in self.wordings if line is not None]
        values = [values for values in map(site.template.values, texts) if values is not None]
        return bool(values) and all(
            [kind_of([one[hole] for one in values]) not in ("text", "name") for hole in range(site.holes)]
        )


class Site:
    """A place with holes, or one of its lines."""

    __slots__ = ("_lines", "broken", "first", "line", "place", "template", "token_index")

    def __init__(self, place: Place, line: int | None, template: LineTemplate) -> None:
        self.place = place
        self.line = line
        self.template = template
        self._lines = len(next(iter(place.wordings)))
        holes = len(template.literals) - 1
        self.broken = [0] * holes
        """For each hole, the requests in which its value is another than in the request they were matched with."""
        self.first: list[list[int]] = [[] for _ in range(holes)]
        """For each hole, the requests whose prefix ends at it."""
        self.token_index = -1

    @property
    def origin(self) -> Origin:
        return self.place.origin

    @property
    def holes(self) -> int:
        return len(self.broken)

    def name(self, hole: int) -> str:
        """What the text calls a value, by what is ahead of it or by the heading above; empty where it does not."""
        ahead = self.template.literals[hole]
        above = self._text_above() if not hole else ""
        if above and not above.endswith("\n"):
            return name_before(above + ahead)
        return name_before(ahead, hole > 0) or ("" if ahead.strip() else heading_in(above))

    def kind(self, hole: int) -> str:
        """Of what kind a value is, by the wordings that tell the place."""
        rows = [self.template.values("".join([run.text for run in self._runs_of(one)])) for one in self.place.wordings]
        return kind_of(list(dict.fromkeys([row[hole] for row in rows if row is not None])))

    def _runs_of(self, wording: tuple[Run, ...]) -> tuple[Run, ...]:
        return wording if self.line is None else wording[self.line : self.line + 1]

    def _text_above(self) -> str:
        """The text between the site and the one before it: the run ahead of its place, or the line above in it."""
        if self.line:
            return next(iter(self.place.wordings))[self.line - 1].text
        return "" if self.place.before is None else self.place.before.text

    def values_in(self, prompt: Prompt, where: tuple[int, int, int]) -> Found | None:
        """The site's values in a prompt that has its place, or None where it is worded in a way not met before."""
        piece, start, end = where
        if self.line is not None:
            if end - start != self._lines:
                return None
            start += self.line
            end = start + 1
        values = self.template.values("".join([run.text for run in prompt.pieces[piece].runs[start:end]]))
        return None if values is None else Found(piece, start, end, values)


Located = dict[Site, list[Found | None]]
"""Sites with where they stand in each prompt."""


def located(place: Place, prompts: Sequence[Prompt], families: Sequence[int]) -> Located:
    """The sites of a place, looked for in all prompts of its families; wordings not met before are learned from."""
    wheres = [
        place.find(prompt) if family in place.families else None
        for prompt, family in zip(prompts, families, strict=True)
    ]
    for last_try in (False, False, True):
        found: Located = {site: [] for site in place.sites()}
        unlike: dict[tuple[Run, ...], None] = {}
        for prompt, where in zip(prompts, wheres, strict=True):
            for site, here in found.items():
                values = None if where is None else site.values_in(prompt, where)
                here.append(values)
                if values is None and where is not None and len(unlike) < WORDINGS:
                    unlike[prompt.pieces[where[0]].runs[where[1] : where[2]]] = None
        if not unlike or last_try:
            break
        place.wordings.update(unlike)
    return found


def relocated(sites: Located, before: Sequence[Prompt], prompts: Sequence[Prompt], families: Sequence[int]) -> Located:
    """The same sites in prompts of which some are others than those before."""
    moved: Located = {}
    for site, found in sites.items():
        here: list[Found | None] = []
        for one, was, prompt, family in zip(found, before, prompts, families, strict=True):
            if prompt is was:
                here.append(one)
                continue
            where = site.place.find(prompt) if family in site.place.families else None
            here.append(None if where is None else site.values_in(prompt, where))
        moved[site] = here
    return moved


def count_breaks(
    sites: Located, prompts: Sequence[Prompt], partners: Sequence[int | None], matches: Sequence[Match]
) -> None:
    """Count for each hole, front to back, the requests that differ in it from their partner, and whose prefix ends."""
    for number, partner in enumerate(partners):
        if partner is None:
            continue
        is_first = True
        for site, found in sites.items():
            mine, yours = found[number], found[partner]
            if mine is None or yours is None or mine.values == yours.values:
                continue
            for hole, value in enumerate(mine.values):
                # Blanks are a matter of form.
                if value.split() != yours.values[hole].split():
                    site.broken[hole] += 1
                    if is_first and _is_same_before(prompts[number], mine, prompts[partner], yours):
                        site.first[hole].append(number)
                        if site.token_index < 0 and matches[number].matched == partner:
                            site.token_index = matches[number].shared
                    is_first = False


def _is_same_before(prompt: Prompt, mine: Found, other: Prompt, yours: Found) -> bool:
    """Whether two prompts are the same up to a site."""
    if mine.piece != yours.piece or prompt.pieces[: mine.piece] != other.pieces[: yours.piece]:
        return False
    return prompt.pieces[mine.piece].runs[: mine.start] == other.pieces[yours.piece].runs[: yours.start]
