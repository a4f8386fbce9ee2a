"""A value in one line, however long and of whatever language or form, is named with what it costs."""

from __future__ import annotations

import pytest

import prefixlab as pl
from prefixlab.python_api import AuditReport
from prefixlab.records import Location, Request, Text

RULE = "parcels are kept for a week and then they go back to the sender without a refund"
FEW = "请核对收货地址并在周末来店里取货我们只在收到包裹以后退款"

LINES = {
    "chinese": ("现在是{clock}。", "我们只在收到包裹以后退款，并且请客人在周末来店里取货。" * 20),
    "chinese without marks": ("现在是{clock}点", FEW * 40),
    "few chinese words": ("现在是 {clock}。", "我们只在收到包裹以后退款，并且请客人在周末来店里取货，" + FEW),
    "hindi": ("अभी {clock} है। ", "पार्सल एक सप्ताह तक रखा जाता है और फिर वापस भेजा जाता है। " * 20),
    "json": ('{{"now":"{clock}",', ",".join([f'"rule{n}":"{RULE} {n}."' for n in range(12)]) + "}"),
    "html": ("<p>Now {clock}</p>", "".join([f"<li>{RULE} {n}</li>" for n in range(12)])),
    "fields": ("Now {clock}", "".join([f" | {RULE} {n}" for n in range(12)])),
    "words": ("it is now {clock} ", " ".join([f"{RULE} {n}" for n in range(20)])),
    "one word": ("it is now {clock} ", "replace " * 800),
    "a short line": ("You help a shop, it is now {clock} and ", f"{RULE} but {RULE}"),
    "no place to cut": ("Now:{clock}", "aGVsbG8gd29ybGQgb2YgcGFyY2Vscw" * 60),
}


def audited(prompts: list[str]) -> AuditReport:
    requests = [Request(f"r{n}", Location("log", n + 1), Text(prompt)) for n, prompt in enumerate(prompts)]
    return pl.audit(requests, tokenizer="o200k_base")


def said(report: AuditReport) -> list[str]:
    return [note for note in report.notes if "long line" in note]


@pytest.mark.parametrize("name", list(LINES))
def test_a_clock_in_one_line_is_a_field_and_wins_back_what_moving_it_does(name: str) -> None:
    head, rest = LINES[name]
    clocks = [f"10:{minute:02d}" for minute in range(12)]
    report = audited([head.format(clock=clock) + rest for clock in clocks])
    (field,) = report.fields
    assert field.distinct_values == len(clocks)
    assert field.examples[0].endswith("10:00") or field.examples[0] == "00"
    # By hand: the value cut out and written behind the rest, which then is one text for all requests.
    by_hand = audited([f"{head.format(clock='')}{rest}\n{clock}" for clock in clocks])
    least = by_hand.totals.aligned_tokens - report.totals.aligned_tokens
    assert abs(field.recoverable_tokens - least) <= 16 * len(clocks)
    assert not said(report)


def test_two_values_far_apart_in_one_line_are_two_fields() -> None:
    rest = " ".join([f"{RULE} {n}" for n in range(40)])
    report = audited([f"Now 10:{n:02d} {rest} for order {n * 7 + 100} {rest[::-1]}" for n in range(12)])
    assert [(field.kind, field.examples[1]) for field in report.fields] == [("clock", "10:01"), ("counter", "107")]


def test_a_value_between_equal_lines_is_found_where_it_stands() -> None:
    same = "Be polite and follow the rules of the shop. " * 40
    report = audited([f"{same}Session {n * 31:05x} is open. {same}" for n in range(12)])
    (field,) = report.fields
    assert (field.name, field.kind) == ("Session", "id")
    assert field.recoverable_tokens > 11 * 300


def test_a_line_that_shares_less_than_half_is_said_or_left() -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    others = ["".join([letters[(at * (n + 3) + n * at // 7) % 26] for at in range(300)]) for n in range(12)]
    assert not audited([f"{one} {RULE}" for one in others]).fields


@pytest.mark.parametrize("name", list(LINES))
def test_other_texts_and_the_same_text_are_not_called_alike(name: str) -> None:
    _, rest = LINES[name]
    letters = "abcdefghijkl"
    others = ["".join([letters[(at * (number + 2) + number) % 12] for at in range(400)]) for number in range(12)]
    assert not said(audited(others))
    assert not said(audited([rest] * 6))
