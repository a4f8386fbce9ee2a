"""Runs a command and says what it took: CPU seconds and peak memory of that process and of what it waited for."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Cost:
    """What one run of a command took. `cpu_seconds` is user and system time; `peak_mib` the largest resident set."""

    cpu_seconds: float
    wall_seconds: float
    peak_mib: float
    output: str


def run(command: Sequence[str | Path], *, cwd: Path) -> Cost:
    """Runs the command to its end.

    The kernel counts the parent's own memory towards a child until it has started its program, so the caller must be
    small: logs are written by a process of their own.

    Raises:
        RuntimeError: the command failed; carries what it said.
    """
    begin = time.perf_counter()
    with subprocess.Popen(
        [str(part) for part in command],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as child:
        assert child.stdout is not None
        output = child.stdout.read()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: status {child.returncode}\n{output[-2000:]}")
    return Cost(used.ru_utime + used.ru_stime, time.perf_counter() - begin, used.ru_maxrss / 1024, output)


def best(costs: Sequence[Cost]) -> Cost:
    """The run with the least CPU time, the one that other work on the machine disturbed least."""
    return min(costs, key=lambda cost: cost.cpu_seconds)
