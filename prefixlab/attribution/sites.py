"""Sites: the places where the prompts of a family part at a value while the text behind it is the same again.

A site has one identity across the log: the JSON path and the literal text around its values. It is found by comparing
prompts, not by a list of patterns; afterwards it is looked for in every prompt of its families.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from prefixlab.attribution.differences import Difference, differences, is_turn
from prefixlab.attribution.families import Families
from prefixlab.attribution.line_template import LineTemplate, label_before, template_of
from prefixlab.prefix_tree import Match
from prefixlab.records import Origin, Prompt, Run

MOST_SITES_OF_A_PATH = 64
"""Sites that are told apart at one path; a text with more of them is not a template with values."""


class Found(NamedTuple):
    """A site in one prompt: runs `start:end` of piece number `piece` hold the `values` of its holes."""

    piece: int
    start: int
    end: int
    values: tuple[str, ...]


class Site:
    """A line with holes, or the whole text between two fixed neighbours."""

    __slots__ = ("_hint", "after", "before", "broken", "families", "first", "line", "origin", "template", "token_index")

    def __init__(self, origin: Origin, template: LineTemplate | None, before: Run | None, after: Run | None) -> None:
        self.origin = origin
        self.template = template
        self.before = before
        self.after = after
        holes = 1 if template is None else len(template.literals) - 1
        self.families: set[int] = set()
        self.broken = [0] * holes
        self.first: list[list[int]] = [[] for _ in range(holes)]
        """For each hole, the requests whose prefix ends at it."""
        self.token_index = -1
        self.line = 0
        self._hint = (0, 0)

    @property
    def holes(self) -> int:
        return len(self.broken)

    def label(self, hole: int) -> str:
        if self.template is not None:
            return self.template.label(hole)
        return label_before(self.before.text.rstrip()) if self.before is not None else ""

    def values_of(self, runs: Sequence[Run]) -> tuple[str, ...] | None:
        """The values that a difference's runs have in this site's holes, or None where they are not of it."""
        if self.template is None:
            return ("".join([run.text for run in runs]),)
        return self.template.values(runs[0].text) if len(runs) == 1 else None

    def find(self, prompt: Prompt) -> Found | None:
        """Where the site stands in a prompt, if it does."""
        piece, start = self._hint
        if piece < len(prompt.pieces) and prompt.pieces[piece].origin == self.origin:
            found = self._find_in(prompt, piece, start)
            if found is not None:
                return found
        for number, candidate in enumerate(prompt.pieces):
            if candidate.origin == self.origin:
                found = self._find_in(prompt, number, 0)
                if found is not None:
                    self._hint = (number, found.start)
                    return found
        return None

    def _find_in(self, prompt: Prompt, piece: int, start: int) -> Found | None:
        runs = prompt.pieces[piece].runs
        if self.template is None:
            return self._between(runs, piece)
        for number in (*range(start, len(runs)), *range(min(start, len(runs)))):
            values = self.template.values(runs[number].text)
            if values is not None and (self.template.is_telling or self._is_here(runs, number)):
                return Found(piece, number, number + 1, values)
        return None

    def _is_here(self, runs: tuple[Run, ...], number: int) -> bool:
        """Whether the neighbours are the site's own, for a line without words of its own."""
        before = runs[number - 1] if number else None
        after = runs[number + 1] if number + 1 < len(runs) else None
        return before is self.before and (after is self.after or self.before is not None)

    def _between(self, runs: tuple[Run, ...], piece: int) -> Found | None:
        try:
            start = 0 if self.before is None else runs.index(self.before) + 1
            end = len(runs) if self.after is None else runs.index(self.after, start)
        except ValueError:
            return None
        if start >= end:
            return None
        return Found(piece, start, end, ("".join([run.text for run in runs[start:end]]),))


class _Changed(NamedTuple):
    """A site at which two prompts differ: its holes that changed, and the run it stands in."""

    site: Site
    holes: list[int]
    start: int


