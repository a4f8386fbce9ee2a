"""`compare` by the command: the worked figures, the case of a Prompty file, logs, runs, revisions, what cannot be."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import prefixlab as pl
from prefixlab.errors import PrefixlabError
from tests.command import Run, prefixlab

BODY = (
    "You are a support assistant for an online bookshop. Answer in two sentences, quote the order number, and never "
    "promise a refund date. If you are unsure, ask one question."
)
CASES = Path(__file__).parents[1] / "cases"


@pytest.fixture
def clock(tmp_path: Path) -> Path:
    """A clock that moves from the front of a prompt to its end, with two minutes to render."""
    (tmp_path / "before.j2").write_text(f"Current time: {{{{ now }}}}.\n{BODY}")
    (tmp_path / "after.j2").write_text(f"{BODY}\nCurrent time: {{{{ now }}}}.")
    (tmp_path / "values.jsonl").write_text('{"now": "09:14"}\n{"now": "09:15"}\n')
    return tmp_path


def compared(*arguments: str | Path) -> dict[str, Any]:
    ran = prefixlab("compare", *map(str, arguments), "--format", "json")
    assert ran.returncode == 0, ran.stderr.decode()
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def test_worked_figures_two_and_three(clock: Path) -> None:
    found = compared(clock / "before.j2", clock / "after.j2", "--values", clock / "values.jsonl")
    before, after = found["before"]["warm"], found["after"]["warm"]
    assert (before["prompt_tokens"], before["raw_shared_tokens"], before["aligned_tokens"]) == (45, 6, 0)
    assert (after["prompt_tokens"], after["raw_shared_tokens"], after["aligned_tokens"]) == (45, 43, 32)
    [row] = found["fields"]
    assert (row["name"], row["kind"], row["status"]) == ("Current time", "clock", "gone")
    assert row["before"]["token_index"] == 6
    assert found["verdict"] == "better"


def test_said_in_the_words_of_the_figures(clock: Path) -> None:
    ran = prefixlab(
        "compare", str(clock / "before.j2"), str(clock / "after.j2"), "--values", str(clock / "values.jsonl")
    )
    assert "13.3 %  95.6 %" in ran.stdout.decode()
    assert "0.0 %  71.1 %" in ran.stdout.decode()


def test_gate(clock: Path) -> None:
    sides = [str(clock / "after.j2"), str(clock / "before.j2"), "--values", str(clock / "values.jsonl")]
    assert prefixlab("compare", *sides).returncode == 0
    assert prefixlab("compare", *sides, "--fail-if", "worse").returncode == 1
    assert prefixlab("compare", *sides, "--fail-if", "worse", "--min-delta", "0.9").returncode == 0
    assert prefixlab("compare", *reversed(sides[:2]), *sides[2:], "--fail-if", "worse").returncode == 0


def test_a_call_without_arguments_takes_the_value_of_its_name(clock: Path) -> None:
    (clock / "called.j2").write_text(f"Current time: {{{{ now() }}}}.\n{BODY}")
    values = clock / "values.jsonl"
    one = compared(clock / "called.j2", clock / "after.j2", "--values", values)
    other = compared(clock / "before.j2", clock / "after.j2", "--values", values)
    assert one["before"]["warm"] == other["before"]["warm"]


def test_a_template_change_on_a_log_needs_no_values(clock: Path) -> None:
    log = clock / "log.jsonl"
    times = [f"09:{minute}" for minute in range(14, 24)]
    rows: list[dict[str, Any]] = [
        {"messages": [{"role": "system", "content": f"Current time: {time}.\n{BODY}"},
                      {"role": "user", "content": f"Where is order {time[-2:]}?"}]}
        for time in times
    ]  # fmt: skip
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    sides = (clock / "before.j2", clock / "after.j2", "--tokenizer", "o200k_base")
    found = compared(*sides, "--log", log)
    # By hand: the same messages with the new system text, audited.
    for row, time in zip(rows, times, strict=True):
        row["messages"][0]["content"] = f"{BODY}\nCurrent time: {time}."
    by_hand = pl.audit(rows, tokenizer="o200k_base")
    assert found["after"]["totals"]["raw_shared_tokens"] == by_hand.totals.raw_shared_tokens
    assert found["after"]["totals"]["prompt_tokens"] == by_hand.totals.prompt_tokens
    assert found["before"]["totals"]["requests"] == len(rows)


def test_a_log_that_can_be_read_in_two_ways_is_refused(tmp_path: Path) -> None:
    (tmp_path / "before.j2").write_text("{{ a }} and {{ b }}.")
    (tmp_path / "after.j2").write_text("{{ b }} and {{ a }}.")
    (tmp_path / "log.jsonl").write_text('{"prompt": "x and y and z."}\n')
    sides = [str(tmp_path / name) for name in ("before.j2", "after.j2")]
    ran = prefixlab("compare", *sides, "--log", str(tmp_path / "log.jsonl"), "--tokenizer", "o200k_base")
    assert ran.returncode == 2
    assert "more than one way" in ran.stderr.decode()
    # Among more that can be told it is left out, and that is said.
    rows = ["x and y.", "x and y and z.", "u and v.", "something else", "x and w."]
    (tmp_path / "log.jsonl").write_text("".join([json.dumps({"prompt": row}) + "\n" for row in rows]))
    found = compared(*sides, "--log", tmp_path / "log.jsonl", "--tokenizer", "o200k_base")
    assert found["before"]["totals"]["requests"] == 3
    said = " ".join(found["notes"])
    assert "4 of the 5 requests of" in said
    assert "log.jsonl:2" in said


def test_the_prompty_case(tmp_path: Path) -> None:
    """Tokens and reuse as the case's own table has them."""
    case = CASES / "033-prompty-before-after"
    found = compared(
        case / "before.prompty", case / "after.prompty", "--values", case / "values.jsonl",
        "--tokenizer", "qwen3", "--chat-template", CASES / "qwen2.5-instruct.jinja",
    )  # fmt: skip
    before, after = found["before"]["totals"], found["after"]["totals"]
    assert (before["prompt_tokens"], before["raw_shared_tokens"], before["aligned_tokens"]) == (1145, 67, 48)
    assert after["aligned_tokens"] == 768
    assert found["verdict"] == "better"


