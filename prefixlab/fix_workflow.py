"""`fix`: a log written again with each volatile value where it costs least, replayed before anything is claimed."""

from __future__ import annotations

import gzip
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, NamedTuple

import orjson

from prefixlab import __version__
from prefixlab.attribution.families import families_of
from prefixlab.attribution.fix_replay import Hole, Target
from prefixlab.attribution.planned_moves import PlannedMoves
from prefixlab.contracts import ReadOptions
from prefixlab.deployments import deployment_of, serve_log
from prefixlab.destination import Destination
from prefixlab.errors import PrefixlabError
from prefixlab.findings import Break, Field, Outcome, Totals
from prefixlab.fixed_summary import FixedStep, FixSummary, Place, Unfixed
from prefixlab.intake import Progress, match_prompts, quiet, take
from prefixlab.log_rewriting.moves import moved_in_line, with_moves
from prefixlab.log_rewriting.orders import KINDS, FirstForms
from prefixlab.readers.json_paths import steps
from prefixlab.readers.reading import LoggedRecord
from prefixlab.readers.rewriting import WritableLog, body_of, value_in
from prefixlab.readers.sources import ending
from prefixlab.records import Location, Request
from prefixlab.settings import AuditSettings
from prefixlab.text_moves import TextMove, Unmovable
from prefixlab.workflows import Analysis, analyse, report_of

_NOT_TOUCHED = {
    "history_trimmed": "what was cut from the history is not in the record",
    "history_rewritten": "what an old message said before is not in the record",
    "turn_rerendered": "the chat template or the client writes a turn in another way once it is history",
    "moving_suffix": "text that moves with the newest turn is the client's to place",
    "boundary_token": "there is nothing to fix in the prompt",
    "namespace": "there is nothing to fix in the prompt",
    "replica": "there is nothing to fix in the prompt",
    "expired": "there is nothing to fix in the prompt",
    "below_minimum": "there is nothing to fix in the prompt",
    "retokenised": "the answer's ids are not in the text",
    "double_bos": "the template or the client writes the second one",
    "head_parameter": "a request's parameters are not changed",
}
"""Kinds of breaks that a log's text cannot heal, and why."""

_OWN_READERS = (".txt", ".csv", ".tsv", ".parquet", ".log")
"""Endings by which a log is read in another way."""


@dataclass(frozen=True, slots=True)
class FixSettings(AuditSettings):
    """The options of `fix`: those of `audit`, and the steps of the ladder that are wanted."""

    only: tuple[str, ...] = ()
    """Names of fields or kinds of orders; empty: all."""
    hides_names: bool = False
    """Whether a complaint must not quote names of the log's fields."""

    def __post_init__(self) -> None:
        AuditSettings.__post_init__(self)
        if self.limit is not None:
            raise PrefixlabError("--limit would leave the rest of the log as it is", "Leave it out")


def fix(
    log: str,
    settings: FixSettings,
    destination: Destination | None,
    *,
    stdin: BinaryIO | None = None,
    progress: Progress = quiet,
) -> FixSummary:
    """Write a log with what its ladder names fixed, if the log as a whole gains by it; without a destination only say
    what would be gained.

    Raises:
        PrefixlabError: the input or the settings are wrong, or nothing can be written there.
    """
    options = ReadOptions(tags=settings.tags)
    logged = WritableLog(log, options, input_format=settings.input_format, skip_bad=settings.skip_bad, stdin=stdin)
    if destination is not None:
        _check_ending(logged, destination)
    numbering = _Numbering()
    analysis = analyse(numbering.requests(logged.records()), settings, progress=progress)
    fixer = _Fixer(logged, settings, analysis, numbering, progress)
    before = _totals(analysis.outcomes, analysis.families.numbers)
    wanted, after, made = fixer.chosen(fixer.wanted())
    written_to = None
    is_gain = after.aligned_tokens > before.aligned_tokens and after.aligned_reuse > before.aligned_reuse
    if is_gain and destination is not None:
        after = fixer.write(wanted, destination, after)
        written_to = destination.named
    if not is_gain:
        after, made = before, _Made()
    return fixer.summary(wanted if is_gain else _Wanted({}, ()), before, after, made, written_to, destination is None)


