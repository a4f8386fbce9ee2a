"""`explain`: the stages of an audit, and then a closer look at one of the requests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from operator import is_
from typing import Any, BinaryIO

from prefixlab.attribution.boundary import boundary_break
from prefixlab.attribution.differences import is_turn
from prefixlab.attribution.parting import Names, common_tokens, parting_of, sequence_of, tokens_of
from prefixlab.attribution.places import partners_of
from prefixlab.attribution.request_choice import chosen_request
from prefixlab.capacity.conversations import SESSION, continues
from prefixlab.errors import PrefixlabError
from prefixlab.explanation import Cause, Elsewhere, Explanation, NextTurn, Parting, Party, block_ranges
from prefixlab.findings import Report
from prefixlab.intake import Progress, quiet
from prefixlab.prefix_tree import Match
from prefixlab.records import TOKEN_BYTES, Piece, Prompt, Request
from prefixlab.settings import AuditSettings
from prefixlab.workflows import Analysis, analyse, report_of

_AT_THE_END = ("moving_suffix", "turn_rerendered", "boundary_token")
_BETWEEN_TURNS = (*_AT_THE_END, "history_trimmed", "history_rewritten", "arguments_reserialised", "tool_result_order")
"""Breaks that only a later turn of the same conversation has, the first of them at the end of the earlier turn."""

_FEW = 64
"""Ids at the end of a prompt without turns that the next turn may have otherwise."""

_BOUNDARY_TOKENS = 4
"""Tokens that are shown where the next turn parts."""


def explain(
    log: Sequence[str] | Iterable[Request | Mapping[str, Any]],
    settings: AuditSettings,
    request: str,
    *,
    compared_with: str | None = None,
    quotes_ids: bool = True,
    stdin: BinaryIO | None = None,
    progress: Progress = quiet,
) -> Explanation:
    """One request of a log: what it was matched with, where they part and why, and what became of its blocks.

    `request` and `compared_with` name requests by their id, `ID#2` where several have it, or the place in the log,
    `PATH:LINE` or `line:LINE`. `compared_with` stands in for the request it was matched with. Without `quotes_ids` no
    complaint names ids of the log.

    Raises:
        PrefixlabError: the input or the settings are wrong, or there is no such request; the message says what to do.
    """
    found = analyse(log, settings, stdin=stdin, progress=progress)
    number = chosen_request(found.prompts, request, "--request", quotes_ids=quotes_ids)
    asked = None
    if compared_with is not None:
        asked = chosen_request(found.prompts, compared_with, "--with", quotes_ids=quotes_ids)
        if asked == number:
            raise PrefixlabError(f"--with {compared_with} is the request itself", "Give another one")
    return _Explained(found, report_of(found, settings), number).explanation(asked)


class _Explained:
    """Request `number` of an analysed log."""

    def __init__(self, found: Analysis, report: Report, number: int) -> None:
        self._found = found
        self._report = report
        self._number = number
        self._prompts = found.prompts
        self._prompt = found.prompts[number]
        self._match = found.matches[number]
        self._names = Names(
            found.models.decode_of(self._prompt.namespace.model),
            found.models.blocks_of(self._prompt.namespace.model) if self._prompt.unit > 1 else (),
        )

    def explanation(self, asked: int | None) -> Explanation:
        """The answer, compared with the request that was asked for, or with the one it was matched with."""
        found, report, number, prompt = self._found, self._report, self._number, self._prompt
        row = report.requests[number]
        other = self._match.matched if asked is None else asked
        shared = 0 if other is None else self._shared_with(other)
        if other is None:
            other = self._nearest()
        return Explanation(
            version=report.version,
            inputs=report.inputs,
            tokenizer=report.tokenizer,
            chat_template=report.chat_template,
            engine=report.engine,
            request=self._party(number),
            outcome=row.outcome,
            losses=row.losses,
            other=None if other is None else self._party(other),
            is_match=other is not None and other == self._match.matched,
            seconds_before=None if other is None else _apart(self._prompts[other], prompt),
            shared_with_other=min(shared * prompt.unit, prompt.token_count),
            requests=len(self._prompts),
            earlier=sum([one.namespace == prompt.namespace for one in self._prompts[:number]]),
            family=found.families.numbers.count(found.families.numbers[number]),
            parting=self._parting(other, shared),
            cause=self._cause(other),
            block_size=found.deployment.engine.granularity,
            blocks=block_ranges(row.outcome, row.losses, found.deployment.engine.granularity),
            next_turn=self._next_turn(),
            has_answer=bool(prompt.serving.sampled_tokens or prompt.output_tokens),
            elsewhere=self._elsewhere(),
            is_limited=found.deployment.is_limited,
            notes=report.notes,
        )

    def _party(self, number: int) -> Party:
        prompt = self._prompts[number]
        server_of = self._found.deployment.replica_of
        return Party(
            prompt.id,
            prompt.location,
            prompt.arrived_at,
            prompt.namespace,
            prompt.tags,
            prompt.token_count,
            len(prompt.output_tokens) // TOKEN_BYTES,
            None if server_of is None else server_of[number] + 1,
        )

    def _shared_with(self, other: int) -> int:
        """Ids shared with another request, whatever its namespace."""
        if other == self._match.matched:
            return self._match.shared
        return common_tokens(self._prompt.tokens, sequence_of(self._prompts[other]))

    def _nearest(self) -> int | None:
        """What a request that shares nothing is compared with: the last one of its family, else of its namespace."""
        families = self._found.families.numbers
        earlier = range(self._number - 1, -1, -1)
        for other in earlier:
            if families[other] == families[self._number]:
                return other
        return next((one for one in earlier if self._prompts[one].namespace == self._prompt.namespace), None)

    def _parting(self, other: int | None, shared: int) -> Parting | None:
        """Where the two part, if this one is not equal to the other up to its end."""
        if other is None or shared * TOKEN_BYTES >= len(self._prompt.tokens):
            return None
        return parting_of(self._prompt, self._prompts[other], shared, self._names)

    def _cause(self, other: int | None) -> Cause | None:
        """The rung of the ladder that the report names for this request."""
        report = self._report
        name = report.requests[self._number].field
        breaks = [row for row in report.breaks if row.kind == name]
        if breaks:
            at = self._parting(other, self._match.shared) if other == self._match.matched else None
            return Cause(next((row for row in breaks if at is not None and row.path == at.path), breaks[0]))
        rows = [row for row in report.fields if row.name == name]
        if rows:
            return self._changed_value(name) or Cause(rows[0])
        if other is None or other != self._match.matched:
            return None
        pair = [self._prompts[other], self._prompt]
        outcomes = [self._found.outcomes[other], self._found.outcomes[self._number]]
        merged = boundary_break(
            pair, [Match(0, None), Match(self._match.shared, 0)], outcomes, [0, 0], self._names.decode, 1
        )
        # The figures of the row are the log's; what is this request's own is the evidence.
        rows_of_kind = [row for row in report.breaks if merged is not None and row.kind == merged.kind]
        return Cause(replace(rows_of_kind[0], evidence=merged.evidence)) if merged and rows_of_kind else None

    def _changed_value(self, name: str | None) -> Cause | None:
        """The field of that name at which the prefix ends, with its values in this request and in the one before."""
        found, number = self._found, self._number
        partner = partners_of(found.matches, found.families.numbers)[number]
        if partner is None:
            return None
        for row, hole in zip(self._report.fields, found.ladder.targets, strict=True):
            places = found.ladder.sites[hole.site]
            now, was = places[number], places[partner]
            if row.name == name and number in hole.site.first[hole.number] and now is not None and was is not None:
                return Cause(row, now.values[hole.number].strip(), was.values[hole.number].strip())
        return None

    def _next_turn(self) -> NextTurn | None:
        """The first later request that goes on with this one, else the conversation's next, and what it keeps."""
        prompt, number = self._prompt, self._number
        session = prompt.tags.get(SESSION)
        known_before = self._match.shared * prompt.unit
        turns = _turns(prompt)
        next_one = None
        for later in range(number + 1, len(self._prompts)):
            candidate = self._prompts[later]
            if candidate.namespace != prompt.namespace:
                continue
            match = self._found.matches[later]
            if match.matched == number and continues(candidate, prompt, match.shared * prompt.unit, known_before):
                return self._turn(later, match.shared, is_turn=True)
            if next_one is not None:
                continue
            kind = self._report.requests[later].field
            if match.matched == number and kind in _BETWEEN_TURNS:
                return self._turn(later, match.shared, is_turn=kind in _AT_THE_END)
            theirs = candidate.tags.get(SESSION)
            # Without sessions a conversation is told by its turns: what was said is said again, and more behind it.
            is_next = theirs == session if session is not None else theirs is None and _says_more(candidate, turns)
            if is_next:
                next_one = later
                shared = common_tokens(candidate.tokens, sequence_of(prompt))
                if shared >= _newest_turn(prompt):
                    return self._turn(later, shared, is_turn=True)
        if next_one is None:
            return None
        shared = common_tokens(self._prompts[next_one].tokens, sequence_of(prompt))
        return self._turn(next_one, shared, is_turn=False)

    def _turn(self, later: int, shared: int, *, is_turn: bool) -> NextTurn:
        prompt, block = self._prompt, self._found.deployment.engine.granularity
        mine, next_ones = sequence_of(prompt), self._prompts[later].tokens
        prompt_ids = len(prompt.tokens) // TOKEN_BYTES
        whole = len(mine) // TOKEN_BYTES
        at, end = shared * TOKEN_BYTES, (shared + _BOUNDARY_TOKENS) * TOKEN_BYTES
        known = prompt.token_count + (whole - prompt_ids) * prompt.unit
        return NextTurn(
            request=self._party(later),
            shared_tokens=min(shared * prompt.unit, known),
            is_turn=is_turn,
            lost_prompt_tokens=max(prompt.token_count - shared * prompt.unit, 0),
            lost_answer_tokens=whole - max(shared, prompt_ids),
            lost_blocks=known // block - min(shared * prompt.unit, known) // block,
            tokens_was=tokens_of(mine[at:end], prompt, self._names),
            tokens_now=tokens_of(next_ones[at:end], prompt, self._names),
        )

    def _elsewhere(self) -> Elsewhere | None:
        """The earlier request of another namespace that shares more than the best of its own."""
        mine = self._prompt.tokens
        best, most = None, self._match.shared
        for number, other in enumerate(self._prompts[: self._number]):
            if other.namespace == self._prompt.namespace or not _begins_alike(self._prompt, other):
                continue
            shared = common_tokens(mine, sequence_of(other))
            if shared > most or (best is not None and shared == most):
                best, most = number, shared
        if best is None:
            return None
        return Elsewhere(self._party(best), min(most * self._prompt.unit, self._prompt.token_count))


