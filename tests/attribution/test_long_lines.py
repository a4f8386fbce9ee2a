"""A value in a long line that no tokenizer lets us cut: said, never passed over as a text never sent before."""

from __future__ import annotations

import pytest

import prefixlab as pl
from prefixlab.python_api import AuditReport
from prefixlab.records import Location, Request, Text

NO_PLACE = {
    "chinese": ("现在是 {clock}。", "我们只在收到包裹以后退款，并且请客人在周末来店里取货。" * 20),
    "json": ('{{"now":"{clock}",', '"rule":"parcels-are-kept-for-a-week",' * 40),
    "words": ("it is {clock} now ", "parcels are kept for a week and then they go back " * 30),
}


def audited(prompts: list[str]) -> AuditReport:
    requests = [Request(f"r{n}", Location("log", n + 1), Text(prompt)) for n, prompt in enumerate(prompts)]
    return pl.audit(requests, tokenizer="o200k_base")


def said(report: AuditReport) -> list[str]:
    return [note for note in report.notes if "long line" in note]


@pytest.mark.parametrize("name", list(NO_PLACE))
def test_a_clock_in_a_line_without_a_place_to_cut_is_named_or_said(name: str) -> None:
    head, rest = NO_PLACE[name]
    report = audited([head.format(clock=f"10:{minute:02d}") + rest for minute in range(12)])
    assert report.fields or said(report)
    assert not (report.fields and said(report))
    assert report.is_all_looked_into == (not said(report))


@pytest.mark.parametrize("name", list(NO_PLACE))
def test_other_texts_and_the_same_text_are_not_called_alike(name: str) -> None:
    _, rest = NO_PLACE[name]
    letters = "abcdefghijkl"
    others = ["".join([letters[(at * (number + 2) + number) % 12] for at in range(400)]) for number in range(12)]
    assert not said(audited(others))
    assert not said(audited([rest] * 6))
