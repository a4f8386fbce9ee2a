"""The forms for programs: JSON and back, tables, CSV, Parquet."""

from __future__ import annotations

import csv
import io
import json
import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_factory import HOSTILE, empty_report, make_break, make_field, make_report, make_row
from test_text_report import hostile_report

from prefixlab.bill import Bill, Rates
from prefixlab.errors import MissingExtra, PrefixlabError
from prefixlab.findings import Alternative, Losses, Observed, Report, Totals
from prefixlab.reporters import csv_report, json_report, parquet_report
from prefixlab.reporters.json_report import report_from_json
from prefixlab.reporters.neutral import neutral
from prefixlab.reporters.tables import fields_frame, to_frame

TOTALS = ["requests", "families", "prompt_tokens", "raw_shared_tokens", "aligned_tokens", "cached_tokens"]
TOTALS += ["raw_reuse", "aligned_reuse", "cached_reuse"]
LOSSES = ["first_seen", "volatile", "partial_block", "last_token", "below_minimum", "evicted", "expired", "isolated"]
FIELD = ["rank", "name", "kind", "path", "line", "token_index", "requests", "distinct_values", "examples"]
FIELD += ["lost_tokens", "recoverable_tokens", "reuse_after_fix", "cached_reuse_after_fix"]
FIELD += ["level", "severity", "confidence", "advice", "alternatives", "pays", "ignored"]
BREAK = ["rank", "kind", "path", "requests", "lost_tokens", "recoverable_tokens", "reuse_after_fix"]
BREAK += ["cached_reuse_after_fix", "level", "severity", "confidence", "evidence", "advice", "pays", "ignored"]
REQUEST = ["id", "line", "prompt_tokens", "raw_shared_tokens", "aligned_tokens", "cached_tokens"]
REQUEST += ["matched_id", "losses", "field", "tags"]
TOP = ["schema", "version", "inputs", "tokenizer", "chat_template", "engine", "totals", "warm", "losses", "fields"]
TOP += ["breaks", "observed"]


def full_report() -> Report:
    return make_report(
        fields=[make_field(alternatives=(Alternative("date", 1000, 0.7, 0.6),))],
        breaks=[make_break()],
        rows=[make_row(1, tags={"tenant": "acme"}), make_row(2, field="Current time")],
        observed=Observed(2, 100, 120),
        notes=["a note"],
        by={"tenant": {"acme": Totals(1, 1, 400, 0, 0, 0)}},
        by_losses={"tenant": {"acme": Losses(400)}},
        by_causes={"tenant": {"acme": {"Current time": 1}}},
    )


def as_json(report: Report, *, per_request: bool = True) -> bytes:
    return json_report.REPORTER.render(report, per_request=per_request, width=80)


def test_the_keys_are_those_of_the_schema_in_its_order() -> None:
    document = json.loads(as_json(full_report()))
    assert list(document) == [*TOP, "requests", "notes", "bill", "by"]
    assert document["schema"] == "prefixlab.audit/1"
    assert list(document["inputs"][0]) == ["path", "format", "requests", "skipped", "sha256"]
    assert list(document["tokenizer"]) == ["name", "source", "sha256"]
    assert list(document["chat_template"]) == ["name", "sha256"]
    assert list(document["engine"]) == ["name", "block_size", "cache_tokens", "min_tokens"]
    assert list(document["totals"]) == list(document["warm"]) == TOTALS
    assert list(document["by"]["tenant"]["acme"]) == [*TOTALS, "losses", "causes"]
    assert list(document["losses"]) == list(document["requests"][0]["losses"]) == LOSSES
    assert list(document["fields"][0]) == FIELD
    assert document["fields"][0]["alternatives"] == [
        {"what": "date", "recoverable_tokens": 1000, "reuse_after": 0.7, "cached_reuse_after": 0.6}
    ]
    assert list(document["breaks"][0]) == BREAK
    assert document["observed"] == {
        "requests": 2,
        "cached_tokens": 100,
        "predicted_tokens": 120,
        "difference": 20,
    }
    assert list(document["requests"][0]) == REQUEST


def test_requests_only_when_asked_and_nothing_rounded() -> None:
    document = json.loads(as_json(make_report(), per_request=False))
    assert list(document) == [*TOP, "notes", "bill", "by"]
    assert document["observed"] is None
    assert document["totals"]["aligned_reuse"] == 64 / 1581


def test_settings_have_the_keys_of_the_schema_even_when_unknown() -> None:
    document = json.loads(as_json(make_report(engine={"extra": 1, "name": "sglang"}, chat_template=None)))
    assert document["chat_template"] is None
    assert list(document["engine"]) == ["name", "block_size", "cache_tokens", "min_tokens", "extra"]


