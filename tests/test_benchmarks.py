"""The benchmark's logs are of their kind and come out the same each time; what a run took is measured, not guessed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import workloads
from benchmarks.measure import run


@pytest.mark.parametrize("kind", workloads.KINDS)
def test_same_seed_same_bytes(kind: str, tmp_path: Path) -> None:
    for file, seed in (("one", 3), ("two", 3), ("three", 4)):
        workloads.write(kind, 40, tmp_path / file, seed)
    one, two, three = ((tmp_path / file).read_bytes() for file in ("one", "two", "three"))
    assert one == two != three
    assert len(one.splitlines()) == 40


def test_repaired_log_keeps_the_system_prompt_stable(tmp_path: Path) -> None:
    systems = {}
    for kind in ("support", "support-repaired"):
        workloads.write(kind, 30, tmp_path / kind)
        records = [json.loads(line) for line in (tmp_path / kind).read_text(encoding="utf-8").splitlines()]
        systems[kind] = {record["messages"][0]["content"] for record in records}
    assert len(systems["support"]) == 30
    assert len(systems["support-repaired"]) == 1


def test_agent_sessions_only_append(tmp_path: Path) -> None:
    workloads.write("agents", 90, tmp_path / "log")
    last: dict[str, list[object]] = {}
    for line in (tmp_path / "log").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        before = last.get(record["session_id"], [])
        assert record["messages"][: len(before)] == before
        last[record["session_id"]] = record["messages"]
    assert len(last) == 3


def test_cost_is_that_of_the_command(tmp_path: Path) -> None:
    idle = run([sys.executable, "-c", "print('done')"], cwd=tmp_path)
    busy = run([sys.executable, "-c", "x = bytearray(200 << 20); sum(range(5_000_000))"], cwd=tmp_path)
    assert idle.output == "done\n"
    assert idle.peak_mib < 100
    assert 200 < busy.peak_mib < 300
    assert busy.cpu_seconds > idle.cpu_seconds


def test_failure_is_told(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="status 3"):
        run([sys.executable, "-c", "raise SystemExit(3)"], cwd=tmp_path)


def test_the_command_explains_itself() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--help"], capture_output=True, text=True, cwd=Path(__file__).parent.parent
    )
    assert run.returncode == 0, run.stderr
    assert "--big" in run.stdout
