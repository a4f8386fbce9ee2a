"""The templates of the repository: what `lint` finds in them, with their own configuration and without."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.command import prefixlab

TEMPLATES = Path(__file__).parents[2] / "templates"


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(TEMPLATES)


def test_what_is_faulty_is_found() -> None:
    run = prefixlab("lint", ".", "--no-config", "--format", "json")
    assert run.returncode == 1
    document = json.loads(run.stdout)
    found = [(one["path"], one["line"], one["column"], one["code"], one["severity"]) for one in document["findings"]]
    assert found == [
        ("faulty/clock_on_top.j2", 1, 15, "PL102", "high"),
        ("faulty/header.j2", 1, 9, "PL101", "medium"),
        ("faulty/header.j2", 1, 35, "PL103", "high"),
        ("faulty/premium.j2", 1, 1, "PL401", "medium"),
        ("faulty/premium.j2", 4, 23, "PL202", "medium"),
    ]
    through = [one["rendered_at"]["path"] for one in document["findings"][1:3]]
    assert through == ["faulty/through_include.j2"] * 2
    assert document["suppressed"] == 1
    # All that is stranded is the house rules, and what stands between.
    assert {one["stable_tokens_after"] for one in document["findings"]} <= set(range(224, 240))


def test_their_configuration_knows_it() -> None:
    run = prefixlab("lint", ".", "--format", "json")
    assert (run.returncode, run.stderr) == (0, b"")
    document = json.loads(run.stdout)
    assert (document["findings"], document["known"], document["suppressed"]) == ([], 5, 1)
    assert document["notes"] == [
        "From the table tool.prefixlab of pyproject.toml: search-paths, baseline, volatility, budgets."
    ]


def test_the_baseline_is_what_would_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "templates"
    shutil.copytree(TEMPLATES, copy)
    monkeypatch.chdir(copy)
    assert prefixlab("lint", ".", "--write-baseline", "known.json").returncode == 0
    assert (copy / "known.json").read_bytes() == (TEMPLATES / "known.json").read_bytes()


def test_budgets_are_nearly_spent() -> None:
    figures = {one["path"]: one for one in json.loads(prefixlab("lint", ".", "--format", "json").stdout)["templates"]}
    support = figures["support.j2"]
    assert (support["stable_tokens"] >= 256, support["stranded_tokens"] <= 20) == (True, True)
    run = prefixlab("lint", "support.j2", "--budget", f"min_stable_tokens={support['stable_tokens'] + 1}")
    assert run.returncode == 1
