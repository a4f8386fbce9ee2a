"""The report for a person at a terminal: the answer first, then why, then what to do, then what it rests on.

Plain text of `width` columns, written with string methods: it reads the same in a pipe, in a file and in colourless
terminals, and costs nothing to start.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

from prefixlab.findings import Field, Report, RequestRow
from prefixlab.number_words import counted, number, percent
from prefixlab.reporters import wording
from prefixlab.reporters.neutral import cells, pad, shown, wrapped
from prefixlab.reporters.wording import Rung

_NARROWEST = 60
_WIDEST = 120
_SHORTEST_BAR = 8
_NARROWEST_COLUMN = 4
_NAME = 40
_VALUE = 26
_KIND = 20
_LONG = 600
_MOST_RUNGS = 10
_MOST_ADVICE = 5
_MOST_GROUPS = 12
_SEVERITY = len("medium")
_WIDE = 100
"""Columns from which on the largest loss of a group has its share beside it."""
_ROOM_FOR_CAUSE, _ROOM_FOR_LOSS = 16, 26
"""Columns beside a group's figures that its cause, and then its largest loss, need."""


def _show(text: str) -> str:
    return shown(text, _NAME)


def _show_short(text: str) -> str:
    return shown(text, _KIND)


def _show_long(text: str) -> str:
    return shown(text, _LONG)


def _paragraph(text: str, width: int, first: str = "", rest: str = "") -> list[str]:
    """The text wrapped, its first line behind `first` and the others behind `rest`."""
    lines = wrapped(text, width - cells(first))
    return [(rest if at else first) + line for at, line in enumerate(lines)]


def _quote(name: str) -> str:
    return f'"{shown(name, _VALUE)}"' if name else "one without a name"


def _table(rows: Sequence[Sequence[str]], width: int, numbers: int) -> list[str]:
    """Rows in columns under a head that sticks out: the last `numbers` columns stand to the right and are never cut,
    of the others the widest gives way where the line is too short."""
    widths = [max(map(cells, column)) for column in zip(*rows, strict=True)]
    texts = len(widths) - numbers
    over = 2 + sum(widths) + 2 * (len(widths) - 1) - width
    while over > 0 and max(widths[:texts]) > _NARROWEST_COLUMN:
        widths[widths[:texts].index(max(widths[:texts]))] -= 1
        over -= 1
    out = []
    for indent, row in zip(["", *["  "] * len(rows)], rows):
        room = widths[0] + 2 - len(indent)
        parts = [indent + pad(shown(row[0], room), room)]
        parts += [pad(shown(text, room), room) for text, room in zip(row[1:texts], widths[1:texts])]
        parts += [text.rjust(room) for text, room in zip(row[texts:], widths[texts:])]
        out.append("  ".join(parts))
    return out


# --- sections ---------------------------------------------------------------------------------------------------------


def _bars(report: Report, width: int) -> list[str]:
    parts = wording.shares(report)
    names = max(len(part.label) for part in parts)
    counts = max(len(number(report.totals.prompt_tokens)), 6)
    meanings = max(len(part.meaning) for part in parts)
    room = min(40, width - 2 - names - 1 - 1 - counts - 9 - 2 - meanings)
    if room < _SHORTEST_BAR:
        # Huge figures in a narrow window: the words behind them are what can go.
        room, meanings = max(_SHORTEST_BAR, room + 2 + meanings), 0
    lines = ["Where the prompt tokens go"]
    for part in parts:
        full = min(room, round(part.share * room))
        bar = ("█" * full or "·") + "░" * (room - max(full, 1))
        figures = f"{number(part.tokens):>{counts}}{percent(part.share):>9}"
        lines.append(f"  {part.label:<{names}} {bar} {figures}" + (f"  {part.meaning}" if meanings else ""))
    whole = f"{number(report.totals.prompt_tokens):>{counts}}{percent(1.0):>9}"
    return [*lines, f"  {'total':<{names}} {' ' * room} {whole}"]