class Sites:
    """All sites of a log, collected by comparing each prompt with one that came before it."""

    def __init__(self, block_tokens: int) -> None:
        self._enough = max(block_tokens, 16)
        self._of_path: dict[Origin, list[Site]] = {}
        self.unnamed: Counter[str] = Counter()
        """Requests by the path at which their prefix ends for a reason that is no value: an order, blanks, a form."""

    def __iter__(self) -> Iterator[Site]:
        for sites in self._of_path.values():
            yield from sites

    def collect(
        self, number: int, family: int, skeleton: frozenset[Run], prompt: Prompt, other: Prompt, shared_tokens: int
    ) -> None:
        """Compare a prompt with an earlier one of its family and note the sites at which they differ."""
        found = differences(prompt, other, self._enough)
        if not found:
            return
        for place, difference in enumerate(found):
            # What people and tools say differs of itself; it is a field only ahead of text that the application wrote.
            said = is_turn(prompt.pieces[difference.piece])
            behind = difference.stable_behind if said else difference.same_behind
            if behind < self._enough:
                break
            origin = prompt.pieces[difference.piece].origin
            sites = self._known_lines(origin, difference)
            if sites is None:
                reordered = _is_reordered(prompt, found, difference)
                sites = [] if reordered else self._new_sites(origin, difference, prompt, skeleton)
            if not sites and place == 0:
                self.unnamed[origin.path or origin.role] += 1
            for site, changed, start in sites:
                site.families.add(family)
                for hole in changed:
                    site.broken[hole] += 1
                if place == 0 and start <= difference.start:
                    site.first[changed[0]].append(number)
                    if site.token_index < 0:
                        site.token_index = shared_tokens

    def _known_lines(self, origin: Origin, difference: Difference) -> list[_Changed] | None:
        """The sites of a difference whose lines are all known, or None."""
        known = self._of_path.get(origin)
        if not known or len(difference.runs) != len(difference.other_runs):
            return None
        alone = len(difference.runs) == 1
        lines = []
        for offset, (mine, yours) in enumerate(zip(difference.runs, difference.other_runs, strict=True)):
            if mine is not yours:
                line = self._known_line(known, mine, yours, alone)
                if line is None:
                    return None
                lines.append(_Changed(*line, difference.start + offset))
        return lines

    @staticmethod
    def _known_line(known: list[Site], mine: Run, yours: Run, alone: bool) -> tuple[Site, list[int]] | None:
        for site in known:
            template = site.template
            if template is None or not (alone or template.is_telling):
                continue
            values = template.values(mine.text)
            others = None if values is None else template.values(yours.text)
            if values is not None and others is not None:
                return site, [hole for hole, value in enumerate(values) if value != others[hole]]
        return None

    def _new_sites(
        self, origin: Origin, difference: Difference, prompt: Prompt, skeleton: frozenset[Run]
    ) -> list[_Changed]:
        """The sites of a difference that is not made of known lines; new ones are kept."""
        known = self._of_path.setdefault(origin, [])
        ours, theirs = difference.runs, difference.other_runs
        if len(ours) == len(theirs):
            lines = []
            for offset, (mine, yours) in enumerate(zip(ours, theirs, strict=True)):
                if mine is yours:
                    continue
                alone = difference if len(ours) == 1 else None
                line = self._known_line(known, mine, yours, alone is not None) or self._new_line(
                    origin, known, mine, yours, alone
                )
                if line is None:
                    break
                lines.append(_Changed(*line, difference.start + offset))
            else:
                return lines
        return self._stretch_site(origin, known, _widened(prompt, difference, skeleton))

    @staticmethod
    def _new_line(
        origin: Origin, known: list[Site], mine: Run, yours: Run, alone: Difference | None
    ) -> tuple[Site, list[int]] | None:
        template = template_of(mine.text, yours.text)
        if template is None or (alone is None and not template.is_telling) or len(known) >= MOST_SITES_OF_A_PATH:
            return None
        before, after = (alone.before, alone.after) if alone is not None else (None, None)
        site = Site(origin, template, before, after)
        known.append(site)
        return site, list(range(site.holes))

    def _stretch_site(self, origin: Origin, known: list[Site], difference: Difference) -> list[_Changed]:
        if not difference.runs or not difference.other_runs:
            return []
        ours = "".join([run.text for run in difference.runs])
        theirs = "".join([run.text for run in difference.other_runs])
        if ours.split() == theirs.split() or sorted(ours) == sorted(theirs):
            return []
        for site in known:
            if site.template is None and site.before is difference.before and site.after is difference.after:
                return [_Changed(site, [0], difference.start)]
        if len(known) >= MOST_SITES_OF_A_PATH:
            return []
        site = Site(origin, None, difference.before, difference.after)
        known.append(site)
        return [_Changed(site, [0], difference.start)]


def collect_sites(prompts: Sequence[Prompt], matches: Sequence[Match], families: Families, block_tokens: int) -> Sites:
    """Compare each prompt with its best match, or with the last prompt of its family where it has none there."""
    sites = Sites(block_tokens)
    latest: dict[int, int] = {}
    for number, (prompt, match, family) in enumerate(zip(prompts, matches, families.numbers, strict=True)):
        other = match.matched
        if other is None or families.numbers[other] != family:
            other = latest.get(family)
        if other is not None and prompt.unit == 1:
            sites.collect(number, family, families.skeletons[family], prompt, prompts[other], match.shared)
        latest[family] = number
    return sites


def _widened(prompt: Prompt, difference: Difference, skeleton: frozenset[Run]) -> Difference:
    """The difference with the lines around it that are no part of the family's skeleton, so that a text of changing
    length is one value between two lines that stay."""
    runs = prompt.pieces[difference.piece].runs
    start, end = difference.start, difference.end
    if not skeleton.intersection(runs):
        return difference
    while start and runs[start - 1] not in skeleton:
        start -= 1
    while end < len(runs) and runs[end] not in skeleton:
        end += 1
    return difference._replace(
        start=start,
        end=end,
        runs=runs[start:end],
        before=runs[start - 1] if start else None,
        after=runs[end] if end < len(runs) else None,
    )


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
    return False
