"""A reuse curve for a pull request or a wiki: GitHub's Markdown, the plot as preformatted text."""

from __future__ import annotations

from collections.abc import Sequence

from prefixlab.number_words import number, percent
from prefixlab.reporters import curve_wording as wording
from prefixlab.reporters.curve_plot import character_plot
from prefixlab.reporters.markdown import code, prose
from prefixlab.reporters.neutral import shown
from prefixlab.reuse_curve import PopularPrefix, ReuseCurve

_PLOT_WIDTH, _PLOT_HEIGHT = 80, 14
_MOST_GROUPS = 20
_ENDS = 50
_LONG = 600


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], *, texts: Sequence[int] = ()) -> str:
    """A table of figures; `texts` are the columns that are none."""
    rule = ["---" if at in texts else "---:" for at in range(len(head))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))


def _points(found: ReuseCurve) -> str:
    axis = found.axis
    head = ["cache tokens", *(["GiB"] if axis else []), "reuse", "clairvoyant", "refused requests"]
    rows = []
    for point in found.points:
        row = [number(point.cache_tokens)]
        row += [wording.gib(axis.bytes_of(point.cache_tokens))] if axis else []
        row += [percent(found.share(point.reused_tokens)), percent(found.share(point.clairvoyant_tokens))]
        rows.append([*row, number(point.refused)])
    if not any([point.refused for point in found.points]):
        head, rows = head[:-1], [row[:-1] for row in rows]
    return _table(head, rows)


def _origins(found: ReuseCurve) -> str:
    rows = [
        [label, number(tokens), percent(found.share(tokens)), meaning]
        for label, tokens, meaning in wording.origin_rows(found)
    ]
    return _table(["where the reuse comes from", "tokens", "share", ""], rows, texts=(0, 3))


def _groups(found: ReuseCurve) -> list[str]:
    tables = []
    for tag, groups in found.by.items():
        head, rows = wording.group_table(found, tag, _MOST_GROUPS, code)
        more = len(groups) - _MOST_GROUPS
        rest = f"\n\nand {number(more)} more" if more > 0 else ""
        tables.append(_table(head, rows, texts=(0,)) + rest)
    return tables


def _prefixes(title: str, prefixes: Sequence[PopularPrefix], found: ReuseCurve) -> str:
    if not prefixes:
        return ""
    block = int(found.engine.get("block_size") or 1)
    rows = []
    for prefix in prefixes:
        place = wording.prefix_place(prefix, block, code)
        ends = f", ends {code('…' + wording.end_of(prefix.ends, _ENDS), 2 * _ENDS)}" if prefix.ends else ""
        rows.append([number(prefix.requests), number(prefix.tokens), number(prefix.volume), place + ends])
    return _table(["requests", "tokens", "together", title], rows, texts=(3,))


def _details(summary: str, *parts: str) -> str:
    inside = "\n\n".join(part for part in parts if part)
    return f"<details>\n<summary>{summary}</summary>\n\n{inside}\n\n</details>"


def render_markdown(found: ReuseCurve, width: int) -> bytes:
    """The whole report."""
    first, *rest = wording.headline(found)
    parts = ["### Reuse by cache size", f"**{first}**", *rest]
    if found.prompt_tokens:
        if found.has_plot:
            plot = "\n".join(character_plot(found, _PLOT_WIDTH, _PLOT_HEIGHT))
            parts.append(f"```text\n{plot}\n```")
            parts.append("`*` the cache, `o` clairvoyant, `|` the knee; cache size in tokens")
        parts.append(_points(found))
        if found.unlimited_tokens:
            parts += [_origins(found), *_groups(found)]
        parts.append(_prefixes("prefixes that most requests have", found.most_sent, found))
        if found.most_tokens != found.most_sent:
            parts.append(_prefixes("prefixes that carry the most tokens", found.most_tokens, found))
        parts.append(wording.CEILING)
    settings = [[label, prose(said)] for label, said in wording.facts(found, lambda text: shown(text, _LONG))]
    notes = "\n".join(f"- {prose(note, starts_line=True)}" for note in found.notes)
    parts.append(_details("Settings and notes", _table(["measured on", ""], settings, texts=(0, 1)), notes))
    return ("\n\n".join(part for part in parts if part) + "\n").encode()
