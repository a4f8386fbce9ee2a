"""The sample logs are what their generator writes, and the committed reports are what the tool says of them today."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent


def script(path: str) -> ModuleType:
    specification = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


LOGS: dict[str, bytes] = script("samples/generate.py").logs()
REPORTS = script("reports/make.py")


@pytest.mark.parametrize("name", LOGS)
def test_log_is_what_the_generator_writes(name: str) -> None:
    assert (ROOT / "samples" / name).read_bytes() == LOGS[name]


def test_no_other_logs() -> None:
    assert {file.name for file in (ROOT / "samples").glob("*.jsonl")} == set(LOGS)


def test_every_sample_has_a_report() -> None:
    assert {Path(log).name for log in REPORTS.AUDITS} == set(LOGS)


@pytest.mark.parametrize("log", REPORTS.AUDITS)
def test_report_is_up_to_date(log: str) -> None:
    """Run `python reports/make.py` and read the difference where this fails."""
    for file, content in REPORTS.reports(log).items():
        assert (ROOT / "reports" / file).read_text(encoding="utf-8") == content


def test_no_other_reports() -> None:
    expected = {f"{Path(log).stem}.{ending}" for log in REPORTS.AUDITS for ending in REPORTS.ENDINGS}
    assert {file.name for file in (ROOT / "reports").iterdir() if file.is_file()} == expected | {"make.py"}
