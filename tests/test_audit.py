"""The `audit` command from outside: exit status, errors in one line, order, namespaces, tags, gates, files."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import prefixlab as pl
from tests.command import prefixlab

TRACES = Path(__file__).parent / "traces"
RULES = "\n".join(f"Rule {n}: quote clause {n * 7} of the terms, and offer a visit on a weekday." for n in range(20))


def audited(*arguments: str, stdin: bytes = b"") -> Any:
    run = prefixlab("audit", "--format", "json", "--per-request", *arguments, stdin=stdin)
    assert run.returncode == 0, run.stderr.decode()
    return json.loads(run.stdout)


def written(path: Path, records: list[Any]) -> str:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


def refused(*arguments: str, stdin: bytes = b"") -> str:
    """The one line on standard error of a call that must fail with exit 2 and write nothing else."""
    run = prefixlab(*arguments, stdin=stdin)
    assert run.returncode == 2, run.stdout.decode()
    assert run.stdout == b""
    (line,) = run.stderr.decode().splitlines()
    assert "Traceback" not in line
    return line


def chat(question: str, **more: Any) -> dict[str, Any]:
    return {
        "messages": [{"role": "system", "content": RULES}, {"role": "user", "content": question}],
        **more,
    }


# --- traces -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("trace", "prompt", "raw", "aligned"),
    [
        ("t1_mult", 9 * 512, 5 * 512, 4 * 512),
        ("t2_partial", 2060, 1030, 1024),
        ("t3_nonprefix", 6 * 512, 0, 0),
        ("t5_evict", 12 * 512, 8 * 512, 4 * 512),
        ("t7_empty", 0, 0, 0),
        ("mooncake_synthetic", 61_194_628, 39_852_661, 39_802_880),
    ],
)
def test_block_hash_traces(trace: str, prompt: int, raw: int, aligned: int) -> None:
    (path,) = TRACES.glob(f"{trace}.jsonl*")
    totals = audited(str(path))["totals"]
    assert (totals["prompt_tokens"], totals["raw_shared_tokens"], totals["aligned_tokens"]) == (prompt, raw, aligned)


def test_a_trace_with_bad_lines() -> None:
    assert f"{TRACES / 't9_nohash.jsonl'}:1: " in refused("audit", str(TRACES / "t9_nohash.jsonl"))
    assert f"{TRACES / 't10_bad.jsonl'}:2: " in refused("audit", str(TRACES / "t10_bad.jsonl"))
    run = audited(str(TRACES / "t9_nohash.jsonl"), "--skip-bad")
    assert [(one["requests"], one["skipped"]) for one in run["inputs"]] == [(1, 1)]


# --- what counts ------------------------------------------------------------------------------------------------------


def test_a_shuffled_log_is_sorted_by_time_and_says_so(tmp_path: Path) -> None:
    growing = [chat(" ".join(["word"] * 40 * n), id=f"r{n}", timestamp=1_760_000_000 + n) for n in range(1, 9)]
    straight = audited(written(tmp_path / "a.jsonl", growing), "--tokenizer", "qwen3")
    shuffled = random.Random(1).sample(growing, len(growing))
    mixed = audited(written(tmp_path / "b.jsonl", shuffled), "--tokenizer", "qwen3")
    assert [row["id"] for row in mixed["requests"]] == [row["id"] for row in straight["requests"]]
    assert mixed["totals"] == straight["totals"]
    assert any("order of arrival" in note for note in mixed["notes"])
    assert not any("order of arrival" in note for note in straight["notes"])


def test_namespaces_never_share(tmp_path: Path) -> None:
    records = [
        chat("same", model=model, cache_salt=salt) for model, salt in [("a", "x"), ("b", "x"), ("a", "y"), ("a", "x")]
    ]
    run = audited(written(tmp_path / "log.jsonl", records), "--tokenizer", "qwen3")
    shared = [row["raw_shared_tokens"] for row in run["requests"]]
    assert shared == [0, 0, 0, run["requests"][3]["prompt_tokens"]]


def test_generated_tokens_are_cached_but_the_last(tmp_path: Path) -> None:
    first, second = list(range(1, 41)), list(range(100, 124))
    records = [
        {"prompt_token_ids": first, "output_token_ids": second},
        {"prompt_token_ids": [*first, *second, 7, 8, 9]},
    ]
    run = audited(written(tmp_path / "log.jsonl", records))
    row = run["requests"][1]
    assert (row["raw_shared_tokens"], row["aligned_tokens"]) == (63, 48)


@pytest.mark.parametrize(
    ("length", "engine", "aligned", "last_token", "partial_block"),
    [(64, "vllm", 48, 16, 0), (64, "sglang", 63, 1, 0), (70, "vllm", 64, 0, 6), (70, "sglang", 69, 1, 0)],
)
def test_a_repeated_prompt(
    tmp_path: Path, length: int, engine: str, aligned: int, last_token: int, partial_block: int
) -> None:
    log = written(tmp_path / "log.jsonl", [{"prompt_token_ids": list(range(length))}] * 2)
    row = audited(log, "--engine", engine)["requests"][1]
    assert (row["raw_shared_tokens"], row["aligned_tokens"]) == (length, aligned)
    assert (row["losses"]["last_token"], row["losses"]["partial_block"]) == (last_token, partial_block)
    assert row["cached_tokens"] + sum(row["losses"].values()) == row["prompt_tokens"]


@pytest.mark.parametrize(("block", "aligned"), [(16, 704), (64, 512), (128, 512), (256, 0), (528, 0), (1024, 0)])
def test_a_prefix_shorter_than_the_block(tmp_path: Path, block: int, aligned: int) -> None:
    shared = list(range(186))
    records = [{"prompt_token_ids": [*shared, *range(1000 + 100 * n, 1014 + 101 * n)]} for n in range(5)]
    run = audited(written(tmp_path / "log.jsonl", records), "--block-size", str(block))
    assert run["totals"]["raw_shared_tokens"] == 744
    assert run["totals"]["aligned_tokens"] == aligned
    assert run["fields"] == []


def test_a_breakdown_by_tag_adds_up(tmp_path: Path) -> None:
    records = [chat(f"q {n}", tenant="ab"[n % 2], app={"name": f"x{n % 3}"}) for n in range(12)]
    log = written(tmp_path / "log.jsonl", records)
    run = audited(log, "--tokenizer", "qwen3", "--by", "tenant", "--by", "app", "--tag", "app=app.name")
    for tag, groups in (("tenant", {"a": 6, "b": 6}), ("app", {"x0": 4, "x1": 4, "x2": 4})):
        assert {name: totals["requests"] for name, totals in run["by"][tag].items()} == groups
        assert sum(totals["aligned_tokens"] for totals in run["by"][tag].values()) == run["totals"]["aligned_tokens"]


def test_a_log_of_several_models(tmp_path: Path) -> None:
    records = [chat("q", model=model) for model in ("Qwen/Qwen3-8B", "gpt-4o", "my-own", "gpt-4o")]
    log = written(tmp_path / "log.jsonl", records)
    line = refused("audit", log)
    assert f"{log}:3: " in line
    assert "my-own" in line
    run = audited(log, "--tokenizer", "my-own=cl100k_base")
    assert run["tokenizer"]["name"] == "qwen3, o200k_base, cl100k_base"
    assert run["requests"][3]["matched_id"] == run["requests"][1]["id"]


def test_a_model_without_a_known_template_is_the_records_trouble(tmp_path: Path) -> None:
    log = written(tmp_path / "log.jsonl", [chat("q", model="gpt-4o"), chat("q", model="Qwen/Qwen3-8B-Ours")])
    assert f"{log}:2: the chat template of Qwen/Qwen3-8B-Ours is not known. Name one" in refused("audit", log)
    assert audited(log, "--skip-bad")["totals"]["requests"] == 1


def test_two_runs_are_identical_to_the_byte(tmp_path: Path) -> None:
    log = written(tmp_path / "log.jsonl", [chat(f"Time: {n}", session_id=f"s{n % 2}") for n in range(9)])
    runs = [prefixlab("audit", log, "--tokenizer", "qwen3", "--format", "json", "--by", "session") for _ in range(2)]
    assert runs[0].stdout == runs[1].stdout != b""
    assert str(Path.home()).encode() not in runs[0].stdout


def test_a_tag_that_no_request_has_is_told(tmp_path: Path) -> None:
    log = written(tmp_path / "log.jsonl", [chat("a", tenant="x"), chat("b")])
    run = audited(log, "--tokenizer", "qwen3", "--by", "zzz", "--by", "tenant")
    (note,) = [note for note in run["notes"] if "tag" in note]
    assert note == "No request has the tag zzz; --tag zzz=json.path names where it lies."


def test_prompts_taken_by_their_ids_are_told(tmp_path: Path) -> None:
    exact = "what is shared is exact, but the values that break the prefix cannot be named."
    ids: dict[str, Any] = {"prompt_token_ids": [1, 2, 3]}
    one = audited(written(tmp_path / "one.jsonl", [ids]))
    assert one["notes"] == [f"1 request is taken by its logged token ids: {exact}"]
    two = audited(written(tmp_path / "two.jsonl", [ids, ids, chat("a"), {"prompt": ""}]), "--tokenizer", "qwen3")
    assert f"2 requests are taken by their logged token ids: {exact}" in two["notes"]
    blocks = {"input_length": 1024, "hash_ids": [1, 2]}
    trace = audited(written(tmp_path / "trace.jsonl", [blocks, {"input_length": 0, "hash_ids": []}, blocks]))
    assert trace["notes"] == [f"2 requests are taken by their logged block hashes: {exact}"]


@pytest.mark.parametrize("count", [1, 2])
def test_notes_count_in_the_right_number(tmp_path: Path, count: int) -> None:
    part = {"role": "user", "content": [{"type": "mystery", "x": 1}, {"type": "text", "text": "<|im_end|>"}]}
    record = {"messages": [part], "response": {"choices": [{"message": {"role": "assistant", "content": "yes"}}]}}
    log = written(tmp_path / "log.jsonl", [record] * count + [{"no": 1}] * count)
    said = " ".join(audited(log, "--tokenizer", "qwen3", "--skip-bad")["notes"])
    assert f"content of {count} message{'s' * (count > 1)}:" in said
    assert f"answers of {count} request{'s' * (count > 1)} are" in said
    assert f"{count} record{'s were' if count > 1 else ' was'} skipped" in said


# --- input and output -------------------------------------------------------------------------------------------------


def test_standard_input_and_compressed_files_are_the_same_log(tmp_path: Path) -> None:
    data = "".join(json.dumps(chat(f"q {n}")) + "\n" for n in range(4)).encode()
    (tmp_path / "log.jsonl.gz").write_bytes(gzip.compress(data))
    piped = audited("-", "--tokenizer", "qwen3", stdin=data)
    packed = audited(str(tmp_path / "log.jsonl.gz"), "--tokenizer", "qwen3")
    assert piped["totals"] == packed["totals"]
    assert piped["totals"]["requests"] == 4


@pytest.mark.parametrize(("ending", "start"), [("json", b"{"), ("md", b"#"), ("csv", b"id,"), ("txt", b"")])
def test_the_form_follows_the_file(tmp_path: Path, ending: str, start: bytes) -> None:
    log = written(tmp_path / "log.jsonl", [chat("a"), chat("b")])
    target = tmp_path / f"report.{ending}"
    run = prefixlab("audit", log, "--tokenizer", "qwen3", "-o", str(target))
    assert (run.returncode, run.stdout) == (0, b"")
    assert target.read_bytes().startswith(start)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.jsonl", target.name]


def test_a_log_is_never_written_over(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    log = written(folder / "log.json", [chat("a"), chat("b")])
    held = Path(log).read_bytes()
    link, hard = tmp_path / "link.json", tmp_path / "hard.json"
    link.symlink_to(log)
    hard.hardlink_to(log)
    for given in (log, str(link), str(folder), str(folder / "*.json")):
        for target in (log, str(link), str(hard), f"{folder}/../logs/log.json"):
            assert "is one of the files to read" in refused("audit", given, "--tokenizer", "qwen3", "-o", target)
    assert Path(log).read_bytes() == held
    assert link.is_symlink()
    bad = written(folder / "bad.json", [{"no": "prompt"}])
    assert "is one of the files" in refused("audit", log, bad, "-o", log)  # said before anything is read


def test_a_link_is_followed_and_stays(tmp_path: Path) -> None:
    log = written(tmp_path / "log.jsonl", [chat("a")])
    kept, link, dangling = tmp_path / "kept.json", tmp_path / "link.json", tmp_path / "dangling.json"
    kept.write_text("old")
    kept.chmod(0o640)
    link.symlink_to(kept)
    dangling.symlink_to("made.json")
    for target in (link, dangling):
        assert prefixlab("audit", log, "--tokenizer", "qwen3", "-o", str(target)).returncode == 0
        assert target.is_symlink()
        assert json.loads(target.read_bytes())["totals"]["requests"] == 1
    assert kept.stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "made.json").is_file()


def test_a_file_called_part_is_nobody_elses(tmp_path: Path) -> None:
    log = written(tmp_path / "report.json.part", [chat("a")])
    held = Path(log).read_bytes()
    run = prefixlab("audit", log, "--tokenizer", "qwen3", "-o", str(tmp_path / "report.json"))
    assert run.returncode == 0
    assert Path(log).read_bytes() == held
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.json", "report.json.part"]


def test_pipes_and_devices_are_written_to_and_stay(tmp_path: Path) -> None:
    log = written(tmp_path / "log.jsonl", [chat("a")])
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        got = pool.submit(pipe.read_bytes)
        assert prefixlab("audit", log, "--tokenizer", "qwen3", "--format", "json", "-o", str(pipe)).returncode == 0
        assert json.loads(got.result(10))["totals"]["requests"] == 1
    assert pipe.is_fifo()
    # The devices themselves are not named: a mistake would replace them.
    null = tmp_path / "null"
    null.symlink_to(os.devnull)
    assert prefixlab("audit", log, "--tokenizer", "qwen3", "-o", str(null)).returncode == 0
    assert null.is_char_device()


def test_what_cannot_be_written_to_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a path to a socket must be short
    log = written(tmp_path / "log.jsonl", [chat("a")])
    loop, door = tmp_path / "loop.json", tmp_path / "door"
    loop.symlink_to(loop)
    with socket.socket(socket.AF_UNIX) as held:
        held.bind(door.name)
    for target, said in [
        ("", "-o names no file"),
        (str(tmp_path / "report.doc"), ".csv, .json, "),
        (str(tmp_path / "report"), "--format"),
        (str(tmp_path), "is a folder"),
        (str(tmp_path / "new") + "/", "does not exist"),
        (str(loop), "cannot write"),
        (str(door), "cannot write"),
        (f"{log}/report.json", "cannot write"),
    ]:
        assert said in refused("audit", log, "--tokenizer", "qwen3", "-o", target)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["door", "log.jsonl", "loop.json"]
    assert door.is_socket()


def test_gates_set_the_exit_status(tmp_path: Path) -> None:
    clock = written(tmp_path / "clock.jsonl", [{"prompt": f"Time: 08:{n:02d}\n{RULES}"} for n in range(10)])
    sound = written(tmp_path / "sound.jsonl", [{"prompt": f"{RULES}\nTime: 08:{n:02d}"} for n in range(10)])
    for log, options, status in [
        (clock, (), 0),
        (clock, ("--fail-on", "high"), 1),
        (sound, ("--fail-on", "low"), 0),
        (clock, ("--fail-under", "0.5"), 1),
        (sound, ("--fail-under", "0.5"), 0),
    ]:
        assert prefixlab("audit", log, "--tokenizer", "o200k_base", *options).returncode == status


def test_redaction_hides_values_in_every_form(tmp_path: Path) -> None:
    secret = "Zarathustra-9"
    log = written(tmp_path / "log.jsonl", [{"prompt": f"Name: {secret}{n}\n{RULES}", "user": secret} for n in range(9)])
    for form in ("text", "json", "markdown", "csv"):
        options = ("--tokenizer", "o200k_base", "--format", form, "--per-request", "--by", "user")
        assert b"Zarathustra" in prefixlab("audit", log, *options).stdout or form == "csv"
        assert b"Zarathustra" not in prefixlab("audit", log, *options, "--redact").stdout


def test_redaction_hides_the_log_in_errors_and_notes(tmp_path: Path) -> None:
    secret = "zqx"
    template = tmp_path / "strict.jinja"
    template.write_text(
        "{% for m in messages %}{% if 'no' in m.content %}{{ raise_exception('never ' + m.content) }}{% endif %}"
        "{{ m.content }}\n{% endfor %}"
    )
    good = [
        chat(f"{secret} {n}", id=f"{secret}{n}", user=f"{secret}{n % 2}", model="gpt-4o", **{f"{secret}key": secret})
        for n in range(4)
    ]
    part = {"type": secret, "text": "a"}
    odd = {"model": "gpt-4o", "messages": [{"role": "user", f"{secret} key": secret, "content": [part]}]}
    bad: list[Any] = [
        {f"{secret} key": secret},
        [secret],
        chat(f"no {secret}"),
        chat("a", timestamp=secret),
        {"messages": [secret]},
        {"messages": [{"role": "user", "content": "a"}], "tools": secret},
        {"prompt_token_ids": [secret]},
        {"conversations": [{secret: secret}]},
        chat("a", model=f"{secret}/model"),
        chat("a", model=f"Qwen/Qwen3-8B-{secret}"),
    ]
    for number, record in enumerate(bad):
        log = written(tmp_path / f"log{number}.jsonl", [*good, odd, record])
        options = ["--redact", "--offline"] if "model" in record else ["--redact", "--tokenizer", "qwen3"]
        if not str(record).count("Qwen3"):
            options += ["--chat-template", str(template)]
        options += ["--by", "user", "--tag", f"x={secret}key", "--per-request"]
        line = refused("audit", log, *options)
        assert secret not in line.replace(f"{secret}key", "")
        assert "the record cannot be used. Run without --redact to see why." in line
        assert re.search(r"log\d+\.jsonl:\d: ", line)
        # Each record in text, and in another form: all forms are had by some.
        for form in ("text", ("json", "markdown", "csv")[number % 3]):
            run = prefixlab("audit", log, *options, "--skip-bad", "--format", form)
            assert run.returncode == 0, run.stderr
            assert secret not in (run.stdout + run.stderr).decode()
            assert form == "csv" or f"log{number}.jsonl:" in run.stdout.decode()


# --- mistakes ---------------------------------------------------------------------------------------------------------


def test_mistakes_are_one_line_and_exit_2(tmp_path: Path) -> None:
    log = written(tmp_path / "log.jsonl", [chat("a")])
    cut = tmp_path / "cut.jsonl"
    cut.write_text(json.dumps(chat("a")) + "\n" + json.dumps(chat("b"))[:-20])
    template = tmp_path / "broken.jinja"
    template.write_text("{% for x in %}")
    known = ("--tokenizer", "qwen3")
    for arguments, said in [
        (("audit", str(tmp_path / "none.jsonl"), *known), "none.jsonl"),
        (("audit", log), "--tokenizer"),
        (("audit", log, "--tokenizer", "no-such"), "no-such"),
        (("audit", log, "--tokenizer", "none"), "qwen3"),
        (("audit", log, "--tokenizer", "a="), "MODEL=NAME"),
        (("audit", log, "--tokenizer", "=a"), "MODEL=NAME"),
        (("audit", log, "--tokenizer", ""), "MODEL=NAME"),
        (("audit", log, *known, "--engine", "vlm"), "Did you mean vllm"),
        (("audit", log, *known, "--block-size", "0"), "--block-size"),
        (("audit", log, *known, "--limit", "0"), "--limit"),
        (("audit", log, *known, "--format", "pdf"), "pdf"),
        (("audit", log, *known, "--chat-template", str(template)), "broken.jinja"),
        (("audit", log, *known, "--input-format", "parrot"), "parrot"),
        (("audit", log, *known, "--fail-under", "7"), "--fail-under"),
        (("audit", log, *known, "--tag", "x"), "--tag"),
        (("audit", log, *known, "--colour"), "--colour"),
        (("audit", log, *known, "--block-size", "many"), "--block-size"),
        (("audit",), "LOG"),
        (("audti", log), "audti"),
        (("audit", log, *known, "-o", str(tmp_path / "no" / "report.json")), "report.json"),
        (("audit", str(cut), *known), "cut.jsonl:2: "),
    ]:
        assert said in refused(*arguments), arguments


def test_text_of_the_log_is_never_markup(tmp_path: Path) -> None:
    nasty = "\u001b[31mred\u001b[0m [bold]x[/bold] <script>alert(1)</script> | `a` \u202e @all"
    log = written(
        tmp_path / "log.jsonl", [{"prompt": f"{nasty}: {n}{nasty}\n{RULES}", "id": f"{nasty}{n}"} for n in range(9)]
    )
    for form in ("text", "markdown", "csv"):
        out = prefixlab("audit", log, "--tokenizer", "o200k_base", "--format", form, "--per-request").stdout.decode()
        assert "red" in out
        assert "\u001b" not in out
        assert "\u202e" not in out
        assert form != "markdown" or "<script>" not in re.sub(r"(`+)[^`]+\1", "", out)


def test_a_report_holds_no_absolute_path(tmp_path: Path) -> None:
    log = written(tmp_path / "log.jsonl", [chat("a"), {"messages": []}, chat("b")])
    for form in ("text", "json", "markdown"):
        options = ("--tokenizer", "qwen3", "--skip-bad", "--format", form, "--per-request")
        out = prefixlab("audit", log, *options).stdout.decode()
        assert "log.jsonl" in out
        assert str(tmp_path) not in out


def test_a_tokenizer_for_a_model_that_no_request_has_is_told(tmp_path: Path) -> None:
    log = written(tmp_path / "log.jsonl", [chat("a", model="m"), chat("b", model="m")])
    run = audited(log, "--tokenizer", "qwen3", "--tokenizer", "other=cl100k_base")
    assert any("`other`" in note for note in run["notes"])
    assert not any("`m`" in note for note in audited(log, "--tokenizer", "m=qwen3")["notes"])
    assert "--by" in refused("audit", log, "--tokenizer", "qwen3", "--by", "")


def test_tool_calls_in_an_openai_log_are_no_break() -> None:
    """The layout that stands in for OpenAI's own makes none: a log that only grows is certified."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "Answer from the catalogue. " * 30}]
    records = []
    for turn in range(6):
        call = {
            "id": f"c{turn}",
            "type": "function",
            "function": {"name": "search", "arguments": f'{{"q": "tent {turn}"}}'},
        }
        messages.append({"role": "user", "content": f"Is tent number {turn} in stock, and what does it cost?"})
        records.append({"model": "gpt-4o", "messages": list(messages)})
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append(
            {"role": "tool", "tool_call_id": f"c{turn}", "content": f"{turn} pieces at {turn * 7 + 100} EUR"}
        )
        records.append({"model": "gpt-4o", "messages": list(messages)})
        messages.append({"role": "assistant", "name": "seller", "content": f"Yes, there are {turn} of them."})
    report = pl.audit(records, tokenizer="o200k_base")
    assert (report.fields, report.breaks, report.losses.volatile) == ((), (), 0)
    assert report.notes[0].startswith("Append-only: 11 requests begin with all of an earlier one's text.")
