"""`lint --diff`: findings that a change touched, in repositories of every kind of change."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from prefixlab.changed_lines import ChangedLines
from prefixlab.prompt_templates import Place
from tests.command import prefixlab

RULES = "You are the assistant of a small bookshop. Answer in two sentences and quote the order number.\n" * 3
CLOCK = "Time {{ now() }}\n"
ID = "Number {{ uuid4() }}\n"


def git(folder: Path, *arguments: str) -> str:
    settings = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        ["git", *settings, *arguments], cwd=folder, check=True, capture_output=True, text=True, env=environment
    )
    return done.stdout.strip()


def commit(folder: Path) -> str:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", "x")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    git(tmp_path, "init", "-q")
    (tmp_path / "a.j2").write_text(CLOCK + ID + RULES)
    (tmp_path / "head.j2").write_text(CLOCK)
    (tmp_path / "b.j2").write_text("{% include 'head.j2' %}\n" + RULES)
    commit(tmp_path)
    return tmp_path


def found(*arguments: str) -> list[tuple[str, int, str]]:
    run = prefixlab("lint", *(arguments or (".",)), "--diff", "HEAD", "--format", "json")
    assert run.stderr == b""
    document = json.loads(run.stdout)
    assert document["since"] == "HEAD"
    assert run.returncode == int(bool(document["findings"]))
    return [(one["path"], one["line"], one["code"]) for one in document["findings"]]


def test_no_change_no_finding(repository: Path) -> None:
    assert found() == []
    assert len(json.loads(prefixlab("lint", ".", "--format", "json").stdout)["findings"]) == 3


def test_a_line_that_was_changed(repository: Path) -> None:
    (repository / "a.j2").write_text(CLOCK + ID.replace("Number", "No.") + RULES)
    assert found() == [("a.j2", 2, "PL103")]


def test_a_line_that_was_added_among_others(repository: Path) -> None:
    (repository / "a.j2").write_text("Be kind.\n" + CLOCK + "It is {{ now() }}\n" + ID + RULES)
    assert found() == [("a.j2", 3, "PL102")]


def test_lines_that_only_moved_or_went(repository: Path) -> None:
    (repository / "a.j2").write_text("Be kind.\n\n" + CLOCK + ID + RULES)
    assert found() == []
    (repository / "a.j2").write_text(ID + RULES)
    assert found() == []


def test_a_clock_that_was_moved_ahead_whichever_line_git_calls_moved(repository: Path) -> None:
    rules = RULES.replace("\n", " ").strip()
    (repository / "a.j2").write_text(f"{rules}\nNow {{{{ now() }}}}\n")
    commit(repository)
    (repository / "a.j2").write_text(f"Now {{{{ now() }}}}\n{rules}\n")
    # Git says that the rules were moved: they are one line, as the clock is.
    assert not ChangedLines.since("HEAD", ["."]).has(Place("a.j2", 1, 1))
    assert found() == [("a.j2", 1, "PL102")]


def test_stable_text_that_is_written_behind_a_clock_that_was_there(repository: Path) -> None:
    (repository / "a.j2").write_text(CLOCK + ID + RULES + RULES.replace("bookshop", "bakery"))
    assert found() == [("a.j2", 1, "PL102"), ("a.j2", 2, "PL103")]
    said = json.loads(prefixlab("lint", "a.j2", "--diff", "HEAD", "--format", "json").stdout)["findings"][0]["message"]
    then = json.loads(prefixlab("lint", "a.j2", "--format", "json").stdout)["findings"][0]["stable_tokens_after"]
    (repository / "a.j2").write_text(CLOCK + ID + RULES)
    before = json.loads(prefixlab("lint", "a.j2", "--format", "json").stdout)["findings"][0]["stable_tokens_after"]
    assert said.endswith(f"are lost, {then - before} more than at HEAD")
    # Less than a block more is not worth a word: it was there, and is known.
    (repository / "a.j2").write_text(CLOCK + ID + RULES.replace("Answer", "Please answer", 1))
    assert found() == []


def test_what_a_change_elsewhere_uncovers(repository: Path) -> None:
    comment = "{# prefixlab: volatility region=deployment #}\n"
    (repository / "a.j2").write_text(comment + "For {{ region }}\n" + RULES)
    (repository / "b.j2").write_text("{# prefixlab: ignore[PL102] known #}\n" + CLOCK + RULES)
    (repository / "c.j2").write_text("{% if beta %}{{ beta }}{% endif %}\n{% include 'head.j2' %}\n")
    commit(repository)
    assert found() == []
    (repository / "a.j2").write_text(comment.replace("deployment", "request") + "For {{ region }}\n" + RULES)
    (repository / "b.j2").write_text("{# known #}\n" + CLOCK + RULES)
    (repository / "c.j2").write_text("{% if beta %}{{ beta }}{% endif %}\n{% include 'head.j2' %}\n" + RULES)
    assert found() == [("a.j2", 2, "PL101"), ("b.j2", 2, "PL102"), ("head.j2", 1, "PL102")]


def test_a_template_that_could_not_be_read_then_is_told_by_its_lines(repository: Path) -> None:
    (repository / "a.j2").write_text("{% if %}\n" + CLOCK + RULES)
    commit(repository)
    (repository / "a.j2").write_text(ID + CLOCK + RULES)
    assert found() == [("a.j2", 1, "PL103")]


def test_an_included_line_counts_by_itself_and_by_where_it_enters(repository: Path) -> None:
    (repository / "head.j2").write_text(CLOCK.replace("Time", "Now"))
    assert found() == [("head.j2", 1, "PL102")]
    (repository / "head.j2").write_text(CLOCK)
    (repository / "b.j2").write_text("{%- include 'head.j2' %}\n" + RULES)
    assert found() == [("head.j2", 1, "PL102")]


def test_a_new_file_is_changed_all_over_whether_added_or_not(repository: Path) -> None:
    (repository / "new.j2").write_text(CLOCK + RULES)
    assert found() == [("new.j2", 1, "PL102")]
    git(repository, "add", "new.j2")
    assert found() == [("new.j2", 1, "PL102")]
    (repository / ".gitignore").write_text("other.j2\n")
    (repository / "other.j2").write_text(CLOCK + RULES)
    assert found() == [("new.j2", 1, "PL102")]


def test_a_renamed_file(repository: Path) -> None:
    git(repository, "mv", "a.j2", "c.j2")
    assert found() == []
    (repository / "c.j2").write_text(CLOCK + ID.replace("Number", "No.") + RULES)
    assert found() == [("c.j2", 2, "PL103")]


@pytest.mark.parametrize(
    "name", ["two words.j2", 'quo"te.j2', "tab\tline\n.j2", "ünï.j2", "+++ b/a.j2", "back\\slash.j2"]
)
def test_names_of_every_kind(repository: Path, name: str) -> None:
    path = repository / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(CLOCK + ID + RULES)
    commit(repository)
    path.write_text(CLOCK + ID.replace("Number", "No.") + RULES)
    assert found() == [(name, 2, "PL103")]


def test_text_that_looks_like_a_diff(repository: Path) -> None:
    (repository / "a.j2").write_text("++ b/b.j2\n-- a/b.j2\n@@ -1 +1,9 @@\n" + CLOCK + ID + RULES)
    commit(repository)
    (repository / "a.j2").write_text("++ b/b.j2\n++ b/head.j2\n@@ -1 +1,90 @@\n-- x\n" + CLOCK + ID + RULES)
    changed = ChangedLines.since("HEAD", ["."])
    lines = {path: [n for n in range(1, 9) if changed.has(Place(path, n, 1))] for path in ("a.j2", "b.j2", "head.j2")}
    assert lines == {"a.j2": [2, 3, 4], "b.j2": [], "head.j2": []}


def test_settings_of_git_and_attributes_change_nothing(repository: Path) -> None:
    for key, value in (
        *(
            ("diff.noprefix", "true"),
            ("diff.mnemonicPrefix", "true"),
            ("color.ui", "always"),
            ("diff.external", "false"),
        ),
        *(("diff.relative", "true"), ("core.quotePath", "true"), ("diff.renames", "false"), ("diff.context", "9")),
    ):
        git(repository, "config", key, value)
    (repository / ".gitattributes").write_text("*.j2 -diff\n")
    (repository / "a.j2").write_text(CLOCK + ID.replace("Number", "No.") + RULES)
    assert found() == [("a.j2", 2, "PL103")]


def test_from_another_folder_and_inside_a_hook(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (repository / "in").mkdir()
    (repository / "in" / "a.j2").write_text(RULES)
    commit(repository)
    (repository / "in" / "a.j2").write_text(CLOCK + RULES)
    monkeypatch.setenv("GIT_DIR", ".git")
    monkeypatch.setenv("GIT_INDEX_FILE", ".git/index")
    monkeypatch.chdir(repository / "in")
    assert found(".") == [("a.j2", 1, "PL102")]
    assert found("..") == [("a.j2", 1, "PL102")] or found("..") == [("../in/a.j2", 1, "PL102")]
    monkeypatch.chdir("/")
    assert found(str(repository)) == [(str(repository / "in" / "a.j2"), 1, "PL102")]


def test_what_others_did_since_is_no_change_of_ours(repository: Path) -> None:
    git(repository, "checkout", "-q", "-b", "ours")
    (repository / "b.j2").write_text("{% include 'head.j2' %}\nBe kind.\n" + RULES)
    commit(repository)
    git(repository, "checkout", "-q", "main")
    (repository / "a.j2").write_text(RULES)
    commit(repository)
    git(repository, "checkout", "-q", "ours")
    run = prefixlab("lint", ".", "--diff", "main", "--format", "json")
    assert json.loads(run.stdout)["findings"] == []


def test_a_history_that_is_cut_off(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    base = commit(repository)
    (repository / "a.j2").write_text(CLOCK + ID.replace("Number", "No.") + RULES)
    commit(repository)
    clone = tmp_path_factory.mktemp("clone")
    git(clone, "init", "-q")
    for revision in ("main", base):
        git(clone, "fetch", "-q", "--depth=1", repository.as_uri(), revision)
    git(clone, "fetch", "-q", "--depth=1", repository.as_uri(), "main")
    git(clone, "checkout", "-q", "FETCH_HEAD")
    run = prefixlab("lint", str(clone), "--diff", base, "--format", "json")
    document = json.loads(run.stdout)
    assert [one["code"] for one in document["findings"]] == ["PL103"]
    # The commit is there, and what lies between is not.
    assert document["notes"] == [f"The history is cut off: compared with {base} itself, and what was done there."]


def test_a_budget_counts_wherever_the_template_was_changed(repository: Path) -> None:
    budget = ("--budget", "min_stable_tokens=200", "--select", "PL305")
    assert found(".", *budget) == []
    (repository / "head.j2").write_text(CLOCK + "Be kind.\n")
    assert found(".", *budget) == [("b.j2", 1, "PL305"), ("head.j2", 1, "PL305")]
    (repository / "head.j2").write_text(CLOCK)
    (repository / "a.j2").write_text(CLOCK + ID + RULES[: len(RULES) // 3])
    assert found(".", *budget) == [("a.j2", 1, "PL305")]


@pytest.mark.parametrize(
    "revision", ["nothing", "main..HEAD", "HEAD:a.j2", "", "-p", "--output=x", "HEAD~5", "\x1b[31m"]
)
def test_what_is_no_revision(repository: Path, revision: str) -> None:
    run = prefixlab("lint", ".", f"--diff={revision}")
    assert (run.returncode, run.stdout, run.stderr.count(b"\n")) == (2, b"", 1)
    assert b"\x1b" not in run.stderr
    assert not (repository / "x").exists()


def test_no_repository_and_nothing_in_common(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    (tmp_path / "a.j2").write_text(CLOCK + RULES)
    run = prefixlab("lint", ".", "--diff", "main")
    assert run.returncode == 2
    assert b"--diff needs a Git repository, and this is none. Leave --diff out." in run.stderr
    git(tmp_path, "init", "-q")
    assert prefixlab("lint", ".", "--diff", "HEAD").returncode == 2
    commit(tmp_path)
    git(tmp_path, "checkout", "-q", "--orphan", "other")
    (tmp_path / "a.j2").write_text(RULES)
    commit(tmp_path)
    run = prefixlab("lint", ".", "--diff", "main")
    assert run.returncode == 2
    assert b"it has no commit in common with what is checked out" in run.stderr
    monkeypatch.setenv("PATH", str(tmp_path))
    run = prefixlab("lint", ".", "--diff", "main")
    assert run.returncode == 2
    assert b"Install Git" in run.stderr