def _check_ending(log: WritableLog, destination: Destination) -> None:
    """Refuses a name by which the written log would be read as something else."""
    if destination.is_stream:
        return
    kind, own = ending(destination.named), ending(log.path)
    if (log.container == "text" and kind != ".txt") or (kind in _OWN_READERS and kind != own):
        wanted = ".txt" if log.container == "text" else own or ".jsonl"
        raise PrefixlabError(
            f"{destination.named} would be read as another kind of log", f"Give a name that ends with {wanted}"
        )


class _Numbering:
    """Knows the record, by its number from 0, and the part of it that a prompt was made from."""

    def __init__(self) -> None:
        self._places: list[Location] = []
        self._of: dict[int, tuple[int, int]] = {}

    def requests(self, records: Iterable[LoggedRecord]) -> Iterator[Request]:
        """The records' requests, each with a location object of its own."""
        for number, record in enumerate(records):
            for part, request in enumerate(record.requests):
                place = Location(*request.location)
                # Kept, so that no other object takes its identity.
                self._places.append(place)
                self._of[id(place)] = (number, part)
                yield replace(request, location=place)

    def by_record(self, locations: Iterable[Location]) -> dict[int, list[int]]:
        """The numbers of the prompts of each record."""
        prompts: dict[int, list[int]] = {}
        for prompt, location in enumerate(locations):
            prompts.setdefault(self._of[id(location)][0], []).append(prompt)
        return prompts


class _Wanted(NamedTuple):
    """What is to be fixed: holes with their places, in the order of the ladder, and kinds of orders."""

    targets: dict[Hole, Target]
    orders: tuple[str, ...]


class _Made:
    """What a pass over the log changed: records for each step and kind."""

    def __init__(self) -> None:
        self.fields: Counter[Hole] = Counter()
        self.left: Counter[Hole] = Counter()
        self.orders: Counter[str] = Counter()
        self.records = 0


class _Fixed(NamedTuple):
    """A log with some steps made, as it was measured and before it is written."""

    wanted: _Wanted
    totals: Totals
    made: _Made


