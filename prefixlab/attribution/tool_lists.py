"""What happened to a list of tools: order, members, or the text of one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from prefixlab.attribution.form_kinds import form_kind
from prefixlab.records import Piece


def tools_kind(now: Sequence[str], then: Sequence[str]) -> tuple[str, str]:
    """The kind and its evidence, of two rendered lists that are not equal."""
    names, earlier = [tool_name(text) for text in now], [tool_name(text) for text in then]
    if sorted(now) == sorted(then):
        return "tool_order", f"the same {len(now)} tools in another order: {', '.join(names[:4])}"
    if sorted(names) != sorted(earlier):
        added = [name for name in names if name not in earlier]
        gone = [name for name in earlier if name not in names]
        said = [f"{', '.join(added[:3])} came" if added else "", f"{', '.join(gone[:3])} went" if gone else ""]
        return "tool_set", "; ".join([part for part in said if part])
    of_name = dict(zip(earlier, then, strict=True))
    changed = [(name, text) for name, text in zip(names, now, strict=True) if of_name[name] != text]
    if not changed:
        return "tool_order", f"the same {len(now)} tools in another order: {', '.join(names[:4])}"
    name, text = changed[0]
    form = form_kind(text, of_name[name])
    if form is not None:
        return ("key_order" if form == "permuted" else form), f"the text of {name} in another form"
    return "tool_text", f"the text of {name} changed"


@lru_cache(maxsize=512)
def tool_name(text: str) -> str:
    """The name in a tool's rendered JSON; its first words where there is none."""
    try:
        tool: Any = json.loads(text)
    except (ValueError, RecursionError):
        return text[:40]
    for holder in (tool, tool.get("function") if isinstance(tool, dict) else None):
        if isinstance(holder, dict) and isinstance(holder.get("name"), str):
            return str(holder["name"])
    return text[:40]


def tool_of(piece: Piece) -> str | None:
    """The name of the tool that a piece is about, or None where it is about none."""
    if piece.origin.role != "tools":
        return None
    # What the template writes behind the last tool can stand in its piece.
    chars = sum([span.chars for span in piece.spans if span.origin == piece.origin])
    return tool_name("".join([run.text for run in piece.runs])[:chars])
