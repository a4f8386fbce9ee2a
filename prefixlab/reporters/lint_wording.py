"""The sentences and small figures that the forms of `lint`'s report share."""

from __future__ import annotations

import os
from collections.abc import Sequence

from prefixlab.lint_findings import SEVERITIES, LintFinding, LintReport
from prefixlab.number_words import counted, number
from prefixlab.reporters.neutral import neutral

_MOST_ASSUMED = 6
_MOST_PLACES = 3


def headline(report: LintReport) -> str:
    """What was found, in a sentence or two."""
    where = counted(len(report.templates), "template") + _since(report)
    if not report.templates:
        said = (
            "No template was found."
            if not report.files or report.unread
            else f"No prompt was found in {_files(report)}."
        )
    elif not report.findings:
        said = f"Nothing {'new' if report.known else 'to mend'} in {where}."
    else:
        counts = [sum([one.severity == severity for one in report.findings]) for severity in SEVERITIES]
        graded = ", ".join([f"{number(count)} {name}" for count, name in zip(counts, SEVERITIES) if count])
        said = f"{counted(len(report.findings), 'finding')} in {where}: {graded}."
        worst = max([one.stable_tokens_after for one in report.findings if not is_of_template(one)], default=0)
        if worst:
            is_are = "is" if worst == 1 else "are"
            said += f" At worst {_stable(worst)} ({_blocks(worst, report)}) {is_are} lost behind one value."
    return said + unread(report) + left_out(report) + _against(report)


def unread(report: LintReport) -> str:
    """How many files could not be read; with a blank ahead."""
    return f" {counted(len(report.unread), 'file')} could not be read." if report.unread else ""


def left_out(report: LintReport) -> str:
    """How many findings are not shown, and why; with a blank ahead."""
    said = ""
    if report.suppressed:
        is_are = "is" if report.suppressed == 1 else "are"
        said += f" {counted(report.suppressed, 'finding')} {is_are} accepted by a comment."
    if report.known:
        is_are = "is" if report.known == 1 else "are"
        said += f" {counted(report.known, 'finding')} {is_are} known."
    return said


def _against(report: LintReport) -> str:
    """How many templates share more or less than in the run that they are compared with; with a blank ahead."""
    if not report.against:
        return ""
    changes = [
        one.stable_tokens - one.stable_tokens_then for one in report.templates if one.stable_tokens_then is not None
    ]
    less, more = sum([change < 0 for change in changes]), sum([change > 0 for change in changes])
    parts = [f"{word} in {counted(count, 'template')}" for word, count in (("less", less), ("more", more)) if count]
    return f" Requests share {' and '.join(parts)} than before." if parts else " Requests share as much as before."


def is_of_template(finding: LintFinding) -> bool:
    """Whether no expression is at fault, but the template as a whole."""
    return not finding.source


def around(finding: LintFinding, report: LintReport) -> str:
    """What stands before a finding and what behind it."""
    before, behind = finding.stable_tokens_before, finding.stable_tokens_after
    return (
        f"before it {_stable(before)} ({counted(finding.blocks_before, 'block')}), "
        f"behind it {number(behind)} ({_blocks(behind, report)})"
    )


def measured_on(report: LintReport) -> str:
    """With what the tokens were counted."""
    return f"Counted with {report.tokenizer}, in blocks of {number(report.block_size)} as {report.engine} has them."


def assumed(report: LintReport) -> str:
    """Which values are taken for the same in all requests though nothing tells; empty where there is none."""
    names = [*dict.fromkeys([" ".join(name.split()) for one in report.templates for name in one.assumed])]
    if not names:
        return ""
    shown = ", ".join([f"`{name if len(name) <= 40 else name[:39] + '…'}`" for name in names[:_MOST_ASSUMED]])
    more = f" and {number(len(names) - _MOST_ASSUMED)} more" if len(names) > _MOST_ASSUMED else ""
    return (
        f"Taken for the same in all requests, as nothing tells: {shown}{more}. "
        "Say how often each differs in [tool.prefixlab.volatility], or give --values."
    )


def template_head(report: LintReport) -> tuple[str, ...]:
    """The names of a template's figures."""
    return (*(("before",) if report.against else ()), "tokens", "blocks", "stranded")


def template_rows(report: LintReport) -> list[tuple[str, ...]]:
    """Of each template its name and figures; where two runs are compared, first those that are another."""
    rows = []
    for one in sorted(report.templates, key=lambda one: one.stable_tokens_then in (None, one.stable_tokens)):
        then = one.stable_tokens_then
        before = (("-" if then is None else number(then)),) if report.against else ()
        figures = (number(one.stable_tokens), number(one.stable_blocks), number(one.stranded_tokens))
        rows.append((one.called, *before, *figures))
    return rows


def template_title(report: LintReport) -> str:
    """What the stable tokens of the templates are."""
    counts = {one.renderings for one in report.templates}
    if counts <= {0}:
        return "Tokens that all requests share"
    if counts == {1}:
        return "Tokens of the one rendering"
    return f"Tokens that {number(max(counts)) if len(counts) == 1 else 'all'} renderings begin with"


def elsewhere(finding: LintFinding) -> bool:
    """Whether it enters the prompt at another line than the one that it is written on."""
    return finding.at[:2] != finding.rendered_at[:2]


def also_at(finding: LintFinding) -> str:
    """Where else it enters a prompt."""
    places = [f"{at.path}:{at.line}:{at.column}" for at in finding.also_at[:_MOST_PLACES]]
    more = len(finding.also_at) - len(places)
    return f"also enters at {', '.join(places)}" + (f" and {counted(more, 'other place')}" if more else "")


def uri_path(path: str) -> str:
    """A path as services take it: from the current folder, with slashes; one outside of it as it is."""
    found = os.path.relpath(path)
    outside = found.startswith(os.pardir + os.sep)
    return (path if outside else found).replace(os.sep, "/")


def fingerprint(finding: LintFinding) -> Sequence[str]:
    """What a finding is known by when lines are written above it."""
    return uri_path(finding.at.path), finding.code, finding.field, finding.line_text.strip()


def _since(report: LintReport) -> str:
    """What part of the templates was looked at; of a commit its first digits."""
    if not report.since:
        return ""
    is_commit = len(report.since) == 40 and report.since.isalnum()
    return f", looking at what was changed since {neutral(report.since[:12] if is_commit else report.since)}"


def _files(report: LintReport) -> str:
    return counted(report.files, "file")


def _stable(tokens: int) -> str:
    return counted(tokens, "stable token")


def _blocks(tokens: int, report: LintReport) -> str:
    return counted(tokens // report.block_size, "block")
