"""Passes over a log with some steps of its ladder fixed: measured in memory, or written and read back."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import orjson

from prefixlab.attribution.families import families_of
from prefixlab.attribution.fix_replay import Hole, Target
from prefixlab.attribution.planned_moves import PlannedMoves
from prefixlab.attribution.planned_orders import planned_orders
from prefixlab.attribution.restored_prompts import Restorer
from prefixlab.attribution.shown_texts import KINDS as TEXT_KINDS
from prefixlab.attribution.shown_texts import shown_edits, text_edit
from prefixlab.attribution.structural_breaks import Structural
from prefixlab.deployments import deployment_of, serve_log
from prefixlab.destination import Destination
from prefixlab.errors import PrefixlabError
from prefixlab.findings import Outcome, Totals
from prefixlab.intake import Progress, match_prompts, take
from prefixlab.log_rewriting.moves import moved_in_line, texts_in_line, with_moves, with_orders, with_texts
from prefixlab.log_rewriting.orders import FirstForms
from prefixlab.readers.json_paths import steps
from prefixlab.readers.reading import LoggedRecord
from prefixlab.readers.rewriting import Change, WritableLog, body_of, bytes_of, value_in
from prefixlab.readers.sources import STDIN, ending
from prefixlab.records import Location, Prompt, Request
from prefixlab.settings import AuditSettings
from prefixlab.text_moves import TextMove, Unmovable
from prefixlab.workflows import Analysis

LIST_KINDS = ("permuted", "tool_order", "tool_set", "tool_result_order")
"""Kinds of orders in which a list of the body stands."""
RESTORED = (*TEXT_KINDS, *[kind for kind in LIST_KINDS if kind not in TEXT_KINDS])
"""Kinds that a log can have put right before it is read again."""


class Numbering:
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


class Wanted(NamedTuple):
    """What is to be fixed: holes with their places, in the order of the ladder, and kinds of orders."""

    targets: dict[Hole, Target]
    orders: tuple[str, ...]

    def without(self, hole: Hole) -> Wanted:
        """The same, but one value stays where it is."""
        return self._replace(targets={one: target for one, target in self.targets.items() if one != hole})


class Made:
    """What a pass over the log changed: records for each step and kind."""

    def __init__(self) -> None:
        self.fields: Counter[Hole] = Counter()
        self.left: Counter[Hole] = Counter()
        self.orders: dict[str, set[int]] = {}
        """For each kind, the numbers of the records."""
        self.records: set[int] = set()


class Fixed(NamedTuple):
    """A log with some steps made, as it was measured and before it is written."""

    wanted: Wanted
    totals: Totals
    made: Made


class FixableLog(Protocol):
    """A log that is read several times and written with some of its records changed."""

    path: str

    def records(self) -> Iterator[LoggedRecord]:
        """The records that can be used."""

    def requests_of(self, record: LoggedRecord, new: bytes) -> tuple[Request, ...]:
        """The requests of a record with other bytes."""

    def written(self, change: Change) -> Iterator[bytes]:
        """The log's bytes with records changed."""

    def at(self, path: str) -> WritableLog:
        """The log at another path, read in the same way."""


