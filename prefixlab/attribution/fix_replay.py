"""The log as a fix would write it: values cut out where they stand and set behind the stable text, then matched again.

A value is never deleted or frozen. It goes to the end of its own message or of the newest user message (of a plain
prompt: to its end). A line that is nothing but labels and values moves as a whole; of any other line the value moves
and takes its label along.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

from prefixlab.attribution.line_template import LineTemplate, label_before
from prefixlab.attribution.sites import Found, Site
from prefixlab.contracts import Engine
from prefixlab.prefix_tree import PrefixTree
from prefixlab.records import TOKEN_BYTES, Origin, Piece, Prompt, Run

Encode = Callable[[str, Origin], tuple[Run, ...]]
"""Runs of a stretch of text that starts and ends where text may be cut."""

Place = Literal["own", "newest"]
"""The end of the value's own message, or of the newest user message."""

REMEMBERED = 50_000
"""Stretches around a cut whose runs are kept, as most are the same in every request."""


class Hole(NamedTuple):
    """One value of a site."""

    site: Site
    number: int


class Replayed(NamedTuple):
    """A log with fixes, request by request. Aligned tokens are at most what the request as logged could reuse."""

    aligned_tokens: list[int]
    shared_tokens: list[int]


class FixReplay:
    """Replays a log with more and more holes fixed."""

    def __init__(self, prompts: Sequence[Prompt], families: Sequence[int], engine: Engine, encode: Encode) -> None:
        self._prompts = prompts
        self._families = families
        self._engine = engine
        self._encode = encode
        self._remembered: dict[str, tuple[Run, ...]] = {}
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
        by_site: dict[Site, dict[int, Place]] = {}
        for (site, number), place in fixed.items():
            by_site.setdefault(site, {})[number] = place
        rewritten: list[list[Run] | None] = []

        def sequence(number: int) -> bytes:
            runs = rewritten[number]
            prompt = self._prompts[number]
            return (prompt.tokens if runs is None else _tokens(runs)) + prompt.output_tokens

        tree = PrefixTree(sequence)
        aligned_tokens = self._engine.aligned_tokens
        replayed = Replayed([], [])
        for number in range(count):
            prompt = self._prompts[number]
            runs = self._rewritten(number, prompt, by_site)
            rewritten.append(runs)
            tokens = prompt.tokens if runs is None else _tokens(runs)
            shared = tree.add(number, tokens, prompt.output_tokens, prompt.namespace).shared * prompt.unit
            shared = min(shared, prompt.token_count if runs is None else shared)
            length = prompt.token_count if runs is None else len(tokens) // TOKEN_BYTES
            most = aligned_tokens(prompt.token_count, prompt.token_count)
            replayed.aligned_tokens.append(min(aligned_tokens(shared, length), most))
            replayed.shared_tokens.append(shared)
        return replayed

    def _rewritten(self, number: int, prompt: Prompt, by_site: dict[Site, dict[int, Place]]) -> list[Run] | None:
        """The prompt's runs with the fixed values moved, or None where it has none of them."""
        cuts: dict[int, list[_Change]] = {}
        moved: dict[int, list[str]] = {}
        for site, places in by_site.items():
            found = self._found[site][number]
            if found is None:
                continue
            stays, moves = _taken_apart(site.template, found.values, places)
            cuts.setdefault(found.piece, []).append(_Change(found.start, found.end, stays))
            for place, text in moves:
                target = found.piece if place == "own" else _newest_user_piece(prompt.pieces, found.piece)
                moved.setdefault(target, []).append(text)
        if not cuts:
            return None
        for target, texts in moved.items():
            end = len(prompt.pieces[target].runs)
            cuts.setdefault(target, []).append(_Change(end, end, "\n" + "\n".join(texts)))
        runs: list[Run] = []
        for place_of, piece in enumerate(prompt.pieces):
            changes = cuts.get(place_of)
            runs.extend(piece.runs if changes is None else self._changed(piece, sorted(changes)))
        return runs

    def _changed(self, piece: Piece, changes: Iterable[_Change]) -> list[Run]:
        """The piece's runs with the changes made. What stands next to a change is encoded again together with it."""
        parts: list[Run | str] = []
        at = 0
        for start, end, text in changes:
            parts.extend(piece.runs[at:start])
            parts.append(text)
            at = end
        parts.extend(piece.runs[at:])
        runs: list[Run] = []
        changed: str | None = None
        for number, part in enumerate(parts):
            if isinstance(part, str):
                changed = (runs.pop().text if changed is None and runs else changed or "") + part
            elif changed is None:
                runs.append(part)
            else:
                changed += part.text
                if number + 1 == len(parts) or not isinstance(parts[number + 1], str):
                    runs.extend(self._encoded(changed, piece.origin))
                    changed = None
        if changed is not None:
            runs.extend(self._encoded(changed, piece.origin))
        return runs

    def _encoded(self, text: str, origin: Origin) -> tuple[Run, ...]:
        runs = self._remembered.get(text)
        if runs is None:
            runs = self._encode(text, origin)
            if len(self._remembered) >= REMEMBERED:
                self._remembered.clear()
            self._remembered[text] = runs
        return runs


class _Change(NamedTuple):
    """Runs `start:end` of a piece become `text`."""

    start: int
    end: int
    text: str


def _tokens(runs: Sequence[Run]) -> bytes:
    return b"".join([run.tokens for run in runs])


def _taken_apart(
    template: LineTemplate | None, values: tuple[str, ...], places: dict[int, Place]
) -> tuple[str, list[tuple[Place, str]]]:
    """What stays of a line when the holes in `places` are cut out, and the texts that go to each place."""
    if template is None:
        return "", [(places[0], values[0].strip("\n"))]
    literals = template.literals
    if len(places) == len(values) and is_all_labels(template):
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


def is_all_labels(template: LineTemplate) -> bool:
    """Whether a line is nothing but labels and values, so that it makes sense wherever it stands."""
    *leading, trailing = template.literals
    for literal in leading:
        label = label_before(literal)
        if any(character.isalnum() for character in literal.replace(label, "", 1)):
            return False
    return len(trailing.split()) <= 2


def _newest_user_piece(pieces: Sequence[Piece], otherwise: int) -> int:
    """The piece that ends the newest user turn; of a prompt without roles, its last piece."""
    for number in range(len(pieces) - 1, -1, -1):
        if any([span.origin.role in ("user", "prompt") for span in pieces[number].spans]):
            return number
    return otherwise
