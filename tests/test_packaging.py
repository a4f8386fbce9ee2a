"""What is installed is what was meant: one version, the right files, no dependency too many or too few."""

from __future__ import annotations

import ast
import importlib.metadata
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import prefixlab

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

IMPORTED_AS = {"pyyaml": "yaml"}
"""Packages that are imported under another name."""


def distribution(requirement: str) -> str:
    """`jinja2>=3.1` -> `jinja2`; every dependency of ours is imported by its distribution's name."""
    name = re.split(r"[\[<>=!~; ]", requirement, maxsplit=1)[0].replace("-", "_").lower()
    return IMPORTED_AS.get(name, name)


REQUIRED = {distribution(requirement) for requirement in PROJECT["dependencies"]}
OPTIONAL = {
    distribution(requirement)
    for extra in ("parquet", "hub", "sentencepiece")
    for requirement in PROJECT["optional-dependencies"][extra]
}


def imports(node: ast.AST, *, inside_function: bool = False) -> Iterator[tuple[str, bool]]:
    """Top-level package of every absolute import, and whether it only runs when a function is called."""
    for child in ast.iter_child_nodes(node):
        inside = inside_function or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        if isinstance(child, ast.Import):
            yield from ((alias.name.partition(".")[0], inside) for alias in child.names)
        elif isinstance(child, ast.ImportFrom) and not child.level and child.module:
            yield child.module.partition(".")[0], inside
        elif isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            continue
        else:
            yield from imports(child, inside_function=inside)


def package_imports() -> Iterator[tuple[Path, str, bool]]:
    for file in sorted((ROOT / "prefixlab").rglob("*.py")):
        for name, inside in imports(ast.parse(file.read_text(encoding="utf-8"))):
            yield file.relative_to(ROOT), name, inside


def test_every_dependency_is_imported() -> None:
    imported = {name for _, name, _ in package_imports()}
    assert (REQUIRED | OPTIONAL) - imported == set()


def test_every_import_is_declared() -> None:
    known = REQUIRED | OPTIONAL | sys.stdlib_module_names | {"prefixlab"}
    assert [(str(file), name) for file, name, _ in package_imports() if name not in known] == []


def test_optional_dependencies_are_imported_only_where_needed() -> None:
    assert [(str(file), name) for file, name, inside in package_imports() if name in OPTIONAL and not inside] == []


def test_version_stands_in_one_place() -> None:
    assert "version" in PROJECT["dynamic"]
    assert f"## {prefixlab.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_installed_version() -> None:
    assert importlib.metadata.version("prefixlab") == prefixlab.__version__


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["audit", "--help"]])
def test_module_runs_as_a_command(arguments: list[str]) -> None:
    done = subprocess.run([sys.executable, "-m", "prefixlab", *arguments], capture_output=True, text=True, check=True)
    assert "prefixlab" in done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


def test_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    folders = {name.partition("/")[0] for name in names}
    assert folders == {"prefixlab", f"prefixlab-{prefixlab.__version__}.dist-info"}
    missing = {
        str(file.relative_to(ROOT))
        for file in (ROOT / "prefixlab").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    } - set(names)
    assert missing == set()
    assert "prefixlab/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert wheel.stat().st_size < 4_000_000


def test_wheel_works_away_from_the_checkout(wheel: Path, tmp_path: Path) -> None:
    """Vocabularies and built-in templates come with the wheel; no network, no home, no checkout."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    (tmp_path / "log.jsonl").write_bytes((ROOT / "samples" / "support_clock_on_top.jsonl").read_bytes())
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "installed"), "HOME": str(tmp_path)}
    for tokenizer in ("o200k_base", "cl100k_base", "qwen3"):
        command = [sys.executable, "-P", "-m", "prefixlab", "audit", "log.jsonl", "--tokenizer", tokenizer, "--offline"]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert "Current time" in done.stdout
