"""`prefixlab fix`: what it writes, what it says, what it refuses."""

from __future__ import annotations

import gzip
import json
import os
import random
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest
import zstandard

import prefixlab as pl
from tests.command import Run, prefixlab

CASES = Path(__file__).parent / "cases"
EDGE = Path(__file__).parent / "edge"
SAMPLES = Path(__file__).parent.parent / "samples"

RULES = " ".join([f"Rule {number} of the house says that parcel {number} is kept for a week." for number in range(30)])


def fixed(log: Path | str, *more: str) -> Run:
    return prefixlab("fix", str(log), "--tokenizer", "qwen3", *more)


def summary(log: Path | str, *more: str) -> dict[str, Any]:
    done = fixed(log, "--format", "json", *more)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["schema"] == "prefixlab.fix/1"
    return found


def settings_of(case: str) -> list[str]:
    if case.startswith("006"):
        return []
    own = CASES / case / "chat_template.jinja"
    return ["--chat-template", str(own if own.exists() else CASES / "qwen2.5-instruct.jinja")]


def chat(system: str, user: str = "Where is my parcel?", **more: Any) -> dict[str, Any]:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    return {"model": "qwen3", "messages": messages, **more}


def clock_log(count: int = 4) -> list[dict[str, Any]]:
    return [chat(f"Time: 2026-03-01 10:0{number}\n{RULES}", temperature=0.5) for number in range(count)]


def written(folder: Path, records: list[Any], name: str = "log.jsonl", **style: Any) -> Path:
    path = folder / name
    path.write_text("".join([json.dumps(record, **style) + "\n" for record in records]), encoding="utf-8")
    return path


# --- what it must reach -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "kinds"),
    [
        ("001-timestamp-first-line", {"clock"}),
        ("005-user-profile-at-top", {"name", "text", "id"}),
        ("006-billing-nonce-system0", {"number", "id"}),
        ("007-tool-order-shuffled", {"tool_order"}),
        ("009-tool-appears-mid-session", {"tool_order", "tool_set"}),
        ("016-rag-docs-reordered", {"permuted"}),
        ("018-image-before-text", {"image_position"}),
        ("024-tool-arguments-reserialised", {"arguments_reserialised"}),
        ("026-token-budget-line", {"counter", "number"}),
    ],
)
def test_a_case_reaches_what_its_ladder_promised(case: str, kinds: set[str], tmp_path: Path) -> None:
    log, out = CASES / case / "log.jsonl", tmp_path / "fixed.jsonl"
    found = summary(log, *settings_of(case), "-o", str(out))
    assert {step["kind"] for step in found["steps"]} == kinds
    assert found["after"]["aligned_tokens"] > found["before"]["aligned_tokens"]
    reached, promised = found["after"]["aligned_tokens"], found["promised_aligned_tokens"]
    assert reached >= promised - 16 * found["before"]["requests"]
    again = pl.audit(out, tokenizer="qwen3", **({"chat_template": settings_of(case)[1]} if settings_of(case) else {}))
    assert again.totals.aligned_tokens == reached
    before, after = log.read_bytes().splitlines(), out.read_bytes().splitlines()
    assert sum([old != new for old, new in zip(before, after, strict=True)]) == found["changed_records"]


@pytest.mark.parametrize(
    "log",
    [
        *[CASES / name / "log.jsonl" for name in ("029-prefix-shorter-than-block", "032-healthy-append-only")],
        *[EDGE / f"{name}.jsonl" for name in ("33_false_positive_user_q_time", "34_static_date")],
        SAMPLES / "support_clock_at_end.jsonl",
    ],
)
def test_a_healthy_log_is_left_alone(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "fixed.jsonl"
    done = fixed(log, "--chat-template", "chatml", "-o", str(out))
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"Nothing is gained by rewriting")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("case", "kind", "why"),
    [
        ("003-chat-template-strftime_now", "date", "it stands in the chat template"),
        ("013-sliding-window-left-trim", "history_trimmed", "what was cut from the history is not in the record"),
        ("025-reminder-moves-with-newest-turn", "moving_suffix", "text that moves"),
    ],
)
def test_what_a_log_cannot_heal_is_said(case: str, kind: str, why: str, tmp_path: Path) -> None:
    out = tmp_path / "fixed.jsonl"
    found = summary(CASES / case / "log.jsonl", *settings_of(case), "-o", str(out))
    assert not out.exists()
    assert found["written_to"] is None
    assert next(row["why"] for row in found["unfixed"] if row["kind"] == kind).startswith(why)


