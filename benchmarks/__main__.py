"""Measures prefixlab beside kvlint and beside a mere parse of the same log.

The logs and kvlint, in an environment of its own, are put into `benchmarks/work/`; the Qwen 3 tokenizer folder is the
one that the tests fetch. Both tools get the same log and the same folder, in turn.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.measure import Cost, best, run
from tests.reference import find_or_fetch

WORK = Path(__file__).parent / "work"
ROOT = Path(__file__).parent.parent
KVLINT = "kvlint==0.1.1"
REQUESTS = {
    "support": 10_000,
    "support-repaired": 10_000,
    "agents": 1_000,
    "rag": 2_000,
    "few-shot": 10_000,
    "trace": 100_000,
    "support-big": 100_000,
}
START_UP = {"qwen3": 0.9, "o200k_base": 1.3}
HELP_SECONDS = 0.4
FINITE = "finite cache"
CACHE_TOKENS = 200_000
PARSE = "import sys, orjson\nwith open(sys.argv[1], 'rb') as log:\n    for line in log:\n        orjson.loads(line)\n"


@dataclass(frozen=True)
class Row:
    """One tool on one log."""

    log: str
    megabytes: float
    requests: int
    tool: str
    cpu_seconds: float
    peak_mib: float
    prompt_tokens: int | None


def prefixlab_command() -> list[str]:
    """The console script of this environment, as a user starts it."""
    script = Path(sys.executable).with_name("prefixlab")
    return [str(script)] if script.exists() else [sys.executable, "-m", "prefixlab"]


def log_file(name: str) -> Path:
    """The log of that name, written if it is not there yet."""
    file = WORK / f"{name}.jsonl"
    if not file.exists():
        unfinished = file.with_suffix(".part")
        kind = name.removesuffix("-big")
        writer = [sys.executable, "-m", "benchmarks.workloads", kind, str(REQUESTS[name]), str(unfinished)]
        subprocess.run(writer, cwd=ROOT, check=True)
        unfinished.rename(file)
    return file


def kvlint_command() -> Path:
    """kvlint, installed once into an environment of its own."""
    environment = WORK / "kvlint"
    command = environment / "bin" / "kvlint"
    if not command.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(environment)], check=True)
        subprocess.run([environment / "bin" / "python", "-m", "pip", "install", "--quiet", KVLINT], check=True)
    return command


def prompt_tokens(tool: str, output: str, report: Path) -> int | None:
    """What the tool counted: a sign that both did the same work."""
    if tool in ("prefixlab", FINITE):
        return int(json.loads(report.read_bytes())["totals"]["prompt_tokens"])
    found = re.search(r"Prompt tokens\D+([\d,]+)", output)
    return int(found[1].replace(",", "")) if found else None


def measure_log(name: str, tokenizer: Path, *, rounds: int, kvlint: Path | None) -> list[Row]:
    """Every tool on one log, in turn, `rounds` times; the least disturbed run of each counts."""
    log = log_file(name)
    report = WORK / "report.json"
    tokenize = "none" if name == "trace" else tokenizer
    commands: dict[str, list[str | Path]] = {
        "orjson": [sys.executable, "-c", PARSE, log],
        "prefixlab": [*prefixlab_command(), "audit", log, "--tokenizer", tokenize, "-o", report],
    }
    commands[FINITE] = [*commands["prefixlab"], "--cache-tokens", str(CACHE_TOKENS)]
    if kvlint is not None and name != "trace":
        commands["kvlint"] = [kvlint, "analyze", log, "--model", tokenizer]
    costs: dict[str, list[Cost]] = {tool: [] for tool in commands}
    for _ in range(rounds):
        for tool, command in commands.items():
            costs[tool].append(run(command, cwd=WORK))
    rows = []
    for tool, runs in costs.items():
        cost = best(runs)
        counted = prompt_tokens(tool, cost.output, report)
        size = log.stat().st_size / 1e6
        rows.append(Row(name, size, REQUESTS[name], tool, cost.cpu_seconds, cost.peak_mib, counted))
    return rows


def print_log(rows: list[Row]) -> None:
    of_tool = {row.tool: row for row in rows}
    own, other = of_tool["prefixlab"], of_tool.get("kvlint")
    print(f"\n{own.log}: {own.requests:,} requests, {own.megabytes:.1f} MB")
    print(f"  {'tool':<22}{'CPU s':>8}{'MB/s':>8}{'peak MiB':>10}{'prompt tokens':>16}")
    for row in rows:
        tool = "orjson (parsing only)" if row.tool == "orjson" else row.tool
        tokens = "" if row.prompt_tokens is None else f"{row.prompt_tokens:,}"
        rate = row.megabytes / row.cpu_seconds
        print(f"  {tool:<22}{row.cpu_seconds:>8.2f}{rate:>8.1f}{row.peak_mib:>10.0f}{tokens:>16}")
    ratio = of_tool[FINITE].cpu_seconds / own.cpu_seconds
    print(f"  with a cache of {CACHE_TOKENS:,} tokens: {ratio:.2f} times the CPU")
    if other:
        cpu, memory = other.cpu_seconds / own.cpu_seconds, other.peak_mib / own.peak_mib
        print(f"  kvlint / prefixlab: {cpu:.1f} times the CPU, {memory:.1f} times the memory")


def measure_start_up(rounds: int) -> dict[str, tuple[float, float]]:
    """CPU seconds of the shortest commands, each with what it may take."""
    request = {"model": "m", "messages": [{"role": "user", "content": "Where is my parcel?"}]}
    log = WORK / "one.jsonl"
    log.write_text(json.dumps(request) + "\n", encoding="utf-8")
    commands: dict[str, tuple[list[str | Path], float]] = {
        "prefixlab --help": ([*prefixlab_command(), "--help"], HELP_SECONDS)
    }
    for name, limit in START_UP.items():
        commands[f"one request, {name}"] = ([*prefixlab_command(), "audit", log, "--tokenizer", name], limit)
    return {
        label: (best([run(command, cwd=WORK) for _ in range(rounds)]).cpu_seconds, limit)
        for label, (command, limit) in commands.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--logs", default="support,agents", help=f"of {', '.join(REQUESTS)} (default: %(default)s)")
    parser.add_argument("--big", action="store_true", help="also the support log of 100,000 requests, without kvlint")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each tool (default: %(default)s)")
    parser.add_argument("--without-kvlint", action="store_true", help="measure prefixlab alone")
    parser.add_argument(
        "--tokenizer-folder", type=Path, help="a folder with tokenizer.json, in place of fetching Qwen 3's"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")
    given = parser.parse_args()

    WORK.mkdir(exist_ok=True)
    tokenizer = given.tokenizer_folder.resolve() if given.tokenizer_folder else find_or_fetch("qwen3")
    kvlint = None if given.without_kvlint else kvlint_command()
    logs = [name for name in given.logs.split(",") if name]
    if unknown := set(logs) - set(REQUESTS):
        parser.error(f"unknown log: {', '.join(sorted(unknown))}")

    start_up = measure_start_up(max(given.rounds, 3))
    print("start-up, CPU seconds (least of the runs)")
    for label, (seconds, limit) in start_up.items():
        print(f"  {label:<28}{seconds:>6.2f}   target {limit}")
    rows = []
    for name in [*logs, *(["support-big"] if given.big else [])]:
        measured = measure_log(
            name,
            tokenizer,
            rounds=1 if name == "support-big" else given.rounds,
            kvlint=None if name == "support-big" else kvlint,
        )
        print_log(measured)
        rows += measured
    if given.json:
        figures = {
            "start_up": {label: seconds for label, (seconds, _) in start_up.items()},
            "logs": list(map(asdict, rows)),
        }
        given.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
