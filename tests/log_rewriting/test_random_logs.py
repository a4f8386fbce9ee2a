"""Laws of a fixed log, on random ones: nothing is lost, nothing else is touched, and reuse never falls."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from prefixlab.destination import Destination
from prefixlab.fix_workflow import FixSettings, fix
from tests.log_rewriting.random_logs import Log

SETTINGS = FixSettings(tokenizers=("o200k_base",), engine="vllm", digest=False)

_INSIDE = frozenset(("messages", "system", "instructions", "input", "prompt", "tools", "body"))
"""Keys below which values may be moved and put in order."""


def texts(value: Any) -> list[str]:
    """Every text of a record, JSON held as text taken apart."""
    if isinstance(value, str):
        if value[:1] == "{":
            return texts(json.loads(value))
        return [value]
    below: list[Any] = []
    if isinstance(value, dict):
        below = [*value.values(), *value.keys()]
    elif isinstance(value, list):
        below = value
    return [text for one in below for text in texts(one)] if below else [repr(value)]


def lines(value: Any) -> Counter[str]:
    return Counter([line for text in texts(value) for line in re.split(r"\n", text) if line])


def outside(value: Any) -> Any:
    """The record without what a fix may touch, its keys in order."""
    if isinstance(value, dict):
        return [(key, None if key in _INSIDE else outside(below)) for key, below in value.items()]
    return value


def records(data: bytes, is_array: bool) -> list[bytes]:
    if not is_array:
        return data.split(b"\n")
    return re.split(rb",\r?\n(?=\{)", data)


@pytest.mark.parametrize("seed", [*range(24), *[pytest.param(seed, marks=pytest.mark.full) for seed in range(24, 400)]])
def test_nothing_is_lost_and_reuse_never_falls(seed: int, tmp_path: Path) -> None:
    log = Log(seed)
    path, fixed = tmp_path / "log.jsonl", tmp_path / "fixed.jsonl"
    path.write_bytes(log.data)
    summary = fix(str(path), SETTINGS, Destination(str(fixed), [str(path)]))
    if not summary.steps:
        assert not fixed.exists()
        return
    assert summary.after.aligned_tokens > summary.before.aligned_tokens
    assert summary.after.aligned_tokens >= summary.promised_tokens - 16 * summary.before.requests
    made = fixed.read_bytes()
    before, after = records(log.data, log.is_array), records(made, log.is_array)
    assert len(before) == len(after)
    unlike = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    assert len(unlike) == summary.changed_records
    for old, new in unlike:
        was, now = json.loads(old.strip(b"[]\r")), json.loads(new.strip(b"[]\r"))
        assert outside(was) == outside(now)
        assert new.count(b"0.70") == old.count(b"0.70")
        assert old.isascii() == new.isascii()
        if log.whole_lines:
            assert lines(was) == lines(now)
        lost = Counter("".join(texts(was))) - Counter("".join(texts(now)))
        assert not lost
    again = fix(str(fixed), SETTINGS, None)
    assert again.after.aligned_tokens >= summary.after.aligned_tokens


def test_the_generator_has_every_shape() -> None:
    shapes = {Log(seed).shape for seed in range(24)}
    assert len(shapes) == 9
