"""Chats that a real vLLM server rendered (the text is decoded from its token ids) come out the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from chat_strategies import asked, text_of

from prefixlab.records import Chat
from prefixlab.rendering import load_renderer

ROWS = [
    json.loads(line) for line in (Path(__file__).parent / "data" / "recorded.jsonl").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize("row", ROWS, ids=range(len(ROWS)))
def test_recorded_prompt(row: dict[str, Any]) -> None:
    rendering = load_renderer(row["template"]).render(asked(Chat(row["messages"], row["tools"])))
    assert text_of(rendering) == row["text"]
    assert rendering.dropped == ()
