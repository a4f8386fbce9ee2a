"""Findings that a project knows of."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.command import prefixlab

RULES = "You are the assistant of a small bookshop. Answer in two sentences and quote the order number.\n" * 3
CLOCK = "Time {{ now() }}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.j2").write_text(CLOCK + RULES)
    run = prefixlab("lint", ".", "--write-baseline", "known.json")
    assert (run.returncode, run.stderr) == (0, b"")
    assert run.stdout.startswith(b"Nothing new in 1 template. 1 finding is known.")
    return tmp_path


def linted(*arguments: str, status: int) -> Any:
    run = prefixlab("lint", *arguments, "--baseline", "known.json", "--format", "json")
    assert run.returncode == status
    document = json.loads(run.stdout)
    return document["known"], [(one["path"], one["line"], one["code"]) for one in document["findings"]]


def test_what_is_known_is_counted_and_not_shown(folder: Path) -> None:
    assert linted(".", status=0) == (1, [])
    assert prefixlab("lint", ".").returncode == 1


def test_the_file_is_the_same_for_the_same_findings(folder: Path) -> None:
    first = (folder / "known.json").read_bytes()
    assert prefixlab("lint", str(folder), "--write-baseline", "known.json").returncode == 0
    assert (folder / "known.json").read_bytes() == first
    assert json.loads(first) == {
        "schema": "prefixlab.lint-baseline/1",
        "findings": [
            {
                "path": "a.j2",
                "code": "PL102",
                "field": "now",
                "line_sha256": sha256(b"Time {{ now() }}").hexdigest()[:16],
                "rendered_in": "a.j2",
                "count": 1,
            }
        ],
    }


def test_another_template_that_includes_what_is_known_is_new(folder: Path) -> None:
    (folder / "head.j2").write_text(CLOCK)
    (folder / "b.j2").write_text("{% include 'head.j2' %}\n" + RULES)
    (folder / "c.j2").write_text("Be kind.\n{% include 'head.j2' %}\n" + RULES)
    assert linted(".", status=1) == (1, [("head.j2", 1, "PL102")])
    report = json.loads(prefixlab("lint", ".", "--format", "json").stdout)
    (_, shared) = report["findings"]
    assert [shared["rendered_at"]["path"], *[at["path"] for at in shared["also_at"]]] == ["b.j2", "c.j2"]
    text = prefixlab("lint", ".").stdout.decode()
    assert "  enters the prompt at b.j2:1:1\n  also enters at c.j2:2:1\n" in text
    assert prefixlab("lint", ".", "--write-baseline", "known.json").returncode == 0
    assert linted(".", status=0) == (2, [])
    (folder / "d.j2").write_text("{% include 'head.j2' %}\n" + RULES)
    assert linted(".", status=1) == (1, [("head.j2", 1, "PL102")])


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("Be kind.\n\n\n" + CLOCK + RULES, []),
        ("  " + CLOCK + RULES, []),
        (CLOCK.replace("\n", "\r\n") + RULES, []),
        (CLOCK + "More rules.\n" + RULES, []),
        # The line, its rule or its value is another.
        (CLOCK.replace("Time", "Date") + RULES, [("a.j2", 1, "PL102")]),
        ("Time {{ uuid4() }}\n" + RULES, [("a.j2", 1, "PL103")]),
        # The same line twice is known once.
        (CLOCK + CLOCK + RULES, [("a.j2", 2, "PL102")]),
    ],
)
def test_lines_move_and_stay_known(folder: Path, text: str, new: list[Any]) -> None:
    (folder / "a.j2").write_text(text, newline="")
    known, found = linted("a.j2", status=int(bool(new)))
    assert found == new
    assert known == (0 if new and new[0][1] == 1 else 1)


def test_the_same_line_in_another_file_is_new(folder: Path) -> None:
    (folder / "b.j2").write_text(CLOCK + RULES)
    assert linted(".", status=1) == (1, [("b.j2", 1, "PL102")])


def test_it_holds_from_another_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "sub").mkdir()
    monkeypatch.chdir(folder / "sub")
    for path in ("..", "../a.j2", str(folder), str(folder / "a.j2")):
        run = prefixlab("lint", path, "--baseline", "../known.json")
        assert (path, run.returncode) == (path, 0)


def test_what_is_gone_is_said(folder: Path) -> None:
    (folder / "b.j2").write_text(RULES)
    note = b"The baseline knows 1 finding that is gone: write it again."
    assert note not in prefixlab("lint", ".", "--baseline", "known.json").stdout
    # Of files that are not looked at nothing is known.
    assert note not in prefixlab("lint", "b.j2", "--baseline", "known.json").stdout
    (folder / "a.j2").write_text(RULES)
    run = prefixlab("lint", ".", "--baseline", "known.json")
    assert run.returncode == 0
    assert note in run.stdout


@pytest.mark.parametrize(
    "content",
    [
        None,
        b"",
        b"[]",
        b"\xff",
        b'{"schema": "prefixlab.lint/1", "findings": []}',
        b'{"schema": "prefixlab.lint-baseline/1"}',
        b'{"schema": "prefixlab.lint-baseline/1", "findings": [3]}',
        b'{"schema": "prefixlab.lint-baseline/1", "findings": [{"path": "a.j2"}]}',
        b'{"schema": "prefixlab.lint-baseline/1", "findings": [{"path": 1, "code": "b", "field": "c"}]}',
    ],
)
def test_a_baseline_that_is_none(folder: Path, content: bytes | None) -> None:
    (folder / "known.json").unlink()
    if content is not None:
        (folder / "known.json").write_bytes(content)
    run = prefixlab("lint", ".", "--baseline", "known.json")
    assert (run.returncode, run.stdout, run.stderr.count(b"\n")) == (2, b"", 1)
    assert run.stderr.startswith(b"prefixlab: known.json:")


def test_it_is_written_to_no_template_and_not_for_a_part(folder: Path) -> None:
    run = prefixlab("lint", ".", "--write-baseline", "a.j2")
    assert run.returncode == 2
    assert (folder / "a.j2").read_text() == CLOCK + RULES
    run = prefixlab("lint", ".", "--write-baseline", "known.json", "--diff", "HEAD")
    assert (run.returncode, run.stdout) == (2, b"")
    # What a comment accepts need not be known.
    (folder / "a.j2").write_text("{# prefixlab: ignore[PL102] so be it #}\n" + CLOCK + RULES)
    assert prefixlab("lint", ".", "--write-baseline", "known.json").returncode == 0
    assert json.loads((folder / "known.json").read_text())["findings"] == []
