"""The sample files of all dialects, checked as `lint` does.

What is sound is silent, and what is faulty has the findings that the file beside it says, by the family of the rule and
the line, and no others.

A line of that file is `PL1 7`, or `PL1 other.j2:7` where the fault stands in another file. SHAPES.md names the public
templates that files are shaped after.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from prefixlab.lint_workflow import LintSettings, lint, model_of
from prefixlab.registry import known_dialects
from prefixlab.template_checks import Model

FOLDERS = (Path(__file__).parent / "corpus", Path(__file__).parents[1] / "dialects" / "corpus")
NO_TEMPLATES = {"flow.dag.yaml", "config.json", "support.txt", "_rules.prompt", "SHAPES.md"}
"""What only goes with others."""


def samples() -> Iterator[Path]:
    for folder in FOLDERS:
        for path in sorted(folder.rglob("*")):
            is_sample = path.is_file() and path.suffix not in (".expected", ".pyc")
            if is_sample and path.name not in NO_TEMPLATES:
                yield path


SAMPLES = list(samples())


def name_of(path: Path) -> str:
    return "/".join(path.parts[-3:] if path.name == "skprompt.txt" else path.parts[-2:])


@cache
def model() -> Model:
    return model_of(LintSettings())


def expected_of(path: Path) -> set[tuple[str, str, int]]:
    """Family, file and line of what is at fault."""
    beside = Path(f"{path}.expected")
    found = set()
    for line in beside.read_text("utf-8").splitlines() if beside.exists() else ():
        family, place = line.split()
        file, _, number = place.rpartition(":")
        found.add((family, file or path.name, int(number)))
    return found


@pytest.mark.parametrize("path", SAMPLES, ids=name_of)
def test_sample(path: Path) -> None:
    report = lint([str(path)], LintSettings(), model())
    assert {(one.code[:3], Path(one.at.path).name, one.at.line) for one in report.findings} == expected_of(path)
    assert bool(report.templates) is (path.name != "sound_no_prompt.py")
    assert not report.notes


def test_they_are_of_all_dialects_and_half_are_sound() -> None:
    faulty = [path for path in SAMPLES if expected_of(path)]
    assert len(SAMPLES) >= 70
    assert 0.45 <= len(faulty) / len(SAMPLES) <= 0.55
    for path in SAMPLES:
        is_faulty = any("faulty" in part for part in path.parts)
        assert is_faulty <= bool(expected_of(path))
    dialects = {
        one.dialect for path in SAMPLES for one in lint([str(path)], LintSettings(select=("PL1",)), model()).templates
    }
    assert dialects == set(known_dialects())


def test_a_template_that_another_file_names_is_counted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Session {{ session_id }}\n" + "Answer in two sentences and quote the number of the order.\n" * 4
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "shared.j2").write_text(text)
    prompts = "file://texts/shared.j2, file://./texts/shared.j2, 'Hello {{ name }}'"
    (tmp_path / "promptfooconfig.yaml").write_text(f"prompts: [{prompts}]\nproviders: [x]\ntests: []\n")
    monkeypatch.chdir(tmp_path)
    report = lint(["."], LintSettings(), model())
    assert report.files == 2
    shared = os.path.join("texts", "shared.j2")
    assert sorted((one.dialect, one.path) for one in report.templates) == [
        ("jinja2", shared),
        ("promptfoo", "promptfooconfig.yaml"),
    ]
    assert [(one.at.path, one.at.line) for one in report.findings] == [(shared, 1)]
    # Through one file alone it is read as that has it.
    report = lint(["promptfooconfig.yaml"], LintSettings(), model())
    assert [one.dialect for one in report.templates] == ["promptfoo"] * 2
    assert len(report.findings) == 1


def test_shapes_name_files() -> None:
    """Each line of the table of shapes is of one file, and there are twenty at least."""
    rows = [line for line in (FOLDERS[0] / "SHAPES.md").read_text("utf-8").splitlines() if line.startswith("| `")]
    named = [row.split("`")[1] for row in rows]
    assert len(set(named)) == len(named) >= 20
    known = {name_of(path) for path in SAMPLES}
    assert set(named) <= known
