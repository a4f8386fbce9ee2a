"""A report held against the planted truth: which holes it names, what it names that is none, whether shares agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import prefixlab as pl
from prefixlab.findings import Break, Field
from tests.planted.drafts import Hole, Log
from tests.planted.truth import BLOCK, Truth, template_path, truth_of
from tests.planted.values import KINDS

KIND = {kind.name: kind for kind in KINDS}
TOKENIZER = "o200k_base"


@dataclass
class Score:
    """One log's result. Holes that cost no block count neither way."""

    seed: int
    title: str
    requests: int
    found: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    neutral: list[str] = field(default_factory=list)
    false: list[str] = field(default_factory=list)
    kinds: Counter[tuple[str, str]] = field(default_factory=Counter)
    shares_off: list[str] = field(default_factory=list)
    planted: int = 0
    alone: int = 0
    """`planted` if each value's place were chosen when its turn comes, with all behind it as sent."""
    reported: int = 0
    won_found: int = 0
    won_missed: int = 0
    counts_equal: bool = True

    @property
    def total_agrees(self) -> bool:
        """Whether `losses.volatile` is the truth within a block a request."""
        return abs(self.planted - self.reported) <= BLOCK * self.requests

    @property
    def clean(self) -> bool:
        return not (self.missed or self.false or self.shares_off) and self.total_agrees and self.counts_equal


def audit(records: Sequence[dict[str, Any]], chat: str | None) -> pl.AuditReport:
    """The report under test."""
    options = {} if chat is None else {"chat_template": str(template_path(chat))}
    return pl.audit(records, tokenizer=TOKENIZER, offline=True, **options)


def names(row: Field, hole: Hole, log: Log) -> bool:
    """Whether a field is about the hole: its path and line, and examples that are or contain planted values."""
    return stands_at(row, hole, log) and all(_is_value(example, hole, log) for example in row.examples)


def stands_at(row: Field, hole: Hole, log: Log) -> bool:
    """Whether a field has the hole's path and one of its lines."""
    if row.path != hole.path and not (hole.path.startswith("tools") and row.path.startswith(f"{hole.path}.")):
        return False
    spans = [draft.lines(hole.number) for draft in log.drafts if hole.number in draft.values]
    return any(span is not None and row.line in span for span in spans)


def _is_value(example: str, hole: Hole, log: Log) -> bool:
    """Whether an example is a planted value or contains one; of text and lists a part of one will do."""
    loose = KIND[hole.kind].loose
    # In a tool's JSON the quotes and line ends of a value are escaped.
    shown = {example, example.replace("\\n", "\n").replace('\\"', '"')}
    return any(
        value in text or (loose and text.strip() in value) for value in log.values_of(hole.number) for text in shown
    )


def score(log: Log, truth: Truth | None = None, report: pl.AuditReport | None = None) -> Score:
    """Audit the log and hold the report against the truth."""
    truth = truth or truth_of(log)
    report = report or audit(log.records(), log.chat)
    made = Score(log.seed, log.title, len(log.drafts))
    made.planted, made.alone, made.reported = truth.volatile, truth.alone, report.losses.volatile
    outcomes = [row.outcome for row in report.requests]
    made.counts_equal = [(o.prompt_tokens, o.raw_shared_tokens, o.aligned_tokens) for o in outcomes] == list(
        zip(truth.now.prompt, truth.now.raw, truth.now.aligned, strict=True)
    )
    taken = match_fields(made, log, truth, report.fields)
    tool_texts = [row for row in report.breaks if row.kind == "tool_text"]
    for row in tool_texts:
        _match_tool_text(made, row, log, truth, taken)
    check_shares(made, log, truth, taken)
    for hole in log.holes:
        if hole.number not in taken and not hole.control and truth.costs(hole.number):
            made.won_missed += truth.won(hole.number)
            made.missed.append(_missed(hole, log, truth, report.fields))
    others = [row for row in report.breaks if row not in tool_texts]
    made.false += [f"break {row.kind} at {row.path}, {row.recoverable_tokens}" for row in others]
    return made


def match_fields(made: Score, log: Log, truth: Truth, fields: Iterable[Field]) -> dict[int, int]:
    """Enter each field as found, neutral or false; the tokens won back, by hole."""
    taken: dict[int, int] = {}
    for row in fields:
        fits = [hole for hole in log.holes if names(row, hole, log)]
        fresh = [hole for hole in fits if hole.number not in taken]
        if not fits or (not fresh and not KIND[fits[0].kind].loose):
            made.false.append(f"{'twice ' if fits else ''}{row.kind} {row.path}:{row.line} {row.examples[:2]!r:.90}")
            continue
        hole = (fresh or fits)[0]
        if not fresh:
            taken[hole.number] += row.recoverable_tokens
            continue
        taken[hole.number] = row.recoverable_tokens
        won = truth.won(hole.number)
        what = f"{hole.kind}/{hole.pattern} {hole.path}:{row.line} won {won}"
        if hole.control and not truth.costs(hole.number):
            made.false.append(f"control {what}")
        elif hole.control or not truth.costs(hole.number):
            made.neutral.append(what)
        else:
            made.found.append(what)
            made.won_found += won
            made.kinds[hole.kind, row.kind] += 1
    return taken