# --- places of texts --------------------------------------------------------------------------------------------------


def prompt_of(record: Any) -> str:
    return json.dumps(record, ensure_ascii=False)


def wrapped(number: int) -> dict[str, dict[str, Any]]:
    system, user = f"Time: 2026-03-01 10:0{number}\n{RULES}", "Where is my parcel?"
    body = chat(system, user)
    parts = chat("", "")
    parts["messages"][0]["content"] = [{"type": "text", "text": system}]
    parts["messages"][1]["content"] = [
        {"type": "text", "text": user},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
    ]
    anthropic = {
        "model": "claude-x",
        "system": [{"type": "text", "text": system}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": user}]}],
    }
    return {
        "chat": body,
        "body": {"id": "a", "body": body, "response": {"choices": []}},
        "request.body": {"request": {"headers": {}, "body": body}},
        "encoded": {"id": 1, "body": json.dumps(body)},
        "parts": parts,
        "anthropic": anthropic,
        "anthropic text": {**anthropic, "system": system},
        "params": {"custom_id": "x", "params": anthropic},
        "responses": {"model": "m", "instructions": system, "input": user},
        "response items": {
            "model": "m",
            "input": [
                {"role": "developer", "content": system},
                {"role": "user", "content": [{"type": "input_text", "text": user}]},
            ],
        },
        "batch": {"custom_id": "x", "method": "POST", "url": "/v1/chat/completions", "body": body},
        "stored": {"id": "x", "messages": {"object": "list", "data": body["messages"]}},
        "langfuse": {"traceId": "t", "input": body["messages"]},
        "langfuse messages": {"traceId": "t", "input": {"messages": body["messages"]}},
        "langfuse text": {"traceId": "t", "input": system},
        "plain": {"prompt": system},
        "plain list": {"prompt": [system, "A short one."]},
        "text": {"text": system, "extra": [1.50]},
    }


@pytest.mark.parametrize("shape", wrapped(0))
def test_a_value_moves_in_every_format(shape: str, tmp_path: Path) -> None:
    records = [wrapped(number)[shape] for number in range(4)]
    log, out = written(tmp_path, records), tmp_path / "out.jsonl"
    found = summary(log, "--chat-template", "chatml", "-o", str(out))
    assert [(step["name"], step["records"], step["left"]) for step in found["steps"]] == [("Time", 4, 0)]
    for number, (old, line) in enumerate(zip(records, out.read_text().splitlines(), strict=True)):
        new, time = prompt_of(json.loads(line)), f"Time: 2026-03-01 10:0{number}"
        assert new.count(time) == prompt_of(old).count(time)
        assert new.index(time) > new.index("Rule 29") or shape == "plain list"
        assert len(new) == len(prompt_of(old))


def test_a_tool_description_is_a_text_as_well(tmp_path: Path) -> None:
    records = []
    for number in range(4):
        tool = {"name": "find", "description": f"Stock as of 10:0{number} o'clock. {RULES}", "input_schema": {}}
        records.append(
            {"model": "claude-x", "tools": [tool], "system": RULES, "messages": [{"role": "user", "content": "?"}]}
        )
    out = tmp_path / "out.jsonl"
    found = summary(written(tmp_path, records), "-o", str(out))
    assert found["after"]["aligned_reuse"] > found["before"]["aligned_reuse"] + 0.4
    assert [step["kind"] for step in found["steps"]] == ["tool_text"]
    tools = {json.dumps(json.loads(line)["tools"]) for line in out.read_text().splitlines()}
    assert len(tools) == 1


def test_everything_around_a_moved_value_keeps_its_bytes(tmp_path: Path) -> None:
    line = (
        ' {"n" : 1.50,"model":"m", "big":123456789012345678901234567890, "messages":[ {"role":"system","content":'
        '"Time: 10:0%d\\nStra\\u00dfe a\\/b \\ud83d\\ude00 %s"}\t,{"content":"caf\\u00e9","role":"user"}], '
        '"x":null }\r\n'
    )
    log, out = tmp_path / "log.jsonl", tmp_path / "out.jsonl"
    log.write_text("\ufeff" + "\n".join([line % (number, RULES) for number in range(3)]), encoding="utf-8", newline="")
    summary(log, "--chat-template", "chatml", "-o", str(out))
    with log.open(newline="", encoding="utf-8") as before, out.open(newline="", encoding="utf-8") as after:
        for old, new in zip(before, after, strict=True):
            time = old[old.index("Time") :][:11] if "Time" in old else ""
            assert (
                new == old.replace(f"{time}\\n", "", 1).replace("caf\\u00e9", f"caf\\u00e9\\n{time}") if time else old
            )


@pytest.mark.parametrize("form", ["array", "pretty", "object"])
def test_documents_are_written_as_they_were(form: str, tmp_path: Path) -> None:
    records = clock_log()
    if form == "array":
        text = json.dumps(records)
    elif form == "pretty":
        text = "\n\n" + json.dumps(records, indent=3) + "\n"
    else:
        text = json.dumps({"object": "list", "data": records, "more": False}, indent=1)
    log, out = tmp_path / "log.json", tmp_path / "out.json"
    log.write_text(text)
    assert summary(log, "-o", str(out), "--chat-template", "chatml")["changed_records"] == 4
    for number in range(4):
        time = f"Time: 2026-03-01 10:0{number}"
        text = text.replace(f"{time}\\n", "", 1)
        text = text.replace('my parcel?"', f'my parcel?\\n{time}"', 1)
    assert out.read_text() == text


def test_a_prompt_that_is_one_line_stays_one(tmp_path: Path) -> None:
    log, out = tmp_path / "log.txt", tmp_path / "out.txt"
    log.write_bytes(b"".join([f"Time: 10:0{number}. {RULES}\r\n".encode() for number in range(4)]))
    found = summary(log, "-o", str(out))
    assert found["changed_records"] == 4
    lines = out.read_bytes().split(b"\r\n")
    assert len(lines) == 5
    assert all(line.rstrip(b".").endswith(f"10:0{number}".encode()) for number, line in enumerate(lines[:4]))
    assert fixed(log, "-o", str(tmp_path / "out.jsonl")).returncode == 2


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_compressed_logs(ending: str, tmp_path: Path) -> None:
    plain = written(tmp_path, clock_log())
    data = plain.read_bytes()
    log = tmp_path / f"packed.jsonl{ending}"
    log.write_bytes(gzip.compress(data) if ending == ".gz" else zstandard.ZstdCompressor().compress(data))
    out, out_plain = tmp_path / f"out.jsonl{ending}", tmp_path / "out.jsonl"
    summary(log, "-o", str(out), "--chat-template", "chatml")
    summary(log, "-o", str(out_plain), "--chat-template", "chatml")
    packed = out.read_bytes()
    opened = (
        gzip.decompress(packed) if ending == ".gz" else zstandard.ZstdDecompressor().decompressobj().decompress(packed)
    )
    assert opened == out_plain.read_bytes() != data


# --- options ----------------------------------------------------------------------------------------------------------


def test_only_one_step(tmp_path: Path) -> None:
    log, out = SAMPLES / "support_clock_on_top.jsonl", tmp_path / "out.jsonl"
    found = summary(log, "--only", "current TIME", "-o", str(out), "--chat-template", "openai")
    assert [step["name"] for step in found["steps"]] == ["Current time"]
    assert [(row["name"], row["why"]) for row in found["unfixed"]] == [("Session", "not asked for")]
    assert "Session: " in json.loads(out.read_text().splitlines()[0])["messages"][0]["content"]
    done = fixed(log, "--only", "Colour", "--chat-template", "openai")
    assert done.returncode == 2
    assert b"Current time, Session, tool_order" in done.stderr
    done = fixed(log, "--only", "Colour", "--chat-template", "openai", "--redact")
    assert done.returncode == 2
    assert b"Current" not in done.stderr


def test_without_a_file_nothing_is_written_and_to_standard_output_the_log_alone(tmp_path: Path) -> None:
    log = written(tmp_path, clock_log())
    trial = fixed(log, "--chat-template", "chatml")
    assert b"Nothing was written: name a file with -o" in b" ".join(trial.stdout.split())
    out = tmp_path / "out.jsonl"
    fixed(log, "--chat-template", "chatml", "-o", str(out))
    streamed = fixed(log, "--chat-template", "chatml", "-o", "-")
    assert streamed.stdout == out.read_bytes()
    assert b"the log was written to standard output" in b" ".join(streamed.stderr.split())
    piped = prefixlab(
        "fix", "-", "--tokenizer", "qwen3", "--chat-template", "chatml", "-o", "-", stdin=log.read_bytes()
    )
    assert piped.stdout == out.read_bytes()


def test_the_cache_given_is_reported_as_well(tmp_path: Path) -> None:
    log = written(tmp_path, clock_log())
    done = fixed(log, "--chat-template", "chatml", "--cache-tokens", "2000")
    assert b"cached, in the cache given" in done.stdout
    assert b"cached" not in fixed(log, "--chat-template", "chatml").stdout


def test_redacted_summaries_have_no_word_of_the_log(tmp_path: Path) -> None:
    log = written(tmp_path, [chat(f"Secret Plan: 2026-03-01 10:0{number}\n{RULES}") for number in range(4)])
    for form in ("text", "json"):
        done = fixed(log, "--chat-template", "chatml", "--redact", "--format", form)
        assert done.returncode == 0
        assert b"Secret" not in done.stdout


# --- what it refuses --------------------------------------------------------------------------------------------------


def refused(done: Run) -> str:
    assert done.returncode == 2
    assert done.stdout == b""
    said = done.stderr.decode()
    assert said.count("\n") == 1
    return said


def test_the_log_itself_is_never_written(tmp_path: Path) -> None:
    log = written(tmp_path, clock_log())
    data = log.read_bytes()
    link = tmp_path / "link.jsonl"
    link.symlink_to(log)
    for target in (log, link):
        assert "is one of the files to read" in refused(fixed(log, "--chat-template", "chatml", "-o", str(target)))
    assert log.read_bytes() == data


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    log = written(tmp_path, clock_log())
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    assert "cannot write" in refused(fixed(log, "--chat-template", "chatml", "-o", str(closed / "out.jsonl")))


def test_a_place_that_is_not_there(tmp_path: Path) -> None:
    log = written(tmp_path, clock_log())
    assert "does not exist" in refused(fixed(log, "-o", str(tmp_path / "no" / "out.jsonl")))


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("log.csv", "prompt\nTime\n", "CSV cannot be written back"),
        ("log.jsonl", '{"prompt_token_ids": [1, 2, 3]}\n', "token_ids cannot be written back"),
        ("log.jsonl", '{"hash_ids": [1], "input_length": 12, "output_length": 1, "timestamp": 0}\n', "mooncake cannot"),
        ("log.jsonl", '{"conversations": [{"from": "human", "value": "a"}]}\n', "sharegpt cannot be written back"),
        ("log.log", "INFO hello\n", "a server's log cannot be written back"),
        ("log.jsonl", "no json\n", "not JSON"),
    ],
)
def test_what_cannot_be_written_back(name: str, content: str, said: str, tmp_path: Path) -> None:
    log = tmp_path / name
    log.write_text(content)
    assert said in refused(fixed(log, "-o", str(tmp_path / "out.jsonl")))
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_other_refusals(tmp_path: Path) -> None:
    log = written(tmp_path, clock_log())
    assert "Fix one at a time" in refused(fixed(log, str(log)))
    assert "--limit would leave" in refused(fixed(log, "--limit", "2"))
    assert "would be read as another kind of log" in refused(fixed(log, "-o", str(tmp_path / "out.csv")))
    written(tmp_path, clock_log(), "second.jsonl")
    assert "Give one log at a time" in refused(fixed(tmp_path))