def _turns(prompt: Prompt) -> list[Piece]:
    return [piece for piece in prompt.pieces if is_turn(piece)]


def _newest_turn(prompt: Prompt) -> int:
    """The id at which the newest turn of a prompt begins, or the last few ids where it has no turns."""
    begin = max(sum([piece.token_count for piece in prompt.pieces]) - _FEW, 1)
    at = 0
    for piece in prompt.pieces:
        begin = at if is_turn(piece) else begin
        at += piece.token_count
    return begin


def _says_more(later: Prompt, turns: Sequence[Piece]) -> bool:
    """Whether a prompt has these turns, and others behind them."""
    theirs = _turns(later)
    return bool(turns) and len(theirs) > len(turns) and all(map(is_, turns, theirs))


def _begins_alike(one: Prompt, other: Prompt) -> bool:
    """Whether two prompts of one unit have the same first id; cheap, for most prompts of another model do not."""
    return one.unit == other.unit and _first_id(one) == _first_id(other)


def _first_id(prompt: Prompt) -> bytes:
    for piece in prompt.pieces:
        for run in piece.runs:
            if run.tokens:
                return run.tokens[:TOKEN_BYTES]
    return b""


def _apart(earlier: Prompt, later: Prompt) -> float | None:
    if earlier.arrived_at is None or later.arrived_at is None:
        return None
    return later.arrived_at - earlier.arrived_at
