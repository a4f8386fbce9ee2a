"""What `[tool.prefixlab]` of pyproject.toml says to `lint`, and budgets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import prefixlab as pl
from tests.command import prefixlab

RULES = "You are the assistant of a small bookshop. Answer in two sentences and quote the order number.\n" * 3
CLOCK = "Time {{ now() }}\n"
QUESTION = "Question: {{ question }}\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prompts" / "old").mkdir(parents=True)
    (tmp_path / "parts").mkdir()
    (tmp_path / "prompts" / "a.j2").write_text(CLOCK + RULES + QUESTION)
    (tmp_path / "prompts" / "old" / "b.j2").write_text("{{ uuid4() }}\n" + RULES)
    return tmp_path


def table(project: Path, text: str) -> None:
    (project / "pyproject.toml").write_text(f"[tool.prefixlab]\n{text}\n")


def linted(*arguments: str) -> Any:
    run = prefixlab("lint", *(arguments or (".",)), "--format", "json")
    assert run.stderr == b""
    return json.loads(run.stdout)


def codes(*arguments: str) -> list[tuple[str, str]]:
    return [(Path(one["path"]).name, one["code"]) for one in linted(*arguments)["findings"]]


BOTH = [("a.j2", "PL102"), ("b.j2", "PL103")]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ('select = ["PL103"]', BOTH[1:]),
        ('select = ["PL102", "PL2"]', BOTH[:1]),
        ('ignore-rules = ["PL102"]', BOTH[1:]),
        ('ignore-rules = ["clock-before-stable"]', BOTH[1:]),
        # Known causes of `audit` are no rules.
        ('ignore = ["PL102"]', BOTH),
        ('exclude = ["old"]', BOTH[:1]),
        ('exclude = ["prompts/old"]', BOTH[:1]),
        ('exclude = ["prompts/old/"]', BOTH[:1]),
        ('exclude = ["prompts/*/b.j2"]', BOTH[:1]),
        ('exclude = ["b.*"]', BOTH[:1]),
        ('exclude = ["prompts"]', []),
        ('exclude = ["else/b.j2"]', BOTH),
        ('[tool.prefixlab.volatility]\nuuid4 = "constant"\nelse = "user"', BOTH[:1]),
        ('[tool.prefixlab.volatility]\nelse = "user"', BOTH),
    ],
)
@pytest.mark.parametrize("where", [".", "prompts", "absolute", "below"])
def test_keys(
    project: Path, monkeypatch: pytest.MonkeyPatch, said: str, expected: list[tuple[str, str]], where: str
) -> None:
    table(project, said)
    path = {"absolute": str(project), "below": "."}.get(where, where)
    if where == "below":
        monkeypatch.chdir(project / "prompts")
        # Who stands in a folder that is left out by its name asks for what is in it.
        expected = expected or BOTH
    assert codes(path) == expected
    assert codes(path, "--no-config") == BOTH


def test_a_file_that_is_named_and_excluded_is_left_out_and_said(project: Path) -> None:
    table(project, 'exclude = ["prompts/old/*"]')
    document = linted("prompts/old/b.j2", "prompts/a.j2")
    assert [one["path"] for one in document["templates"]] == ["prompts/a.j2"]
    assert "prompts/old/b.j2 is excluded." in document["notes"]


def test_volatility(project: Path) -> None:
    (project / "prompts" / "a.j2").write_text("{{ region }}\n{{ mode }}\n" + RULES)
    assert codes("prompts/a.j2") == []
    table(project, '[tool.prefixlab.volatility]\nregion = "user"\n"mo*" = "request"')
    found = linted("prompts/a.j2")["findings"]
    assert [(one["line"], one["severity"]) for one in found] == [(1, "medium"), (2, "high")]
    # One by one the command line wins.
    found = linted("prompts/a.j2", "--volatility", "region=tenant", "--volatility", "new=user")["findings"]
    assert [(one["line"], one["severity"]) for one in found][1:] == [(2, "high")]
    assert not found or found[0]["severity"] != "medium"
    run = prefixlab("lint", "prompts", "--volatility", "region=often")
    assert run.returncode == 2
    assert b"constant, deployment, tenant, user, session, turn, request" in run.stderr


def test_search_paths_filters_and_how_it_is_counted(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "parts" / "head.j2").write_text("{{ now() | ours }}\n")
    (project / "prompts" / "a.j2").write_text("{% include 'head.j2' %}\n" + RULES)
    table(
        project,
        'search-paths = ["parts"]\njinja-filters = ["ours"]\ntokenizer = ["gpt-5=cl100k_base"]\nengine = "sglang"\n'
        'fail-on = "low"\n[tool.prefixlab.engine-options]\npage_size = 4',
    )
    for folder, path in ((project, "prompts/a.j2"), (project / "prompts", "a.j2")):
        monkeypatch.chdir(folder)
        document = linted(path)
        assert [one["code"] for one in document["findings"]] == ["PL102"]
        assert (document["tokenizer"], document["engine"], document["block_size"]) == ("cl100k_base", "sglang", 4)
    assert linted("a.j2", "--engine", "vllm")["block_size"] == 16
    assert prefixlab("lint", "a.j2", "--no-config").returncode == 2


def test_the_gate_and_the_baseline(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "prompts" / "a.j2").write_text("{{ session_id }}\n" + RULES)
    assert prefixlab("lint", "prompts/a.j2").returncode == 0
    table(project, 'fail-on = "medium"\nbaseline = "known.json"')
    assert prefixlab("lint", "prompts/a.j2", "--write-baseline", "known.json").returncode == 0
    monkeypatch.chdir(project / "prompts")
    assert prefixlab("lint", "a.j2").returncode == 0
    assert prefixlab("lint", "a.j2", "--baseline", "../known.json", "--fail-on", "info").returncode == 0
    (project / "known.json").write_text('{"schema": "prefixlab.lint-baseline/1", "findings": []}')
    assert prefixlab("lint", "a.j2").returncode == 1
    assert prefixlab("lint", "a.j2", "--fail-on", "high").returncode == 0


# --- budgets ----------------------------------------------------------------------------------------------------------


def missed(*arguments: str) -> list[tuple[str, str, str]]:
    found = linted(*(arguments or (".",)), "--select", "PL305")["findings"]
    assert all(one["severity"] == "high" for one in found)
    return [(Path(one["path"]).name, one["field"], one["message"]) for one in found]


def test_budgets(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (figures,) = linted("prompts/a.j2")["templates"]
    stable, stranded = figures["stable_tokens"], figures["stranded_tokens"]
    assert (stable, stranded > 60) == (1, True)

    def budget(least: int, most: int, pattern: str = "prompts/a.j2") -> None:
        table(
            project,
            f'[tool.prefixlab.budgets]\n"{pattern}" = {{ min_stable_tokens = {least}, max_stranded_tokens = {most} }}',
        )

    budget(stable, stranded)
    assert missed() == []
    budget(stable + 1, stranded)
    short = "the stable prefix has 1 token where the budget asks for 2"
    assert missed() == [("a.j2", "min_stable_tokens", short)]
    budget(stable, stranded - 1)
    behind = (
        f"{stranded} stable tokens stand behind the first value that differs where the budget allows {stranded - 1}"
    )
    assert missed() == [("a.j2", "max_stranded_tokens", behind)]
    budget(stable + 1, stranded - 1)
    assert missed() == [("a.j2", "min_stable_tokens, max_stranded_tokens", f"{short}; {behind}")]
    assert prefixlab("lint", ".", "--select", "PL305").returncode == 1
    # Patterns start where the file lies, from whatever folder and by whatever name a template is reached.
    for pattern in ("*", "prompts/*", "prompts/[ab].j2"):
        budget(2, 1000, pattern)
        for folder, path in ((project, "prompts/a.j2"), (project, str(project)), (project / "prompts", "a.j2")):
            monkeypatch.chdir(folder)
            assert ("a.j2", "min_stable_tokens", short) in missed(path)
    monkeypatch.chdir(project)
    budget(2, 1000, "a.j2")
    assert missed() == []


def test_the_last_budget_that_fits_counts_key_by_key(project: Path) -> None:
    table(
        project,
        '[tool.prefixlab.budgets]\n"*" = { min_stable_tokens = 100, max_stranded_tokens = 1000 }\n'
        '"prompts/a.j2" = { min_stable_tokens = 1 }',
    )
    assert [name for name, *_ in missed("prompts/a.j2")] == []
    assert [name for name, *_ in missed("prompts/a.j2", "--budget", "max_stranded_tokens=5")] == ["a.j2"]
    assert [name for name, *_ in missed("prompts/old")] == ["b.j2"]


def test_a_budget_holds_what_values_show(project: Path) -> None:
    (project / "prompts" / "a.j2").write_text("{{ region }} " + RULES + "{{ question }}")
    rows = [{"region": "north", "question": "Why?"}, {"region": "north", "question": "When?"}]
    (project / "v.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (figures,) = linted("prompts/a.j2", "--values", "v.jsonl")["templates"]
    assert figures["renderings"] == 2
    for more in (0, 1):
        budget = f"min_stable_tokens={figures['stable_tokens'] + more}"
        assert len(missed("prompts/a.j2", "--values", "v.jsonl", "--budget", budget)) == more


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ('budgets = "x"', 2),
        ('[tool.prefixlab.budgets]\n"a.j2" = 800', 2),
        ('[tool.prefixlab.budgets]\n"a.j2" = { min_tokens = 800 }', 2),
        ('[tool.prefixlab.budgets]\n"a.j2" = { min_stable_tokens = "800" }', 2),
        ('[tool.prefixlab.budgets]\n"a.j2" = { min_stable_tokens = -1 }', 2),
        ('[tool.prefixlab.budgets]\n"a.j2" = { min_stable_tokens = true }', 2),
        ("[tool.prefixlab.volatility]\nregion = 3", 2),
        ('select = "PL1"', 2),
        ("exclude = [3]", 2),
        ('ignore-rule = ["PL1"]', 2),
        ('fail-on = "never"', 2),
    ],
)
def test_what_cannot_be(project: Path, said: str, line: int) -> None:
    table(project, said)
    run = prefixlab("lint", ".")
    assert (run.returncode, run.stdout, run.stderr.count(b"\n")) == (2, b"", 1)
    assert run.stderr.startswith(f"prefixlab: pyproject.toml:{line}: ".encode())


@pytest.mark.parametrize("budget", ["min_stable_tokens", "min_stable_tokens=", "min_stable_tokens=1.5", "least=3",
                                    "min_stable_tokens=-3"])  # fmt: skip
def test_a_budget_of_the_command_line_that_cannot_be(project: Path, budget: str) -> None:
    run = prefixlab("lint", ".", "--budget", budget)
    assert (run.returncode, run.stdout, run.stderr.count(b"\n")) == (2, b"", 1)


# --- from Python ------------------------------------------------------------------------------------------------------


def test_from_python(project: Path) -> None:
    report = pl.lint("prompts")
    assert [(one.code, one.at.line) for one in report.findings] == [("PL102", 1), ("PL103", 1)]
    assert report.at_least("high")
    assert pl.lint(["prompts/a.j2", project / "prompts" / "old"]).files == 2
    assert [one.code for one in pl.lint(project, select="PL103").findings] == ["PL103"]
    assert [one.code for one in pl.lint(project, ignore=["PL103"], exclude=["nothing"]).findings] == ["PL102"]
    budgets = {"prompts/*": {"min_stable_tokens": 800}}
    assert [one.code for one in pl.lint("prompts", budgets=budgets, select="PL305").findings] == ["PL305", "PL305"]
    pl.lint("prompts", write_baseline=project / "known.json")
    assert pl.lint("prompts", baseline=project / "known.json").known == 2


@pytest.mark.parametrize(
    ("paths", "options"),
    [
        ("nothing", {}),
        ("prompts", {"selected": "PL1"}),
        ("prompts", {"select": "PL9"}),
        ("prompts", {"budgets": {"*": {"least": 3}}}),
        ("prompts", {"volatility": {"a": "often"}}),
        ("prompts", {"tokenizer": "no-such"}),
        ([3], {}),
    ],
)
def test_from_python_what_cannot_be(project: Path, paths: Any, options: Any) -> None:
    with pytest.raises(pl.PrefixlabError):
        pl.lint(paths, **{"offline": True, **options})
