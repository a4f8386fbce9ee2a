"""A reuse curve for a person at a terminal: the answer, the plot, the figures, where the reuse comes from."""

from __future__ import annotations

from collections.abc import Sequence

from prefixlab.number_words import number, percent
from prefixlab.reporters import curve_wording as wording
from prefixlab.reporters.curve_plot import character_plot
from prefixlab.reporters.neutral import cells, pad, shown, wrapped
from prefixlab.reuse_curve import NEARLY_ALL, PopularPrefix, ReuseCurve

_NARROWEST, _WIDEST = 60, 120
_PLOT_HEIGHT = 14
_NARROWEST_NAME, _NAME, _ID, _LONG = 8, 40, 24, 600
_MOST_GROUPS = 12
_NOTHING = "(empty)"


def _table(rows: Sequence[Sequence[str]], width: int, *, texts: Sequence[int] = ()) -> list[str]:
    """Rows in columns, the first of them a head; `texts` are the columns that stand to the left.

    Where a line is too long, the first column gives way, if it is one of these.
    """
    widths = [max(map(cells, column)) for column in zip(*rows, strict=True)]
    if 0 in texts:
        widths[0] = max(min(widths[0], width - sum(widths[1:]) - 2 * len(widths)), _NARROWEST_NAME)
    lines = []
    for row in rows:
        parts = [shown(row[0], widths[0]), *row[1:]]
        parts = [
            pad(part, room) if at in texts else part.rjust(room)
            for at, (part, room) in enumerate(zip(parts, widths, strict=True))
        ]
        lines.append("  " + "  ".join(parts).rstrip())
    return lines


def _paragraph(text: str, width: int, first: str = "", rest: str = "") -> list[str]:
    return [(rest if at else first) + line for at, line in enumerate(wrapped(text, width - cells(first)))]


def _plot(found: ReuseCurve, width: int) -> list[str]:
    lines = ["Reuse of prompt tokens by cache size in tokens (* the cache, o clairvoyant)"]
    return [*lines, *["  " + line for line in character_plot(found, width - 2, _PLOT_HEIGHT)]]


def _points(found: ReuseCurve, width: int) -> list[str]:
    axis = found.axis
    refused = any([point.refused for point in found.points])
    head = ["cache tokens", *(["GiB"] if axis else []), "reuse", "clairvoyant", *(["refused"] if refused else [])]
    rows = [head]
    for point in found.points:
        row = [number(point.cache_tokens)]
        row += [wording.gib(axis.bytes_of(point.cache_tokens))] if axis else []
        row += [percent(found.share(point.reused_tokens)), percent(found.share(point.clairvoyant_tokens))]
        rows.append(row + ([number(point.refused)] if refused else []))
    return ["Reuse by cache size", *_table(rows, width)]


def _origins(found: ReuseCurve, width: int) -> list[str]:
    rows = [["unlimited cache", "tokens", "share", ""]]
    for label, tokens, meaning in wording.origin_rows(found):
        rows.append([label, number(tokens), percent(found.share(tokens)), meaning])
    return ["Where the reuse comes from", *_table(rows, width, texts=(0, 3))]


def _groups(found: ReuseCurve, width: int) -> list[list[str]]:
    sections = []
    enough = f"{wording.percent_of_whole(NEARLY_ALL)} of it at"
    for tag, groups in found.by.items():
        rows = [[f"by {shown(tag, _NAME)}", "requests", "prompt tokens", "reuse", enough]]
        rows[0] += ["GiB"] if found.axis else []
        for group in wording.largest(groups, _MOST_GROUPS):
            flat = group.flat_tokens
            reuse = group.unlimited_tokens / group.prompt_tokens if group.prompt_tokens else 0.0
            row = [group.value or _NOTHING, number(group.requests), number(group.prompt_tokens)]
            row += [percent(reuse), "-" if flat is None else number(flat)]
            row += ["-" if flat is None else wording.gib(found.axis.bytes_of(flat))] if found.axis else []
            rows.append(row)
        lines = ["Where each share is flat", *_table(rows, width, texts=(0,))]
        if len(groups) > _MOST_GROUPS:
            lines.append(f"  and {number(len(groups) - _MOST_GROUPS)} more (all of them: --format json)")
        sections.append(lines)
    return sections


def _prefixes(title: str, prefixes: Sequence[PopularPrefix], found: ReuseCurve, width: int) -> list[str]:
    if not prefixes:
        return []
    block = int(found.engine.get("block_size") or 1)
    rows = [["requests", "tokens", "together"]]
    rows += [[number(one.requests), number(one.tokens), number(one.volume)] for one in prefixes]
    head, *lines = _table(rows, width)
    out = [title, head]
    for line, prefix in zip(lines, prefixes, strict=True):
        place = wording.prefix_place(prefix, block, lambda text: shown(text, _ID))
        indent = " " * (cells(line) + 2)
        out += _paragraph(place, width, f"{line}  ", indent)
        if prefix.ends:
            room = width - len(indent) - 5
            out.append(f'{indent}"…{wording.end_of(prefix.ends, room)}"')
    return out


def _facts(found: ReuseCurve, width: int) -> list[str]:
    lines = ["Measured on"]
    for label, said in wording.facts(found, lambda text: shown(text, _LONG)):
        lines += _paragraph(said, width, f"  {label:<10} ", " " * 13)
    return lines


def _notes(found: ReuseCurve, width: int) -> list[str]:
    lines = [line for note in found.notes for line in _paragraph(shown(note, _LONG), width, "  - ", "    ")]
    return ["Notes", *lines] if lines else []


def render_text(found: ReuseCurve, width: int) -> bytes:
    """The whole report in lines of `width` columns."""
    width = max(_NARROWEST, min(width, _WIDEST))
    sections = [[line for said in wording.headline(found) for line in _paragraph(said, width)]]
    if found.prompt_tokens:
        sections += [_plot(found, width)] if found.has_plot else []
        sections += [_points(found, width)]
        sections += [_origins(found, width), *_groups(found, width)] if found.unlimited_tokens else []
        sections.append(_prefixes("Prefixes that most requests have", found.most_sent, found, width))
        if found.most_tokens != found.most_sent:
            sections.append(_prefixes("Prefixes that carry the most tokens", found.most_tokens, found, width))
    sections += [_facts(found, width), _notes(found, width)]
    if found.prompt_tokens:
        sections.append(_paragraph(wording.CEILING, width))
    text = "\n\n".join("\n".join(line.rstrip() for line in section) for section in sections if section)
    return (text + "\n").encode()
