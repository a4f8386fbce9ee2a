"""`[tool.prefixlab]` of pyproject.toml: what it says, what wins over it, what is wrong with it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import prefixlab as pl
from tests.command import prefixlab
from tests.test_audit import audited, refused

SAMPLE = Path(__file__).parents[1] / "samples" / "support_clock_on_top.jsonl"
LOG = str(SAMPLE)

FULL = """
[project]
name = "ours"

[tool.prefixlab]
ignore = ["Current time"]
tokenizer = ["cl100k_base"]
chat-template = "chatml"
engine = "sglang"
cache-tokens = 20000
fail-under = 0.01
by = "customer"

[tool.prefixlab.engine-options]
page_size = 32
policy = "lfu"

[tool.prefixlab.tags]
customer = "user"
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def table(project: Path, text: str) -> Path:
    path = project / "pyproject.toml"
    path.write_text(f"[tool.prefixlab]\n{text}\n")
    return path


def notes_of(run: Any) -> list[str]:
    return [note for note in run["notes"] if "pyproject.toml" in note]


def test_every_key_counts(project: Path) -> None:
    (project / "pyproject.toml").write_text(FULL)
    run = audited(LOG)
    assert run["tokenizer"]["name"] == "cl100k_base"
    assert run["chat_template"]["name"] == "chatml"
    assert (run["engine"]["name"], run["engine"]["block_size"], run["engine"]["cache_tokens"]) == ("sglang", 32, 20000)
    assert run["engine"]["options"] == {"page_size": "32", "policy": "lfu"}
    assert list(run["by"]) == ["customer"]
    assert [row["name"] for row in run["fields"] if row["ignored"]] == ["Current time"]
    keys = "ignore, tokenizer, chat-template, engine, cache-tokens, fail-under, by, engine-options, tags"
    assert notes_of(run) == [f"From the table tool.prefixlab of pyproject.toml: {keys}."]


def test_the_table_is_the_options_that_it_stands_for(project: Path) -> None:
    given = audited(
        *(LOG, "--ignore", "Current time", "--tokenizer", "cl100k_base", "--chat-template", "chatml"),
        *("--engine", "sglang", "--cache-tokens", "20000", "--by", "customer", "--tag", "customer=user"),
        *("--engine-option", "page_size=32", "--engine-option", "policy=lfu"),
    )
    (project / "pyproject.toml").write_text(FULL)
    taken = audited(LOG)
    assert notes_of(taken) == [taken["notes"].pop()]
    assert taken == given


def test_the_command_line_wins(project: Path) -> None:
    (project / "pyproject.toml").write_text(FULL)
    run = audited(LOG, "--tokenizer", "o200k_base", "--ignore", "Session", "--by", "user", "--cache-tokens", "30000")
    assert run["tokenizer"]["name"] == "o200k_base"
    assert [row["name"] for row in run["fields"] if row["ignored"]] == ["Session"]
    assert list(run["by"]) == ["user"]
    assert run["engine"]["cache_tokens"] == 30000
    (note,) = notes_of(run)
    assert note.endswith(": chat-template, engine, fail-under, engine-options, tags.")
    # Options by name are overridden one by one.
    run = audited(LOG, "--engine-option", "policy=lru")
    assert run["engine"]["options"] == {"page_size": "32", "policy": "lru"}
    # A default that is given is given.
    run = audited(LOG, "--engine", "vllm", "--chat-template", "auto")
    assert (run["engine"]["name"], run["engine"]["block_size"]) == ("vllm", 16)
    assert "options" not in run["engine"]
    assert run["chat_template"]["name"] != "chatml"


def test_a_size_in_another_unit_wins_over_the_tables(project: Path) -> None:
    table(project, "cache-tokens = 20000")
    assert audited(LOG)["engine"]["cache_tokens"] == 20000
    assert audited(LOG, "--cache-blocks", "100")["engine"]["cache_tokens"] == 1600


