"""Diffs applied with Git and `patch`, from where the user stands or from where the diff says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from prefixlab.template_rewriting.diffs import unified

BEFORE, AFTER = "one\ntwo\nthree", "two\none\nthree"
PLACES = {
    "beside": (".", "x/p.j2", ""),
    "with a dot": (".", "./x/../p.j2", ""),
    "above": ("sub", "../p.j2", ".."),
    "in a neighbour": ("sub/deep", "../../other/p.j2", "../.."),
    "up and down again": ("sub", "../sub/p.j2", ""),
    "with a blank": (".", "a b/p q.j2", ""),
    "with a blank, above": ("sub", "../a b/p.j2", ".."),
    "no ASCII": (".", "é 日/p.j2", ""),
}


@pytest.mark.parametrize("is_repository", [False, True])
@pytest.mark.parametrize("program", ["git", "patch"])
@pytest.mark.parametrize("where", PLACES)
def test_a_diff_applies(
    where: str, program: str, is_repository: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    folder, path, said = PLACES[where]
    here = tmp_path / folder
    here.mkdir(parents=True, exist_ok=True)
    file = Path(os.path.normpath(here / path))
    file.parent.mkdir(parents=True, exist_ok=True)
    (here / "x").mkdir(exist_ok=True)
    file.write_text(BEFORE)
    if is_repository:
        subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    monkeypatch.chdir(here)
    _applies(unified([(path, BEFORE, AFTER)]), said, program)
    assert file.read_text() == AFTER
    file.write_text(BEFORE)
    _applies(unified([(str(file), BEFORE, AFTER)]), said, program)
    assert file.read_text() == AFTER


def _applies(diff: str, said: str, program: str) -> None:
    found = re.match(r"# Paths are those from (\S+): apply it with (git -C \1 apply), or (patch -p1 -d \1)\n", diff)
    assert (found[1] if found else "") == said
    command = ["git", "apply"] if program == "git" else ["patch", "-p1"]
    if found:
        command = (found[2] if program == "git" else found[3]).split()
    done = subprocess.run(command, input=diff.encode(), capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_several_files_have_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("p.j2", "sub/q.j2"):
        (tmp_path / name).write_text(BEFORE)
    monkeypatch.chdir(tmp_path / "sub")
    _applies(unified([("../p.j2", BEFORE, AFTER), ("q.j2", BEFORE, AFTER)]), "..", "git")
    assert [(tmp_path / name).read_text() for name in ("p.j2", "sub/q.j2")] == [AFTER, AFTER]


def test_what_is_the_same_has_no_diff() -> None:
    assert unified([("../p.j2", BEFORE, BEFORE)]) == ""
