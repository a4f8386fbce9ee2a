"""Measures `prefixlab curve` beside kvcache-simulator on the same block-hash trace: `python -m benchmarks.curve`.

Both read the trace and say for 15 cache sizes what is reused with the least recently used blocks dropped first, and
what the best cache could reuse. kvcache-simulator replays the trace in its compiled core for each size and each of its
three policies; prefixlab passes over it once and adds the bound at each size. They are run in turn. kvcache-simulator
is put into an environment of its own in `benchmarks/work/`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.__main__ import WORK, log_file, prefixlab_command
from benchmarks.measure import Cost, best, run

OTHER = "kvcache-simulator==0.1.3"
MODEL = "llama-3.1-8b"
"""Of its catalogue; only the bytes of a block come from it, which are the unit of its sizes."""
POLICIES = "fifo,lru,optimal"
BLOCK_TOKENS = 512
SIZES = 15
FULLEST = 200_000
"""Blocks of the largest cache. kvcache-simulator leaves out sizes that half of the trace does not fill."""
MOST_MIB = 600


def simulator() -> Path:
    """kvcache-simulator, installed once into an environment of its own."""
    environment = WORK / "kvcache-simulator"
    command = environment / "bin" / "kvcache-simulator"
    if not command.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(environment)], check=True)
        subprocess.run([environment / "bin" / "python", "-m", "pip", "install", "--quiet", OTHER], check=True)
    return command


def bytes_a_block(command: Path, log: Path, report: Path) -> float:
    """What the simulator takes a block to be, so that both tools get the same sizes."""
    asked = ["--trace", log, "--model", MODEL, "--block-size", str(BLOCK_TOKENS), "--budgets-gib", "1"]
    run([command, "run", *asked, "--max-records", "100", "--no-progress", "--format", "json", "-o", report], cwd=WORK)
    return float(json.loads(report.read_bytes())["metadata"]["bytesPerBlock"])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.curve", description=__doc__)
    parser.add_argument("--log", type=Path, help="a trace of 512-token blocks, in place of one of 100,000 requests")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each tool (default: %(default)s)")
    given = parser.parse_args()
    WORK.mkdir(exist_ok=True)
    log = given.log.resolve() if given.log else log_file("trace").resolve()
    command = simulator()
    own, other = WORK / "curve.json", WORK / "simulated.json"
    smallest = _smallest(log, own)
    blocks = [round(smallest * (FULLEST / smallest) ** (at / (SIZES - 1))) for at in range(SIZES)]
    block_bytes = bytes_a_block(command, log, other)
    # A little more than the blocks take, for the simulator rounds down.
    budgets = ",".join([f"{(size + 0.5) * block_bytes / 2**30:.6f}" for size in blocks])
    sizes = ",".join([str(size * BLOCK_TOKENS) for size in blocks])
    simulate: list[str | Path] = [
        command,
        "run",
        "--trace",
        log,
        "--model",
        MODEL,
        "--policies",
        "fifo,lru,optimal",
    ]
    simulate += ["--block-size", str(BLOCK_TOKENS), "--budgets-gib", budgets]
    commands: dict[str, list[str | Path]] = {
        "prefixlab": [*prefixlab_command(), "curve", log, "--tokenizer", "none", "--sizes", sizes, "-o", own],
        "kvcache-simulator": [*simulate, "--no-progress", "--format", "json", "-o", other],
    }
    costs: dict[str, list[Cost]] = {tool: [] for tool in commands}
    for _ in range(given.rounds):
        for tool, words in commands.items():
            costs[tool].append(run(words, cwd=WORK))
    least = {tool: best(runs) for tool, runs in costs.items()}
    print(f"{log.name}: {log.stat().st_size / 1e6:.1f} MB, {SIZES} sizes")
    for tool, cost in least.items():
        print(f"  {tool:<20}{cost.cpu_seconds:>7.2f} CPU s {cost.peak_mib:>7.0f} MiB")
    mine, theirs = least["prefixlab"], least["kvcache-simulator"]
    print(f"  prefixlab / kvcache-simulator: {mine.cpu_seconds / theirs.cpu_seconds:.2f} of the CPU")
    _compare(json.loads(own.read_bytes()), json.loads(other.read_bytes()))
    if mine.cpu_seconds > theirs.cpu_seconds or mine.peak_mib > MOST_MIB:
        sys.exit(f"missed: no more CPU than kvcache-simulator, less than {MOST_MIB} MiB")


def _smallest(log: Path, report: Path) -> int:
    """Blocks of the smallest cache that can run every request."""
    run([*prefixlab_command(), "curve", log, "--tokenizer", "none", "--points", "2", "-o", report], cwd=WORK)
    return int(json.loads(report.read_bytes())["largest_request_tokens"]) // BLOCK_TOKENS


def _compare(own: dict[str, Any], other: dict[str, Any]) -> None:
    """Both curves side by side; the simulator counts the second half of the trace and partial blocks as whole."""
    print(f"  {'blocks':>9}{'reuse':>9}{'best':>9}   {'(theirs)':>9}{'':>9}")
    for point, simulated in zip(own["points"], other["points"]):
        figures = [point["reuse"], point["clairvoyant_reuse"]]
        figures += [simulated["results"][policy]["hitRate"] for policy in ("lru", "optimal")]
        mine, best_of, theirs, best_of_theirs = [f"{figure:.1%}" for figure in figures]
        blocks = point["cache_tokens"] // BLOCK_TOKENS
        print(f"  {blocks:>9,}{mine:>9}{best_of:>9}   {theirs:>9}{best_of_theirs:>9}")


if __name__ == "__main__":
    main()