def test_two_logs_and_two_saved_runs_say_the_same(tmp_path: Path) -> None:
    samples = Path(__file__).parents[2] / "samples"
    logs = [str(samples / "support_clock_on_top.jsonl")] * 2
    runs = [str(tmp_path / "one.json"), str(tmp_path / "other.json")]
    for log, saved in zip(logs, runs, strict=True):
        assert prefixlab("audit", log, "--tokenizer", "o200k_base", "-o", saved).returncode == 0
    of_logs = compared(*logs, "--tokenizer", "o200k_base")
    of_runs = compared(*runs)
    assert of_logs["before"]["warm"] == of_runs["after"]["warm"]
    assert of_logs["verdict"] == of_runs["verdict"] == "same"
    assert all(row["status"] == "same" for row in of_runs["fields"])


def test_one_template_at_two_revisions(clock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
        subprocess.run(["git", *identity, *arguments], cwd=clock, check=True, capture_output=True)

    (clock / "head.j2").write_text("Current time: {{ now }}.")
    (clock / "prompt.j2").write_text('{% include "head.j2" %}\n' + BODY)
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "one")
    (clock / "head.j2").write_text("You help.")
    (clock / "prompt.j2").write_text('{% include "head.j2" %}\n' + BODY + "\nCurrent time: {{ now }}.")
    git("commit", "-qam", "two")
    template, values = clock / "prompt.j2", clock / "values.jsonl"
    # As in a hook of another repository: Git tells it where that one is.
    monkeypatch.setenv("GIT_DIR", str(clock / "elsewhere"))
    found = compared("--git", "HEAD~1..HEAD", template, "--values", values)
    assert found["before"]["warm"]["raw_shared_tokens"] == 6
    assert found["verdict"] == "better"
    assert compared("--git", "HEAD..", template, "--values", values)["verdict"] == "same"
    ran = prefixlab("compare", "--git", "nowhere..HEAD", str(template), "--values", str(values))
    assert (ran.returncode, "there is no revision 'nowhere'" in ran.stderr.decode()) == (2, True)


def refused(*arguments: str | Path) -> str:
    ran: Run = prefixlab("compare", *map(str, arguments))
    assert ran.returncode == 2
    assert "Traceback" not in ran.stderr.decode()
    assert len(ran.stderr.decode().splitlines()) == 1
    return ran.stderr.decode()


