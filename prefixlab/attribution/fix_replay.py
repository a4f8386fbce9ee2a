"""The log as a fix would write it: values cut out where they stand and set behind the stable text, then matched again.

A value is never deleted or frozen. It goes to the end of its own message or of the newest user message (of a plain
prompt: to its end). A line that is nothing but labels and values moves as a whole; of any other line the value moves
and takes its label along.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from prefixlab.attribution.line_template import LineTemplate
from prefixlab.attribution.sites import Found, Site
from prefixlab.contracts import Engine
from prefixlab.prefix_tree import PrefixTree
from prefixlab.records import TOKEN_BYTES, Origin, Piece, Prompt, Run

Encode = Callable[[str, Origin], tuple[Run, ...]]
"""Runs of a stretch of text that starts and ends where text may be cut."""

Place = Literal["own", "newest"]
"""The end of the value's own message, or of the newest user message."""

REMEMBERED = 1000
"""Pieces with values cut out that are kept, as most are the same in every request."""


class Hole(NamedTuple):
    """One value of a site."""

    site: Site
    number: int


class Replayed(NamedTuple):
    """A log with fixes, request by request. Aligned tokens are at most what the request as logged could reuse."""

    aligned_tokens: list[int]
    shared_tokens: list[int]


class FixReplay:
    """Replays a log with more and more holes fixed.

    What a moved value becomes in tokens is worked out only where two prompts are equal up to it.
    """

    def __init__(
        self, prompts: Sequence[Prompt], families: Sequence[int], engine: Engine, encode: Encode, *, cuts: bool
    ) -> None:
        """`cuts` says that text may be encoded piecewise at any blank behind a non-blank."""
        self._prompts = prompts
        self._families = families
        self._engine = engine
        self._encode = encode
        self._cuts = cuts
        self._remembered: dict[object, _Stretch] = {}
        self._found: dict[Site, list[Found | None]] = {}
        self._fixed: dict[Hole, Place] = {}

    def found(self, site: Site) -> list[Found | None]:
        """Where the site stands in each prompt of its families."""
        if site not in self._found:
            self._found[site] = [
                site.find(prompt) if family in site.families else None
                for prompt, family in zip(self._prompts, self._families, strict=True)
            ]
        return self._found[site]

    def fix(self, hole: Hole, trial: int) -> tuple[Place, Replayed]:
        """Fix one more hole, at the place that gives more, judged on the first `trial` requests."""
        self.found(hole.site)
        count = len(self._prompts)
        trial = min(trial, count)
        newest = self._replay({**self._fixed, hole: "newest"}, trial)
        own = self._replay({**self._fixed, hole: "own"}, trial)
        place: Place = "newest" if sum(newest.aligned_tokens) >= sum(own.aligned_tokens) else "own"
        self._fixed[hole] = place
        if trial == count:
            return place, newest if place == "newest" else own
        return place, self._replay(self._fixed, count)

    def _replay(self, fixed: dict[Hole, Place], count: int) -> Replayed:
        places: dict[Site, dict[int, Place]] = {}
        for (site, number), place in fixed.items():
            places.setdefault(site, {})[number] = place
        cuts = [(site, where, self.found(site)) for site, where in places.items()]
        prompts = self._prompts
        rewritten: list[_Rewritten | None] = []
        lengths: dict[int, int] = {}

        def known(number: int) -> bytes:
            changed = rewritten[number]
            if changed is None:
                return prompts[number].tokens + prompts[number].output_tokens
            return _tokens(changed.head) + self._sure_part(changed.last)

        def rest(number: int) -> tuple[bytes, int] | None:
            changed = rewritten[number]
            if changed is None:
                return None
            tail = self._encode(changed.last.text + changed.moved, changed.origin)
            tokens = _tokens([*changed.head, *tail, *changed.behind])
            lengths[number] = len(tokens) // TOKEN_BYTES
            return tokens + prompts[number].output_tokens, len(tokens)

        tree = PrefixTree(known, rest)
        aligned_tokens = self._engine.aligned_tokens
        replayed = Replayed([], [])
        for number in range(count):
            prompt = prompts[number]
            changed = self._rewritten(number, prompt, cuts)
            rewritten.append(changed)
            if changed is None:
                match = tree.add(number, prompt.tokens, prompt.output_tokens, prompt.namespace)
                shared = min(match.shared * prompt.unit, prompt.token_count)
            else:
                shared = tree.add(number, known(number), b"", prompt.namespace).shared
            # A moved value makes a prompt a little longer or shorter; the request as logged sets the limit. A prompt
            # whose length was never asked for shares less than all of it.
            length = min(lengths.get(number, prompt.token_count), prompt.token_count)
            replayed.aligned_tokens.append(aligned_tokens(min(shared, length), length))
            replayed.shared_tokens.append(shared)
        return replayed

    def _rewritten(
        self, number: int, prompt: Prompt, cuts: list[tuple[Site, dict[int, Place], list[Found | None]]]
    ) -> _Rewritten | None:
        """The prompt with the fixed values moved, or None where it has none of them."""
        changes: dict[int, list[_Change]] = {}
        moved: dict[int, list[str]] = {}
        pieces = prompt.pieces
        newest = -1
        for site, places, where in cuts:
            found = where[number]
            if found is None:
                continue
            stays, moves = _taken_apart(site.template, found.values, places)
            changes.setdefault(found.piece, []).append(_Change(found.start, found.end, stays))
            for place, text in moves:
                if place == "newest" and newest < 0:
                    newest = _newest_user_piece(pieces, found.piece)
                moved.setdefault(found.piece if place == "own" else newest, []).append(text)
        if not changes:
            return None
        first, *others = sorted(moved)
        for target in others:
            end = len(pieces[target].runs)
            changes.setdefault(target, []).append(_Change(end, end, "\n" + "\n".join(moved[target])))
        parts: list[_Part] = []
        behind: list[_Part] = []
        last = _NO_RUN
        for at, piece in enumerate(pieces):
            part: _Part = self._changed(piece, changes[at]) if at in changes else piece
            if at == first and part.runs:
                *ahead, last = part.runs
                parts.append(_Stretch(ahead))
            else:
                (parts if at < first else behind).append(part)
        text = "\n" + "\n".join(moved[first])
        return _Rewritten(parts, last, text, behind, pieces[first].origin)

    def _changed(self, piece: Piece, changes: list[_Change]) -> _Stretch:
        """The piece with the changes made; most requests of a family come out the same."""
        changes.sort()
        kept = []
        at = 0
        for start, end, _ in changes:
            kept.append(piece.runs[at:start])
            at = end
        key = (tuple(kept), piece.runs[at:], tuple([text for _, _, text in changes]))
        stretch = self._remembered.get(key)
        if stretch is None:
            if len(self._remembered) >= REMEMBERED:
                self._remembered.clear()
            stretch = self._remembered[key] = _Stretch(self._made(piece, changes))
        elif stretch.joined is None:
            stretch.joined = stretch.tokens
        return stretch

    def _made(self, piece: Piece, changes: list[_Change]) -> list[Run]:
        """The piece's runs with the changes made. What stands next to a change is encoded again together with it."""
        runs = piece.runs
        made: list[Run] = []
        at = 0
        number = 0
        while number < len(changes):
            start, end, text = changes[number]
            number += 1
            is_next_near = number < len(changes) and changes[number].start <= end + 1
            if not text and not is_next_near and self._may_close(runs, start, end):
                made.extend(runs[at:start])
                at = end
                continue
            begin = max(start - 1, at)
            text = "".join([run.text for run in runs[begin:start]]) + text
            while number < len(changes) and changes[number].start <= end + 1:
                text += "".join([run.text for run in runs[end : changes[number].start]]) + changes[number].text
                end = max(end, changes[number].end)
                number += 1
            text += "".join([run.text for run in runs[end : end + 1]])
            made.extend(runs[at:begin])
            made.extend(self._encode(text, piece.origin))
            at = min(end + 1, len(runs))
        made.extend(runs[at:])
        return made

    def _may_close(self, runs: tuple[Run, ...], start: int, end: int) -> bool:
        """Whether the runs ahead of `start` and from `end` on may stand side by side: a line and a line behind it."""
        if not self._cuts or not start or end == len(runs) or not runs[start - 1].text.endswith("\n"):
            return False
        first = runs[end].text[:1]
        return bool(first) and not first.isspace() and first != "/"

    def _sure_part(self, run: Run) -> bytes:
        """Tokens at the head of a run that stay whatever is written behind it.

        Those ahead of its last two words do; as a token is at least a byte, the words have no more tokens than bytes.
        """
        text = run.text
        cut = text.rfind(" ", 0, max(text.rfind(" "), 0))
        if not self._cuts or cut < 1 or text[cut - 1].isspace() or not text[cut:].isascii():
            return b""
        return run.tokens[: -(len(text) - cut) * TOKEN_BYTES]


