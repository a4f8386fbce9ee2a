"""The text report: what it says, and that nothing from a log gets out of its place."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_factory import HOSTILE, empty_report, make_break, make_field, make_report, make_row
from rich.cells import cell_len

from prefixlab.findings import Alternative, Losses, Observed, Report, Totals
from prefixlab.number_words import counted, percent
from prefixlab.reporters.neutral import cells, neutral, shown, wrapped
from prefixlab.reporters.terminal import REPORTER


def text(report: Report, *, width: int = 80, per_request: bool = False) -> str:
    return REPORTER.render(report, per_request=per_request, width=width).decode()


def hostile_report(words: list[str]) -> Report:
    return make_report(
        prompt=100_000,
        fields=[
            make_field(at, name=word, kind=word, path=word, examples=(word, word), advice=word, severity=word)
            for at, word in enumerate(words, 1)
        ],
        breaks=[make_break(len(words) + 1, kind=words[0], path=words[0], evidence=words[0], advice=words[0])],
        rows=[make_row(1, id=words[0], matched_id=words[-1], field=words[0], tags={words[0]: words[-1]})],
        notes=words,
        by={word: {word: Totals(1, 1, 100, 50, 48, 48)} for word in words},
        tokenizer={"name": words[0], "source": words[-1]},
        engine={"name": words[0], words[-1]: words[0]},
        version=words[0],
    )


GOLDEN = """\
4.0 % of the prompt tokens can be reused; fixing 2 causes, "Current time" and
"tool order", makes it 85.0 %.
Now, in warm requests alone (all but the first of each family): 5.4 %.

Where the prompt tokens go
  cached     █░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░     64    4.0 %  reused
  volatile   █████████████████████████░░░░░░  1,288   81.5 %  fixable: see below
  last token ·░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░      4    0.3 %  always computed
  first seen ████░░░░░░░░░░░░░░░░░░░░░░░░░░░    225   14.2 %  never sent before
  total                                       1,581  100.0 %

Reuse                              tokens  all requests  warm requests
  raw, equal from the first token      92         5.8 %          7.8 %
  aligned, in blocks of 16             64         4.0 %          5.4 %

What breaks the prefix, in the order to fix it        lost  won back  reuse then
            as it is now                                                   4.0 %
 1  high    Current time (clock)                     1,200     1,088      72.9 %
            in 3 of 4 requests at messages[0].content, line 1, token 6
            4 values: "09:14", "09:15", "09:16"
 2  medium  tool order                                 300       200      85.0 %
            in 2 of 4 requests at tools
            the same 4 tools in 3 orders

What to do
  1. Move the clock to the end of the newest user message.
  2. Sort the tools by name.

Measured on
  requests   4 in 1 family, 3 of them warm
  input      logs/support.jsonl: openai chat, 4 requests
  tokenizer  o200k_base (bundled, sha256 446a9538cb6c)
  template   qwen3 (sha256 cdcdcdcdcdcd)
  engine     vllm, blocks of 16 tokens, unlimited cache
  version    prefixlab 0.1.0