def test_what_cannot_be_compared(clock: Path) -> None:
    before, after, values = clock / "before.j2", clock / "after.j2", clock / "values.jsonl"
    assert "--values" in refused(before, after)
    assert "no such file" in refused(before, clock / "none.j2", "--values", values)
    assert "1 side is named" in refused(before)
    (clock / "empty.jsonl").write_text("")
    assert "has no values" in refused(before, after, "--values", clock / "empty.jsonl")
    (clock / "bad.jsonl").write_text('{"now": 1}\n[1]\n')
    assert "bad.jsonl:2" in refused(before, after, "--values", clock / "bad.jsonl")
    (clock / "broken.j2").write_text("{% if %}")
    assert "broken.j2:1" in refused(clock / "broken.j2", after, "--values", values)
    (clock / "run.json").write_text('{"schema": "prefixlab.curve/1"}')
    assert "prefixlab.audit/1" in refused(clock / "run.json", clock / "run.json")


def test_from_python(clock: Path) -> None:
    found = pl.compare(clock / "before.j2", clock / "after.j2", values=clock / "values.jsonl")
    assert found.verdict == "better"
    assert round(found.raw_delta, 3) == 0.822
    with pytest.raises(PrefixlabError, match="no option 'valves'"):
        pl.compare(clock / "before.j2", clock / "after.j2", valves=1)


def test_a_verdict_by_what_is_shared_says_so_and_names_the_minimum(clock: Path) -> None:
    sides = [str(clock / "before.j2"), str(clock / "after.j2"), "--values", str(clock / "values.jsonl")]
    said = " ".join(prefixlab("compare", *sides, "--engine", "openai-gpt-4o").stdout.decode().split())
    assert said.startswith(
        "Better token by token: 95.6 % of a warm prompt is shared with one before it, 13.3 % before. "
        "None of it is reused on either side: openai-gpt-4o caches from 1,024 tokens on."
    )
    found = compared(*sides, "--engine", "openai-gpt-4o")
    assert (found["verdict"], found["decided_by"], found["after"]["engine"]["min_tokens"]) == (
        "better",
        "raw_reuse",
        1024,
    )
    said = prefixlab("compare", *sides, "--block-size", "128").stdout.decode()
    assert "no whole block of 128 tokens is shared" in " ".join(said.split())
    assert compared(*sides)["decided_by"] == "cached_reuse"


def test_where_nothing_is_warm_nothing_is_measured(clock: Path) -> None:
    (clock / "one.jsonl").write_text('{"now": "09:14"}\n')
    sides = [str(clock / "before.j2"), str(clock / "after.j2"), "--values", str(clock / "one.jsonl")]
    ran = prefixlab("compare", *sides)
    assert (ran.returncode, ran.stdout.decode().startswith("Not measured: no")) == (0, True)
    assert compared(*sides)["verdict"] == "unmeasured"
    ran = prefixlab("compare", *sides, "--fail-if", "worse")
    assert (ran.returncode, "Not measured" in ran.stdout.decode()) == (2, True)
    assert "nothing warm could be measured" in ran.stderr.decode()


def test_where_the_rows_lack_a_variable_of_one_side_nothing_is_measured(clock: Path) -> None:
    renamed, values = clock / "renamed.j2", str(clock / "values.jsonl")
    renamed.write_text(f"Current time: {{{{ current_time }}}}.\n{BODY}")
    sides = [str(clock / "before.j2"), str(renamed), "--values", values]
    ran = prefixlab("compare", *sides, "--fail-if", "worse")
    said = " ".join(ran.stdout.decode().split())
    assert said.startswith("Not measured: the rows of values lack current_time, which ")
    assert (ran.returncode, "lack variables of one side" in ran.stderr.decode()) == (2, True)
    found = compared(*sides)
    assert (found["verdict"], found["before"]["lacking"], found["after"]["lacking"]) == (
        "unmeasured",
        [],
        ["current_time"],
    )
    assert "current_time" not in prefixlab("compare", *sides, "--redact").stdout.decode()
    # What both lack, what has a default and what some rows have does not hinder.
    for name in ("before", "after"):
        file = clock / f"{name}.j2"
        file.write_text(file.read_text() + "{{ sign }}{{ end | default('') }}" + "{{ tone }}" * (name == "after"))
    (clock / "values.jsonl").write_text('{"now": "09:14"}\n{"now": "09:15", "tone": "!"}\n')
    assert compared(clock / "before.j2", clock / "after.j2", "--values", values)["verdict"] == "better"