def test_bad_records_are_kept_as_they_are(tmp_path: Path) -> None:
    good = [json.dumps(record) for record in clock_log()]
    lines = [good[0], "not json {", good[1], "", '{"messages": []}', good[2], good[3]]
    log, out = tmp_path / "log.jsonl", tmp_path / "out.jsonl"
    log.write_text("\n".join(lines))
    assert refused(fixed(log, "--chat-template", "chatml"))
    found = summary(log, "--chat-template", "chatml", "--skip-bad", "-o", str(out))
    assert (found["changed_records"], found["skipped"]) == (4, 2)
    made = out.read_text().split("\n")
    assert [made[1], made[3], made[4]] == [lines[1], lines[3], lines[4]]


def test_records_out_of_order_are_fixed_where_they_stand(tmp_path: Path) -> None:
    records = [{**record, "timestamp": 1000 - number} for number, record in enumerate(clock_log())]
    text = json.dumps(records)
    log, out = tmp_path / "log.json", tmp_path / "out.json"
    log.write_text(text)
    summary(log, "--chat-template", "chatml", "-o", str(out))
    for number, record in enumerate(json.loads(out.read_text())):
        assert record["messages"][1]["content"].endswith(f"10:0{number}")


# --- tools keep what they are -----------------------------------------------------------------------------------------


