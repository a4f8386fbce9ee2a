"""The sample logs are what their generator writes, and the committed reports are what the tool says of them today."""

from __future__ import annotations

from pathlib import Path

import pytest

from reports import make
from samples import generate

ROOT = Path(__file__).parent.parent


LOGS = generate.logs()


@pytest.mark.parametrize("name", LOGS)
def test_log_is_what_the_generator_writes(name: str) -> None:
    assert (ROOT / "samples" / name).read_bytes() == LOGS[name]


def test_no_other_logs() -> None:
    assert {file.name for file in (ROOT / "samples").glob("*.jsonl")} == set(LOGS)


def test_every_sample_has_a_report() -> None:
    assert {Path(log).name for log in make.AUDITS} == set(LOGS)


@pytest.mark.parametrize("log", make.AUDITS)
def test_report_is_up_to_date(log: str) -> None:
    """Run `python reports/make.py` and read the difference where this fails."""
    for file, content in make.reports(log).items():
        assert (ROOT / "reports" / file).read_text(encoding="utf-8") == content


def test_no_other_reports() -> None:
    expected = {f"{Path(log).stem}.{ending}" for log in make.AUDITS for ending in make.ENDINGS}
    assert {file.name for file in (ROOT / "reports").iterdir() if file.is_file()} == expected | {"make.py"}
