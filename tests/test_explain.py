"""`explain` says of one request what `audit --per-request` says of it, and shows where it parts."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

import prefixlab as pl
from prefixlab.attribution.parting import common_tokens
from prefixlab.explanation import BlockRange
from prefixlab.reporters.explain_text import strip
from prefixlab.reporters.neutral import cells
from tests.command import Run, prefixlab

ROOT = Path(__file__).parent.parent
CLOCK = str(ROOT / "samples/support_clock_on_top.jsonl")
AGENT = str(ROOT / "samples/agent_with_tools.jsonl")
CASES = ROOT / "tests/cases"


def explain(log: str | Path, request: str, *options: str, form: str = "json") -> Any:
    done = prefixlab("explain", str(log), "--request", request, "--format", form, *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout) if form == "json" else done.stdout.decode()


def refused(log: Path, request: str, *options: str) -> str:
    done: Run = prefixlab("explain", str(log), "--request", request, *options)
    assert (done.returncode, done.stdout) == (2, b"")
    said = done.stderr.decode()
    assert said.count("\n") == 1
    return said


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


# --- the figures are those of the audit -------------------------------------------------------------------------------

LOGS = {
    "clock": (CLOCK, ["--tokenizer", "o200k_base"]),
    "agent": (AGENT, ["--tokenizer", "qwen3"]),
    "small cache": (AGENT, ["--tokenizer", "qwen3", "--cache-tokens", "2000", "--replicas", "2"]),
    "lifetime": (CLOCK, ["--tokenizer", "o200k_base", "--ttl", "60"]),
    "pages of one": (AGENT, ["--tokenizer", "qwen3", "--engine", "sglang"]),
    "hosted": (CLOCK, ["--tokenizer", "o200k_base", "--engine", "openai-gpt-4o"]),
    "trace": (str(ROOT / "tests/traces/t2_partial.jsonl"), []),
    "pruned": (
        str(CASES / "014-old-tool-results-pruned/log.jsonl"),
        ["--tokenizer", "qwen3", "--chat-template", "chatml"],
    ),
}


@pytest.mark.parametrize("name", LOGS)
def test_figures_are_those_of_the_audit(name: str) -> None:
    log, options = LOGS[name]
    done = prefixlab("audit", log, "--per-request", "--format", "json", *options)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["requests"]
    for row in random.Random(4).sample(rows, min(4, len(rows))):
        found = explain(log, f"line:{row['line']}", *options)
        for figure in ("prompt_tokens", "raw_shared_tokens", "aligned_tokens", "cached_tokens", "losses"):
            assert found[figure] == row[figure], figure
        assert found["request"]["id"] == row["id"]
        if row["matched_id"] is not None:
            assert found["compared_with"]["id"] == row["matched_id"]
            assert found["compared_with"]["shared_tokens"] == row["raw_shared_tokens"]
            assert found["parting"] is None or found["parting"]["token_index"] == row["raw_shared_tokens"]
        if found["cause"] is not None and row["field"] is not None:
            assert row["field"] in (found["cause"].get("name"), found["cause"]["kind"])
        fates = {block["fate"]: block["tokens"] for block in found["blocks"]}
        assert fates == {
            fate: tokens for fate, tokens in {"cached": row["cached_tokens"], **row["losses"]}.items() if tokens
        }
        size = found["block_size"]
        assert sum(block["blocks"] for block in found["blocks"]) == -(-row["prompt_tokens"] // size)


# --- where they part --------------------------------------------------------------------------------------------------


def test_the_value_on_both_sides_with_its_place() -> None:
    found = explain(CLOCK, "chat-005", "--tokenizer", "o200k_base")
    parting, cause = found["parting"], found["cause"]
    assert (parting["path"], parting["line"], parting["role"]) == ("messages[0].content", 2, "system")
    assert (cause["name"], cause["kind"]) == ("Current time", "clock")
    assert parting["text"]["before"].endswith("Current time: 2026-03-17T08:0")
    assert cause["value"].startswith("2026-03-17T08:0" + parting["text"]["now"][:5])
    assert cause["value_before"].startswith("2026-03-17T08:0" + parting["text"]["was"][:5])
    assert found["compared_with"]["seconds_before"] == 34
    assert parting["tokens"]["now"] != parting["tokens"]["was"]


@pytest.mark.parametrize("filler", ["", "長い文字列 " * 40, "x" * 100_000, "\x1b[31m\u202e\u200b", "é\u0301" * 200])
def test_the_caret_stands_under_the_first_character_that_differs(tmp_path: Path, filler: str) -> None:
    texts = [f"first line\n{filler}A 雨{filler} end\nlast", f"first line\n{filler}A 晴{filler} end\nlast"]
    log = write(tmp_path / "log.jsonl", [{"id": str(at), "prompt": text} for at, text in enumerate(texts)])
    lines = explain(log, "1", "--tokenizer", "o200k_base", form="text").splitlines()
    at = next(number for number, line in enumerate(lines) if line.strip() == "^")
    was, now, caret = lines[at - 2], lines[at - 1], lines[at]
    assert was.startswith("  was ")
    assert now.startswith("  now ")
    ahead = now[: now.index("晴")]
    assert cells(ahead) == len(caret) - 1
    assert was.startswith(ahead.replace("now", "was") + "雨")
    assert max(map(cells, lines)) <= 80
    assert not re.search("[\x00-\x09\x0b-\x1f\u200b\u202e]", "\n".join(lines))


def test_tokens_that_merge_and_text_that_only_grows(tmp_path: Path) -> None:
    log = write(tmp_path / "log.jsonl", [{"id": "a", "prompt": "Is it so?"}, {"id": "b", "prompt": "Is it so?\nYes."}])
    found = explain(log, "b", "--tokenizer", "qwen3")
    assert found["parting"]["text"]["before"] == "Is it so?"
    assert (found["parting"]["text"]["was"], found["parting"]["text"]["now"]) == ("", "\nYes.")
    turn = explain(log, "a", "--tokenizer", "qwen3")["next_turn"]
    assert turn is None or turn["lost_prompt_tokens"] == 1


def test_next_turn_cannot_use_what_is_rendered_otherwise() -> None:
    template = str(CASES / "qwen2.5-instruct.jinja")
    log = CASES / "025-reminder-moves-with-newest-turn/log.jsonl"
    turn = explain(log, "line:2", "--tokenizer", "qwen3", "--chat-template", template)["next_turn"]
    assert turn["goes_on"]
    assert turn["lost_prompt_tokens"] > 20
    assert turn["tokens"] != turn["tokens_then"]
    healthy = CASES / "032-healthy-append-only/log.jsonl"
    turn = explain(healthy, "line:2", "--tokenizer", "qwen3", "--chat-template", template)["next_turn"]
    assert (turn["goes_on"], turn["lost_prompt_tokens"]) == (True, 0)


def test_answers_count_for_the_next_turn(tmp_path: Path) -> None:
    start = list(range(100, 200))
    rows = [
        {"id": "a", "prompt_token_ids": start, "output_token_ids": [7, 8, 9, 10]},
        {"id": "b", "prompt_token_ids": [*start, 7, 11, 12]},
    ]
    turn = explain(write(tmp_path / "log.jsonl", rows), "a")["next_turn"]
    assert (turn["id"], turn["lost_prompt_tokens"], turn["lost_answer_tokens"]) == ("b", 0, 2)
    found = explain(tmp_path / "log.jsonl", "b")
    assert found["parting"]["in_answer"]
    assert found["parting"]["of"] == "ids"
    assert [token["id"] for token in found["parting"]["tokens"]["was"]] == [8, 9]
    assert "no text" in explain(tmp_path / "log.jsonl", "b", form="text")


def test_another_request_than_the_match() -> None:
    options = ["--tokenizer", "o200k_base"]
    found = explain(CLOCK, "chat-005", "--with", "chat-001", *options)
    assert found["compared_with"]["id"] == "chat-001"
    assert not found["compared_with"]["is_match"]
    assert found["raw_shared_tokens"] == explain(CLOCK, "chat-005", *options)["raw_shared_tokens"]
    assert found["parting"]["token_index"] == found["compared_with"]["shared_tokens"]


def test_hashes_are_those_of_the_trace() -> None:
    log = ROOT / "tests/traces/t2_partial.jsonl"
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    found = explain(log, "line:2")
    assert found["parting"] is None or found["parting"]["of"] == "blocks"
    if found["parting"]:
        shown = [token["id"] for token in found["parting"]["tokens"]["now"]]
        assert set(shown) <= set(rows[1]["hash_ids"])


# --- blocks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("blocks", [1, 80, 500, 10_000, 10_000_000])
def test_the_strip_fits_and_shows_every_fate(blocks: int) -> None:
    ranges = [BlockRange("cached", blocks, 16), BlockRange("partial_block", 1, 1), BlockRange("first_seen", 1, 2)]
    lines, scale = strip(ranges, 78)
    assert len(lines) <= 4
    assert max(map(len, lines)) <= 78
    assert set("".join(lines)) == set("#p+")
    assert scale == 1 or blocks > 78


def test_common_tokens_are_whole_ones() -> None:
    rng = random.Random(7)
    for _ in range(200):
        one, other = (b"".join(rng.choice([b"abcd", b"abce", b"xbcd"]) for _ in range(rng.randrange(9))) for _ in "12")
        expected = 0
        while one[: 4 * expected + 4] == other[: 4 * expected + 4] and 4 * expected < min(len(one), len(other)):
            expected += 1
        assert common_tokens(one, other) == expected


# --- requests that cannot be chosen, or have nothing to say -----------------------------------------------------------


def test_choosing_a_request(tmp_path: Path) -> None:
    rows = [{"id": name, "prompt": f"text of {number}"} for number, name in enumerate(["r-1", "r-2", "r-2", "other"])]
    log = write(tmp_path / "log.jsonl", rows)
    options = ["--tokenizer", "o200k_base"]
    assert explain(log, "r-2#2", *options)["request"]["line"] == 3
    assert explain(log, "line:4", *options)["request"]["id"] == "other"
    assert explain(log, "log.jsonl:1", *options)["request"]["id"] == "r-1"
    assert explain(log, f"{log}:2", *options)["request"]["line"] == 2
    said = refused(log, "r-2", *options)
    assert all(part in said for part in (f"{log}:2", f"{log}:3", "r-2#1"))
    assert "Close: r-1" in refused(log, "R-1", *options)
    assert "Close: other" in refused(log, "othr", *options)
    assert "Close" not in refused(log, "othr", *options, "--redact")
    assert "from 1 to 2" in refused(log, "r-2#3", *options)
    assert "no request stands there" in refused(log, "line:9", *options)
    assert "itself" in refused(log, "r-1", "--with", "line:1", *options)


def test_nothing_to_compare_with(tmp_path: Path) -> None:
    options = ["--tokenizer", "o200k_base"]
    rows = [{"id": "a", "prompt": "alone"}, {"id": "b", "prompt": "Something else"}, {"id": "c", "prompt": "alone"}]
    one = write(tmp_path / "one.jsonl", rows[:1])
    assert "no other request to share with" in explain(one, "a", *options, form="text").replace("\n", " ")
    log = write(tmp_path / "log.jsonl", rows)
    said = explain(log, "b", *options, form="text").replace("\n", " ")
    assert "Its first token is not that of the 1 earlier request" in said
    assert "All of it was sent before, by a" in explain(log, "c", *options, form="text").replace("\n", " ")


def test_a_request_that_the_cache_refuses() -> None:
    options = ["--tokenizer", "qwen3", "--cache-tokens", "2000"]
    assert explain(AGENT, "line:24", *options)["refused"]
    said = explain(AGENT, "line:24", *options, form="text").replace("\n", " ")
    assert "is refused: its 2,150 prompt tokens never fit into the cache of 2,000 tokens" in said


def test_equal_tokens_of_another_namespace(tmp_path: Path) -> None:
    text = "The same rules for all of them. " * 20
    rows = [{"id": name, "prompt": text, "cache_salt": name} for name in ("ann", "bob")]
    found = explain(write(tmp_path / "log.jsonl", rows), "bob", "--tokenizer", "o200k_base")
    assert found["raw_shared_tokens"] == 0
    assert (found["elsewhere"]["id"], found["elsewhere"]["shared_tokens"]) == ("ann", found["prompt_tokens"])


# --- forms ------------------------------------------------------------------------------------------------------------


def test_redacted_forms_have_nothing_of_the_log() -> None:
    for form in ("text", "json", "markdown"):
        done = prefixlab(
            "explain", CLOCK, "--tokenizer", "o200k_base", "--request", "line:5", "--redact", "--format", form
        )
        assert done.returncode == 0, done.stderr
        said = done.stdout.decode()
        for secret in ("chat-005", "chat-004", '8:06:08Z"', "Northgate", "customer-", "Current time", "9f8558a6"):
            assert secret not in said, (form, secret)
        assert "messages[0].content" in said


def test_markdown_fences_what_is_logged(tmp_path: Path) -> None:
    rows = [{"id": f"<b>{at}`", "prompt": f"```\n# a | b {at} <script>\n```\n" * 3} for at in range(2)]
    log = write(tmp_path / "log.jsonl", rows)
    said = explain(log, "<b>1`", "--tokenizer", "o200k_base", form="markdown")
    fences = [line for line in said.splitlines() if line.startswith("```")]
    assert len(fences) % 2 == 0
    outside = re.sub(r"^(`{3,})text\n.*?^\1$", "", said, flags=re.MULTILINE | re.DOTALL)
    assert "<script>" not in re.sub(r"`[^`]*`|<code>.*?</code>", "", outside)
    assert "<b>" not in re.sub(r"`[^`]*`|<code>.*?</code>", "", outside)


def test_from_python() -> None:
    found = pl.explain(CLOCK, "chat-005", tokenizer="o200k_base", cache_tokens=4000)
    assert found.outcome.raw_shared_tokens == 38
    assert found.parting is not None
    assert found.parting.path == "messages[0].content"
    with pytest.raises(pl.PrefixlabError, match="no option 'cache'"):
        pl.explain(CLOCK, "chat-005", cache=1)
