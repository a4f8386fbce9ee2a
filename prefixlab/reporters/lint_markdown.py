"""`lint` as a comment on a pull request: GitHub's Markdown, with nothing from a template acting as markup."""

from __future__ import annotations

from prefixlab.lint_findings import LintFinding, LintReport
from prefixlab.number_words import counted, number
from prefixlab.reporters import lint_wording as wording
from prefixlab.reporters.markdown import code, prose

_MOST_FINDINGS = 40
_MOST_TEMPLATES = 40
_PATH = 120


def render_markdown(report: LintReport, width: int) -> bytes:
    """The whole report; `width` is of no use to Markdown."""
    parts = ["### Prompt templates", f"**{prose(wording.headline(report))}**"]
    if report.unread:
        parts.append("\n".join([f"- {prose(str(error), starts_line=True)}" for error in report.unread]))
    if report.findings:
        parts += [_findings(report), _advice(report)]
    if report.templates:
        title, table = wording.template_title(report), _templates(report)
        parts += [f"**{title}**", table] if report.against else [_details(title, table)]
    notes = "\n".join([f"- {prose(note, starts_line=True)}" for note in report.notes])
    assumed = prose(said) if (said := wording.assumed(report)) else ""
    parts.append(_details("Settings and notes", prose(wording.measured_on(report)), assumed, notes))
    return ("\n\n".join([part for part in parts if part]) + "\n").encode()


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]], numbers: tuple[int, ...]) -> str:
    rule = tuple(["---:" if at in numbers else "---" for at in range(len(head))])
    return "\n".join([f"| {' | '.join(row)} |" for row in (head, rule, *rows)])


def _findings(report: LintReport) -> str:
    head = ("severity", "rule", "where", "what", "tokens before", "stranded behind", "blocks")
    rows = [_row(finding, report) for finding in report.findings[:_MOST_FINDINGS]]
    more = len(report.findings) - len(rows)
    return _table(head, rows, (4, 5, 6)) + (f"\n\nand {number(more)} more" if more else "")


def _row(one: LintFinding, report: LintReport) -> tuple[str, ...]:
    where = code(f"{one.at.path}:{one.at.line}", _PATH)
    if wording.elsewhere(one):
        where += f" in {code(f'{one.rendered_at.path}:{one.rendered_at.line}', _PATH)}"
    if one.also_at:
        where += f" and {counted(len(one.also_at), 'other place')}"
    behind = one.stable_tokens_after
    figures = [number(each) for each in (one.stable_tokens_before, behind, behind // report.block_size)]
    return (one.severity, f"{one.code} {one.name}", where, prose(one.message), *figures)


def _advice(report: LintReport) -> str:
    """Of each rule that found something what to do."""
    fixes = {one.code: one.fix for one in report.findings if one.fix}
    lines = [f"- **{rule}** {prose(fix)}" for rule, fix in sorted(fixes.items())]
    return "\n".join(["**What to do**", "", *lines]) if lines else ""


def _templates(report: LintReport) -> str:
    rows: list[tuple[str, ...]] = [
        (code(name, _PATH), *figures) for name, *figures in wording.template_rows(report)[:_MOST_TEMPLATES]
    ]
    more = len(report.templates) - len(rows)
    table = _table(("template", *wording.template_head(report)), rows, (1, 2, 3, 4))
    return table + (f"\n\nand {counted(more, 'template')} more" if more else "")


def _details(summary: str, *parts: str) -> str:
    inside = "\n\n".join([part for part in parts if part])
    return f"<details>\n<summary>{summary}</summary>\n\n{inside}\n\n</details>"
