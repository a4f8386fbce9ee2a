"""Writes the reports of the sample logs beside this file: `python reports/make.py`."""

from __future__ import annotations

import os
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
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    made = {}
    for ending, form in ENDINGS.items():
        command = [sys.executable, "-m", "prefixlab", "audit", log, *AUDITS[log], "--offline", "--format", form]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True)
        made[f"{Path(log).stem}.{ending}"] = done.stdout.decode()
    return made


if __name__ == "__main__":
    for log in AUDITS:
        for file, content in reports(log).items():
            (ROOT / "reports" / file).write_text(content, encoding="utf-8", newline="\n")
