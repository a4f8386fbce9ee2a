"""Volatile fields: found where they were planted, and the ladder equal to audits of logs rewritten by hand."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable

import pytest

import prefixlab as pl
from prefixlab.python_api import AuditReport
from prefixlab.records import Chat, Location, Request, Text

RULES = [
    f"Rule {number}: quote clause {number * 7} of the rental terms, and offer the customer a visit on a weekday."
    for number in range(24)
]

VALUES: dict[str, Callable[[random.Random, int], str]] = {
    "Current time": lambda rng, number: f"2026-11-02T08:{number // 60:02d}:{number % 60:02d}Z",
    "Session": lambda rng, number: str(uuid.UUID(int=rng.getrandbits(128))),
    "Ticket": lambda rng, number: str(980 + number),
    "Customer": lambda rng, number: rng.choice(["Anna Lee", "Tom Smith", "Kim", "Bo Ek"]),
    "Basket": lambda rng, number: f"{rng.randint(1, 900)}.{rng.randint(0, 99):02d} EUR",
}
KINDS = {"Current time": "clock", "Session": "uuid", "Ticket": "counter", "Customer": "name", "Basket": "number"}


def audited(prompts: list[str]) -> AuditReport:
    requests = [Request(f"r{n}", Location("log", n + 1), Text(prompt)) for n, prompt in enumerate(prompts)]
    return pl.audit(requests, tokenizer="o200k_base")


def planted(seed: int) -> tuple[list[list[str]], list[str]]:
    """Lines of prompts with one to three labelled values among the rules, and the labels from the top down."""
    rng = random.Random(seed)
    labels = rng.sample(list(VALUES), rng.randint(1, 3))
    places = sorted(rng.sample(range(1, 20), len(labels)))
    prompts = []
    for number in range(25):
        lines = list(RULES)
        for label, place in reversed(list(zip(labels, places, strict=True))):
            lines.insert(place, f"{label}: {VALUES[label](rng, number)}")
        prompts.append([*lines, f"Question {rng.choice('abc')}: how long may I keep item {number}?"])
    return prompts, labels


def moved(lines: list[str], labels: list[str]) -> str:
    """The rewriting by hand: labelled lines taken out and set at the end, in the order of the labels."""
    taken = {line.split(":")[0]: line for line in lines if line.split(":")[0] in labels}
    return "\n".join([line for line in lines if line not in taken.values()] + [taken[label] for label in labels])


@pytest.mark.parametrize("seed", range(12))
def test_the_ladder_is_the_log_rewritten_and_audited_again(seed: int) -> None:
    prompts, labels = planted(seed)
    report = audited(["\n".join(lines) for lines in prompts])
    names = [field.name for field in report.fields]
    assert names == labels[: len(names)]
    best = [row.outcome.aligned_tokens for row in report.requests]
    most = [(row.outcome.prompt_tokens - 1) // 16 * 16 for row in report.requests]
    for rank, field in enumerate(report.fields, 1):
        again = audited([moved(lines, names[:rank]) for lines in prompts])
        then = [
            max(before, min(row.outcome.aligned_tokens, limit))
            for before, row, limit in zip(best, again.requests, most, strict=True)
        ]
        assert field.recoverable_tokens == sum(then) - sum(best)
        best = then
    assert report.losses.volatile == sum(best) - report.totals.aligned_tokens
    # What was planted and is not in the ladder has nothing left to give.
    everything = audited([moved(lines, labels) for lines in prompts])
    assert sum(min(r.outcome.aligned_tokens, m) for r, m in zip(everything.requests, most, strict=True)) <= sum(best)


@pytest.mark.parametrize("label", list(VALUES))
def test_a_value_is_named_with_kind_line_and_values(label: str) -> None:
    rng = random.Random(3)
    values = [VALUES[label](rng, number) for number in range(20)]
    report = audited(["\n".join([*RULES[:2], f"{label}: {value}", *RULES[2:]]) for value in values])
    (field,) = report.fields
    assert (field.name, field.kind, field.path, field.line) == (label, KINDS[label], "prompt", 3)
    assert field.distinct_values == len(set(values))
    assert field.examples[0] == values[0].removesuffix(" EUR")


def chat(system: str, *turns: str) -> Chat:
    roles = ["user", "assistant"] * len(turns)
    said = [{"role": role, "content": text} for role, text in zip(roles, turns, strict=False)]
    return Chat([{"role": "system", "content": system}, *said])


def chat_report(bodies: list[Chat]) -> AuditReport:
    requests = [Request(f"r{n}", Location("log", n + 1), body) for n, body in enumerate(bodies)]
    return pl.audit(requests, tokenizer="qwen3")


def test_dates_and_numbers_in_a_question_are_no_finding() -> None:
    system = "\n".join(RULES)
    report = chat_report([chat(system, f"Where is parcel 10{n} of 2026-10-{n + 10}?") for n in range(15)])
    assert report.fields == ()
    assert report.losses.volatile == 0


def test_a_static_date_is_no_finding() -> None:
    system = "Cutoff 2024-06-30.\n" + "\n".join(RULES)
    assert chat_report([chat(system, f"question {n}") for n in range(9)]).fields == ()


def test_a_clock_in_the_system_text_goes_to_the_newest_user_message() -> None:
    rules = "\n".join(RULES)
    report = chat_report([chat(f"Time: 08:{n:02d}:11\n{rules}", f"question {n}") for n in range(15)])
    (field,) = report.fields
    assert (field.name, field.kind, field.path, field.line) == ("Time", "clock", "messages[0].content", 1)
    assert (field.level, field.severity) == ("system_changed", "high")
    assert "newest user message" in field.advice


def test_a_growing_conversation_with_a_clock_on_top_is_one_field() -> None:
    rules = "\n".join(RULES)
    turns: list[str] = []
    bodies = []
    for n in range(8):
        turns.append(f"question {n} about the rental of item {n * 3}")
        bodies.append(chat(f"Today is {n + 2} November 2026.\n{rules}", *turns))
        turns.append(f"answer {n}: please see clause {n} of the terms")
    report = chat_report(bodies)
    (field,) = report.fields
    assert (field.name, field.kind) == ("Today is", "date")
    assert field.recoverable_tokens == report.losses.volatile > 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("You are a bot.", "You are a bot. "),
        ('{"user": 1, "plan": "gold"}', '{"plan": "gold", "user": 1}'),
    ],
)
def test_blanks_and_key_order_are_no_values(one: str, other: str) -> None:
    report = audited(["\n".join([text, *RULES]) for text in (one, other, one, other)])
    assert report.fields == ()


def test_the_same_lines_in_another_order_are_no_value() -> None:
    report = audited(["\n".join([*RULES[n:6], *RULES[:n], *RULES[6:]]) for n in range(6)])
    assert report.fields == ()


def test_a_text_of_changing_length_is_one_field() -> None:
    rng = random.Random(5)
    known = ["the parcel is late", "a refund was made", "nothing is known", "the address is wrong"]
    heads = ["\n".join(rng.sample(known, rng.randint(1, 3))) for _ in range(20)]
    report = audited(["\n".join(["You are a bot.", "Context:", head, "---", *RULES]) for head in heads])
    (field,) = report.fields
    assert (field.name, field.kind) == ("Context", "text")
    assert field.distinct_values == len(set(heads))


PROFILES = [
    "Maria runs a small café near the station and has been with us for six years. She likes short answers.",
    "This is a school with two kitchens and a tight budget. Offer them the annual plan, and mention the discount.",
    "Bo has a boat and sails in May and in June. He writes in German and wants an answer in German.",
    "The customer is a retired teacher. Explain each step, and do not use the names of menus without a picture.",
    "A library that orders for twelve branches. Every order needs a purchase number, and the second copy is free.",
]


@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_free_text_is_one_field_and_wins_back_what_moving_it_by_hand_does(rounds: int) -> None:
    profiles = PROFILES * rounds
    report = audited(["\n".join(["You help.", f"Customer profile: {text}", *RULES]) for text in profiles])
    by_hand = audited(["\n".join(["You help.", *RULES, f"Customer profile: {text}"]) for text in profiles])
    (field,) = report.fields
    assert (field.name, field.kind, field.distinct_values) == ("Customer profile", "text", len(PROFILES))
    assert field.requests == len(PROFILES) - 1
    assert report.totals.aligned_tokens + field.recoverable_tokens == by_hand.totals.aligned_tokens


@pytest.mark.parametrize("order", ["sessions", "interleaved"])
def test_every_request_that_a_value_breaks_is_counted(order: str) -> None:
    rules = "\n".join(RULES)
    bodies = []
    for session in range(4):
        turns: list[str] = []
        for turn in range(4):
            turns.append(f"question {session}.{turn}")
            bodies.append(chat(f"Now: 2026-03-0{session + 1} 09:1{turn}:00\n{rules}", *turns))
            turns.append(f"answer {session}.{turn}")
    if order == "interleaved":
        bodies = [bodies[session * 4 + turn] for turn in range(4) for session in range(4)]
    report = chat_report(bodies)
    (field,) = report.fields
    assert (field.requests, field.distinct_values, field.severity) == (15, 16, "high")
    assert [row.field for row in report.requests] == [None] + ["Now"] * 15


def many_values(count: int) -> list[str]:
    """Prompts with `count` labelled numbers, each on a line of its own with two rules behind it."""
    rng = random.Random(count)
    prompts = []
    for number in range(24):
        lines = []
        for at in range(count):
            lines += [f"Shelf {chr(65 + at)} holds: {rng.randint(100, 999)}", *RULES[at % 24 : at % 24 + 2]]
        prompts.append("\n".join([*lines, f"Question: how long may I keep item {number}?"]))
    return prompts


@pytest.mark.parametrize("count", [9, 12, 16])
def test_many_values_are_all_found(count: int) -> None:
    prompts = many_values(count)
    report = audited(prompts)
    assert len(report.fields) == count
    stable = [line for line in prompts[0].split("\n") if not line.startswith("Shelf")]
    assert report.fields[-1].reuse_after_fix > 0.9 * len("\n".join(stable)) / len(prompts[0])
    assert not [note for note in report.notes if "looked into" in note]


def test_more_values_than_are_looked_into_are_said() -> None:
    report = audited(many_values(20))
    assert [note for note in report.notes if note.startswith("4 more values change than the 16")]
