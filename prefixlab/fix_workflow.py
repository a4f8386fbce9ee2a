"""`fix`: a log written again with each volatile value where it costs least, replayed before anything is claimed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from types import MappingProxyType
from typing import BinaryIO, NamedTuple

from prefixlab import __version__
from prefixlab.attribution.fix_replay import Hole, Target
from prefixlab.attribution.planned_moves import is_reordered_text
from prefixlab.contracts import ReadOptions
from prefixlab.destination import Destination
from prefixlab.errors import PrefixlabError
from prefixlab.findings import Break, Field
from prefixlab.fixed_summary import FixedStep, FixSummary, Place, Unfixed
from prefixlab.intake import Progress, quiet
from prefixlab.log_fixes import (
    RESTORED,
    FixableLog,
    Fixed,
    LogFixes,
    Made,
    Numbering,
    RestoredLog,
    Wanted,
    totals_of,
)
from prefixlab.log_rewriting.orders import KINDS
from prefixlab.readers.rewriting import WritableLog
from prefixlab.readers.sources import ending
from prefixlab.records import TEMPLATE
from prefixlab.settings import AuditSettings
from prefixlab.workflows import Analysis, analyse, report_of

_NOT_TOUCHED = {
    "history_trimmed": "what was cut from the history is not in the record",
    "history_rewritten": "what an old message said before is not in the record",
    "turn_rerendered": "the chat template or the client writes a turn in another way once it is history",
    "moving_suffix": "text that moves with the newest turn is the client's to place",
    "boundary_token": "there is nothing to fix in the prompt",
    "prompt_version": "there is nothing to fix in the prompt",
    "namespace": "there is nothing to fix in the prompt",
    "replica": "there is nothing to fix in the prompt",
    "expired": "there is nothing to fix in the prompt",
    "below_minimum": "there is nothing to fix in the prompt",
    "retokenised": "the answer's ids are not in the text",
    "double_bos": "the template or the client writes the second one",
    "head_parameter": "a request's parameters are not changed",
}
"""Kinds of breaks that a log's text cannot heal, and why."""

WRITABLE = (*KINDS, *[kind for kind in RESTORED if kind not in KINDS])
"""Kinds of breaks that a log can have put right."""

_NOTHING: Mapping[str, Set[int]] = MappingProxyType({})

_NOT_ASKED = "not asked for"
_GAINS_NOTHING = "putting it right in the log gains nothing"
_NOT_DONE = "what the audit measured for it could not be reached in the log; change the program that writes the prompts"

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
    first = _attempt(logged, settings, progress)
    analysis, choice = first.analysis, first.choice
    before = totals_of(analysis.outcomes, analysis.families.numbers)
    best = first
    if first.fixed.totals.aligned_tokens < choice.promised:
        best = _with_orders_first(logged, settings, progress, first)
    after = best.fixed.totals
    written_to = None
    is_gain = (
        after.aligned_tokens > before.aligned_tokens
        and after.aligned_reuse > before.aligned_reuse
        and after.cached_tokens >= before.cached_tokens
    )
    if is_gain and destination is not None:
        after = best.fixes.write(best.fixed.wanted, destination, after)
        written_to = destination.named
    if not is_gain:
        best = first._replace(fixed=Fixed(Wanted({}, ()), before, Made()))
        after = before
    return FixSummary(
        version=__version__,
        log=os.path.basename(logged.path) if os.path.isabs(logged.path) else logged.path,
        written_to=written_to,
        records=first.fixes.records,
        changed_records=len(best.changed),
        skipped=logged.skipped,
        before=before,
        after=after,
        promised_tokens=choice.promised,
        has_cache=analysis.deployment.is_limited,
        steps=best.choice.steps(best.fixed, best.restored),
        unfixed=best.choice.unfixed(best.fixed, best.restored),
        notes=(*analysis.taken.notes, *analysis.models.notes()),
    )


class _Attempt(NamedTuple):
    """A log analysed, and the steps of its ladder that pay once they are written."""

    analysis: Analysis
    numbering: Numbering
    fixes: LogFixes
    choice: _Choice
    fixed: Fixed
    restored: Mapping[str, Set[int]]
    """Kinds that were put right before that, with the numbers of the records."""

    @property
    def changed(self) -> set[int]:
        """The numbers of the records that are other than logged."""
        return self.fixed.made.records.union(*self.restored.values())