These figures are a ceiling: requests served one after another, with an
unlimited cache.
"""


def test_a_small_report_reads_like_this() -> None:
    assert text(make_report(fields=[make_field()], breaks=[make_break()])) == GOLDEN


def test_one_field_is_called_by_name() -> None:
    said = text(make_report(fields=[make_field()]))
    assert 'fixing 1 field, "Current time", makes\nit 72.9 %.' in said


def test_the_headline_stops_where_most_is_won() -> None:
    fields = [make_field(1, recoverable_tokens=1000, reuse_after_fix=0.7)]
    fields += [make_field(rank, name=f"f{rank}", recoverable_tokens=10, reuse_after_fix=0.71) for rank in (2, 3)]
    said = " ".join(text(make_report(fields=fields)).split())
    assert 'fixing the first one of 3 fields, "Current time", makes it 70.0 %, all of them 71.0 %.' in said


def test_a_healthy_log_is_told_so() -> None:
    report = make_report(cached=1200, requests=5)
    said = text(report)
    assert said.startswith("75.9 % of the prompt tokens can be reused. No volatile value was found.\n")
    assert "What breaks" not in said
    assert "What to do" not in said


def test_what_cannot_be_fixed_is_not_called_a_thing_to_do() -> None:
    said = text(make_report(breaks=[make_break(1, kind="boundary_token", severity="info", recoverable_tokens=0)]))
    assert "No volatile value was found." in said
    assert "Worth knowing" in said
    assert "in the order to fix it" not in said


def test_no_requests_is_an_answer() -> None:
    said = text(empty_report())
    assert said.startswith("There are no requests in this log: nothing to measure. 2 records were skipped.\n")
    assert "empty.jsonl" in said


def test_one_request_has_nothing_to_share_with() -> None:
    report = make_report(requests=1, cached=0, warm=Totals())
    assert "one request has no earlier one to" in text(report)


def test_a_limited_cache_shows_all_three_ratios() -> None:
    report = make_report(cached=600, aligned=900, fields=[make_field(recoverable_tokens=100)])
    said = text(report)
    assert "38.0 % of the prompt tokens can be reused in this cache (56.9 % in an unlimited" in said
    assert "cached, in the cache given" in said
    assert "evicted" in said


def test_a_size_that_refuses_says_how_many() -> None:
    engine = {"name": "sglang", "block_size": 1, "cache_tokens": 848, "min_tokens": 0}
    for refused, many in ((1, "1 request refused"), (59, "59 requests refused")):
        said = " ".join(text(make_report(engine={**engine, "refused_requests": refused})).split())
        assert f"sglang, a cache of 848 tokens, {many}" in said


@pytest.mark.parametrize(("block", "meaning"), [(1, "denied by the engine's rule"), (16, "rounded to blocks")])
def test_rounding_is_to_blocks_where_there_are_some(block: int, meaning: str) -> None:
    engine = {"name": "some", "block_size": block, "cache_tokens": None, "min_tokens": 0}
    totals = Totals(4, 1, 1500, 1000, 1000, 1000)
    said = text(make_report(totals=totals, warm=totals, losses=Losses(partial_block=500), engine=engine))
    assert meaning in said
    assert max(map(len, said.splitlines())) <= 80


@pytest.mark.parametrize("kind", Losses._fields)
def test_every_loss_has_a_row_and_the_rows_add_up(kind: str) -> None:
    losses = Losses(**{kind: 500})
    field = [make_field(recoverable_tokens=500)] if kind == "volatile" else []
    totals = Totals(4, 1, 1500, 1000, 1000, 1000)
    report = make_report(fields=field, totals=totals, warm=totals, losses=losses)
    lines = text(report).splitlines()
    start = lines.index("Where the prompt tokens go")
    bars = lines[start + 1 : lines.index("", start)]
    assert [bar.split("  ")[1].rstrip("█░· ").strip() for bar in bars][1].startswith(kind.replace("_", " "))
    figures = [int(bar.split(" %")[0].split()[-2].replace(",", "")) for bar in bars]
    assert sum(figures[:-1]) == figures[-1] == 1500


def test_observed_stands_beside_predicted() -> None:
    said = text(make_report(observed=Observed(1, 1200, 1150)), width=120)
    assert "over 1 request the server reported 1,200 cached tokens, predicted were 1,150: 50 fewer" in said


def test_a_breakdown_is_sorted_by_tokens_and_cut() -> None:
    groups = {f"t{at}": Totals(1, 1, 100 + at, 50, 48, 48) for at in range(30)}
    lines = text(make_report(by={"tenant": groups})).splitlines()
    at = next(at for at, line in enumerate(lines) if line.startswith("By tenant"))
    assert lines[at + 1].split()[0] == "t29"
    assert "  and 18 more (all of them: --format json)" in lines


def test_a_long_ladder_is_cut_and_says_what_is_left() -> None:
    fields = [make_field(rank, recoverable_tokens=10) for rank in range(1, 31)]
    assert "and 20 more, which win back 200 tokens" in text(make_report(fields=fields))


def test_requests_only_when_asked() -> None:
    report = make_report(rows=[make_row(1), make_row(2, field="Current time")])
    assert "Requests by id" not in text(report)
    assert "Current time" in text(report, per_request=True)


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_no_line_is_wider_than_asked(width: int) -> None:
    big = make_report(
        prompt=10**12,
        requests=10**7,
        fields=[make_field(rank, lost_tokens=10**11, recoverable_tokens=10**11 // rank) for rank in (1, 2)],
        notes=["word " * 90],
    )
    for report in (big, hostile_report(list(HOSTILE)), empty_report()):
        for line in text(report, width=width, per_request=True).splitlines():
            assert cells(line) <= width, line


@settings(max_examples=150, deadline=None)
@given(st.lists(st.text(min_size=1, max_size=80), min_size=1, max_size=3))
def test_any_text_stays_in_its_place(words: list[str]) -> None:
    said = text(hostile_report(words), per_request=True)
    plain = text(hostile_report(["x"] * len(words)), per_request=True)
    assert all(char == "\n" or char.isprintable() for char in said)
    for line in said.split("\n"):
        assert cells(line) <= 80
    headings = [line for line in said.split("\n") if line in ("What to do", "Measured on", "Notes")]
    assert headings.count("What to do") == plain.split("\n").count("What to do")


@given(st.text())
def test_neutral_text_is_one_visible_line_and_done_once(word: str) -> None:
    once = neutral(word)
    assert once.isprintable()
    assert neutral(once) == once
    assert cells(shown(word, 20)) <= 20


@given(st.text(alphabet="ab 日é", max_size=60), st.integers(2, 20))
def test_wrapping_keeps_the_words(said: str, width: int) -> None:
    lines = wrapped(said, width)
    assert all(cells(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(said.split())


@pytest.mark.parametrize("word", ["日本語", "abc", "é", "e\u0301", "👩", "ｆ"])
def test_widths_are_those_of_terminals(word: str) -> None:
    assert cells(word) == cell_len(word)


@pytest.mark.parametrize(
    ("share", "said"),
    [(0.0, "0.0 %"), (1e-9, "<0.1 %"), (0.1333, "13.3 %"), (0.9999, ">99.9 %"), (1.0, "100.0 %"), (1.096, "109.6 %")],
)
def test_per_cent_to_a_tenth(share: float, said: str) -> None:
    assert percent(share) == said


def test_nouns_agree_with_their_number() -> None:
    assert (counted(1, "field"), counted(2, "field"), counted(0, "family", "families")) == (
        "1 field",
        "2 fields",
        "0 families",
    )


def test_no_form_imports_what_it_may_not_need() -> None:
    names = ("terminal", "markdown", "json_report", "csv_report", "parquet_report", "tables", "redaction")
    imports = ", ".join(f"prefixlab.reporters.{name}" for name in names)
    heavy = ("rich", "pandas", "pyarrow", "orjson", "csv")
    code = f"import sys, {imports}; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_gain_that_does_not_show_is_not_announced() -> None:
    field = make_field(1, recoverable_tokens=1, reuse_after_fix=1200 / 1581 + 1e-5)
    said = text(make_report(fields=[field], cached=1200, requests=5))
    assert said.startswith("75.9 % of the prompt tokens can be reused; what could be fixed would win back\nless")


@pytest.mark.parametrize("width", range(8, 60))
def test_a_number_keeps_its_sign(width: int) -> None:
    said = "of the prompt tokens 3.9 % can be reused, all of them make it >99.9 %, and less than 0.1 %."
    lines = wrapped(said, width)
    assert " ".join(lines) == said
    assert not [line for line in lines if line.startswith("%")]


HALF_MEASURES = (
    Alternative("date", 1000, 0.7, 0.6),
    Alternative("once_a_session", 900, 0.65, 0.5),
    Alternative("of a later version", 800, 0.6, 0.4),
)


def test_half_measures_stand_under_their_row() -> None:
    said = "instead: the day alone 1,000 (70.0 %), one value a session 900 (65.0 %)\n"
    assert said in text(make_report(fields=[make_field(alternatives=HALF_MEASURES)]), width=100)
    assert "instead" not in text(make_report(fields=[make_field()]))
    assert "instead" not in text(make_report(fields=[make_field(alternatives=HALF_MEASURES, ignored=True)]))
    limited = make_report(fields=[make_field(alternatives=HALF_MEASURES)], engine={"name": "vllm", "cache_tokens": 512})
    assert "the day alone 1,000 (60.0 %), one value a session 900 (50.0 %)\n" in text(limited, width=100)
    ahead = make_report(fields=[make_field(recoverable_tokens=0, alternatives=HALF_MEASURES)])
    assert "instead, with the next one fixed: the day alone 1,000 (70.0 %)" in text(ahead, width=100)