def _match_tool_text(made: Score, row: Break, log: Log, truth: Truth, taken: dict[int, int]) -> None:
    """Enter a `tool_text` break: it names the holes of its tool as well as fields would."""
    in_tools = [hole for hole in log.holes if hole.path.startswith("tools")]
    inside = [hole for hole in in_tools if row.path in ("tools", hole.path) or row.path.startswith(f"{hole.path}.")]
    if not inside:
        made.false.append(f"break tool_text at {row.path}, {row.recoverable_tokens}")
    for hole in inside:
        won = truth.won(hole.number)
        if hole.number not in taken:
            what = f"{hole.kind}/{hole.pattern} {hole.path} as tool_text, won {won}"
            (made.found if truth.costs(hole.number) else made.neutral).append(what)
            made.won_found += won
            made.kinds[hole.kind, row.kind] += truth.costs(hole.number)
        taken[hole.number] = taken.get(hole.number, 0) + row.recoverable_tokens


def check_shares(made: Score, log: Log, truth: Truth, taken: Mapping[int, int]) -> None:
    """Enter each named hole whose own share is off by more than a block a request."""
    for number, won in taken.items():
        if abs(won - truth.won(number)) > BLOCK * made.requests:
            hole = log.holes[number]
            made.shares_off.append(f"{hole.kind}/{hole.pattern} {hole.path}: {won}, truth {truth.won(number)}")


def _missed(hole: Hole, log: Log, truth: Truth, fields: Iterable[Field]) -> str:
    """What was missed, and how: cut elsewhere, named at another line or in one with its neighbour, or not at all."""
    near = [row for row in fields if stands_at(row, hole, log)]
    inside = [row for row in fields if row.path == hole.path and all(_is_value(e, hole, log) for e in row.examples)]
    what = "CUT" if near else "MERGED" if inside else "MISSED"
    shown = [f"as {row.line}: {row.examples[:2]!r:.70}" for row in (near or inside)[:1]]
    first = next(draft.lines(hole.number) for draft in log.drafts if hole.number in draft.values)
    values = log.values_of(hole.number)
    seen = sum(hole.number in draft.values for draft in log.drafts)
    place = f"{hole.path}:{first[0] if first else 0} {hole.form[:40]!r} {values[0]!r:.40}"
    numbers = f"{len(values)} values in {seen} requests, won {truth.won(hole.number)}"
    numbers += f", needed for {truth.needed.get(hole.number, 0)}"
    return " ".join([what, f"{hole.kind}/{hole.pattern}", place, numbers, *shown])


def _right(planted: str, named: str) -> bool:
    return named in KIND[planted].right or named == "tool_text"


@dataclass
class Summary:
    """The scores of many logs."""

    scores: list[Score]

    def _count(self, name: str) -> int:
        return sum(len(getattr(one, name)) for one in self.scores)

    @property
    def precision(self) -> float:
        named = self._count("found") + self._count("false")
        return self._count("found") / named if named else 1.0

    @property
    def recall(self) -> float:
        planted = self._count("found") + self._count("missed")
        return self._count("found") / planted if planted else 1.0

    @property
    def by_tokens(self) -> float:
        """Recall with each hole weighed by what fixing it wins back."""
        found = sum(one.won_found for one in self.scores)
        missed = sum(one.won_missed for one in self.scores)
        return found / (found + missed) if found + missed else 1.0

    @property
    def totals(self) -> float:
        """The part of logs whose volatile loss is the truth within a block a request."""
        return sum(one.total_agrees for one in self.scores) / len(self.scores)

    @property
    def shares(self) -> float:
        """The part of found holes whose own share is right."""
        found = self._count("found") + self._count("neutral")
        return 1 - self._count("shares_off") / found if found else 1.0

    @property
    def kinds(self) -> float:
        """The part of found holes whose kind is one of the right ones."""
        pairs: Counter[tuple[str, str]] = sum((one.kinds for one in self.scores), Counter())
        right = sum(n for (planted, named), n in pairs.items() if _right(planted, named))
        return right / pairs.total() if pairs else 1.0

    def confusion(self) -> str:
        """Planted kinds against named ones, `!` where the name is wrong."""
        pairs: Counter[tuple[str, str]] = sum((one.kinds for one in self.scores), Counter())
        rows = []
        for planted in sorted({planted for planted, _ in pairs}):
            cells = [(n, named) for (of, named), n in pairs.items() if of == planted]
            marked = [f"{named} {n}{'' if _right(planted, named) else '!'}" for n, named in sorted(cells)[::-1]]
            rows.append(f"  {planted:14} {', '.join(marked)}")
        return "\n".join(["planted kind -> named kinds (! wrong)", *rows])

    def figures(self) -> str:
        return (
            f"{len(self.scores)} logs: precision {self.precision:.3f}, recall {self.recall:.3f} "
            f"(by tokens {self.by_tokens:.3f}), totals {self.totals:.3f}, "
            f"shares {self.shares:.3f}, kinds {self.kinds:.3f}; found {self._count('found')}, "
            f"missed {self._count('missed')}, false {self._count('false')}, neutral {self._count('neutral')}, "
            f"counts unequal in {sum(not one.counts_equal for one in self.scores)}"
        )

    def table(self) -> str:
        """All that is not as planted, one line each, with the seed."""
        rows = []
        for one in self.scores:
            if one.clean:
                continue
            rows.append(f"seed {one.seed} ({one.title})")
            rows += [f"    {text}" for text in one.missed]
            rows += [f"    FALSE {text}" for text in one.false]
            rows += [f"    SHARE {text}" for text in one.shares_off]
            if not one.total_agrees:
                rows.append(f"    TOTAL {one.reported}, truth {one.planted}, each place chosen alone {one.alone}")
            if not one.counts_equal:
                rows.append("    COUNTS as sent are not those of the brute force")
        return "\n".join(rows)