def test_the_gates(project: Path) -> None:
    table(project, 'fail-on = "high"')
    assert prefixlab("audit", LOG).returncode == 1
    assert prefixlab("audit", LOG, "--no-config").returncode == 0
    table(project, "fail-under = 1")
    assert prefixlab("audit", LOG).returncode == 1
    assert prefixlab("audit", LOG, "--fail-under", "0.01").returncode == 0


def test_the_nearest_file_up_to_the_repository_counts(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table(project, "block-size = 32")
    below = project / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    run = audited(LOG)
    assert run["engine"]["block_size"] == 32
    assert notes_of(run) == ["From the table tool.prefixlab of ../../pyproject.toml: block-size."]
    (project / "a" / "pyproject.toml").write_text('[project]\nname = "nearer"\n')
    assert audited(LOG)["engine"]["block_size"] == 16
    (project / "a" / "pyproject.toml").unlink()
    (project / "a" / ".git").mkdir()
    assert audited(LOG)["engine"]["block_size"] == 16
    # The repository's own file counts.
    table(project / "a", "block-size = 64")
    assert audited(LOG)["engine"]["block_size"] == 64
    assert audited(LOG, "--no-config")["engine"]["block_size"] == 16


def test_paths_start_where_the_file_lies(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table(project, 'chat-template = "ours.jinja"')
    (project / "ours.jinja").write_text("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}")
    (project / "below").mkdir()
    at_home = audited(LOG)
    monkeypatch.chdir(project / "below")
    below = audited(LOG)
    assert below["chat_template"]["sha256"] == at_home["chat_template"]["sha256"]
    assert below["totals"] == at_home["totals"]


def test_other_commands_take_what_they_have_an_option_for(project: Path) -> None:
    table(project, 'block-size = 32\nfail-on = "high"\nignore = ["Current time"]\ntokenizer = "cl100k_base"')
    note = "From the table tool.prefixlab of pyproject.toml: block-size, tokenizer."
    for command in (("curve",), ("explain", "--request", "line:5"), ("fix",)):
        run = prefixlab(*command, LOG, "--format", "json")
        assert run.returncode == 0, run.stderr.decode()
        assert json.loads(run.stdout)["notes"][-1] == note
        text = " ".join(prefixlab(*command, LOG).stdout.decode().split())
        assert note in text
        redacted = " ".join(prefixlab(*command, LOG, "--redact").stdout.decode().split())
        assert note in redacted


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("engin = 'vllm'", 2, "[tool.prefixlab] has no key 'engin'. Known: ignore, tokenizer, chat-template, "),
        ("# a\n\nignore = 'tool_set'", 4, "ignore = 'tool_set' cannot be. Give a list of names"),
        ("ignore = ['']", 2, "ignore = [''] cannot be"),
        ("tokenizer = 1", 2, "tokenizer = 1 cannot be"),
        ("chat-template = ['a']", 2, "chat-template = ['a'] cannot be"),
        ("engine = true", 2, "engine = true cannot be"),
        ("block-size = '16'", 2, "block-size = '16' cannot be. Give a whole number, 1 or more."),
        ("block-size = true", 2, "block-size = true cannot be"),
        ("block-size = 0", 2, "block-size = 0 cannot be"),
        ("by = 'a'\n'cache-tokens' = 1.5", 3, "cache-tokens = 1.5 cannot be"),
        ("fail-on = 'info'", 2, "fail-on = 'info' cannot be. Give one of high, medium, low in quotes."),
        ("fail-on = ['high']", 2, "fail-on = ['high'] cannot be"),
        ("fail-under = 1.01", 2, "fail-under = 1.01 cannot be. Give a fraction from 0 to 1."),
        ("fail-under = nan", 2, "fail-under = nan cannot be"),
        ("fail-under = true", 2, "fail-under = true cannot be"),
        ("tags = ['a']", 2, "tags = ['a'] cannot be"),
        ("tags.x = 1", 2, "tags = {'x': 1} cannot be"),
        ("tags = {'a=b' = 'c'}", 2, "tags = {'a=b': 'c'} cannot be"),
        ("[tool.prefixlab.tags]\nx = ''", 2, "tags = {'x': ''} cannot be"),
        ("[tool.prefixlab.engine-options]\nx = [1]", 2, "engine-options = {'x': [1]} cannot be"),
        (f"by = {list(range(99))}", 2, "… cannot be. Give a tag, or a list of tags."),
        ("by = [", 2, "not TOML: "),
        ("by = 1 1", 2, "not TOML: "),
        ("by = 'a'\nby = 'b'", 3, "not TOML: Cannot overwrite a value."),
    ],
)
def test_what_cannot_be_is_said_with_its_line(project: Path, text: str, line: int, said: str) -> None:
    path = table(project, text)
    complaint = refused("audit", LOG)
    place, _, rest = complaint.removeprefix("prefixlab: ").partition(": ")
    if said != "not TOML: " or line == 3:
        assert place == f"pyproject.toml:{line}"
    assert said in rest
    assert prefixlab("audit", LOG, "--no-config").returncode == 0
    path.unlink()
    assert prefixlab("audit", LOG).returncode == 0


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("\n[tool]\nprefixlab = 3\n", 3, "tool.prefixlab is no table"),
        ("\n\n[[tool.prefixlab]]\n", 3, "tool.prefixlab is no table"),
        ("tool = 'prefixlab'\n", 1, "tool is no table"),
        ("\ntool.prefixlab.block-size = -1\n", 2, "block-size = -1 cannot be"),
        ("\n[tool]\nother = 1\nprefixlab = {by = 1}\n", 4, "by = 1 cannot be"),
        ("[tool.other]\nby = 1\n[ tool . 'prefixlab' ] # ours\n\n'by' = 1\n", 5, "by = 1 cannot be"),
    ],
)
def test_however_the_table_is_written(project: Path, text: str, line: int, said: str) -> None:
    (project / "pyproject.toml").write_text(text)
    assert refused("audit", LOG).startswith(f"prefixlab: pyproject.toml:{line}: {said}")


