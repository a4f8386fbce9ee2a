"""Small things of a curve's report: brackets in its headline, the axis of a line that does not rise."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.command import prefixlab
from tests.kv_memory.configs import SEVENTY_B, write


def log(folder: Path, shared: int, alone: int) -> str:
    """Requests of one prefix, each with a tail of its own."""
    path = folder / "log.jsonl"
    rows = [
        {"prompt_token_ids": [*range(shared), *range(10_000 * (at + 1), 10_000 * (at + 1) + alone)]} for at in range(12)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def curve(log: str, *options: str) -> str:
    run = prefixlab("curve", log, "--tokenizer", "none", *options)
    assert run.returncode == 0, run.stderr
    return run.stdout.decode()


@pytest.mark.parametrize("options", [(), ("memory",)])
def test_brackets_do_not_nest(options: tuple[str, ...], tmp_path: Path) -> None:
    config = ("--model-config", write(tmp_path, SEVENTY_B)) if options else ()
    text = " ".join(curve(log(tmp_path, 64, 1000), *config).split())
    assert ("(1,072 tokens; 0.33 GiB)" if options else "(1,072 tokens)") in text
    assert not re.search(r"\([^)]*\(", text.partition("Cache")[0])


@pytest.mark.parametrize(("shared", "alone"), [(64, 1600), (1600, 64)])
def test_a_line_that_does_not_rise_is_drawn_on_an_axis_from_nothing(shared: int, alone: int, tmp_path: Path) -> None:
    text = curve(log(tmp_path, shared, alone), "--sizes", "1664,5000,20000")
    labels = re.findall(r"^ *([\d.]+) % \|", text, re.MULTILINE)
    assert len(labels) >= 2
    assert float(labels[-1]) == 0
    assert len(set(labels)) == len(labels)
