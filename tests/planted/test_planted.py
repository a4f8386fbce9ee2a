"""Findings against planted faults: holes and structural breaks at known places, the truth by brute force.

`python -m tests.planted --help` shows how to look at the misses one by one.
"""

from __future__ import annotations

import pytest

from tests.planted.faults import FAULTS
from tests.planted.generator import SMALL_SEEDS, holes_log
from tests.planted.scoring import Summary, score
from tests.planted.structural_scoring import StructuralSummary, score_double_bos, score_structural

FLOORS = {
    "holes": {"precision": 0.99, "recall": 0.98, "totals": 0.97, "shares": 0.98, "kinds": 0.98},
    "small holes": {"precision": 0.98, "recall": 0.98, "totals": 0.95, "shares": 0.98, "kinds": 0.98},
    "structural": {"precision": 0.97, "recall": 0.99, "totals": 0.99},
    "small structural": {"precision": 0.98, "recall": 0.95, "totals": 0.95},
}
"""What each run has to reach at least; the aim is 0.98 everywhere, and a floor is raised when more is reached."""

STRUCTURAL_KINDS = {
    "tool_order": 1.0,
    "tool_set": 1.0,
    "key_order": 1.0,
    "arguments_reserialised": 1.0,
    "tool_result_order": 1.0,
    "permuted": 1.0,
    "history_trimmed": 1.0,
    "history_rewritten": 1.0,
    "turn_rerendered": 1.0,
    "moving_suffix": 1.0,
    "head_parameter": 1.0,
    "image_position": 1.0,
    "whitespace": 1.0,
    "unicode_form": 1.0,
    "namespace": 1.0,
    "double_bos": 1.0,
}
"""Of each kind the least part of the logs of the full run in which the fault is named as such."""


def short_of(reached: dict[str, float], floors: dict[str, float]) -> dict[str, float]:
    return {name: reached[name] for name in floors if reached[name] < floors[name]}


def check_holes(seeds: range, floors: str) -> None:
    summary = Summary([score(holes_log(seed)) for seed in seeds])
    print("", summary.table(), summary.confusion(), summary.figures(), sep="\n")
    assert all(one.counts_equal for one in summary.scores)
    assert not short_of({name: getattr(summary, name) for name in FLOORS[floors]}, FLOORS[floors])


def check_structural(seeds: range, tokens: range, floors: str) -> StructuralSummary:
    summary = StructuralSummary([score_structural(n) for n in seeds] + [score_double_bos(n) for n in tokens])
    print("", summary.table(), summary.figures(), sep="\n")
    assert all(one.counts_equal for one in summary.scores)
    assert not short_of(summary.overall(), FLOORS[floors])
    return summary


def test_holes_of_small_logs() -> None:
    check_holes(range(SMALL_SEEDS, SMALL_SEEDS + 25), "small holes")


def test_each_structural_fault_once() -> None:
    check_structural(range(SMALL_SEEDS, SMALL_SEEDS + len(FAULTS)), range(2), "small structural")


@pytest.mark.full
def test_holes_of_two_hundred_templates() -> None:
    check_holes(range(200), "holes")


@pytest.mark.full
def test_structural_faults_of_eighty_logs() -> None:
    summary = check_structural(range(76), range(4), "structural")
    assert not short_of({kind: summary.recall(kind) for kind in summary.kinds()}, STRUCTURAL_KINDS)
