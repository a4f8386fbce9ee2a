"""`prefixlab engines` as text: a list of all engines, and a sheet of one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from textwrap import wrap
from typing import Any

Entry = Mapping[str, Any]

_ITEM = re.compile(r"(\d+\.|-) ")
_FORMULA = re.compile(r"\w+ += (?=\S)|\w+ {2,}(?=\S)")
_COLUMNS = {"minimum": 9, "steps": 8, "kept": 9, "read": 8, "write": 7}
"""Titles and widths."""


def engine_list(entries: Sequence[Entry], width: int) -> str:
    """Every engine in one line, those that one runs oneself first."""
    own = [entry for entry in entries if entry["profile"] is None]
    hosted = [entry for entry in entries if entry["profile"] is not None]
    lines = ["Engines that you run"]
    for entry in own:
        lines += _row(entry["name"], entry["summary"], 16, width)
    if hosted:
        lines += ["", "Hosted providers: tokens, time that unused prefixes are kept, price of a token"]
        lines += _hosted(hosted)
    lines += ["", *wrap("prefixlab engines NAME shows the rule, the options and where the figures are from.", width)]
    return "\n".join(lines) + "\n"


def _hosted(entries: Sequence[Entry]) -> list[str]:
    profiles = [entry for entry in entries if entry["name"] == entry["profile"]["name"]]
    aliases = [entry for entry in entries if entry["name"] != entry["profile"]["name"]]
    name = max([len(entry["name"]) for entry in profiles])
    lines = [f"  {'':<{name}}  {'rule':<12}" + "".join([f"{title:>{width}}" for title, width in _COLUMNS.items()])]
    for entry in profiles:
        rule = entry["profile"]["rule"].replace("_", " ")
        cells = "".join([f"{one:>{width}}" for one, width in zip(_cells(entry), _COLUMNS.values())])
        lines.append(f"  {entry['name']:<{name}}  {rule:<12}{cells}".rstrip())
    lines.append("  ? not confirmed by the provider   - none, or not stated")
    if aliases:
        lines += ["", "Short names"]
        lines += [f"  {entry['name']:<{name}}  {entry['profile']['name']}" for entry in aliases]
    return lines


def _cells(entry: Entry) -> list[str]:
    figures: dict[str, Entry] = {one["name"]: one for one in entry["profile"]["figures"]}
    cells = []
    for name in ("min_tokens", "granularity", "ttl", "read", "write"):
        one = figures.get(name)
        if one is None and name == "granularity":
            cells.append("1 ")  # Breakpoints and units end at any token.
        elif one is None:
            cells.append("- ")
        else:
            value = span(one["value"]) if name == "ttl" else f"{one['value']:,}"
            cells.append(value + (" " if one["confirmed"] else "?"))
    return cells


def engine_sheet(entry: Entry, width: int) -> str:
    """All about one engine."""
    profile = entry["profile"]
    lines = wrap(f"{entry['name']}: {entry['summary']}", width)
    facts = [("follows", entry["follows"])]
    if profile is not None:
        facts += [("reported as", profile["usage"]), ("in the key", profile["key"])]
    if entry["block_option"] is not None:
        facts.append(("--block-size", f"sets {entry['block_option']}"))
    for title, text in facts:
        lines += _row(title, text, 14, width)
    lines += ["", "Rule", *_paragraphs(entry["rule"], width)]
    lines += ["", "Options, for --engine-option NAME=VALUE", *_options(entry["options"], width)]
    if profile is not None:
        lines += ["", "Figures", *_figures(profile["figures"], width)]
    return "\n".join([line.rstrip() for line in lines]) + "\n"


def _options(options: Sequence[Entry], width: int) -> list[str]:
    if not options:
        return ["  none"]
    name = max([len(one["name"]) for one in options])
    default = max([len(number(one["default"])) for one in options])
    lines = []
    for one in options:
        choices = f" ({', '.join(one['choices'])})" if one["choices"] else ""
        title = f"{one['name']:<{name}}  {number(one['default']):<{default}}"
        lines += _row(title, one["help"] + choices, len(title), width)
    return lines


def _figures(figures: Sequence[Entry], width: int) -> list[str]:
    sources: dict[str, int] = {}
    name = max([len(one["name"]) for one in figures])
    value = max([len(number(one["value"])) for one in figures])
    lines = []
    for one in figures:
        place = sources.setdefault(_source(one), len(sources) + 1)
        standing = f"[{place}]" + ("" if one["confirmed"] else " not confirmed")
        note = f"; {one['note']}" if one["note"] else ""
        title = f"{one['name']:<{name}}  {number(one['value']):<{value}}"
        lines += _row(title, standing + note, len(title), width)
    lines += ["", "Sources"]
    for source, place in sources.items():
        lines += _row(f"[{place}]", source, 4, width)
    return lines


def _source(figure: Entry) -> str:
    if figure["source"] == "none":
        return f"{figure['source_note']}; taken on {figure['date']}"
    note = f"; {figure['source_note']}" if figure["source_note"] else ""
    return f"{figure['source']} {figure['date']}{note}"


def _row(title: str, text: str, indent: int, width: int) -> list[str]:
    """A title and its text, which goes on under itself."""
    first, rest = f"  {title:<{indent}}  ", " " * (indent + 4)
    if len(title) > indent:
        return [f"  {title}", *_wrapped(text, rest, rest, width)]
    return _wrapped(text, first, rest, width) or [first.rstrip()]


def _wrapped(text: str, first: str, rest: str, width: int) -> list[str]:
    return wrap(
        text, width, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )


def _paragraphs(text: str, width: int) -> Iterable[str]:
    """A docstring in lines of the width: text and list items wrapped anew, indented lines with their indent."""
    gathered: list[str] = []
    lead = rest = "  "

    def flush() -> Iterable[str]:
        lines = _wrapped(" ".join(gathered), lead, rest, width) if gathered else []
        gathered.clear()
        return lines

    for line in text.splitlines():
        bare = line.strip()
        indent = len(line) - len(line.lstrip())
        starts_item = bool(_ITEM.match(bare))
        goes_on = bare and gathered and not starts_item and "  " + " " * indent == rest
        if not goes_on:
            yield from flush()
            lead = rest = "  " + " " * indent
            found = _ITEM.match(bare)
            if found:
                rest = lead + " " * len(found.group())
        if bare:
            if indent >= 4 and not starts_item and not goes_on:
                # A line of a table or a formula: its columns stay.
                head = _FORMULA.match(bare)
                rest = lead + " " * len(head.group()) if head else lead
                if head:
                    yield from flush()
                    lead, bare = lead + head.group(), bare[len(head.group()) :]
            gathered.append(bare)
        else:
            yield ""
    yield from flush()


def number(value: Any) -> str:
    """A value as the options take it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)


def span(seconds: float) -> str:
    """A lifetime: `5 min`, `2 h`."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:g} {unit}"
    return f"{seconds:g} s"
