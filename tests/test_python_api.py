"""What `import prefixlab` offers: logs, records in memory, frames."""

from __future__ import annotations

import json
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas
import pytest

import prefixlab as pl

RULES = "\n".join(f"Rule {n}: quote clause {n * 7} of the terms, and offer a visit on a weekday." for n in range(20))


def bodies(count: int) -> list[dict[str, Any]]:
    return [
        {
            "messages": [
                {"role": "system", "content": f"Time: 08:{n:02d}:00\n{RULES}"},
                {"role": "user", "content": f"question {n}"},
            ],
            "tenant": "ab"[n % 2],
        }
        for n in range(count)
    ]


def test_records_in_memory_are_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps(body) + "\n" for body in bodies(8)))
    read = pl.audit(log, tokenizer="qwen3", by=("tenant",))
    held = pl.audit(bodies(8), tokenizer="qwen3", by=("tenant",))
    assert held.totals == read.totals
    assert held.fields == read.fields
    assert held.by == read.by
    assert held.inputs == ()


def test_frames_have_a_row_a_request_and_a_row_a_finding() -> None:
    report = pl.audit(bodies(8), tokenizer="qwen3")
    frame = report.to_frame()
    assert len(frame) == 8
    assert int(frame["aligned_tokens"].sum()) == report.totals.aligned_tokens
    losses = frame[[name for name in frame.columns if name.startswith("loss_")]].sum(axis=1)
    assert (frame["cached_tokens"] + losses == frame["prompt_tokens"]).all()
    assert list(report.fields_frame()["name"]) == ["Time"]


def test_a_bad_record_is_named_by_its_number() -> None:
    with pytest.raises(pl.PrefixlabError, match=r"^records:2: "):
        pl.audit([bodies(1)[0], {"messages": []}], tokenizer="qwen3")
    with pytest.raises(pl.PrefixlabError, match="--block-size 0"):
        pl.audit(bodies(1), tokenizer="qwen3", block_size=0)


def test_what_is_no_log_says_what_to_give(tmp_path: Path) -> None:
    (body,) = bodies(1)
    frame = pandas.DataFrame([body])
    for given, said in [
        (body, r"Put it in a list: audit\(\[request\]\)"),
        (frame, "frame.to_dict"),
        (b"log.jsonl", "Give a path"),
        (None, "Give a path"),
        (7, "Give a path"),
        ([body, "log.jsonl"], r"^records:2: a value of type str stands among requests"),
        (["log.jsonl", body], "of type dict stands among paths"),
        ([body, None], r"^records:2: None stands among requests"),
        ([b"x"], r"^records:1: "),
    ]:
        with pytest.raises(pl.PrefixlabError, match=said):
            pl.audit(given, tokenizer="qwen3")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "option",
    [
        {"block_size": "16"},
        {"block_size": True},
        {"limit": 1.5},
        {"by": "tenant"},
        {"tags": ["a=b"]},
        {"tags": {"a": 1}},
        {"skip_bad": "no"},
        {"chat_template": None},
        {"engine": 3},
        {"tokenizer": 3},
        {"image_tokens": None},
        {"tool_arguments": 1},
        {"colour": "red"},
    ],
)
def test_an_option_of_the_wrong_kind_says_what_to_give(option: dict[str, Any]) -> None:
    with pytest.raises(pl.PrefixlabError, match=r"(tokenizers|tool-arguments|" + next(iter(option)) + r").*\. Give "):
        pl.audit(bodies(1), **{"tokenizer": "qwen3", **option})


def test_no_requests_are_a_report_of_none() -> None:
    for given in ([], (), iter([])):
        report = pl.audit(given, tokenizer="qwen3")
        assert report.totals.requests == 0
        assert len(report.to_frame()) == 0


def test_paths_and_requests_come_in_any_iterable(tmp_path: Path) -> None:
    for number, body in enumerate(bodies(3)):
        (tmp_path / f"{number}.jsonl").write_text(json.dumps(body))
    held = pl.audit(bodies(3), tokenizer="qwen3").totals
    assert pl.audit(sorted(tmp_path.glob("*")), tokenizer="qwen3").totals == held
    assert pl.audit(iter(sorted(tmp_path.glob("*"))), tokenizer="qwen3").totals == held
    assert pl.audit(map(MappingProxyType, bodies(3)), tokenizer="qwen3").totals == held


def test_limit_and_skip_bad_count_for_records_in_memory() -> None:
    assert pl.audit(bodies(5), tokenizer="qwen3", limit=2).totals.requests == 2
    report = pl.audit([*bodies(2), {"messages": []}, *bodies(1)], tokenizer="qwen3", skip_bad=True)
    assert report.totals.requests == 3
    assert report.notes[0].startswith("1 record was skipped, the first: records:3: ")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_thing"):
        pl.no_such_thing  # noqa: B018


def test_fix_writes_a_log_and_says_what_it_gains(tmp_path: Path) -> None:
    log = Path(__file__).parent.parent / "samples" / "support_clock_on_top.jsonl"
    out = tmp_path / "fixed.jsonl"
    trial = pl.fix(log, tokenizer="o200k_base")
    assert trial.written_to is None
    found = pl.fix(log, out, tokenizer="o200k_base")
    assert found.after == trial.after
    assert found.after.aligned_reuse > 0.8 > 0.1 > found.before.aligned_reuse
    assert pl.audit(out, tokenizer="o200k_base").totals == found.after
    alone = pl.fix(log, tokenizer="o200k_base", only="Current time")
    assert [step.name for step in alone.steps] == ["Current time"]
    with pytest.raises(pl.PrefixlabError, match="fix has no option 'limit'"):
        pl.fix(log, limit=2)
