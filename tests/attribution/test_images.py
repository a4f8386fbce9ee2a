"""Images ahead of text: named as such whatever stands in their place, and replayed as the log in the other order."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import prefixlab as pl
from tests.attribution.test_volatile_fields import RULES

SYSTEM = {"role": "system", "content": "\n".join(RULES)}
BLOCK = 16

Part = dict[str, Any]


def text(said: str) -> Part:
    return {"type": "text", "text": said}


def image(number: int) -> Part:
    return {"type": "image_url", "image_url": {"url": f"https://example.org/{number}.png"}}


def rules(first: int, end: int) -> str:
    return " ".join(RULES[first:end])


CONTENTS: dict[str, Callable[[int], list[Part]]] = {
    "ahead": lambda n: [image(n), text(f"{rules(0, 5)} Item {n * 37}?")],
    "one of few": lambda n: [image(n % 3), text(f"{rules(0, 5)} Item {n * 37}?")],
    "ahead or behind": lambda n: [image(n % 4), text(rules(0, 5))][:: 1 if n % 2 else -1],
    "ahead or none": lambda n: [image(n), text(f"{rules(0, 5)} Item {n * 37}?")][n % 2 :],
    "the same one or none": lambda n: [image(1), text(f"{rules(0, 5)} Item {n * 37}?")][n % 2 :],
    "two": lambda n: [image(n), image(n + 100), text(f"{rules(0, 5)} Item {n * 37}?")],
    "between texts": lambda n: [text(rules(0, 2)), image(n), text(rules(2, 6)), image(n % 3), text(f"Item {n * 37}?")],
    "ahead of a blank": lambda n: [image(n), text(f"\n\n{rules(0, 5)} Item {n * 37}?")],
}


def records(content: Callable[[int], list[Part]], *, turns: int, behind: bool) -> list[Any]:
    """Requests with images in their first message; with `behind` its texts stand first."""
    made = []
    for number in range(8):
        parts = content(number)
        if behind:
            parts = sorted(parts, key=lambda part: part["type"] != "text")
        messages = [SYSTEM, {"role": "user", "content": parts}]
        if turns == 2:
            messages += [{"role": "assistant", "content": "I see."}, {"role": "user", "content": f"And {number * 37}?"}]
        made.append({"model": "gpt-4o", "messages": messages})
    return made


@pytest.mark.parametrize("tokenizer", ["o200k_base", "qwen3"])
@pytest.mark.parametrize("turns", [1, 2])
@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_an_image_ahead_of_text_costs_what_the_log_wins_in_the_other_order(
    content: Callable[[int], list[Part]], turns: int, tokenizer: str
) -> None:
    report = pl.audit(records(content, turns=turns, behind=False), tokenizer=tokenizer)
    assert {row.kind for row in report.breaks} == {"image_position"}
    (row,) = report.breaks
    path, _, number = row.path.partition("[1].content")
    assert path == "messages"
    assert number in ("[0]", "[1]", "[3]")
    written = pl.audit(records(content, turns=turns, behind=True), tokenizer=tokenizer)
    won = 0
    for as_logged, other in zip(report.requests, written.requests, strict=True):
        has, most = as_logged.outcome.aligned_tokens, (as_logged.outcome.prompt_tokens - 1) // BLOCK * BLOCK
        won += max(has, min(other.outcome.aligned_tokens, most)) - has
    assert row.recoverable_tokens == report.losses.volatile == won > 0


@pytest.mark.parametrize("tokenizer", ["o200k_base", "qwen3"])
def test_an_image_behind_all_text_is_no_break(tokenizer: str) -> None:
    rng = random.Random(1)
    contents = [[text(rules(0, 5)), image(rng.randint(0, 3))][: rng.randint(1, 2)] for _ in range(8)]
    report = pl.audit(records(contents.__getitem__, turns=2, behind=False), tokenizer=tokenizer)
    assert report.breaks == ()


def test_an_image_alone_is_what_is_said() -> None:
    report = pl.audit(
        records(lambda n: [image(n)] if n % 2 else [text(rules(0, 5))], turns=2, behind=False), tokenizer="o200k_base"
    )
    assert report.breaks == ()