def test_a_template_of_a_revision_goes_by_its_own_name(clock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(clock)
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.com"]
    for command in (["init", "-q"], ["add", "before.j2"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *command], check=True)
    Path("log.jsonl").write_text('{"prompt": "Hello."}\n')
    said = prefixlab("compare", "--git", "HEAD..", "before.j2", "--log", "log.jsonl").stderr.decode()
    assert "is not made of before.j2 at HEAD" in said
    Path("before.j2").write_text(f"Current time: {{{{ clock }}}}.\n{BODY}")
    found = compared("--git", "HEAD..", clock / "before.j2", "--values", clock / "values.jsonl")
    assert (found["verdict"], found["after"]["lacking"]) == ("unmeasured", ["clock"])


def test_a_finite_cache_has_figures_of_its_own(clock: Path) -> None:
    rows = [{"now": f"09:{minute}", "user": user} for minute in range(10, 16) for user in ("Ann", "Bo")]
    (clock / "values.jsonl").write_text("".join([json.dumps(row) + "\n" for row in rows]))
    (clock / "after.j2").write_text(f"{{{{ user }}}}\n{BODY}\nCurrent time: {{{{ now }}}}.")
    sides = [str(clock / "before.j2"), str(clock / "after.j2"), "--values", str(clock / "values.jsonl")]
    for form, row in (("text", "in a cache of 48 tokens"), ("markdown", "| in a cache of 48 tokens |")):
        said = prefixlab("compare", *sides, "--cache-tokens", "48", "--format", form).stdout.decode()
        assert row in said
    found = compared(*sides, "--cache-tokens", "48")
    assert found["after"]["engine"]["cache_tokens"] == 48
    warm = found["after"]["warm"]
    # Two users in turn, of whom the cache holds one: the audit of the renderings says the same.
    assert (warm["cached_tokens"], warm["aligned_tokens"] > 0) == (0, True)
    assert "in a cache of" not in prefixlab("compare", *sides).stdout.decode()
    assert "--by tenant" in refused(*sides, "--by", "tenant")


def test_every_prompt_of_a_file_can_be_chosen(clock: Path) -> None:
    config, values = clock / "promptfooconfig.yaml", clock / "values.jsonl"
    (clock / "two.txt").write_text(f"One {{{{ now }}}}\n{BODY}\n---\nTwo {{{{ now }}}}\n{BODY}\n")
    prompts = [
        f"Zero {{{{ now }}}} {BODY}",
        {"id": "ours", "label": "bee", "raw": f"{BODY} {{{{ now }}}}"},
        {"id": "file://after.j2", "label": "late"},
        "file://before.j2",
        "file://two.txt",
    ]
    config.write_text(json.dumps({"prompts": prompts, "providers": ["openai:gpt-4o"]}))
    said = refused(config, config, "--values", values)
    assert "makes 6 prompts. Choose one with --prompt: 1, bee, late, before.j2, 5, 6." in said
    shared = {}
    for name in ("1", "bee", "2", "late", "before.j2", "4", "5", "6"):
        found = pl.compare(config, config, values=values, prompt=name)
        shared[name] = found.after.stable_tokens
    assert shared["bee"] == shared["2"]
    assert shared["before.j2"] == shared["4"]
    assert len({shared[name] for name in ("1", "bee", "late", "before.j2")}) == 4
    assert "makes no prompt 'x'. Choose one with --prompt: 1, bee" in refused(
        config, config, "--values", values, "--prompt", "x"
    )


def test_where_the_nearest_request_parts_from_the_template(clock: Path) -> None:
    texts = ["Hello.", f"Current time: 09:14.\n{BODY.replace('bookshop', 'library')}"]
    log = clock / "log.jsonl"
    log.write_text("".join([json.dumps({"prompt": text}) + "\n" for text in texts]))
    said = refused(clock / "before.j2", clock / "after.j2", "--log", log)
    assert f"the nearest, {log}:2, parts from it in line 2 of its text, with" in said
    assert "for an online library" in said
    assert "for an online bookshop" in said


@pytest.mark.parametrize("end", ["\n", ""])
def test_a_line_break_at_the_end_of_a_logged_text_may_be_there_or_not(clock: Path, end: str) -> None:
    (clock / "before.j2").write_text(f"Current time: {{{{ now }}}}.\n{BODY}\n")
    log = clock / "log.jsonl"
    log.write_text(
        "".join([json.dumps({"prompt": f"Current time: 09:{n}.\n{BODY}{end}"}) + "\n" for n in (14, 15, 16)])
    )
    assert (
        compared(clock / "before.j2", clock / "after.j2", "--log", log, "--tokenizer", "o200k_base")["verdict"]
        == "better"
    )
