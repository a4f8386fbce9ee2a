"""Writes the reports of the sample logs, and the outputs that the README shows: `python reports/make.py`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
ENDINGS = {"txt": "text", "md": "markdown", "json": "json"}
AUDITS = {
    "samples/agent_with_tools.jsonl": ["--tokenizer", "qwen3"],
    "samples/rag.jsonl": ["--tokenizer", "qwen3"],
    "samples/support_clock_at_end.jsonl": ["--tokenizer", "o200k_base"],
    "samples/support_clock_on_top.jsonl": ["--tokenizer", "o200k_base"],
}


def reports(log: str) -> dict[str, str]:
    """The log's reports by their file's name, as the command writes them to a pipe."""
    made = {}
    for ending, form in ENDINGS.items():
        command = [sys.executable, "-m", "prefixlab", "audit", log, *AUDITS[log], "--offline", "--format", form]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
        made[f"{Path(log).stem}.{ending}"] = done.stdout.decode()
    return made


def output_of(command: str) -> str:
    """What a shell prints for a command of the README, on both streams."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=ROOT,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.strip("\n").splitlines())


def readme_with_outputs(text: str) -> str:
    """The README with each `$ command` of its console blocks followed by what the command prints today."""

    def run_again(block: re.Match[str]) -> str:
        commands = re.findall(r"^\$ (.+)$", block[0], re.MULTILINE)
        return "```console\n" + "".join(f"$ {command}\n{output_of(command)}" for command in commands) + "```"

    return re.sub(r"^```console\n.*?^```", run_again, text, flags=re.MULTILINE | re.DOTALL)


if __name__ == "__main__":
    for log in AUDITS:
        for file, content in reports(log).items():
            (ROOT / "reports" / file).write_text(content, encoding="utf-8", newline="\n")
    readme = ROOT / "README.md"
    readme.write_text(readme_with_outputs(readme.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")