class _Fixer:
    """Rewrites a log as often as it takes to know what pays."""

    def __init__(
        self,
        log: WritableLog,
        settings: FixSettings,
        analysis: Analysis,
        numbering: _Numbering,
        progress: Progress,
    ) -> None:
        self._log = log
        self._settings = settings
        self._analysis = analysis
        self._progress = progress
        self._prompts_of = numbering.by_record([prompt.location for prompt in analysis.prompts])
        self._report = report_of(analysis, settings)
        self._fields: dict[Hole, Field] = dict(zip(analysis.ladder.targets, analysis.ladder.fields, strict=True))

    # --- what to fix --------------------------------------------------------------------------------------------------

    def wanted(self) -> _Wanted:
        """The steps asked for.

        Raises:
            PrefixlabError: one is not of this log.
        """
        targets = dict(self._analysis.ladder.targets)
        if not self._settings.only:
            return _Wanted(targets, KINDS)
        names = {field.name.casefold() for field in self._fields.values()}
        asked = {name.casefold() for name in self._settings.only}
        for name in self._settings.only:
            if name.casefold() not in names and name.casefold() not in KINDS:
                known = [] if self._settings.hides_names else [field.name for field in self._fields.values()]
                raise PrefixlabError(
                    f"--only {name!r} is no step of this log's ladder", f"Give one of {', '.join([*known, *KINDS])}"
                )
        kept = {hole: target for hole, target in targets.items() if self._fields[hole].name.casefold() in asked}
        return _Wanted(kept, tuple([kind for kind in KINDS if kind in asked]))

    def chosen(self, wanted: _Wanted) -> _Fixed:
        """The log with those of the steps that pay once it is written, each value at the place where it does."""
        best = self.replayed(wanted)
        for kind in [kind for kind in wanted.orders if best.made.orders[kind]]:
            fewer = self.replayed(
                best.wanted._replace(orders=tuple([other for other in best.wanted.orders if other != kind]))
            )
            if fewer.totals.aligned_tokens >= best.totals.aligned_tokens:
                best = fewer
        # The ladder's replay sets a value at the end of what the template makes of its message; in the log it stands
        # at the end of the text itself, be it ahead of tools.
        slack = self._analysis.deployment.engine.granularity * len(self._analysis.prompts)
        if not self._settings.only and best.totals.aligned_tokens < self._promised - slack:
            for hole in wanted.targets:
                best = self._better_without(hole, best)
        return best

    def _better_without(self, hole: Hole, best: _Fixed) -> _Fixed:
        """The log with a value at its other place, or where it was, if that reuses more."""
        targets = best.wanted.targets
        other: Target = "own" if targets[hole] == "newest" else "newest"
        elsewhere = {**targets, hole: other}
        as_logged = {one: target for one, target in targets.items() if one != hole}
        for changed in (elsewhere, as_logged):
            reached = self.replayed(best.wanted._replace(targets=changed))
            if reached.totals.aligned_tokens > best.totals.aligned_tokens:
                best = reached
        return best

    @property
    def _promised(self) -> int:
        """Aligned tokens of the log with all that a log can have fixed, by the ladder's own replay."""
        rows = [row.recoverable_tokens for row in self._report.breaks if row.kind in KINDS]
        rows += [row.recoverable_tokens for row in self._fields.values()]
        return self._report.totals.aligned_tokens + sum(rows)

    # --- passes over the log ------------------------------------------------------------------------------------------

    def replayed(self, wanted: _Wanted) -> _Fixed:
        """What the log with these steps reuses, and what they change in it."""
        made = _Made()
        change = self._change(wanted, made)

        def requests() -> Iterator[Request]:
            for number, record in enumerate(self._log.records()):
                new = change(number, record)
                yield from record.requests if new is None else self._log.requests_of(record, new)

        return _Fixed(wanted, self._measured(requests()), made)

    def write(self, wanted: _Wanted, destination: Destination, expected: Totals) -> Totals:
        """Write the log with these steps; it is put in place once it was read back and reuses what it should."""
        own = ending(self._log.path) or ".jsonl"
        with destination.staged(own if self._log.path != "-" else ".jsonl") as (path, put):
            with _compressing(path) as stream:
                for part in self._log.written(self._change(wanted, _Made())):
                    stream.write(part)
            again = self._log.at(path)
            totals = self._measured(request for record in again.records() for request in record.requests)
            if totals != expected:
                raise PrefixlabError(
                    "the fixed log does not read back as it was written; nothing is put in place",
                    "Report this as a defect of prefixlab",
                )
            put()
        return totals

    def _measured(self, requests: Iterator[Request]) -> Totals:
        settings, models = self._settings, self._analysis.models
        prompts = take(requests, settings, models, None, self._progress).prompts
        matches = match_prompts(prompts, self._progress)
        deployment = deployment_of(settings, prompts, matches)
        outcomes = [
            Outcome(
                prompt.token_count,
                min(match.shared * prompt.unit, prompt.token_count),
                marks.aligned,
                marks.cached,
                match.matched,
            )
            for prompt, match, marks in zip(
                prompts, matches, serve_log(deployment, prompts, matches).marks, strict=True
            )
        ]
        return _totals(outcomes, families_of(prompts, matches).numbers)

    def _change(self, wanted: _Wanted, made: _Made) -> Callable[[int, LoggedRecord], bytes | None]:
        """What makes a record's new bytes; to be told all records in order."""
        analysis = self._analysis
        plan = PlannedMoves(analysis.ladder.sites, wanted.targets, analysis.prompts)
        holes = list(wanted.targets)
        first_forms = FirstForms(wanted.orders)

        def change(number: int, record: LoggedRecord) -> bytes | None:
            prompts = self._prompts_of.get(number)
            if not prompts:
                return None
            planned = [move for prompt in prompts for move in plan.of(prompt)]
            moves = [move for move in planned if isinstance(move, TextMove)]
            if isinstance(record.record, str):
                line, done = moved_in_line(record.record, moves)
                new = line.encode() if done else record.record.encode()
            else:
                keys, body = body_of(record.record)
                new, done = with_moves(record.logged, keys, body, moves, steps) if moves else (record.logged, [])
                if wanted.orders:
                    if done:
                        body = value_in(orjson.loads(new), keys)
                    family = analysis.families.numbers[prompts[0]]
                    ordered = first_forms.ordered(new, keys, body, family)
                    new = ordered.raw
                    made.orders.update(ordered.changes.keys())
            _count(planned, done, holes, made)
            if new == _bytes(record.logged):
                return None
            made.records += 1
            return new

        return change

    # --- what to say --------------------------------------------------------------------------------------------------

    def summary(
        self, wanted: _Wanted, before: Totals, after: Totals, made: _Made, written_to: str | None, is_trial: bool
    ) -> FixSummary:
        """What became of the log."""
        found = [
            FixedStep(
                self._fields[hole].name,
                self._fields[hole].kind,
                self._fields[hole].path,
                _where(hole, target),
                made.fields[hole],
                made.left[hole],
            )
            for hole, target in wanted.targets.items()
            if made.fields[hole]
        ]
        found += [
            FixedStep(kind, kind, "", "order_shown_first", made.orders[kind], 0)
            for kind in wanted.orders
            if made.orders[kind]
        ]
        done = {step.name for step in found}
        unfixed = [
            Unfixed(row.name, row.kind, self._why_not(hole))
            for hole, row in self._fields.items()
            if row.name not in done
        ]
        unfixed += [Unfixed(row.kind, row.kind, _why_left(row)) for row in self._report.breaks if row.kind not in done]
        return FixSummary(
            version=__version__,
            log=os.path.basename(self._log.path) if os.path.isabs(self._log.path) else self._log.path,
            written_to=written_to,
            is_trial=is_trial,
            records=len(self._prompts_of),
            changed_records=made.records,
            skipped=self._log.skipped,
            before=before,
            after=after,
            promised_tokens=self._promised,
            has_cache=self._analysis.deployment.is_limited,
            steps=tuple(found),
            unfixed=tuple(unfixed),
            notes=tuple(self._analysis.taken.notes),
        )

    def _why_not(self, hole: Hole) -> str:
        if self._settings.only and self._fields[hole].name.casefold() not in map(str.casefold, self._settings.only):
            return "not asked for"
        if hole.site.origin.role == "template" or self._fields[hole].path in ("", "strftime_now"):
            return "it stands in the chat template, not in the log; change the template"
        return "moving it in the log gains nothing"


