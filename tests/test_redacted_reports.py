"""`--redact` on whole logs: whatever breaks the prefix, not eight characters of a log's content get into a report."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import prefixlab as pl
from prefixlab.findings import Report
from prefixlab.registry import known_reporters
from prefixlab.reporters.redaction import redact
from tests.command import prefixlab

STRETCH = 8
SYLLABLES = ("zu", "qe", "vok", "jyx", "wiz", "xop", "fuj", "gyv", "käq", "žol", "語彙", "бжу")
KEPT = ("messages", "role", "system", "assistant", "function", "arguments", "tool_call_id", "chat_template_kwargs")
"""Words of the format; they are in JSON paths."""


class Writer:
    """Writes a log of made-up words in which every request breaks its prefix in some way, and keeps what it wrote."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.written: set[str] = set()

    def word(self) -> str:
        return "".join(self._random.choices(SYLLABLES, k=5))

    def text(self, words: int) -> str:
        return self.kept(" ".join([self.word() for _ in range(words)]))

    def kept(self, text: str) -> str:
        self.written.add(text)
        return text

    def value(self) -> str:
        made = (
            lambda: f"{self._random.getrandbits(128):032x}",
            lambda: "{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}".format(
                *[self._random.getrandbits(bits) for bits in (32, 16, 12, 12, 48)]
            ),
            lambda: f"{self.word()}@{self.word()}.example",
            lambda: f"/{self.word()}/{self.word()}",
            lambda: f'it\'s "{self.word()}" `{self.word()}`',
        )
        return self.kept(self._random.choice(made)())

    def records(self) -> list[dict[str, Any]]:
        label, rules = self.text(1), self.text(120)
        tools = [
            {"type": "function", "function": {"name": self.text(1), "description": self.text(12)}} for _ in range(4)
        ]
        records: list[dict[str, Any]] = []
        for _ in range(3):
            kind = self._random.choice(
                ["value", "tools", "tool_text", "tool_set", "rewritten", "trimmed", "arguments", "suffix", "kwargs"]
            )
            session, tenant = self.text(1), self.text(1)
            head = f"{label}: {self.value()}\n{rules}" if kind == "value" else rules
            call = {"path": self.text(2), "query": self.text(2)}
            history: list[dict[str, Any]] = [
                {"role": "user", "content": self.text(30)},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {
                            "id": self.text(1),
                            "type": "function",
                            "function": {"name": tools[0]["function"]["name"], "arguments": json.dumps(call)},
                        }
                    ],
                },
                {"role": "tool", "tool_call_id": "c", "content": self.text(30)},
            ]
            for turn in range(4):
                mine = list(tools)
                if kind == "value":
                    head = f"{label}: {self.value()}\n{rules}"
                elif kind == "tools":
                    self._random.shuffle(mine)
                elif kind == "tool_set":
                    mine = mine[: turn + 1]
                elif kind == "tool_text":
                    changed = {**mine[0]["function"], "description": f"{label}: {self.value()}\n{self.text(3)}"}
                    mine[0] = {**mine[0], "function": changed}
                elif kind == "rewritten" and turn:
                    history[2] = {**history[2], "content": self.text(5)}
                elif kind == "trimmed" and turn > 1:
                    del history[0]
                elif kind == "arguments" and turn:
                    function = history[1]["tool_calls"][0]["function"]
                    again = {**function, "arguments": json.dumps(call, indent=turn, ensure_ascii=False)}
                    history[1] = {**history[1], "tool_calls": [{**history[1]["tool_calls"][0], "function": again}]}
                history += [{"role": "user", "content": self.text(20)}]
                sent = [{"role": "system", "content": head}, *history]
                if kind == "suffix":
                    sent[-1] = {**sent[-1], "content": f"{sent[-1]['content']}\n{label}: {self.value()}"}
                record: dict[str, Any] = {
                    "id": self.text(1),
                    "model": "Qwen/Qwen3-8B",
                    "session_id": session,
                    "tenant": tenant,
                    "messages": sent,
                    "tools": mine,
                    "cache_salt": self._random.choice(["", self.text(1)]),
                }
                if kind == "kwargs":
                    record["chat_template_kwargs"] = {"enable_thinking": bool(turn % 2)}
                records.append(record)
                history += [{"role": "assistant", "content": self.text(20)}]
        return records

    def leaked(self, output: str) -> list[str]:
        """Stretches of what was written that stand in an output, plain or escaped as JSON."""
        there = stretches(output)
        written: set[str] = set()
        for text in self.written:
            written.update(*[stretches(form) for form in (text, json.dumps(text)[1:-1], repr(text)[1:-1])])
        return sorted([one for one in written & there if not any([one in word for word in KEPT])])


def stretches(text: str) -> set[str]:
    return {text[at : at + STRETCH] for at in range(len(text) - STRETCH + 1)}


def forms(report: Report) -> Iterator[str]:
    for name, form in known_reporters().items():
        if name != "parquet":
            for width in (60, 120):
                yield form.render(report, per_request=True, width=width).decode()


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32))
def test_no_stretch_of_the_log_is_left_in_any_form(seed: int) -> None:
    writer = Writer(seed)
    report = pl.audit(writer.records(), tokenizer="qwen3", by=("tenant", "session", "user"), cache_tokens=4000)
    # The test sees something: unredacted, the log's words are there.
    assert any([writer.leaked(output) for output in forms(report)])
    hidden = redact(report)
    for output in forms(hidden):
        assert writer.leaked(output) == []
    parquet = known_reporters()["parquet"].render(hidden, per_request=True, width=80).decode("latin-1")
    assert not [one for one in writer.leaked(parquet) if one.isascii()]
    for tag, groups in report.by_causes.items():
        for causes, shown in zip(groups.values(), hidden.by_causes[tag].values(), strict=True):
            assert sum(shown.values()) == sum(causes.values())


@pytest.mark.parametrize("seed", range(4))
def test_nor_in_what_the_commands_print(tmp_path: Path, seed: int) -> None:
    writer = Writer(seed)
    log = tmp_path / "log.jsonl"
    lines = [json.dumps(record, ensure_ascii=bool(seed % 2)) for record in writer.records()]
    broken = writer.text(2)
    lines += [f'{{"messages": "{broken}"}}', f'{{"messages": [{{"role": "{broken}", "content": {{}}}}]']
    log.write_text("\n".join(lines) + "\n")
    asked = (str(log), "--tokenizer", "qwen3", "--by", "tenant", "--skip-bad", "--redact")
    commands: list[tuple[str, ...]] = [
        ("audit", *asked, "--per-request", "--cache-tokens", "3500"),
        ("audit", *asked, "--ignore", writer.text(1)),
        ("audit", *asked, "--engine", "anthropic"),
        ("explain", *asked, "--request", "line:2"),
        ("explain", *asked, "--request", "line:7"),
        ("curve", *asked, "--sizes", "3500,9000"),
        ("fix", *asked),
    ]
    for command in commands:
        for form in ("text", "json"):
            run = prefixlab(*command, "--format", form)
            assert run.returncode == 0, run.stderr.decode()
            assert writer.leaked(run.stdout.decode()) == [], command
            assert writer.leaked(run.stderr.decode()) == [], command
