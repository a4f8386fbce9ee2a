"""The log as a fix would write it: values cut out where they stand and set behind the stable text, then matched again.

A value is never deleted or frozen. It goes to the end of its own message or of the newest user message (of a plain
prompt: to its end). A line that is nothing but labels and values moves as a whole; of any other line the value moves
and takes its label along.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from prefixlab.attribution.fixed_log import FixedLog
from prefixlab.attribution.sites import Found, Located, Site
from prefixlab.contracts import Engine
from prefixlab.records import TOKEN_BYTES, Origin, Piece, Prompt, Run

Encode = Callable[[str, Origin], tuple[Run, ...]]
"""Runs of a stretch of text that starts and ends where text may be cut."""

Target = Literal["own", "newest"]
"""The end of the value's own message, or of the newest user message."""

MOST_UNLIKE = 1000
"""Pieces in a row that are like none before them, after which a replay keeps them no more."""


class Hole(NamedTuple):
    """One value of a site."""

    site: Site
    number: int


class Replayed(NamedTuple):
    """A log with fixes, request by request. Aligned tokens are at most what the request as logged could reuse."""

    aligned_tokens: list[int]
    shared_tokens: list[int]
    log: FixedLog


class FixReplay:
    """Replays a log with more and more holes fixed.

    What a moved value becomes in tokens is worked out only where two prompts are equal up to it.
    """

    def __init__(
        self,
        prompts: Sequence[Prompt],
        located: Located,
        engine: Engine,
        encode: Encode,
        *,
        cuts: bool,
        fixed: Mapping[Hole, Target] | None = None,
    ) -> None:
        """`cuts` says that text may be encoded piecewise at any blank behind a non-blank. `fixed` are holes that are
        fixed already."""
        self._prompts = prompts
        self._located = located
        self._engine = engine
        self._encode = encode
        self._cuts = cuts
        self._remembered: dict[object, list[bytes]] = {}
        self._fixed: dict[Hole, Target] = dict(fixed or {})
        self._sure: dict[Run, bytes] = {}
        self._unlike = 0
        self._moves: dict[object, list[_Move | None]] = {}
        self._newest_pieces: list[int | None] = [None] * len(prompts)

    def fix(self, hole: Hole, trial: int, best: Sequence[int], target: Target | None = None) -> tuple[Target, Replayed]:
        """Fix one more hole, at `target` or else at the place that adds more to the `best` of each request so far.

        The place is judged on the first `trial` requests.
        """
        count = len(self._prompts)
        if target is not None:
            self._fixed[hole] = target
            return target, self._replay(self._fixed, count)
        trial = min(trial, count)
        newest = self._replay({**self._fixed, hole: "newest"}, trial)
        own = self._replay({**self._fixed, hole: "own"}, trial)
        # What a request has won it keeps in the ladder; where that is equal, the log as it would be written decides.
        reached = [
            (sum(map(max, best, replayed.aligned_tokens)), sum(replayed.aligned_tokens)) for replayed in (newest, own)
        ]
        target = "newest" if reached[0] >= reached[1] else "own"
        self._fixed[hole] = target
        if trial == count:
            return target, newest if target == "newest" else own
        return target, self._replay(self._fixed, count)

    @property
    def fixed(self) -> Mapping[Hole, Target]:
        """The holes that are fixed, and where their values went."""
        return self._fixed

    def reached(self, targets: Mapping[Hole, Target], trial: int) -> list[int]:
        """Aligned tokens of each of the first `trial` requests with these holes fixed, and nothing else."""
        return self._replay(dict(targets), trial).aligned_tokens

    def located(self, site: Site) -> Sequence[Found | None]:
        """Where a site stands in each prompt."""
        return self._located[site]

    def again(self) -> Replayed:
        """Replay the log with what is fixed so far."""
        return self._replay(self._fixed, len(self._prompts))

    def instead(self, hole: Hole, values: Sequence[str | None], fixed: Mapping[Hole, Target]) -> Replayed:
        """Replay the log with other values where those of a hole stand, beside the other holes that are `fixed`.

        None leaves the value of a request as it is.
        """
        others = dict(fixed)
        places = {one.number: others.pop(one) for one in fixed if one.site is hole.site}
        places.pop(hole.number, None)
        moves: list[_Move | None] = []
        for found, value in zip(self._located[hole.site], values, strict=True):
            if found is None or (value is None and not places):
                moves.append(None)
                continue
            if value is not None:
                before, behind = found.values[: hole.number], found.values[hole.number + 1 :]
                found = found._replace(values=(*before, value, *behind))
            moves.append(_move(hole.site, found, places))
        return self._replay(others, len(self._prompts), moves)

    def _replay(
        self, fixed: Mapping[Hole, Target], count: int, in_place: Sequence[_Move | None] | None = None
    ) -> Replayed:
        places: dict[Site, dict[int, Target]] = {}
        for (site, number), place in fixed.items():
            places.setdefault(site, {})[number] = place
        moves: list[Sequence[_Move | None]] = [self._moves_of(site, where, count) for site, where in places.items()]
        if in_place is not None:
            moves.append(in_place)
        prompts = self._prompts
        rewritten: list[_Rewritten | None] = []
        self._remembered.clear()
        self._unlike = 0

        def beginning(number: int) -> bytes | None:
            changed = rewritten[number]
            if changed is None:
                return None
            return b"".join(changed.head) if changed.moved else whole(number)

        # A tree asks for a sequence by its beginning, and right then for all of it.
        @lru_cache(maxsize=2)
        def whole(number: int) -> bytes | None:
            changed = rewritten[number]
            if changed is None:
                return None
            if not changed.moved:
                return b"".join(changed.head)
            pieces, at = prompts[number].pieces, changed.piece
            text = changed.last.text + "\n" + "\n".join(changed.moved)
            tail = [run.tokens for run in self._encode(text, pieces[at].origin)]
            behind = self._tokens(pieces, at + 1, len(pieces), changed.changes)
            return b"".join([*changed.head[:-1], *tail, *behind])

        def lengths(number: int) -> list[int] | None:
            changed = rewritten[number]
            tokens = whole(number)
            if changed is None or tokens is None:
                return None
            pieces = prompts[number].pieces
            of_pieces = [
                sum(map(len, self._tokens(pieces, at, at + 1, changed.changes))) if at != changed.piece else 0
                for at in range(len(pieces))
            ]
            if changed.moved:
                of_pieces[changed.piece] = len(tokens) - sum(of_pieces)
            return [length // TOKEN_BYTES for length in of_pieces]

        log = FixedLog(prompts, beginning, whole, lengths)
        aligned_tokens = self._engine.aligned_tokens
        replayed = Replayed([], [], log)
        tree = log.tree()
        for number in range(count):
            prompt = prompts[number]
            rewritten.append(self._rewritten(number, prompt, moves))
            match = log.add(tree, number, prompt.namespace)
            log.matches.append(match)
            shared = min(match.shared * prompt.unit, prompt.token_count) if rewritten[-1] is None else match.shared
            # A moved value makes a prompt a little longer or shorter; the request as logged sets the limit. A prompt
            # whose length was never asked for shares less than all of it.
            length = min(log.lengths.get(number, prompt.token_count), prompt.token_count)
            replayed.aligned_tokens.append(aligned_tokens(min(shared, length), length))
            replayed.shared_tokens.append(shared)
        if not self._engine.is_rule_exact:
            replayed = replayed._replace(aligned_tokens=self._served(log))
        return replayed

    def _served(self, log: FixedLog) -> list[int]:
        """What an unlimited cache reuses, where what is shared does not tell it; the logged length sets the limit."""
        cache, step = self._engine.unlimited().cache(), self._engine.granularity
        served = [cache.serve(request) or 0 for request in log.requests(log.matches)]
        return [
            min(tokens, max(prompt.token_count - 1, 0) // step * step)
            for tokens, prompt in zip(served, self._prompts, strict=False)
        ]

    def _moves_of(self, site: Site, places: dict[int, Target], count: int) -> list[_Move | None]:
        """For each of the first prompts, what fixing the site's holes in `places` does to it."""
        key = (site, tuple(places.items()))
        moves = self._moves.get(key, [])
        if len(moves) < count:
            moves = [found and _move(site, found, places) for found in self._located[site][:count]]
            if count == len(self._prompts):
                self._moves[key] = moves
        return moves

    def _newest(self, number: int, otherwise: int) -> int:
        """The piece that ends the newest user turn; of a prompt without roles, its last piece."""
        newest = self._newest_pieces[number]
        if newest is None:
            newest = self._newest_pieces[number] = newest_user_piece(self._prompts[number].pieces)
        return otherwise if newest < 0 else newest

    def _rewritten(self, number: int, prompt: Prompt, all_moves: Sequence[Sequence[_Move | None]]) -> _Rewritten | None:
        """The prompt with the fixed values moved, or None where it has none of them."""
        changes: dict[int, list[_Change]] = {}
        moved: dict[int, list[str]] = {}
        pieces = prompt.pieces
        for moves in all_moves:
            move = moves[number]
            if move is None:
                continue
            changes.setdefault(move.piece, []).append(_Change(move.start, move.end, move.stays))
            for place, text in move.moved:
                target = move.piece if place == "own" else self._newest(number, move.piece)
                moved.setdefault(target, []).append(text)
        if not changes:
            return None
        if not moved:
            return _Rewritten(self._tokens(pieces, 0, len(pieces), changes), _NO_RUN, [], len(pieces), changes)
        first, *others = sorted(moved)
        for target in others:
            end = len(pieces[target].runs)
            changes.setdefault(target, []).append(_Change(end, end, "\n" + "\n".join(moved[target])))
        for cuts in changes.values():
            cuts.sort()
        head = self._tokens(pieces, 0, first, changes)
        piece, here = pieces[first], changes.get(first)
        runs = piece.runs if here is None else self._made(piece, here)
        last = runs[-1] if runs else _NO_RUN
        if len(runs) > 1:
            head.extend([run.tokens for run in runs[:-1]])
        sure = self._sure.get(last)
        if sure is None:
            sure = self._sure[last] = self._sure_part(last)
        head.append(sure)
        return _Rewritten(head, last, moved[first], first, changes)

    def _tokens(
        self, pieces: tuple[Piece, ...], start: int, end: int, changes: dict[int, list[_Change]]
    ) -> list[bytes]:
        """The tokens of some pieces with their changes made."""
        tokens: list[bytes] = []
        for number in sorted(changes):
            if start <= number < end:
                tokens += [run.tokens for piece in pieces[start:number] for run in piece.runs]
                tokens += self._changed(pieces[number], changes[number])
                start = number + 1
        return tokens + [run.tokens for piece in pieces[start:end] for run in piece.runs]

    def _changed(self, piece: Piece, changes: list[_Change]) -> list[bytes]:
        """The tokens of a piece with the changes made; in most requests of a family they are the same."""
        if self._unlike >= MOST_UNLIKE:
            return [run.tokens for run in self._made(piece, changes)]
        kept = []
        at = 0
        for start, end, _ in changes:
            kept.append(piece.runs[at:start])
            at = end
        key = (tuple(kept), piece.runs[at:], tuple([text for _, _, text in changes]))
        tokens = self._remembered.get(key)
        if tokens is None:
            self._unlike += 1
            if len(self._remembered) >= 10 * MOST_UNLIKE:
                self._remembered.clear()
            tokens = self._remembered[key] = [run.tokens for run in self._made(piece, changes)]
        else:
            self._unlike = 0
            if len(tokens) > 1:
                tokens[:] = [b"".join(tokens)]
        return tokens

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


class _Move(NamedTuple):
    """Runs `start:end` of a piece become `stays`; the texts of `moved` go to their places."""

    piece: int
    start: int
    end: int
    stays: str
    moved: list[tuple[Target, str]]


class _Rewritten(NamedTuple):
    """A prompt with values moved: tokens, then `last` and the `moved` texts encoded together, then the other pieces.

    The last of `head` is what is sure of the text that is not encoded yet. `piece` is the number of the piece in which
    it stands, `changes` are those of all pieces. Where nothing is `moved`, `head` is the whole prompt.
    """

    head: list[bytes]
    last: Run
    moved: list[str]
    piece: int
    changes: dict[int, list[_Change]]


_NO_RUN = Run("", b"")


def _move(site: Site, found: Found, places: dict[int, Target]) -> _Move:
    """What cutting out the holes in `places` leaves of a site, and the texts that go to each place."""
    template, values = site.template, found.values
    piece, start, end, _ = found
    literals = template.literals
    if template.is_all_labels and len(places) == len(values):
        line = literals[0] + "".join([value + literal for value, literal in zip(values, literals[1:], strict=True)])
        return _Move(piece, start, end, "", [(places[0], line.strip("\n"))])
    stays = literals[0]
    moves: list[tuple[Target, str]] = []
    for number, (value, literal) in enumerate(zip(values, literals[1:], strict=True)):
        place = places.get(number)
        if place is None:
            stays += value + literal
        else:
            stays += literal
            label = template.label(number)
            moves.append((place, f"{label}: {value}" if label else value))
    return _Move(piece, start, end, stays, moves)


def newest_user_piece(pieces: Sequence[Piece]) -> int:
    """The number of the piece that ends the newest user turn, or the prompt without roles; -1 where there is none."""
    for number in range(len(pieces) - 1, -1, -1):
        for span in pieces[number].spans:
            if span.origin.role in ("user", "prompt"):
                return number
    return -1