def _reuse(report: Report, width: int) -> list[str]:
    rows = [["Reuse", "tokens", "all requests", "warm requests"]]
    for label, name in wording.reuse_rows(report):
        tokens, share = wording.figure(report.totals, name)
        rows.append([label, number(tokens), percent(share), percent(wording.figure(report.warm, name)[1])])
    return _table(rows, width, numbers=3)


def _doubt(row: Rung) -> str:
    return "" if row.confidence in ("high", "") else f", {shown(row.confidence, _SEVERITY)} confidence"


def _values(row: Field, room: int) -> str:
    """How many values there are, and as many of them as fit on a line, quoted and shortened."""
    out = counted(row.distinct_values, "value") + _doubt(row)
    for at, example in enumerate(row.examples):
        more = f'{", " if at else ": "}"{shown(example, _VALUE)}"'
        if cells(out) + cells(more) > room:
            break
        out += more
    return out


def _rung(row: Rung, report: Report, width: int, columns: tuple[int, int, int, int]) -> list[str]:
    rank, lost, won, reuse = columns
    then = percent(wording.reuse_after(row, report)) if row.recoverable_tokens else "-"
    figures = f"{number(row.lost_tokens):>{lost}}  {number(row.recoverable_tokens):>{won}}  {then:>{reuse}}"
    front = f"{row.rank:>{rank}}  {pad(shown(row.severity, _SEVERITY), _SEVERITY)}  "
    room = width - cells(front) - len(figures) - 2
    name = kind = wording.kind(row, _show_short)
    if isinstance(row, Field) and row.name:
        name = f"{shown(row.name, max(8, room - cells(kind) - 3))} ({kind})"
    indent = " " * cells(front)
    details = [wording.where(row, report, _show)]
    if isinstance(row, Field):
        details.append(_values(row, width - len(indent)))
        details += filter(None, [wording.alternatives(row, report)])
    elif row.evidence:
        details.append(shown(row.evidence, 2 * (width - len(indent)) - 8) + _doubt(row))
    lines = [f"{front}{pad(shown(name, room), room)}  {figures}"]
    return lines + [line for detail in details for line in _paragraph(detail, width, indent, indent)]


def _ladder(report: Report, width: int) -> list[str]:
    rows = wording.ladder(report)
    if not rows:
        return []
    top = rows[:_MOST_RUNGS]
    rank = max(2, *(len(str(row.rank)) for row in top))
    lost = max(len("lost"), *(len(number(row.lost_tokens)) for row in top))
    won = max(len("won back"), *(len(number(row.recoverable_tokens)) for row in top))
    reuse = len("reuse then")
    columns = (rank, lost, won, reuse)
    head = f"{'lost':>{lost}}  {'won back':>{won}}  {'reuse then':>{reuse}}"
    titles = ["What breaks the prefix", "Causes"]
    if wording.fixable(report):
        titles.insert(0, "What breaks the prefix, in the order to fix it")
    title = next((title for title in titles if len(title) + 2 + len(head) <= width), "")
    start = " " * (rank + 2 + _SEVERITY + 2) + "as it is now"
    lines = [title.ljust(width - len(head)) + head]
    lines.append(start.ljust(width - reuse) + f"{percent(report.totals.cached_reuse):>{reuse}}")
    for row in top:
        lines += _rung(row, report, width, columns)
    rest = rows[_MOST_RUNGS:]
    if rest:
        won_back = number(sum(row.recoverable_tokens for row in rest))
        said = f"and {number(len(rest))} more, which win back {won_back} tokens (all of them: --format json)"
        lines += _paragraph(said, width, "    ", "    ")
    return lines


def _advice(report: Report, width: int) -> list[str]:
    rows = wording.advised(report)
    if not rows:
        return []
    lines = ["What to do" if wording.fixable(report) else "Worth knowing"]
    for row in rows[:_MOST_ADVICE]:
        front = f"{row.rank:>3}. "
        lines += _paragraph(_show_long(row.advice), width, front, " " * len(front))
    return lines


