"""Chats that others rendered come out the same: a vLLM server (its token ids decoded), and gpt-oss's own template.

The rows of `harmony.jsonl` were rendered by `transformers` with the template that gpt-oss was published with (from a
package that carries it, with that package's own changes undone), as of 1970-01-01.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from chat_strategies import asked, text_of

from prefixlab.records import Chat
from prefixlab.rendering import load_renderer

ROWS = [
    json.loads(line)
    for name in ("recorded.jsonl", "harmony.jsonl")
    for line in (Path(__file__).parent / "data" / name).read_text("utf-8").split("\n")
    if line
]


@pytest.mark.parametrize("row", ROWS, ids=range(len(ROWS)))
def test_recorded_prompt(row: dict[str, Any]) -> None:
    chat = Chat(
        row["messages"],
        row["tools"],
        template_kwargs=row.get("template_kwargs", {}),
        add_generation_prompt=row.get("add_generation_prompt", True),
    )
    assert text_of(load_renderer(row["template"]).render(asked(chat))) == row["text"]
