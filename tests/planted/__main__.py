"""`python -m tests.planted --seeds 0-199 [--structural]` prints what is not as planted; `--seed N` one log in full."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from tests.planted.generator import holes_log
from tests.planted.scoring import Summary, audit, score
from tests.planted.truth import truth_of


def _one(seed: int) -> str:
    log = holes_log(seed)
    truth, report = truth_of(log), audit(log.records(), log.chat)
    rows = [f"seed {seed}: {log.title}", "", "first record:", json.dumps(log.records()[0], ensure_ascii=False, indent=1)]
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


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.planted", description=__doc__)
    parser.add_argument("--seeds", default="0-24", help="a range of seeds")
    parser.add_argument("--seed", type=int, help="one seed, in full")
    given = parser.parse_args(arguments)
    if given.seed is not None:
        print(_one(given.seed))
        return
    first, last = map(int, given.seeds.split("-"))
    summary = Summary([score(holes_log(seed)) for seed in range(first, last + 1)])
    print(summary.table())
    print(summary.confusion())
    print(summary.figures())
    worst = sorted(summary.scores, key=lambda one: -len(one.missed) - len(one.false) - len(one.shares_off))[:10]
    print("worst seeds:", ", ".join(str(one.seed) for one in worst if not one.clean))


if __name__ == "__main__":
    main()