def test_a_file_that_cannot_be_read_is_said_so(project: Path) -> None:
    path = project / "pyproject.toml"
    path.write_bytes(b'[tool.prefixlab]\nby = "caf\xe9"\n')
    assert refused("audit", LOG).startswith("prefixlab: pyproject.toml:2: not UTF-8")
    # A file that does not speak of us is none of our business, whatever is in it.
    path.write_bytes(b'[tool.other\nby = "caf\xe9"\n')
    assert prefixlab("audit", LOG).returncode == 0
    path.unlink()
    path.mkdir()
    assert prefixlab("audit", LOG).returncode == 0


def test_python_does_not_read_it(project: Path) -> None:
    table(project, "block-size = 32\nnonsense = 1")
    assert pl.audit(LOG).engine["block_size"] == 16


def test_commands_without_logs_and_the_help_do_not_read_it(project: Path) -> None:
    table(project, "nonsense = 1")
    for arguments in (("--help",), ("audit", "--help"), ("engines",), ("tokenizers",), ("--version",)):
        assert prefixlab(*arguments).returncode == 0


@pytest.mark.parametrize(("text", "imported"), [(None, False), ("[project]\n", False), (FULL, True)])
def test_nothing_is_imported_without_a_table(project: Path, text: str | None, imported: bool) -> None:
    if text is not None:
        (project / "pyproject.toml").write_text(text)
    code = (
        "import sys\nfrom prefixlab.cli import main\n"
        f"sys.argv = ['prefixlab', 'audit', {LOG!r}, '-o', 'report.txt']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\nprint('tomllib' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=project, check=True)
    assert run.stdout.split()[-1] == str(imported), run.stderr