def _count(
    planned: Sequence[TextMove | Unmovable], done: Sequence[TextMove], holes: Sequence[Hole], made: _Made
) -> None:
    """Notes for each hole whether this record has it moved or left."""
    moved = {step for move in done for step in move.steps}
    left = {step for move in planned for step in move.steps} - moved
    made.fields.update([holes[step] for step in moved])
    made.left.update([holes[step] for step in left])


def _where(hole: Hole, target: Target) -> Place:
    if hole.site.origin.role == "prompt":
        return "end_of_prompt"
    return "newest_user_message" if target == "newest" else "own_text"


def _why_left(row: Break) -> str:
    return _NOT_TOUCHED.get(row.kind, "putting it right in the log gains nothing")


def _totals(outcomes: Sequence[Outcome], families: Sequence[int]) -> Totals:
    return Totals.of(outcomes, len(set(families)))


def _bytes(logged: Any) -> bytes:
    return logged if isinstance(logged, bytes) else str(logged).encode()


def _compressing(path: str) -> Any:
    """A file to write, compressed as the ending of its name says; the same bytes give the same file."""
    name = path.lower()
    if name.endswith(".gz"):
        return gzip.GzipFile(path, "wb", mtime=0)
    if name.endswith(".zst"):
        import zstandard

        return zstandard.open(path, "wb")
    return open(path, "wb")
