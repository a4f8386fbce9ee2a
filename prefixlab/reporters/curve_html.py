"""A reuse curve as one HTML file: nothing is loaded, the plot is inline SVG, light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from prefixlab.number_words import number, percent
from prefixlab.reporters import curve_wording as wording
from prefixlab.reporters.curve_plot import Frame, frame_of, level_label, ticks
from prefixlab.reporters.neutral import shown
from prefixlab.reuse_curve import PopularPrefix, ReuseCurve

_WIDTH, _HEIGHT = 760, 380
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 18, 22, 52
_LABELS = 7
_TICK_ROOM = 46
"""Pixels that a label of the level axis takes, with the gap to the next."""
_MOST_GROUPS = 50
_NAME, _LONG = 60, 600

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --quiet: #656d76; --rule: #d8dee4; --paper: #ffffff;
  --cache: #0969da; --bound: #9a6700; --knee: #cf222e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --quiet: #8d96a0; --rule: #30363d; --paper: #0d1117;
  --cache: #58a6ff; --bound: #d29922; --knee: #ff7b72; } }
body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: var(--ink); background: var(--paper);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.3rem; } h2 { font-size: 1.05rem; margin: 2rem 0 .4rem; }
p.first { font-size: 1.1rem; font-weight: 600; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .9rem .2rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--rule); }
th { font-weight: 600; color: var(--quiet); } .n { text-align: right; }
code { font-family: ui-monospace, monospace; font-size: .9em; overflow-wrap: anywhere; }
svg { width: 100%; height: auto; font: 12px system-ui, sans-serif; } svg text { fill: var(--quiet); }
.grid { stroke: var(--rule); } .cache { fill: none; stroke: var(--cache); stroke-width: 2.5; }
.bound { fill: none; stroke: var(--bound); stroke-width: 1.5; stroke-dasharray: 5 3; }
circle.b { fill: var(--bound); } circle.c { fill: var(--cache); }
.knee { stroke: var(--knee); stroke-width: 1.5; stroke-dasharray: 2 3; } svg text.k { fill: var(--knee); }
svg text.c { fill: var(--cache); } svg text.b { fill: var(--bound); } .quiet { color: var(--quiet); }
"""


