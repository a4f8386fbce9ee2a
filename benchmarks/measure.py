"""Runs a command and says what it took: CPU seconds and peak memory of that process and of what it waited for.

The kernel counts the memory of the starting process towards a child's peak until the child runs its own program. So the
command is started by this file, run as a bare interpreter of a few MiB.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
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
    """Runs the command to its end, free to keep compiled modules, as installed programs do.

    Raises:
        RuntimeError: the command failed; carries what it said.
    """
    words = [str(part) for part in command]
    with tempfile.NamedTemporaryFile() as figures:
        done = subprocess.run(
            [sys.executable, "-I", __file__, figures.name, *words],
            cwd=cwd,
            env={name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{' '.join(words)}: status {done.returncode}\n{done.stdout[-2000:]}")
        return Cost(**json.loads(figures.read()), output=done.stdout)


def best(costs: Sequence[Cost]) -> Cost:
    """The run with the least CPU time, the one that other work on the machine disturbed least."""
    return min(costs, key=lambda cost: cost.cpu_seconds)


def main(figures: str, *command: str) -> int:
    begin = time.perf_counter()
    child = os.posix_spawnp(command[0], command, os.environ)
    _, status, used = os.wait4(child, 0)
    taken = {
        "cpu_seconds": used.ru_utime + used.ru_stime,
        "wall_seconds": time.perf_counter() - begin,
        "peak_mib": used.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10),
    }
    Path(figures).write_text(json.dumps(taken), encoding="utf-8")
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
