"""`--family TAG`: the log tells which template a request was made from."""

from __future__ import annotations

from typing import Any

import prefixlab as pl


def chat(template: str, number: int) -> dict[str, Any]:
    rules = "\n".join(f"Rule {rule}: be kind to {rule * rule} people." for rule in range(40))
    system = f"You are a helper.\nTime: 10:{number:02}:00\n{rules}"
    return {
        "metadata": {"template": template},
        "messages": [{"role": "system", "content": system}, {"role": "user", "content": f"Order {number * 7}?"}],
    }


def test_a_tag_tells_families() -> None:
    log = [chat("ab"[number % 2], number) for number in range(12)]
    options: dict[str, Any] = {"tokenizer": "qwen3", "tags": {"template": "metadata.template"}}
    found, told = pl.audit(log, **options), pl.audit(log, family="template", **options)
    assert (found.totals.families, told.totals.families) == (1, 2)
    assert (found.warm.requests, told.warm.requests) == (11, 10)
    assert [row.name for row in told.fields] == ["Time"]
    assert told.losses == found.losses


def test_a_tag_that_no_request_has_is_told() -> None:
    report = pl.audit([chat("a", number) for number in range(3)], tokenizer="qwen3", family="nowhere")
    assert report.totals.families == 1
    assert any("No request has the tag nowhere" in note for note in report.notes)