class _Canvas:
    """Places in pixels of what lies in a frame."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.right = _WIDTH - _RIGHT
        self.bottom = _HEIGHT - _BOTTOM

    def x(self, tokens: float) -> float:
        return round(_LEFT + self.frame.x(tokens) * (self.right - _LEFT), 1)

    def y(self, share: float) -> float:
        return round(self.bottom - self.frame.y(share) * (self.bottom - _TOP), 1)


def svg_plot(found: ReuseCurve) -> str:
    """The plot: the curve at many sizes, the bound at those of the table, the knee."""
    canvas = _Canvas(frame_of(found, _LABELS))
    frame = canvas.frame
    parts = [f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="Reuse of prompt tokens by cache size">']
    for share in frame.levels():
        y = canvas.y(share)
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{canvas.right}" y1="{y}" y2="{y}"/>')
        label = level_label(share, frame.step)
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 4}" text-anchor="end">{label}</text>')
    free_from = 0.0
    for tokens in ticks(frame):
        x = canvas.x(tokens)
        parts.append(f'<line class="grid" x1="{x}" x2="{x}" y1="{_TOP}" y2="{canvas.bottom}"/>')
        if x < free_from:
            continue
        free_from = x + _TICK_ROOM
        parts.append(_middle(x, canvas.bottom + 18, wording.compact(tokens)))
        if found.axis:
            parts.append(_middle(x, canvas.bottom + 33, f"{wording.gib(found.axis.bytes_of(tokens))} GiB"))
    parts.append(_middle((_LEFT + canvas.right) / 2, _HEIGHT - 4, "cache size in tokens (logarithmic)"))
    knee = wording.clear_knee(found)
    if knee:
        x, y = canvas.x(knee.cache_tokens), canvas.y(found.share(knee.reused_tokens))
        parts.append(f'<line class="knee" x1="{x}" x2="{x}" y1="{y}" y2="{canvas.bottom}"/>')
        side, dx = ("end", -6) if x > _WIDTH / 2 else ("start", 6)
        name = f"knee: {wording.compact(knee.cache_tokens)}"
        parts.append(f'<text class="k" x="{x + dx}" y="{canvas.bottom - 8}" text-anchor="{side}">{name}</text>')
    bound = [(canvas.x(one.cache_tokens), canvas.y(found.share(one.clairvoyant_tokens))) for one in found.points]
    shown_line = [(canvas.x(tokens), canvas.y(found.share(reused))) for tokens, reused in found.line]
    parts += [_polyline("bound", bound), _polyline("cache", shown_line)]
    parts += [f'<circle class="b" cx="{x}" cy="{y}" r="3"/>' for x, y in bound]
    for point in found.points:
        said = f"{number(point.cache_tokens)} tokens: {percent(found.share(point.reused_tokens))}, "
        said += f"clairvoyant {percent(found.share(point.clairvoyant_tokens))}"
        x, y = canvas.x(point.cache_tokens), canvas.y(found.share(point.reused_tokens))
        parts.append(f'<circle class="c" cx="{x}" cy="{y}" r="3.5"><title>{said}</title></circle>')
    parts.append(f'<text class="c" x="{_LEFT}" y="13">● least recently used dropped first</text>')
    parts.append(f'<text class="b" x="{_LEFT + 240}" y="13">● clairvoyant</text></svg>')
    return "".join(parts)


def _middle(x: float, y: float, text: str) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="middle">{text}</text>'


def _polyline(kind: str, places: Sequence[tuple[float, float]]) -> str:
    return f'<polyline class="{kind}" points="{" ".join([f"{x},{y}" for x, y in places])}"/>'


def _code(text: str, most: int = _NAME) -> str:
    return f"<code>{escape(shown(text, most))}</code>" if text else '<span class="quiet">(empty)</span>'


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], *, texts: Sequence[int] = ()) -> str:
    """A table of cells that are HTML already; `texts` are the columns that hold no figures."""

    def line(tag: str, cells: Sequence[str]) -> str:
        kinds = ["" if at in texts else ' class="n"' for at in range(len(cells))]
        return "".join([f"<{tag}{kind}>{cell}</{tag}>" for kind, cell in zip(kinds, cells, strict=True)])

    body = "".join([f"<tr>{line('td', row)}</tr>" for row in rows])
    return f"<table><thead><tr>{line('th', head)}</tr></thead><tbody>{body}</tbody></table>"


def _points(found: ReuseCurve) -> str:
    axis = found.axis
    refused = any([point.refused for point in found.points])
    head = ["cache tokens", *(["GiB"] if axis else []), "reuse", "clairvoyant", *(["refused"] if refused else [])]
    rows = []
    for point in found.points:
        row = [number(point.cache_tokens)]
        row += [wording.gib(axis.bytes_of(point.cache_tokens))] if axis else []
        row += [percent(found.share(point.reused_tokens)), percent(found.share(point.clairvoyant_tokens))]
        rows.append(row + ([number(point.refused)] if refused else []))
    return "<h2>Reuse by cache size</h2>" + _table(head, rows)


def _origins(found: ReuseCurve) -> str:
    rows = [
        [label, number(tokens), percent(found.share(tokens)), meaning]
        for label, tokens, meaning in wording.origin_rows(found)
    ]
    table = _table(["in an unlimited cache", "tokens", "share", ""], rows, texts=(0, 3))
    return "<h2>Where the reuse comes from</h2>" + table


def _groups(found: ReuseCurve) -> str:
    out = ""
    for tag, groups in found.by.items():
        head, rows = wording.group_table(found, tag, _MOST_GROUPS, _code)
        more = len(groups) - _MOST_GROUPS
        rest = f'<p class="quiet">and {number(more)} more</p>' if more > 0 else ""
        out += f"<h2>Where each share is flat</h2>{_table(head, rows, texts=(0,))}{rest}"
    return out


def _prefixes(title: str, prefixes: Sequence[PopularPrefix], found: ReuseCurve) -> str:
    if not prefixes:
        return ""
    block = int(found.engine.get("block_size") or 1)
    rows = []
    for prefix in prefixes:
        figures = [number(prefix.requests), number(prefix.tokens), number(prefix.volume)]
        ends = f", ends <code>…{escape(wording.end_of(prefix.ends, 2 * _NAME))}</code>" if prefix.ends else ""
        rows.append([*figures, wording.prefix_place(prefix, block, _code) + ends])
    head = ["requests", "tokens", "together", "which"]
    return f"<h2>{title}</h2>{_table(head, rows, texts=(3,))}"


def render_html(found: ReuseCurve, width: int) -> bytes:
    """The whole document."""
    first, *rest = [escape(said).replace(" %", "&nbsp;%") for said in wording.headline(found)]
    parts = [f'<p class="first">{first}</p>', *[f"<p>{said}</p>" for said in rest]]
    if found.prompt_tokens:
        parts += [svg_plot(found)] if found.has_plot else []
        parts.append(_points(found))
        parts += [_origins(found), _groups(found)] if found.unlimited_tokens else []
        parts.append(_prefixes("Prefixes that most requests have", found.most_sent, found))
        if found.most_tokens != found.most_sent:
            parts.append(_prefixes("Prefixes that carry the most tokens", found.most_tokens, found))
    facts = [[label, escape(said)] for label, said in wording.facts(found, lambda text: shown(text, _LONG))]
    parts.append("<h2>Measured on</h2>" + _table(["", ""], facts, texts=(0, 1)))
    if found.notes:
        notes = "".join([f"<li>{escape(shown(note, _LONG))}</li>" for note in found.notes])
        parts.append(f"<h2>Notes</h2><ul>{notes}</ul>")
    if found.prompt_tokens:
        parts.append(f'<p class="quiet">{wording.CEILING}</p>')
    head = '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Reuse by cache size</title>'
    head += f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>'
    body = "".join(parts)
    return f"{head}<h1>Prefix cache: reuse by cache size</h1>{body}</body></html>\n".encode()
