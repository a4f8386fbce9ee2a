"""The README keeps its word: its commands run, and print what it shows."""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from reports import make

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", README, re.MULTILINE | re.DOTALL))


def blocks(language: str, text: str = README) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_start_has_two_blocks() -> None:
    first, second = blocks("sh", SECTIONS["Start"])
    assert "prefixlab audit samples/" in first
    assert "pytest" in second
    assert "[test]" in second


@pytest.mark.parametrize("block", blocks("console"), ids=lambda block: block.splitlines()[0])
def test_commands_print_what_is_shown(block: str) -> None:
    """Run `python reports/make.py` and read the difference where this fails."""
    shown = f"```console\n{block}```"
    assert make.readme_with_outputs(shown) == shown


@pytest.mark.parametrize("block", blocks("pycon"))
def test_python_examples(block: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    example = doctest.DocTestParser().get_doctest(block, {}, "README.md", "README.md", 0)
    assert doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(example).failed == 0


def test_links_lead_somewhere() -> None:
    targets = [target for target in re.findall(r"\]\(([^)#]+)\)", README) if "://" not in target]
    assert [target for target in targets if not (ROOT / target).exists()] == []


@pytest.mark.full
def test_first_block_in_a_bare_checkout(tmp_path: Path) -> None:
    """A fresh checkout, an empty home, nothing in the environment: needs the package index."""
    left_out = shutil.ignore_patterns(".venv", ".git", "work", "__pycache__", ".*_cache")
    shutil.copytree(ROOT, tmp_path / "checkout", ignore=left_out)
    (tmp_path / "home").mkdir()
    environment = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    (first, _) = blocks("sh", SECTIONS["Start"])
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", first],
        cwd=tmp_path / "checkout",
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Current time" in done.stdout
