"""The report for a pull request: GitHub's Markdown, with nothing from the log acting as markup.

Text from the log stands in code: there GitHub makes no links, no mentions and no references of it. A backtick or a
pipe cannot stand in a code span of a table, so such text is written as `<code>` with entities. Sentences that mix our
words with the log's keep their plain words and put the others in code.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from prefixlab.findings import Field, Report, RequestRow
from prefixlab.number_words import counted, number, percent
from prefixlab.reporters import wording
from prefixlab.reporters.neutral import shown
from prefixlab.reporters.wording import Rung

_SHORT = 60
_VALUE = 24
_LONG = 600
_MOST_RUNGS = 20
_MOST_ADVICE = 5
_MOST_VALUES = 3
_MOST_GROUPS = 20
_BAR = 20
_PLAIN_WORD = re.compile(r"(?:[^\W\d_]|\d)(?:[^\W_]|[.,;:'%/()-](?!$))*")
_REFERENCE = re.compile(r"(?i).*(?:://|www\.|mailto:|xmpp:).*|GH-\d+.*|[0-9a-f]{7,}")
_BACKTICKS = re.compile(r"`([^`]+)`")
_STARTS_A_WORD = ("`", "<", "(", '"', "‹")
_EDGES = "\"'(),.;:?"
_SAFE_ALONE = frozenset({"-", "–", "%", "·", "…", ""})


def code(text: str, most: int = _SHORT) -> str:
    """Text from the log as code, whatever is in it, on one line."""
    said = shown(text, most)
    if not said.strip():
        return "(empty)" if not said else "(blank)"
    if "`" in said or "|" in said:
        entities = [char if char.isalnum() or char == " " else f"&#{ord(char)};" for char in said]
        return f"<code>{''.join(entities)}</code>"
    return f"`{said}`"


def prose(text: str, most: int = _LONG, *, starts_line: bool = False) -> str:
    """A sentence whose plain words stay as they are; every other word, and what it has in backticks, is code."""
    said = shown(text, most)
    if starts_line:
        # A number or a dash could begin a list.
        first, blank, rest = said.partition(" ")
        if not first.isdigit() and first[:1] not in _STARTS_A_WORD and not first[:1].isalpha():
            return code(first) + blank + (prose(rest, most) if rest else "")
    parts = _BACKTICKS.split(said)
    words = [
        code(part, most) if at % 2 else " ".join([_word(word) for word in part.split(" ")])
        for at, part in enumerate(parts)
    ]
    said = "".join(words)
    return said if said.strip() else "(empty)"


def _word(word: str) -> str:
    if word in _SAFE_ALONE:
        return word
    inside = word.strip(_EDGES)
    if not inside:
        return code(word)
    if _PLAIN_WORD.fullmatch(inside) and not _REFERENCE.fullmatch(inside):
        return word
    at = word.index(inside)
    return f"{word[:at]}{code(inside, _LONG)}{word[at + len(inside) :]}"


def _code(text: str) -> str:
    return code(text)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    rule = ["---:" if at in numbers else "---" for at in range(len(head))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))


# --- sections ---------------------------------------------------------------------------------------------------------


def _bars(report: Report) -> str:
    rows = []
    for part in wording.shares(report):
        full = min(_BAR, round(part.share * _BAR))
        bar = ("█" * full or "·") + "░" * (_BAR - max(full, 1))
        rows.append([part.label, f"`{bar}`", number(part.tokens), percent(part.share), part.meaning])
    rows.append(["**total**", "", f"**{number(report.totals.prompt_tokens)}**", f"**{percent(1.0)}**", ""])
    return _table(["where the prompt tokens go", "", "tokens", "share", ""], rows, (2, 3))


def _reuse(report: Report) -> str:
    rows = []
    for label, name in wording.reuse_rows(report):
        tokens, share = wording.figure(report.totals, name)
        rows.append([label, number(tokens), percent(share), percent(wording.figure(report.warm, name)[1])])
    return _table(["reuse", "tokens", "all requests", "warm requests"], rows, (1, 2, 3))


def _what(row: Rung) -> str:
    if isinstance(row, Field):
        return f"{code(row.name)} ({prose(row.kind)})"
    kind = prose(row.kind.replace("_", " "))
    return f"{kind}: {prose(row.evidence, 160)}" if row.evidence else kind


def _where(row: Rung) -> str:
    path = code(row.path) if row.path else "-"
    return f"{path}, line {row.line}, token {number(row.token_index)}" if isinstance(row, Field) else path


def _often(row: Rung, report: Report) -> str:
    said = f"{number(row.requests)} of {number(report.totals.requests)}"
    if not isinstance(row, Field):
        return said
    values = ", ".join(code(example, _VALUE) for example in row.examples[:_MOST_VALUES])
    said += f", {counted(row.distinct_values, 'value')}"
    said = f"{said}: {values}" if values else said
    less = wording.alternatives(row, report)
    return f"{said}; {prose(less)}" if less else said


def _ladder(report: Report) -> str:
    rungs = wording.ladder(report)
    if not rungs:
        return ""
    rows = []
    for row in rungs[:_MOST_RUNGS]:
        then = percent(wording.reuse_after(row, report)) if row.recoverable_tokens else "-"
        severity = prose(row.severity) + (", ignored" if row.ignored else "")
        if row.confidence and row.confidence != "high":
            severity += f" ({prose(row.confidence)} confidence)"
        figures = [number(row.lost_tokens), number(row.recoverable_tokens), then]
        rows.append([str(row.rank), severity, _what(row), _where(row), _often(row, report), *figures])
    head = ["fix", "severity", "what breaks the prefix", "where", "in requests", "lost", "won back", "reuse then"]
    table = _table(head, rows, (0, 5, 6, 7))
    rest = rungs[_MOST_RUNGS:]
    if not rest:
        return table
    won_back = number(sum(row.recoverable_tokens for row in rest))
    return f"{table}\n\nand {number(len(rest))} more, which win back {won_back} tokens"


def _advice(report: Report) -> str:
    rows = wording.advised(report)
    lines = [f"- **{row.rank}** {prose(row.advice)}" for row in rows[:_MOST_ADVICE]]
    heading = "What to do" if wording.fixable(report) else "Worth knowing"
    return "\n".join([f"**{heading}**", "", *lines]) if lines else ""


def _bill(report: Report) -> str:
    if report.bill is None:
        return ""
    head = [wording.bill_title(report.bill), "amount", "of the full bill"]
    return _table(head, wording.bill_rows(report), (1, 2))


def _groups(report: Report) -> list[str]:
    limited = wording.is_limited(report)
    tables = []
    for tag, groups in report.by.items():
        head = [code(tag), "requests", "prompt tokens", "raw", "aligned", *(["cached"] if limited else [])]
        numbers = range(1, len(head))
        is_told = tag in report.by_losses
        head += ["largest loss", "broken by"] if is_told else []
        rows = []
        for value, totals in wording.largest(groups, _MOST_GROUPS):
            row = [code(value), number(totals.requests), number(totals.prompt_tokens)]
            row += [percent(totals.raw_reuse), percent(totals.aligned_reuse)]
            row += [percent(totals.cached_reuse)] if limited else []
            rows.append([*row, *_loss_and_cause(report, tag, value)] if is_told else row)
        more = len(groups) - _MOST_GROUPS
        tables.append(_table(head, rows, numbers) + (f"\n\nand {number(more)} more" if more > 0 else ""))
    return tables


def _loss_and_cause(report: Report, tag: str, value: str) -> list[str]:
    loss, share = wording.largest_loss(report, tag, value)
    cause = wording.first_cause(report, tag, value)
    return [f"{loss} {percent(share)}" if share else loss, code(cause) if cause != "-" else cause]


def _requests(rows: Sequence[RequestRow]) -> str:
    head = ["line", "id", "prompt", "raw", "aligned", "cached", "matched", "field"]
    body = []
    for row in rows:
        out = row.outcome
        figures = (out.prompt_tokens, out.raw_shared_tokens, out.aligned_tokens, out.cached_tokens)
        names = [code(name) if name is not None else "-" for name in (row.matched_id, row.field)]
        body.append([str(row.line), code(row.id), *map(number, figures), *names])
    return _table(head, body, (0, 2, 3, 4, 5))


def _details(summary: str, *parts: str) -> str:
    inside = "\n\n".join(part for part in parts if part)
    return f"<details>\n<summary>{summary}</summary>\n\n{inside}\n\n</details>"


def _settings(report: Report) -> str:
    # Facts are composed of our words and quoted ones; as prose, what is not a plain word becomes code.
    rows = [[label, prose(said)] for label, said in wording.facts(report, lambda text: shown(text, _LONG))]
    return _table(["measured on", ""], rows)


class MarkdownReport:
    """`--format markdown`: a comment for a pull request."""

    name = "markdown"
    endings: tuple[str, ...] = (".md", ".markdown")

    def render(self, report: Report, *, per_request: bool, width: int) -> bytes:
        first, *rest = wording.headline(report, _code)
        parts = ["### Prefix cache", f"**{first}**", *rest]
        if report.totals.prompt_tokens:
            parts += [_bars(report), _ladder(report), _advice(report), _bill(report), _reuse(report), *_groups(report)]
            parts.append(wording.ceiling(report))
        if per_request and report.requests:
            parts.append(_details(counted(len(report.requests), "request"), _requests(report.requests)))
        notes = "\n".join(f"- {prose(note, starts_line=True)}" for note in report.notes)
        parts.append(_details("Settings and notes", _settings(report), notes))
        return ("\n\n".join(part for part in parts if part) + "\n").encode()


REPORTER = MarkdownReport()