class _Change(NamedTuple):
    """Runs `start:end` of a piece become `text`."""

    start: int
    end: int
    text: str


class _Rewritten(NamedTuple):
    """A prompt with values moved: `head`, then `last.text + moved` encoded together, then `behind`."""

    head: list[_Part]
    last: Run
    moved: str
    behind: list[_Part]
    origin: Origin


class _Stretch:
    """Consecutive runs, and their tokens in one once it is known that several prompts have them."""

    __slots__ = ("joined", "runs")

    def __init__(self, runs: list[Run]) -> None:
        self.runs = runs
        self.joined: bytes | None = None

    @property
    def tokens(self) -> bytes:
        return _tokens(self.runs) if self.joined is None else self.joined


_Part = Piece | _Stretch

_NO_RUN = Run("", b"")


def _tokens(parts: Sequence[Run | _Part]) -> bytes:
    return b"".join([part.tokens for part in parts])


def _taken_apart(
    template: LineTemplate | None, values: tuple[str, ...], places: dict[int, Place]
) -> tuple[str, list[tuple[Place, str]]]:
    """What stays of a line when the holes in `places` are cut out, and the texts that go to each place."""
    if template is None:
        return "", [(places[0], values[0].strip("\n"))]
    literals = template.literals
    if len(places) == len(values) and template.is_all_labels:
        line = literals[0] + "".join([value + literal for value, literal in zip(values, literals[1:], strict=True)])
        return "", [(places[0], line.strip("\n"))]
    stays = literals[0]
    moves: list[tuple[Place, str]] = []
    for number, (value, literal) in enumerate(zip(values, literals[1:], strict=True)):
        place = places.get(number)
        if place is None:
            stays += value + literal
        else:
            stays += literal
            label = template.label(number)
            moves.append((place, f"{label}: {value}" if label else value))
    return stays, moves


def _newest_user_piece(pieces: Sequence[Piece], otherwise: int) -> int:
    """The piece that ends the newest user turn; of a prompt without roles, its last piece."""
    for number in range(len(pieces) - 1, -1, -1):
        if any([span.origin.role in ("user", "prompt") for span in pieces[number].spans]):
            return number
    return otherwise
