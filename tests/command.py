"""The `prefixlab` command in this process, for speed: what it prints and its exit status."""

from __future__ import annotations

import gc
import io
import sys
from typing import NamedTuple
from unittest.mock import patch

import pytest

from prefixlab.cli import main


class Run(NamedTuple):
    returncode: int
    stdout: bytes
    stderr: bytes


def prefixlab(*arguments: str, stdin: bytes = b"") -> Run:
    given = io.TextIOWrapper(io.BytesIO(stdin))
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with (
        patch.object(sys, "argv", ["prefixlab", *arguments]),
        patch.multiple(sys, stdin=given, stdout=out, stderr=err),
        pytest.raises(SystemExit) as exit,
    ):
        main()
    gc.enable()
    printed, complained = out.buffer, err.buffer
    assert isinstance(printed, io.BytesIO)
    assert isinstance(complained, io.BytesIO)
    return Run(int(exit.value.code or 0), printed.getvalue(), complained.getvalue())
