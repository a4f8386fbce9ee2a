"""`python -m tests.planted --seeds 0-199 [--structural]` prints what is not as planted; `--seed N` one log in full."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from tests.planted.generator import holes_log
from tests.planted.scoring import Summary, audit, score
from tests.planted.structural import structural_log, structural_truth
from tests.planted.structural_scoring import StructuralSummary, score_double_bos, score_structural
from tests.planted.truth import reuse, truth_of


def _one(seed: int) -> str:
    log = holes_log(seed)
    truth, report = truth_of(log), audit(log.records(), log.chat)
    rows = [
        f"seed {seed}: {log.title}",
        "",
        "first record:",
        json.dumps(log.records()[0], ensure_ascii=False, indent=1),
    ]
    rows += ["", "holes:"]
    for hole in log.holes:
        spans = {draft.lines(hole.number) for draft in log.drafts if hole.number in draft.values}
        rows.append(f"  {hole}")
        rows.append(f"    lines {sorted({span[0] for span in spans if span})} values {log.values_of(hole.number)[:4]}")
    rows += ["", f"truth: volatile {truth.volatile}, as sent {sum(truth.now.aligned)} of {sum(truth.now.prompt)}"]
    rows += [f"  {rung}" for rung in truth.rungs]
    rows += ["", f"report: volatile {report.losses.volatile}"]
    for row in (*report.fields, *report.breaks):
        rows.append(f"  {row}")
    made = Summary([score(log, truth, report)])
    return "\n".join([*rows, "", made.figures(), made.table()])


def _one_structural(seed: int) -> str:
    log = structural_log(seed)
    truth, report = structural_truth(log), audit(log.records(), log.chat)
    now, sent, mended = truth.truth.now, log.prompts(), log.prompts(mended=True)
    rows = [f"seed {seed}: {log.title}, template {log.chat}", "", *map(str, log.holes)]
    for record in log.records()[:3]:
        rows += [json.dumps(record, ensure_ascii=False, indent=1)]
    rows += ["", "aligned as sent / mended: prompt"]
    alone = reuse(mended, log.spaces(), now.prompt).aligned
    rows += [f"  {now.aligned[n]} / {alone[n]}: {len(sent[n])}" for n in range(len(sent))]
    rows += [f"truth: volatile {truth.least} to {truth.most}; report: {report.losses.volatile}"]
    return "\n".join(
        [*rows, *map(str, (*report.fields, *report.breaks)), StructuralSummary([score_structural(seed)]).table()]
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.planted", description=__doc__)
    parser.add_argument("--seeds", default="0-24", help="a range of seeds")
    parser.add_argument("--seed", type=int, help="one seed, in full")
    parser.add_argument("--structural", action="store_true", help="logs with structural faults in place of holes")
    given = parser.parse_args(arguments)
    if given.seed is not None:
        print(_one_structural(given.seed) if given.structural else _one(given.seed))
        return
    first, last = map(int, given.seeds.split("-"))
    if given.structural:
        seeds = range(first, last + 1)
        summed = StructuralSummary(
            [score_structural(seed) for seed in seeds] + [score_double_bos(s) for s in seeds[:4]]
        )
        print(summed.table(), summed.figures(), sep="\n")
        return
    summary = Summary([score(holes_log(seed)) for seed in range(first, last + 1)])
    print(summary.table())
    print(summary.confusion())
    print(summary.figures())
    worst = sorted(summary.scores, key=lambda one: -len(one.missed) - len(one.false) - len(one.shares_off))[:10]
    print("worst seeds:", ", ".join(str(one.seed) for one in worst if not one.clean))


if __name__ == "__main__":
    main()