def _attempt(
    log: FixableLog, settings: FixSettings, progress: Progress, restored: Mapping[str, Set[int]] = _NOTHING
) -> _Attempt:
    numbering = Numbering()
    analysis = analyse(numbering.requests(log.records()), settings, progress=progress)
    fixes = LogFixes(log, settings, analysis, numbering, progress)
    choice = _Choice(fixes, settings, analysis)
    return _Attempt(analysis, numbering, fixes, choice, choice.best(), restored)


def _with_orders_first(log: WritableLog, settings: FixSettings, progress: Progress, first: _Attempt) -> _Attempt:
    """The log with orders and forms put right as the ladder does it, then read again: a value between lines that moved
    is found where it then is. The attempt without that, if it reuses as much."""

    def attempt(kinds: Sequence[str]) -> _Attempt:
        restored = RestoredLog(log, first.analysis, first.numbering, kinds)
        return _attempt(restored, settings, progress, restored.changed)

    best = first
    kinds = first.choice.restorable()
    if kinds:
        best = _more(attempt(kinds), best)
    for kind in kinds if len(kinds) > 1 and best is not first else ():
        fewer = attempt([other for other in kinds if other != kind])
        if fewer.fixed.totals.aligned_tokens >= best.fixed.totals.aligned_tokens:
            best, kinds = fewer, [other for other in kinds if other != kind]
    return best


def _more(one: _Attempt, best: _Attempt) -> _Attempt:
    return one if one.fixed.totals.aligned_tokens > best.fixed.totals.aligned_tokens else best


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


