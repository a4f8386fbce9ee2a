"""`prefixlab curve` from the command line: forms, sizes, memory on the axis, tags, redaction, and what it refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import prefixlab as pl
from prefixlab.registry import known_engines
from tests.command import prefixlab

SAMPLE = "samples/support_clock_at_end.jsonl"
QWEN3_8B = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "num_hidden_layers": 36,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "hidden_size": 4096,
    "torch_dtype": "bfloat16",
}
BYTES_A_TOKEN = 36 * 2 * 8 * 128 * 2


@pytest.fixture
def trace(tmp_path: Path) -> str:
    """A trace of two prefixes that are sent in turn, with tails of their own, and one large prompt."""
    lines = []
    for at in range(60):
        tenant = "ab"[at % 2]
        blocks = [*range(100 * (at % 2), 100 * (at % 2) + 5), 1000 + at]
        record = {"timestamp": at * 1000, "input_length": 5 * 512 + 100, "output_length": 10, "hash_ids": blocks}
        lines.append(json.dumps({**record, "metadata": {"tenant": f"secret-{tenant}"}}))
    large = {"timestamp": 60_000, "input_length": 20 * 512, "output_length": 1, "hash_ids": list(range(5000, 5020))}
    log = tmp_path / "log.jsonl"
    log.write_text("\n".join([*lines, json.dumps(large)]) + "\n", encoding="utf-8")
    return str(log)


@pytest.fixture
def config(tmp_path: Path) -> str:
    file = tmp_path / "config.json"
    file.write_text(json.dumps(QWEN3_8B), encoding="utf-8")
    return str(file)


def document(*arguments: str) -> dict[str, Any]:
    run = prefixlab("curve", *arguments, "--format", "json")
    assert (run.returncode, run.stderr) == (0, b"")
    found: dict[str, Any] = json.loads(run.stdout)
    return found


def refused(*arguments: str) -> str:
    run = prefixlab("curve", *arguments)
    said = run.stderr.decode()
    assert (run.returncode, run.stdout) == (2, b"")
    assert said.count("\n") == 1
    assert "Traceback" not in said
    return said


def test_text_fits_its_width_and_agrees_with_the_audit() -> None:
    run = prefixlab("curve", SAMPLE, "--tokenizer", "o200k_base")
    text = run.stdout.decode()
    assert run.returncode == 0
    assert max(map(len, text.splitlines())) <= 80
    audit = json.loads(prefixlab("audit", SAMPLE, "--tokenizer", "o200k_base", "--format", "json").stdout)
    found = document(SAMPLE, "--tokenizer", "o200k_base")
    assert found["unlimited_reuse"] == audit["totals"]["aligned_reuse"]
    assert f"{found['unlimited_reuse'] * 100:.1f} % of the prompt tokens can be reused" in text
    assert found["points"][-1]["reuse"] == found["unlimited_reuse"]


def test_each_point_is_an_audit_with_that_cache() -> None:
    found = document(SAMPLE, "--tokenizer", "o200k_base", "--points", "4")
    for point in found["points"]:
        size = str(point["cache_tokens"])
        run = prefixlab("audit", SAMPLE, "--tokenizer", "o200k_base", "--cache-tokens", size, "--format", "json")
        assert json.loads(run.stdout)["totals"]["cached_reuse"] == point["reuse"]


def test_json_of_the_contract(trace: str) -> None:
    found = document(trace)
    assert found["schema"] == "prefixlab.curve/1"
    assert {"cache_tokens", "bytes", "reuse", "clairvoyant_reuse"} <= set(found["points"][0])
    assert found["points"][0]["cache_tokens"] == found["largest_request_tokens"] == 20 * 512
    assert all(point["bytes"] is None for point in found["points"])
    total = found["across_conversations"] + found["within_conversations"]
    assert total == pytest.approx(found["unlimited_reuse"])
    assert found["unlimited_reuse"] == pytest.approx(58 * 5 * 512 / found["prompt_tokens"])
    assert found["within_conversations"] == 0
    assert found["knee_tokens"] is not None
    assert [(row["requests"], row["tokens"]) for row in found["prefixes"]["by_count"]] == [(30, 2560), (30, 2560)]
    assert prefixlab("curve", trace, "--format", "json").stdout == prefixlab("curve", trace, "--format", "json").stdout


def test_small_sizes_refuse_what_they_cannot_run(trace: str) -> None:
    found = document(trace, "--sizes", "4000,12_000", "--sizes", "3072")
    points = [(point["cache_tokens"], point["refused_requests"]) for point in found["points"]]
    assert points == [(3072, 1), (3584, 1), (11776, 0)]
    assert found["points"][0]["reuse"] == 0
    assert found["points"][2]["reuse"] > 0
    assert any("refuses 1 request" in note and "line 61 of log.jsonl" in note for note in found["notes"])
    for point in found["points"]:
        run = prefixlab("audit", trace, "--cache-tokens", str(point["cache_tokens"]), "--format", "json")
        assert json.loads(run.stdout)["totals"]["cached_reuse"] == point["reuse"]
    said = refused(trace, "--sizes", "1000")
    assert "a cache of 1,000 tokens runs no request: the smallest needs 3,072" in said


def test_memory_on_the_axis(trace: str, config: str) -> None:
    found = document(trace, "--model-config", config, "--sizes", "20000,3GiB")
    sizes = [(point["cache_tokens"], point["bytes"]) for point in found["points"]]
    for tokens, size in sizes:
        assert size == tokens * BYTES_A_TOKEN
    assert sizes[0][0] == 20000 // 512 * 512
    assert sizes[1][0] == (3 << 30) // BYTES_A_TOKEN // 512 * 512
    assert document(trace, "--model-config", config, "--dtype", "fp8")["points"][0]["bytes"] == 10240 * 73728
    text = prefixlab("curve", trace, "--model-config", config).stdout.decode()
    assert " GiB)" in text
    assert "147,456 bytes a token" in text


def test_tags(trace: str) -> None:
    found = document(trace, "--by", "tenant", "--sizes", "3072,1000000")
    groups = found["by"]["tenant"]
    assert list(groups) == ["secret-a", "secret-b", "(none)"]
    assert [group["requests"] for group in groups.values()] == [30, 30, 1]
    whole = sum(group["reuse"][1] * group["prompt_tokens"] for group in groups.values())
    assert whole / found["prompt_tokens"] == pytest.approx(found["unlimited_reuse"])
    assert groups["(none)"]["flat_tokens"] is None
    assert all(group["reuse"][0] == 0 for group in groups.values())
    assert any("no request has the tag route" in note.lower() for note in document(trace, "--by", "route")["notes"])


@pytest.mark.parametrize("form", ["text", "json", "markdown", "html", "csv"])
def test_redacted_in_every_form(form: str, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    chat = {"messages": [{"role": "system", "content": "Zanzibar " * 60}, {"role": "user", "content": "Xylophone"}]}
    lines = [json.dumps({**chat, "id": f"hush-{at}", "metadata": {"tenant": "quartz"}}) for at in range(4)]
    log.write_text("\n".join(lines), encoding="utf-8")
    options = (str(log), "--tokenizer", "o200k_base", "--by", "tenant", "--format", form)
    shown = prefixlab("curve", *options).stdout.decode()
    hidden = prefixlab("curve", *options, "--redact").stdout.decode()
    assert form == "csv" or ("Zanzibar" in shown and "quartz" in shown)
    for secret in ("Zanzibar", "Xylophone", "hush", "quartz"):
        assert secret not in hidden


def test_html_stands_alone_and_is_well_formed(trace: str, config: str, tmp_path: Path) -> None:
    out = tmp_path / "curve.html"
    options = ("--model-config", config, "--by", "tenant", "--sizes", "3500,5000,20000", "-o", str(out))
    assert prefixlab("curve", trace, *options).returncode == 0
    text = out.read_text(encoding="utf-8")
    assert not re.search(r"(src|href)=|url\(|@import|<script", text)
    body = text[text.index("<body>") : text.index("</html>")].replace("&nbsp;", " ")
    plot = ElementTree.fromstring(body).find("svg")
    assert plot is not None
    places = [place.split(",") for line in plot.iter("polyline") for place in line.attrib["points"].split()]
    assert all(0 <= float(x) <= 760 and 0 <= float(y) <= 380 for x, y in places)


def test_markup_in_a_log_stays_text(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    chat = {"messages": [{"role": "system", "content": "<script>alert(1)</script> & `|` " * 20}]}
    log.write_text("\n".join([json.dumps({**chat, "metadata": {"tenant": "<b>\x1b[31m|"}})] * 3), encoding="utf-8")
    for form in ("html", "markdown", "text"):
        run = prefixlab("curve", str(log), "--tokenizer", "o200k_base", "--by", "tenant", "--format", form)
        text = run.stdout.decode()
        assert "\x1b" not in text
        assert form == "text" or ("<script" not in text and "<b>" not in text)


def test_csv_has_a_row_a_size(trace: str, tmp_path: Path) -> None:
    out = tmp_path / "points.csv"
    assert prefixlab("curve", trace, "--points", "3", "-o", str(out)).returncode == 0
    head, *rows = out.read_text(encoding="utf-8").splitlines()
    assert head.startswith("cache_tokens,bytes,reuse,clairvoyant_reuse")
    assert 1 <= len(rows) <= 3


def test_other_engines_say_where_they_differ(trace: str) -> None:
    assert any("whole nodes" in note for note in document(trace, "--engine", "sglang")["notes"])
    assert document(trace, "--engine", "blocks")["notes"] == []


@pytest.mark.parametrize("engine", sorted(known_engines()))
def test_an_engine_whose_cache_it_cannot_follow_is_refused(engine: str) -> None:
    ids = [{"prompt_token_ids": list(range(40))}] * 3
    if engine in ("vllm", "sglang", "blocks"):
        assert pl.curve(ids, tokenizer="none", engine=engine).points
        return
    with pytest.raises(pl.PrefixlabError, match=r"cannot follow the cache of .*Give --engine vllm, sglang or blocks"):
        pl.curve(ids, tokenizer="none", engine=engine)


def test_a_store_is_never_too_small(trace: str, tmp_path: Path) -> None:
    """Its points are audits as well, below the largest request too."""
    found = document(trace, "--engine", "blocks", "--points", "6")
    assert found["points"][0]["cache_tokens"] == 512
    for point in found["points"]:
        size = str(point["cache_tokens"])
        run = prefixlab("audit", trace, "--engine", "blocks", "--cache-tokens", size, "--format", "json")
        assert json.loads(run.stdout)["totals"]["cached_reuse"] == point["reuse"]
    # A trace's own blocks cannot be cut.
    finer = document(trace, "--engine", "blocks", "--points", "6", "--block-size", "16")
    assert finer["points"] == found["points"]


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_one_size_is_no_plot(form: str, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    row = json.dumps({"prompt_token_ids": list(range(40))}) + "\n"
    log.write_text(3 * row, encoding="utf-8")
    page = prefixlab("curve", str(log), "--tokenizer", "none", "--format", form).stdout.decode()
    assert "clairvoyant" in page
    assert not any(mark in page for mark in ("<svg", "o clairvoyant", "`o` clairvoyant"))


@pytest.mark.parametrize(
    "option",
    [
        {"engine": 5},
        {"engine": None},
        {"block_size": "16"},
        {"sizes": 5},
        {"sizes": [1.5]},
        {"points": "3"},
        {"points": True},
        {"top": None},
        {"model_config": 7},
        {"kv_dtype": 8},
    ],
)
def test_an_option_of_the_wrong_kind_says_what_to_give(option: dict[str, Any]) -> None:
    with pytest.raises(pl.PrefixlabError, match=next(iter(option)) + r"=.* cannot be\. Give "):
        pl.curve([], tokenizer="none", **option)


def test_logs_with_nothing_to_measure(tmp_path: Path) -> None:
    empty, single = tmp_path / "empty.jsonl", tmp_path / "single.jsonl"
    empty.write_text("", encoding="utf-8")
    single.write_text(json.dumps({"prompt_token_ids": list(range(40))}), encoding="utf-8")
    for form in ("text", "json", "markdown", "html", "csv"):
        for log in (empty, single):
            assert prefixlab("curve", str(log), "--tokenizer", "none", "--format", form).returncode == 0
    assert "no requests" in prefixlab("curve", str(empty)).stdout.decode()
    assert "Nothing can be reused" in prefixlab("curve", str(single)).stdout.decode()
    assert document(str(single))["knee_tokens"] is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        *[
            (["--sizes", size], "is no cache size. Give tokens as 50000")
            for size in ("huge", "-5", "1e9", "nan", "", ",")
        ],
        (["--sizes", "5000,6000", "--points", "4"], "--sizes and --points both say"),
        (["--sizes", "3"], "has no block of 512"),
        (["--sizes", "5GiB"], "Give --model-config config.json"),
        (["--sizes", "5G"], "no cache size"),
        (["--sizes", "0"], "holds no token"),
        (["--points", "1"], "--points 1 cannot be"),
        (["--top", "-1"], "--top -1 cannot be"),
        (["--dtype", "fp8"], "--model-config"),
        (["--block-size", "0"], "--block-size 0 cannot be"),
        (["--model-config", "no/such.json"], "no/such.json"),
        (["--engine", "vlm"], "Did you mean vllm"),
        (["--format", "pdf"], "there is no format 'pdf'"),
        (["--limit", "0"], "--limit 0 cannot be"),
    ],
)
def test_wrong_options_are_one_line(trace: str, options: list[str], said: str) -> None:
    assert said in refused(trace, *options)