def described_tool(name: str) -> dict[str, Any]:
    words = " ".join([f"{name} looks at parcel {number} and its papers." for number in range(12)])
    parameters = {"type": "object", "properties": {"id": {"type": "string", "description": f"What {name} is given."}}}
    return {"type": "function", "function": {"name": name, "description": words, "parameters": parameters}}


@pytest.mark.parametrize("seed", range(4))
def test_changing_tool_sets_leave_each_tool_as_it_was(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    names = ["lookup", "search", "refund", "weather", "mail", "post"]
    records = [
        chat(
            RULES, f"Question {number}?", tools=[described_tool(name) for name in rng.sample(names, rng.randint(2, 4))]
        )
        for number in range(20)
    ]
    log = written(tmp_path, records)
    report = pl.audit(str(log), tokenizer="qwen3")
    assert {row.kind for row in report.breaks} & {"tool_set", "tool_order"}
    assert not [row for row in report.breaks if row.kind == "tool_text"]
    assert not report.fields
    out = tmp_path / "fixed.jsonl"
    assert fixed(log, "-o", str(out)).returncode == 0
    if out.exists():
        after = [json.loads(line) for line in out.read_text().splitlines()]
        for record, was in zip(after, records, strict=True):
            assert sorted(record["tools"], key=str) == sorted(was["tools"], key=str)
            assert record["messages"] == was["messages"]


def test_a_log_that_stays_short_of_what_audit_measured_says_so(tmp_path: Path) -> None:
    rng = random.Random(1)
    papers = [
        "\n".join([f"Paper {letter} says in line {line} that parcel {line * 7} is kept." for line in range(8)])
        for letter in "ABCDEF"
    ]
    records = []
    for number in range(20):
        one, *others = rng.sample(papers, len(papers))
        clock = f"Retrieved at: 2026-03-01T10:{number:02d}:00Z"
        records.append(chat("\n\n".join([RULES, one, clock, *others]), f"Question {number}?"))
    found = summary(written(tmp_path, records), "-o", str(tmp_path / "fixed.jsonl"))
    done = fixed(tmp_path / "log.jsonl", "-o", str(tmp_path / "again.jsonl")).stdout.decode()
    falls_short = found["promised_aligned_tokens"] - found["after"]["aligned_tokens"]
    said = "not all of it was reached" in " ".join(done.split())
    assert said == (falls_short >= 0.02 * found["after"]["prompt_tokens"] and bool(found["steps"]))
    assert "gains nothing" not in done or not falls_short


# --- orders and forms shown first -------------------------------------------------------------------------------------


def papers_with(place: int, style: str, number: int, rng: random.Random) -> str:
    """Papers in another order each time; several have a line in common, and each is told by its own head."""
    papers = [
        [f"[Paper {letter}]", *[f"{letter} says in line {line} that parcel {line * 7} is kept." for line in range(8)],
         "Source: the archive"]
        for letter in "ABCDE"
    ]  # fmt: skip
    if number:
        rng.shuffle(papers)
    texts = ["\n".join(paper) for paper in papers]
    if style == "json":
        listed = [{"id": paper[0], "text": " ".join(paper[1:])} for paper in papers]
        return f"Papers: {json.dumps(listed)}\n{RULES}"
    if style == "numbered":
        texts = [f"Place {at + 1}:\n{text}" for at, text in enumerate(texts)]
    if style == "scored":
        texts = [f"{text}\nScore: {rng.random():.4f}" for text in texts]
    if place >= 0:
        texts.insert(place, f"Retrieved at 2026-03-01T10:{number:02d}:{rng.randint(10, 59)}Z")
    return "\n\n".join(["Answer from the papers.", *texts, RULES])


def reaches_its_promise(log: Path, out: Path, kinds: set[str]) -> None:
    # The vocabulary of Qwen takes Unicode forms for the same; this one does not.
    given: dict[str, Any] = {"tokenizer": "o200k_base", "chat_template": "chatml"}
    found = pl.fix(log, out, **given)
    assert {step.kind for step in found.steps} == kinds
    assert found.after.aligned_tokens >= found.promised_tokens - 16 * found.before.requests
    assert found.after.aligned_reuse > found.before.aligned_reuse
    assert pl.audit(str(out), **given).totals.aligned_tokens == found.after.aligned_tokens
    assert not pl.fix(out, **given).steps


@pytest.mark.parametrize("place", [-1, 0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize("role", ["system", "user"])
def test_papers_around_a_clock_stay_whole(role: str, place: int, tmp_path: Path) -> None:
    rng = random.Random(place)
    texts = [papers_with(place, "plain", number, rng) for number in range(16)]
    records = [chat(text) if role == "system" else chat(RULES, text) for text in texts]
    log, out = written(tmp_path, records), tmp_path / "out.jsonl"
    reaches_its_promise(log, out, {"permuted", "clock"} if place >= 0 else {"permuted"})
    for line, record in zip(out.read_text().splitlines(), records, strict=True):
        lines, was = lines_of(json.loads(line)), lines_of(record)
        assert sorted(lines) == sorted(was)
        for letter in "ABCDE":
            at = lines.index(f"[Paper {letter}]")
            assert lines[at : at + 9] == was[was.index(f"[Paper {letter}]") :][:9]


def lines_of(record: dict[str, Any]) -> list[str]:
    """The lines of a record that say something."""
    lines = "\n".join([message["content"] for message in record["messages"]]).split("\n")
    return [line for line in lines if line]


@pytest.mark.parametrize(("style", "kinds"), [("json", {"permuted"}), ("numbered", {"permuted"}),
                                              ("scored", {"permuted", "number"})])  # fmt: skip
def test_papers_of_every_style(style: str, kinds: set[str], tmp_path: Path) -> None:
    rng = random.Random(style)
    log = written(tmp_path, [chat(papers_with(-1, style, number, rng), f"Q{number}?") for number in range(16)])
    reaches_its_promise(log, tmp_path / "out.jsonl", kinds)


def test_moved_examples_are_put_in_order_with_all_that_is_theirs(tmp_path: Path) -> None:
    rng = random.Random(3)
    pairs = [
        [{"role": "user", "content": f"Example {letter}: {RULES[:150]}", "name": f"ann_{letter}"},
         {"role": "assistant", "content": f"The answer to {letter} is {letter * 9}."}]
        for letter in "abcdef"
    ]  # fmt: skip
    records = []
    for number in range(12):
        shown = pairs if not number else rng.sample(pairs, len(pairs))
        messages = [{"role": "system", "content": "Classify."}, *[one for pair in shown for one in pair]]
        records.append({"model": "m", "messages": [*messages, {"role": "user", "content": f"What is {number}?"}]})
    out = tmp_path / "out.jsonl"
    reaches_its_promise(written(tmp_path, records), out, {"permuted"})
    for line, record in zip(out.read_text().splitlines(), records, strict=True):
        assert json.loads(line)["messages"] == [*records[0]["messages"][:-1], record["messages"][-1]]


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        ("whitespace", lambda text, rng: text.replace(". ", f".{' ' * rng.randint(1, 3)}", 9)),
        ("whitespace", lambda text, rng: "\n" * rng.randint(0, 2) + text),
        ("unicode_form", lambda text, rng: unicodedata.normalize(rng.choice(["NFC", "NFD"]), text)),
    ],
)
def test_forms_as_shown_first(kind: str, form: Any, tmp_path: Path) -> None:
    rng = random.Random(kind)
    text = f"Caf\u00e9 of the na\u00efve:\n{RULES}"
    records = [chat(text if not number else form(text, rng), f"Q{number}?") for number in range(12)]
    out = tmp_path / "out.jsonl"
    reaches_its_promise(written(tmp_path, records), out, {kind})
    assert {json.loads(line)["messages"][0]["content"] for line in out.read_text().splitlines()} == {text}


def test_equal_lines_are_one_with_a_number(tmp_path: Path) -> None:
    rng = random.Random(5)
    log = written(tmp_path, [chat(papers_with(-1, "scored", number, rng), f"Q{number}?") for number in range(16)])
    lines = " ".join(fixed(log, "--chat-template", "chatml").stdout.decode().split()).split(" - ")
    steps = [line for line in lines if line.startswith("Score (number)")]
    assert len(steps) == len(set(steps))
    assert any("(5 of them)" in step for step in steps)