def _bill(report: Report, width: int) -> list[str]:
    rows = wording.bill_rows(report)
    if report.bill is None or not rows:
        return []
    titled = _paragraph(wording.bill_title(report.bill), width)
    label = max(len(row[0]) for row in rows)
    amount = max(len(row[1]) for row in rows)
    return titled + [f"  {row[0]:<{label}}  {row[1]:>{amount}}{row[2]:>10}" for row in rows]


def _facts(report: Report, width: int) -> list[str]:
    lines = ["Measured on"]
    for label, said in wording.facts(report, _show_long):
        lines += _paragraph(said, width, f"  {label:<10} ", " " * 13)
    return lines


def _groups(report: Report, width: int) -> list[str]:
    lines: list[str] = []
    limited = wording.is_limited(report)
    for tag, groups in report.by.items():
        figures = [["requests", "tokens", "raw", "aligned", *(["cached"] if limited else [])]]
        names = [[f"By {shown(tag, _NAME)}", "lost to", "broken by"]]
        for value, totals in wording.largest(groups, _MOST_GROUPS):
            row = [number(totals.requests), number(totals.prompt_tokens)]
            row += [percent(totals.raw_reuse), percent(totals.aligned_reuse)]
            figures.append(row + ([percent(totals.cached_reuse)] if limited else []))
            loss, share = wording.largest_loss(report, tag, value)
            loss = f"{loss} {percent(share)}" if share and width >= _WIDE else loss
            names.append([value or "(none)", loss, shown(wording.first_cause(report, tag, value), _KIND)])
        room = width - 2 - sum([2 + max(map(cells, column)) for column in zip(*figures, strict=True)])
        is_told = tag in report.by_losses
        kept = [True, is_told and room >= _ROOM_FOR_LOSS, is_told and room >= _ROOM_FOR_CAUSE]
        rows = [[*compress(row, kept), *more] for row, more in zip(names, figures, strict=True)]
        lines += ["", *_table(rows, width, numbers=len(figures[0]))]
        if len(groups) > _MOST_GROUPS:
            lines.append(f"  and {number(len(groups) - _MOST_GROUPS)} more (all of them: --format json)")
    return lines[1:]


def _cause(row: RequestRow) -> str:
    """The field that broke the request's prefix, or else its largest loss."""
    if row.field:
        return row.field
    tokens, name = max((tokens, name) for name, tokens in row.losses._asdict().items())
    return name.replace("_", " ") if tokens else ""


def _requests(rows: Sequence[RequestRow], width: int) -> list[str]:
    table = [["Requests by id", "matched", "broken by", "line", "prompt", "raw", "aligned", "cached"]]
    for row in rows:
        out = row.outcome
        figures = (out.prompt_tokens, out.raw_shared_tokens, out.aligned_tokens, out.cached_tokens)
        names = [shown(row.id, 24), shown(row.matched_id or "-", 10), shown(_cause(row), 14)]
        table.append([*names, str(row.line), *map(number, figures)])
    return _table(table, width, numbers=5)


def _notes(report: Report, width: int) -> list[str]:
    lines: list[str] = []
    for note in report.notes:
        lines += _paragraph(_show_long(note), width, "  - ", "    ")
    return ["Notes", *lines] if lines else []


class TextReport:
    """`--format text`: what a person reads."""

    name = "text"
    endings: tuple[str, ...] = (".txt",)

    def render(self, report: Report, *, per_request: bool, width: int) -> bytes:
        width = max(_NARROWEST, min(width, _WIDEST))
        sections = [[line for said in wording.headline(report, _quote) for line in _paragraph(said, width)]]
        if report.totals.prompt_tokens:
            sections += [_bars(report, width), _reuse(report, width), _ladder(report, width), _advice(report, width)]
            sections.append(_bill(report, width))
        sections.append(_facts(report, width))
        if report.totals.prompt_tokens:
            sections.append(_groups(report, width))
        if per_request and report.requests:
            sections.append(_requests(report.requests, width))
        sections.append(_notes(report, width))
        if report.totals.prompt_tokens:
            sections.append(_paragraph(wording.ceiling(report), width))
        text = "\n\n".join("\n".join(line.rstrip() for line in section) for section in sections if section)
        return (text + "\n").encode()


REPORTER = TextReport()
