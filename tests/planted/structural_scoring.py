"""Reports on logs with a structural fault held against the truth, kind by kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import prefixlab as pl
from prefixlab.findings import Break
from tests.planted.scoring import Score, audit, match_fields
from tests.planted.structural import StructuralLog, double_bos_log, structural_log, structural_truth
from tests.planted.truth import BLOCK


@dataclass
class StructuralScore:
    """One log's result: whether the fault is named, and all else that is said."""

    seed: int
    title: str
    kind: str
    requests: int
    named: bool = False
    needed: bool = True
    """Whether mending wins anything, or the kind is one that wins nothing and is named all the same."""
    least: int = 0
    most: int = 0
    reported: int = 0
    counts_equal: bool = True
    holes_missed: int = 0
    other: list[str] = field(default_factory=list)

    @property
    def total_agrees(self) -> bool:
        slack = BLOCK * self.requests
        return self.least - slack <= self.reported <= self.most + slack

    @property
    def clean(self) -> bool:
        whole = self.total_agrees and self.counts_equal and not self.other and not self.holes_missed
        return whole and (self.named or not self.needed)


def score_structural(seed: int) -> StructuralScore:
    """Audit the seed's log and hold the report against the truth."""
    log = structural_log(seed)
    truth = structural_truth(log)
    report = audit(log.records(), log.chat)
    made = StructuralScore(seed, log.title, log.fault.kind, len(log.sound.drafts), reported=report.losses.volatile)
    made.least, made.most = truth.least, truth.most
    made.needed = truth.fault_won > 0 or log.fault.kind == "namespace"
    now = truth.truth.now
    outcomes = [row.outcome for row in report.requests]
    made.counts_equal = [(o.prompt_tokens, o.raw_shared_tokens, o.aligned_tokens) for o in outcomes] == list(
        zip(now.prompt, now.raw, now.aligned, strict=True)
    )
    fields = Score(seed, log.title, made.requests)
    taken = match_fields(fields, log.sound, truth.truth, report.fields)
    made.holes_missed = sum(hole.number not in taken and truth.truth.won(hole.number) > 0 for hole in log.holes)
    made.other += fields.false
    _breaks(made, log, report.breaks)
    return made


def _breaks(made: StructuralScore, log: StructuralLog, breaks: Sequence[Break]) -> None:
    for row in breaks:
        if row.kind == log.fault.kind and row.path.startswith(log.fault.paths):
            made.named = True
        else:
            made.other.append(f"break {row.kind} {row.path} won {row.recoverable_tokens}")


def score_double_bos(seed: int) -> StructuralScore:
    """The same for token ids with a doubled begin of sequence."""
    records, now, won = double_bos_log(seed)
    report = pl.audit(records, tokenizer="none")
    made = StructuralScore(seed, "double_bos in token ids", "double_bos", len(records), reported=report.losses.volatile)
    made.least = made.most = won
    made.needed = won > 0
    made.counts_equal = [row.outcome.aligned_tokens for row in report.requests] == list(now.aligned)
    for row in report.breaks:
        if row.kind == "double_bos":
            made.named = True
        else:
            made.other.append(f"break {row.kind} {row.path}")
    made.other += [f"{row.kind} {row.path}:{row.line} {row.examples[:2]!r:.60}" for row in report.fields]
    return made


@dataclass
class StructuralSummary:
    """The scores of many logs, by kind of fault."""

    scores: list[StructuralScore]

    def of(self, kind: str) -> list[StructuralScore]:
        return [one for one in self.scores if one.kind == kind]

    def kinds(self) -> list[str]:
        return list(dict.fromkeys(one.kind for one in self.scores))

    def recall(self, kind: str) -> float:
        needed = [one for one in self.of(kind) if one.needed]
        return sum(one.named for one in needed) / len(needed) if needed else 1.0

    def precision(self, kind: str) -> float:
        """The part of all that is said about logs of this kind that is the fault."""
        named = sum(one.named for one in self.of(kind))
        said = named + sum(len(one.other) for one in self.of(kind))
        return named / said if said else 1.0

    def overall(self) -> dict[str, float]:
        """Over all kinds: precision of what is said, faults named of those that cost, and totals that agree."""
        named = sum(one.named for one in self.scores)
        needed = [one.named for one in self.scores if one.needed]
        return {
            "precision": named / (named + sum(len(one.other) for one in self.scores)),
            "recall": sum(needed) / len(needed),
            "totals": sum(one.total_agrees for one in self.scores) / len(self.scores),
        }

    def totals(self, kind: str) -> float:
        rows = self.of(kind)
        return sum(one.total_agrees for one in rows) / len(rows) if rows else 1.0

    def figures(self) -> str:
        rows = ["kind                     logs  named  false  totals  counts"]
        for kind in self.kinds():
            of = self.of(kind)
            said = Counter(
                text.split(" ")[1] if text.startswith("break") else "field" for one in of for text in one.other
            )
            rows.append(
                f"{kind:24} {len(of):4} {self.recall(kind):6.2f} {said.total():6} {self.totals(kind):7.2f} "
                f"{sum(one.counts_equal for one in of):7}  {', '.join(f'{k} {n}' for k, n in said.most_common(3))}"
            )
        overall = ", ".join(f"{name} {value:.3f}" for name, value in self.overall().items())
        rows.append(f"{len(self.scores)} logs: {overall}")
        return "\n".join(rows)

    def table(self) -> str:
        rows = []
        for one in self.scores:
            if one.clean:
                continue
            named = "named" if one.named else "NOT NAMED" if one.needed else "wins nothing"
            truth = str(one.most) if one.least == one.most else f"{one.least}-{one.most}"
            rows.append(f"seed {one.seed} {one.title}: {named}, TOTAL {one.reported}, truth {truth}")
            rows += ["    the hole beside it is not named"] * bool(one.holes_missed)
            rows += [f"    FALSE {text}" for text in one.other]
            rows += ["    COUNTS as sent are not those of the brute force"] * (not one.counts_equal)
        return "\n".join(rows)
