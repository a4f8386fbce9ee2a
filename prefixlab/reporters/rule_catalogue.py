"""`prefixlab rules` as text and JSON: a list of all rules, and a sheet of one."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

import orjson

from prefixlab.lint_findings import RuleSheet

_GROUPS = {
    "PL1": "Values ahead of stable text",
    "PL2": "Orders that are not fixed",
    "PL3": "The stable prefix and the blocks of the engine",
    "PL4": "Conditions, and chat templates",
}


def render_text(sheets: Sequence[RuleSheet], width: int, *, is_whole: bool) -> bytes:
    """Each rule in a line, or all about each."""
    lines = _sheets(sheets, width) if is_whole else _list(sheets, width)
    return ("\n".join([line.rstrip() for line in lines]) + "\n").encode()


def _list(sheets: Sequence[RuleSheet], width: int) -> list[str]:
    lines: list[str] = []
    group = ""
    for sheet in sheets:
        if sheet.code[:3] != group:
            group = sheet.code[:3]
            lines += ["", f"{group}xx  {_GROUPS.get(group, 'Others')}"] if lines else [f"{group}xx  {_GROUPS[group]}"]
        said = sheet.summary + ("" if sheet.is_default else " (only with --select)")
        first, *rest = wrap(said, width - 38)
        lines += [f"  {sheet.code}  {sheet.name:<28}{first}", *[" " * 37 + line for line in rest]]
    return [*lines, "", *wrap("prefixlab rules CODE tells all about one. A comment accepts a finding on its line: "
                              "prefixlab: ignore[CODE] why", width)]  # fmt: skip


def _sheets(sheets: Sequence[RuleSheet], width: int) -> list[str]:
    lines: list[str] = []
    for sheet in sheets:
        lines += ["", ""] if lines else []
        lines += wrap(f"{sheet.code} {sheet.name}: {sheet.summary}", width)
        for paragraph in sheet.documentation.split("\n\n"):
            lines += ["", *wrap(" ".join(paragraph.split()), width)]
        if not sheet.is_default:
            lines += ["", f"It is looked for only with --select {sheet.code}."]
        for title, (name, text) in (("Found", sheet.bad), ("In order", sheet.good)):
            asked = f" with {sheet.asked}" if sheet.asked else ""
            lines += ["", f"{title} ({name}{asked})", *[f"  {line}" for line in text.rstrip("\n").split("\n")]]
    return lines


def render_json(sheets: Sequence[RuleSheet]) -> bytes:
    """Everything, for programs."""
    rows = [
        {
            **sheet._asdict(),
            "bad": dict(zip(("name", "text"), sheet.bad)),
            "good": dict(zip(("name", "text"), sheet.good)),
        }
        for sheet in sheets
    ]
    document = {"schema": "prefixlab.rules/1", "rules": rows}
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
