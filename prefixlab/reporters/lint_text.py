"""`lint` for a terminal: what was found in a sentence, then each finding under its line."""

from __future__ import annotations

from prefixlab.lint_findings import LintFinding, LintReport
from prefixlab.number_words import number
from prefixlab.reporters import lint_wording as wording
from prefixlab.reporters.neutral import ELLIPSIS, cells, cut, neutral, pad, shown, shown_end, wrapped

_MOST_TEMPLATES = 30
_LEAST_AHEAD = 20
"""Cells of a long line that are shown ahead of the expression."""


def render_text(report: LintReport, width: int) -> bytes:
    """The whole report."""
    lines = wrapped(wording.headline(report), width)
    for finding in report.findings:
        lines += ["", *_finding(finding, report, width)]
    if report.templates:
        lines += ["", *_templates(report, width), "", *wrapped(wording.measured_on(report), width)]
        lines += wrapped(neutral(wording.assumed(report)), width) if wording.assumed(report) else []
    for note in report.notes:
        lines += ["", *wrapped(neutral(note), width)]
    return ("\n".join([as_logged(line.rstrip()) for line in lines]) + "\n").encode()


def as_logged(line: str) -> str:
    """A line that a build's log may hold: runners obey what looks like a command of theirs wherever it stands."""
    return line.replace("##[", "##\\[")


def _finding(one: LintFinding, report: LintReport, width: int) -> list[str]:
    lines = [f"{neutral(one.at.path)}:{one.at.line}:{one.column}: {one.code} {one.severity} {one.name}"]
    lines += _indented(neutral(one.message), width)
    lines += _quoted(one, width)
    lines += _indented(wording.around(one, report), width)
    if wording.elsewhere(one):
        at = one.rendered_at
        lines += _indented(f"enters the prompt at {neutral(at.path)}:{at.line}:{at.column}", width)
    if one.also_at:
        lines += _indented(neutral(wording.also_at(one)), width)
    return [*lines, *(_indented(f"fix: {neutral(one.fix)}", width) if one.fix else [])]


def _indented(said: str, width: int) -> list[str]:
    return [f"  {line}" for line in wrapped(said, width - 2)]


def _quoted(one: LintFinding, width: int) -> list[str]:
    """The line of the finding with marks under the expression; of a long line what is around it."""
    if not one.line_text.strip():
        return []
    gutter = f"    {one.at.line} | "
    # The last cell is kept for an ellipsis, so that none is set into the expression.
    room = width - len(gutter) - 1
    start, end = one.column - 1, max(one.ends_at, one.column + 1) - 1
    ahead = neutral(one.line_text[max(start - 2 * width, 0) : start])
    expression = shown(one.line_text[start:end], room)
    left = max(room - cells(expression), min(_LEAST_AHEAD, room // 3))
    if cells(ahead) > left or start > 2 * width:
        while cells(ahead) > left - 1:
            ahead = ahead[max((cells(ahead) - left + 1) // 2, 1) :]
        ahead = ELLIPSIS + ahead
    marked = shown(expression, room - cells(ahead))
    # An expression that is cut has its ellipsis.
    behind = one.line_text[end : end + 2 * width] if marked == neutral(one.line_text[start:end]) else ""
    line = ahead + marked + neutral(behind)
    line = line if cells(line) <= room else cut(line, room) + ELLIPSIS
    lines = [gutter + line]
    if one.source:
        lines.append(" " * (len(gutter) - 2) + "| " + " " * cells(ahead) + "^" * max(cells(marked), 1))
    return lines


def _templates(report: LintReport, width: int) -> list[str]:
    rows = wording.template_rows(report)
    named = [shown_end(row[0], width - 2 - 10 * len(wording.template_head(report))) for row in rows[:_MOST_TEMPLATES]]
    title = wording.template_title(report)
    room = max([cells(name) for name in named] + [len(title) - 2])
    lines = [pad(title, room + 2) + "".join([head.rjust(10) for head in wording.template_head(report)])]
    for name, row in zip(named, rows):
        lines.append(f"  {pad(name, room)}" + "".join([figure.rjust(10) for figure in row[1:]]))
    more = len(rows) - len(named)
    return [*lines, f"  and {number(more)} more; --format json has them all"] if more else lines