def test_the_same_report_gives_the_same_bytes() -> None:
    assert as_json(full_report()) == as_json(full_report())
    assert as_json(full_report()).endswith(b"}\n")


def test_a_saved_run_comes_back_whole() -> None:
    report = full_report()
    assert report_from_json(as_json(report)) == report
    billed = replace(report, bill=Bill(Rates(0.1, 1.25), 2.5, now=3.0, fixed=2.0, without_cache=4.0))
    assert report_from_json(as_json(billed)) == billed
    assert report_from_json(as_json(report, per_request=False)).requests == ()
    assert as_json(report_from_json(as_json(empty_report()))) == as_json(empty_report())


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"{", "not JSON"),
        (b"[]", "not a saved run"),
        (b'{"schema": "prefixlab.kv/1"}', "not a saved run"),
        (b'{"schema": "prefixlab.audit/1"}', "'observed' is missing"),
        (as_json(make_report()).replace(b'"first_seen": 1513', b'"first_seen": 1512'), "do not add up"),
    ],
)
def test_what_is_no_saved_run_is_said_in_one_line(data: bytes, said: str) -> None:
    with pytest.raises(PrefixlabError, match=said) as raised:
        report_from_json(data, path="run.json")
    assert str(raised.value).startswith("run.json: ")
    assert "\n" not in str(raised.value)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(alphabet=st.characters(codec=None), max_size=20), min_size=1, max_size=3))
def test_any_text_makes_valid_json(words: list[str]) -> None:
    document = json.loads(as_json(hostile_report(words)))
    assert document["fields"][0]["name"].encode("utf-8", "strict") is not None


def test_lone_surrogates_are_replaced() -> None:
    document = json.loads(as_json(make_report(fields=[make_field(name="a\ud800b")])))
    assert document["fields"][0]["name"] == "a\ufffdb"


# --- tables -----------------------------------------------------------------------------------------------------------

COLUMNS = [*REQUEST[:7], *(f"loss_{name}" for name in LOSSES), "field", "tag_tenant"]


def test_the_frame_has_one_row_a_request() -> None:
    frame = to_frame(full_report())
    assert list(frame.columns) == COLUMNS
    assert len(frame) == 2
    assert frame["prompt_tokens"].sum() == frame["cached_tokens"].sum() + frame.filter(like="loss_").sum().sum()
    assert frame["tag_tenant"].tolist() == ["acme", None]
    assert list(to_frame(empty_report()).columns) == COLUMNS[:-1]


def test_the_fields_frame_is_the_ladder() -> None:
    frame = fields_frame(full_report())
    assert frame["cause"].tolist() == ["field", "break"]
    assert frame["rank"].tolist() == [1, 2]
    assert frame["token_index"].isna().tolist() == [False, True]
    assert frame["recoverable_tokens"].sum() == full_report().losses.volatile
    assert len(fields_frame(empty_report())) == 0


def test_csv_is_the_same_table() -> None:
    data = csv_report.REPORTER.render(full_report(), per_request=False, width=80).decode()
    rows = list(csv.reader(io.StringIO(data)))
    assert rows[0] == COLUMNS
    assert [row[0] for row in rows[1:]] == ["r1", "r2"]


@pytest.mark.parametrize("word", [*HOSTILE, "=1+1", "+1", "-1", "@x", "\t=1", " =1", "\r=1", "a,b", 'a"b'])
def test_a_cell_is_never_a_formula_and_never_a_row(word: str) -> None:
    report = make_report(rows=[make_row(1, id=word, matched_id=word, field=word, tags={word: word})])
    data = csv_report.REPORTER.render(report, per_request=False, width=80).decode()
    rows = list(csv.reader(io.StringIO(data, newline="")))
    assert len(rows) == 2
    assert len(rows[0]) == len(rows[1])
    for cell in rows[1]:
        assert not cell.strip().startswith(("=", "+", "-", "@"))
        assert neutral(cell) == cell


def test_parquet_holds_the_same_table() -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    data = parquet_report.REPORTER.render(full_report(), per_request=False, width=80)
    table = parquet.read_table(io.BytesIO(data))
    assert table.column_names == COLUMNS
    assert table.column("field").to_pylist() == [None, "Current time"]
    for report in (empty_report(), hostile_report(list(HOSTILE))):
        parquet.read_table(io.BytesIO(parquet_report.REPORTER.render(report, per_request=False, width=80)))


def test_without_pyarrow_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"prefixlab\[parquet\]"):
        parquet_report.REPORTER.render(full_report(), per_request=False, width=80)