class _Choice:
    """Which steps of a ladder a written log has."""

    def __init__(self, fixes: LogFixes, settings: FixSettings, analysis: Analysis) -> None:
        self._fixes = fixes
        self._settings = settings
        self._analysis = analysis
        self._report = report_of(analysis, settings)
        ladder = analysis.ladder
        # Holes have rows by rank; one in the description of a tool stands among the breaks.
        rows: list[Field | Break] = [*ladder.fields, *[row for row in ladder.breaks if row.kind == "tool_text"]]
        rows.sort(key=lambda row: row.rank)
        self._rows: dict[Hole, Field | Break] = dict(zip(ladder.targets, rows, strict=False))
        self._reordered = [hole for hole in self._rows if is_reordered_text(hole, ladder.sites, analysis.prompts)]

    def restorable(self) -> list[str]:
        """Kinds asked for by which the ladder wins something, in the order in which they are put right."""
        winning = {row.kind for row in self._report.breaks if row.recoverable_tokens}
        return [kind for kind in RESTORED if kind in winning and self._is_asked_for(kind)]

    def _wanted(self) -> Wanted:
        """The steps asked for.

        Raises:
            PrefixlabError: one is not of this log.
        """
        targets = {
            hole: target for hole, target in self._analysis.ladder.targets.items() if self._is_value_of_log(hole)
        }
        if not self._settings.only:
            return Wanted(targets, KINDS)
        asked = {name.casefold() for name in self._settings.only}
        names = [_name(row) for row in self._rows.values()]
        for name in self._settings.only:
            if name.casefold() not in {known.casefold() for known in (*names, *WRITABLE)}:
                told = [] if self._settings.hides_names else list(dict.fromkeys(names))
                raise PrefixlabError(
                    f"--only {name!r} is no step of this log's ladder", f"Give one of {', '.join([*told, *WRITABLE])}"
                )
        kept = {hole: target for hole, target in targets.items() if _name(self._rows[hole]).casefold() in asked}
        return Wanted(kept, tuple([kind for kind in KINDS if kind in asked]))

    def best(self) -> Fixed:
        """The log with those of the steps that pay once it is written, each value at the place where it does.

        Raises:
            PrefixlabError: a step is asked for that is not of this log.
        """
        best = self._fixes.replayed(self._wanted())
        for hole, row in self._rows.items():
            # Where orders are put right as well, a text may have been taken for a value that only changed its place.
            if hole in best.wanted.targets and (best.made.orders or not row.pays):
                best = _if_as_good(self._fixes.replayed(best.wanted.without(hole)), best)
        for kind in [kind for kind in best.wanted.orders if kind in best.made.orders]:
            others = tuple([other for other in best.wanted.orders if other != kind])
            best = _if_as_good(self._fixes.replayed(best.wanted._replace(orders=others)), best)
        # The ladder's replay sets a value at the end of what the template makes of its message; in the log it stands
        # at the end of the text itself, be it ahead of tools.
        slack = self._analysis.deployment.engine.granularity * len(self._analysis.prompts)
        if not self._settings.only and best.totals.aligned_tokens < self.promised - slack:
            for hole in best.wanted.targets:
                best = self._better_without(hole, best)
        return best

    def _better_without(self, hole: Hole, best: Fixed) -> Fixed:
        """The log with a value at its other place, or where it was, if that reuses more."""
        targets = best.wanted.targets
        other: Target = "own" if targets[hole] == "newest" else "newest"
        elsewhere = best.wanted._replace(targets={**targets, hole: other})
        for changed in (elsewhere, best.wanted.without(hole)):
            reached = self._fixes.replayed(changed)
            if reached.totals.aligned_tokens > best.totals.aligned_tokens:
                best = reached
        return best

    @property
    def promised(self) -> int:
        """Aligned tokens of the log with all that a log can have fixed, by the ladder's own replay."""
        rows = [row.recoverable_tokens for row in self._report.breaks if row.kind in WRITABLE]
        rows += [row.recoverable_tokens for hole, row in self._rows.items() if self._is_value_of_log(hole)]
        return self._report.totals.aligned_tokens + sum(rows)

    def steps(self, fixed: Fixed, restored: Mapping[str, Set[int]]) -> tuple[FixedStep, ...]:
        """What a written log has."""
        wanted, _, made = fixed
        found = [
            FixedStep(
                _name(self._rows[hole]),
                self._rows[hole].kind,
                self._rows[hole].path,
                _where(hole, target),
                made.fields[hole],
                made.left[hole],
            )
            for hole, target in wanted.targets.items()
            if made.fields[hole]
        ]
        orders = _records_of(fixed, restored)
        found += [
            FixedStep(kind, kind, "", "order_shown_first", len(orders[kind]), 0) for kind in WRITABLE if orders[kind]
        ]
        return tuple(found)

    def unfixed(self, fixed: Fixed, restored: Mapping[str, Set[int]]) -> tuple[Unfixed, ...]:
        """What it has not, and why."""
        wanted, _, made = fixed
        rows = [
            Unfixed(_name(row), row.kind, self._why_not(hole))
            for hole, row in self._rows.items()
            if hole not in wanted.targets or not made.fields[hole]
        ]
        orders = _records_of(fixed, restored)
        known = {*[kind for kind in WRITABLE if orders[kind]], "tool_text"}
        rows += [
            Unfixed(row.kind, row.kind, self._why_left(row)) for row in self._report.breaks if row.kind not in known
        ]
        return tuple(rows)

    def _why_not(self, hole: Hole) -> str:
        if not self._is_asked_for(_name(self._rows[hole])):
            return _NOT_ASKED
        if _is_of_template(hole):
            return "it stands in the chat template, not in the log; change the template"
        if hole in self._reordered:
            return "it is text that stands at another place elsewhere; only its order is put right"
        if not self._rows[hole].pays:
            return "some requests would win if it were moved, but others would lose more"
        return _GAINS_NOTHING if not self._rows[hole].recoverable_tokens else _NOT_DONE

    def _why_left(self, row: Break) -> str:
        if row.kind in WRITABLE and not self._is_asked_for(row.kind):
            return _NOT_ASKED
        return _NOT_TOUCHED.get(row.kind, _NOT_DONE if row.recoverable_tokens else _GAINS_NOTHING)

    def _is_value_of_log(self, hole: Hole) -> bool:
        return not _is_of_template(hole) and hole not in self._reordered

    def _is_asked_for(self, name: str) -> bool:
        only = self._settings.only
        return not only or name.casefold() in [asked.casefold() for asked in only]


def _records_of(fixed: Fixed, restored: Mapping[str, Set[int]]) -> dict[str, set[int]]:
    """The numbers of the records in which each kind was put right."""
    return {kind: {*fixed.made.orders.get(kind, ()), *restored.get(kind, ())} for kind in WRITABLE}


def _if_as_good(fewer: Fixed, best: Fixed) -> Fixed:
    """The log with fewer steps, if it reuses no less."""
    return fewer if fewer.totals.aligned_tokens >= best.totals.aligned_tokens else best


def _where(hole: Hole, target: Target) -> Place:
    if hole.site.origin.role == "prompt":
        return "end_of_prompt"
    return "newest_user_message" if target == "newest" else "own_text"


def _is_of_template(hole: Hole) -> bool:
    return hole.site.origin.role == TEMPLATE.role


def _name(row: Field | Break) -> str:
    return row.name if isinstance(row, Field) else row.kind