class RestoredLog:
    """A log with its texts and lists in the orders and forms shown first, before any value is moved.

    It is read like the log itself, so that what stands between lines that moved can be found where it then is.
    """

    def __init__(self, log: WritableLog, analysis: Analysis, numbering: Numbering, kinds: Sequence[str]) -> None:
        """`kinds` are some of `RESTORED`."""
        prompts, structures = analysis.prompts, analysis.ladder.structures
        self.path = log.path
        self._log = log
        self._prompts = prompts
        self._prompts_of = numbering.by_record([prompt.location for prompt in prompts])
        self._edits = list(shown_edits(prompts, structures, [kind for kind in kinds if kind in TEXT_KINDS]))
        self._orders: list[tuple[str, Sequence[Prompt], Sequence[Prompt]]] = []
        """Kinds with the prompts before and after lists of that kind are put in order."""
        restorer = Restorer(prompts, structures, analysis.models.encode)
        undone: list[Structural] = []
        before: Sequence[Prompt] = prompts
        for kind in [kind for kind in kinds if kind in LIST_KINDS]:
            undone += [one for one in structures.breaks if one.kind == kind]
            after = restorer.restored(undone)
            self._orders.append((kind, before, after))
            before = after
        self.changed: dict[str, set[int]] = {}
        """For each kind, the numbers of the records that were changed for it in the passes so far."""

    def records(self) -> Iterator[LoggedRecord]:
        """The records of the log as restored."""
        for number, record in enumerate(self._log.records()):
            yield self._restored(number, record)

    def requests_of(self, record: LoggedRecord, new: bytes) -> tuple[Request, ...]:
        """The requests of a record with other bytes."""
        return self._log.requests_of(record, new)

    def written(self, change: Change) -> Iterator[bytes]:
        """The log's bytes with records restored, then changed."""

        def both(number: int, record: LoggedRecord) -> bytes | None:
            restored = self._restored(number, record)
            new = change(number, restored)
            if new is None and restored is not record:
                return bytes_of(restored)
            return new

        return self._log.written(both)

    def at(self, path: str) -> WritableLog:
        """The log at another path, read in the same way."""
        return self._log.at(path)

    def _restored(self, number: int, record: LoggedRecord) -> LoggedRecord:
        logged = new = bytes_of(record)
        prompts = self._prompts_of.get(number, ())
        edits = [(one, edit) for one in prompts for edit in self._edits[one]]
        texts = [text_edit(self._prompts[one], edit) for one, edit in edits]
        if isinstance(record.record, str):
            new = texts_in_line(record.record, texts).encode()
        else:
            keys, body = body_of(record.record)
            new = with_texts(new, keys, body, texts, steps)
            for kind, before, after in self._orders:
                orders = [order for one in prompts for order in planned_orders(before[one], after[one])]
                ordered = with_orders(new, keys, orders, steps)
                if ordered != new:
                    self.changed.setdefault(kind, set()).add(number)
                    new = ordered
        if new == logged:
            return record
        for _, edit in edits:
            self.changed.setdefault(edit.shown.kind, set()).add(number)
        requests = self._log.requests_of(record, new)
        if isinstance(record.record, str):
            return record._replace(logged=new.decode(), record=new.decode(), requests=requests)
        return record._replace(logged=new, record=orjson.loads(new), requests=requests)


class LogFixes:
    """Rewrites a log as often as it takes to know what pays."""

    def __init__(
        self, log: FixableLog, settings: AuditSettings, analysis: Analysis, numbering: Numbering, progress: Progress
    ) -> None:
        self._log = log
        self._settings = settings
        self._analysis = analysis
        self._progress = progress
        self._prompts_of = numbering.by_record([prompt.location for prompt in analysis.prompts])

    @property
    def records(self) -> int:
        """Records that prompts were made from."""
        return len(self._prompts_of)

    def replayed(self, wanted: Wanted) -> Fixed:
        """What the log with these steps reuses, and what they change in it."""
        made = Made()
        change = self._change(wanted, made)

        def requests() -> Iterator[Request]:
            for number, record in enumerate(self._log.records()):
                new = change(number, record)
                yield from record.requests if new is None else self._log.requests_of(record, new)

        return Fixed(wanted, self._measured(requests()), made)

    def write(self, wanted: Wanted, destination: Destination, expected: Totals) -> Totals:
        """Write the log with these steps; it is put in place once it was read back and reuses what it should."""
        own = ending(self._log.path) or ".jsonl"
        with destination.staged(own if self._log.path != STDIN else ".jsonl") as (path, put):
            with _compressing(path) as stream:
                for part in self._log.written(self._change(wanted, Made())):
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
        return totals_of(outcomes, families_of(prompts, matches).numbers)

    def _change(self, wanted: Wanted, made: Made) -> Change:
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
                    for kind in ordered.changes:
                        made.orders.setdefault(kind, set()).add(number)
            _count(planned, done, holes, made)
            if new == bytes_of(record):
                return None
            made.records.add(number)
            return new

        return change


def _count(
    planned: Sequence[TextMove | Unmovable], done: Sequence[TextMove], holes: Sequence[Hole], made: Made
) -> None:
    """Notes for each hole whether this record has it moved or left."""
    moved = {step for move in done for step in move.steps}
    left = {step for move in planned for step in move.steps} - moved
    made.fields.update([holes[step] for step in moved])
    made.left.update([holes[step] for step in left])


def totals_of(outcomes: Sequence[Outcome], families: Sequence[int]) -> Totals:
    """The sums over all requests."""
    return Totals.of(outcomes, len(set(families)))


def _compressing(path: str) -> Any:
    """A file to write, compressed as the ending of its name says; the same bytes give the same file."""
    name = path.lower()
    if name.endswith(".gz"):
        return gzip.GzipFile(path, "wb", mtime=0)
    if name.endswith(".zst"):
        import zstandard

        return zstandard.open(path, "wb")
    return open(path, "wb")
