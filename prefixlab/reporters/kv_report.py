"""The forms of a sheet of `kv`: text for a terminal, JSON of schema `prefixlab.kv/1`, Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from prefixlab.kv_sheet import Capacity, Context, KvSheet, SessionCost
from prefixlab.reporters import kv_wording
from prefixlab.reporters.kv_wording import Section, Table
from prefixlab.reporters.markdown import code, prose
from prefixlab.reporters.neutral import cells, pad, shown, without_surrogates, wrapped

SCHEMA = "prefixlab.kv/1"

_NARROWEST = 60
_WIDEST = 120
_LONG = 600
_LABEL = 10

ENDINGS: dict[str, tuple[str, ...]] = {"text": (".txt",), "json": (".json",), "markdown": (".md", ".markdown")}
"""Endings of files that tell the form."""


# --- text -------------------------------------------------------------------------------------------------------------


def text(sheet: KvSheet, width: int) -> bytes:
    """What a person reads: the answer first, then its parts, then what was assumed."""
    width = max(_NARROWEST, min(width, _WIDEST))
    blocks = [_paragraphs(kv_wording.headline(sheet), width)]
    blocks += [_block(section, width) for section in kv_wording.sections(sheet)]
    joined = "\n\n".join("\n".join(line.rstrip() for line in block) for block in blocks if block)
    return (joined + "\n").encode()


def _paragraphs(sentences: Sequence[str], width: int, first: str = "", rest: str = "") -> list[str]:
    lines: list[str] = []
    for sentence in sentences:
        for at, line in enumerate(wrapped(shown(sentence, _LONG), width - cells(first))):
            lines.append((rest if at else first) + line)
    return lines


def _block(section: Section, width: int) -> list[str]:
    lines = [section.title] if section.title else []
    if section.table is not None and section.table.head:
        lines += _table(section.table, width)
    elif section.table is not None:
        for label, said in section.table.rows:
            lines += _paragraphs([said], width, f"  {label:<{_LABEL}} ", " " * (_LABEL + 3))
    return lines + _paragraphs(section.sentences, width, "  - ", "    ")


def _table(table: Table, width: int) -> list[str]:
    """Columns under their heads; heads are broken over lines where the columns would not fit side by side."""
    body = [["  " + row[0], *row[1:]] for row in table.rows]
    rooms = _rooms(table.head, body, width)
    heads = [wrapped(head, room) for head, room in zip(table.head, rooms, strict=True)]
    tall = max(len(head) for head in heads)
    top = [list(line) for line in zip(*[[""] * (tall - len(head)) + head for head in heads], strict=True)]
    gap = " " if sum(rooms) + 2 * (len(rooms) - 1) > width else "  "
    return [
        gap.join([pad(row[0], rooms[0]), *[part.rjust(room) for part, room in zip(row[1:], rooms[1:], strict=True)]])
        for row in [*top, *body]
    ]


def _rooms(head: Sequence[str], body: Sequence[Sequence[str]], width: int) -> list[int]:
    """The width of each column: that of its head, less where the line is too short, never less than what it holds."""
    least = [max(map(cells, [*head[at].split(), *[row[at] for row in body]])) for at in range(len(head))]
    rooms = [max(cells(said), room) for said, room in zip(head, least, strict=True)]
    while sum(rooms) + 2 * (len(rooms) - 1) > width and rooms != least:
        slack = [room - few for room, few in zip(rooms, least, strict=True)]
        rooms[slack.index(max(slack))] -= 1
    return rooms


# --- Markdown ---------------------------------------------------------------------------------------------------------


def markdown(sheet: KvSheet, width: int) -> bytes:
    """For a pull request or a page; nothing from a config acts as markup."""
    headline = kv_wording.headline(sheet)
    parts = ["\n".join(f"**{_plain(said)}**" if at == 0 else _plain(said) for at, said in enumerate(headline))]
    for section in kv_wording.sections(sheet):
        lines = [f"**{section.title}**", ""] if section.title else []
        if section.table is not None and section.table.head:
            lines += _markdown_table(section.table.head, section.table.rows)
        elif section.table is not None:
            lines += [f"- {label}: {code(said)}" for label, said in section.table.rows]
        lines += [f"- {prose(said, starts_line=True)}" for said in section.sentences]
        parts.append("\n".join(lines))
    return ("\n\n".join(part for part in parts if part) + "\n").encode()


def _plain(sentence: str) -> str:
    """A sentence of figures and words of our own, which hold nothing that acts."""
    return shown(sentence, _LONG)


def _markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    rule = ["---", *["---:"] * (len(head) - 1)]
    return [f"| {' | '.join(row)} |" for row in (head, rule, *rows)]


# --- JSON -------------------------------------------------------------------------------------------------------------


def as_document(sheet: KvSheet) -> dict[str, Any]:
    """The sheet as plain values; a key is there when what it says was asked for."""
    document: dict[str, Any] = {"schema": SCHEMA}
    if sheet.cost is not None:
        document |= {"model": without_surrogates(sheet.model) or None, "dtype": sheet.dtype or None}
        document |= _cost(sheet.cost)
        document["layers"] = [
            {
                "kind": layer.kind,
                "count": layer.count,
                "bytes_per_token": _number(layer.bytes_per_token),
                "fixed_bytes": layer.fixed_bytes,
                "window": layer.window,
                "bytes_per_token_if_kept": _number(layer.bytes_per_token_if_kept),
            }
            for layer in sheet.cost.layers
        ]
    if sheet.ranks > 1 and sheet.rank_cost is not None:
        document["tp"] = {"ranks": sheet.ranks, "rank": _cost(sheet.rank_cost)}
    if sheet.contexts:
        document["contexts"] = [_context(context) for context in sheet.contexts]
    if sheet.capacity is not None:
        document["capacity"] = _capacity(sheet.capacity, sheet)
    longest = sheet.longest
    figures: dict[str, Any] = {
        "max_bytes_per_token": _number(sheet.max_bytes_per_token),
        "reservation_waste": _number(sheet.reservation_waste),
        "paged_waste_tokens_below": None if sheet.reservation_waste is None else sheet.block_size,
        "prefill_bytes": sheet.prefill_bytes,
        "read_seconds": None if longest is None else longest.read_seconds,
        "tokens_per_second": _speed(sheet),
        "tokens_per_second_without_cache": sheet.tokens_per_second_without_cache,
        "intensity_per_request": None if sheet.experts is None else sheet.experts[0] / sheet.experts[1],
        "ridge_batch": sheet.ridge_batch,
    }
    document |= {name: value for name, value in figures.items() if value is not None}
    shared = sheet.shared_prefix
    if shared is not None:
        document["resident_tokens"] = shared.resident_tokens
        if shared.requests is not None:
            document["recomputed_tokens"] = shared.recomputed_tokens
            document["resident_tokens_unshared"] = shared.prompt_tokens
    document["assumptions"] = [without_surrogates(said) for said in sheet.assumptions]
    return document


def json(sheet: KvSheet, width: int) -> bytes:
    """Everything, unrounded; the same sheet gives the same bytes."""
    # The standard library's writer: bytes of a large cluster do not fit the 64 bits of a faster one.
    from json import dumps

    return (dumps(as_document(sheet), indent=2, ensure_ascii=False) + "\n").encode()


def _cost(cost: SessionCost) -> dict[str, Any]:
    return {
        "bytes_per_token": _number(cost.bytes_per_token),
        "bytes_per_token_if_all_kept": _number(cost.bytes_per_token_if_all_kept),
        "fixed_bytes": cost.fixed_bytes,
    }


def _context(context: Context) -> dict[str, Any]:
    row: dict[str, Any] = {
        "tokens": context.tokens,
        "bytes": context.bytes,
        "bytes_with_fixed": context.bytes_with_fixed,
        "bytes_if_all_kept": context.bytes_if_all_kept,
    }
    more = {
        "read_bytes": context.read_bytes,
        "read_seconds": context.read_seconds,
        "tokens_per_second": context.tokens_per_second,
        "reservation_waste": _number(context.reservation_waste),
    }
    return row | {name: value for name, value in more.items() if value is not None}


def _capacity(capacity: Capacity, sheet: KvSheet) -> dict[str, Any]:
    """What fits; `null` is any number, of what takes no memory: tokens that add nothing, sessions that hold nothing."""
    shares = sheet.shared_prefix is not None
    parts = {
        name: getattr(capacity, name)
        for name in ("gpu_bytes", "usable_bytes", "weights_bytes", "overhead_bytes")
        if getattr(capacity, name) is not None
    }
    found: dict[str, Any] = {"cache_bytes": capacity.cache_bytes, **parts}
    if sheet.cost is not None:
        found |= {"tokens": capacity.tokens, "tokens_if_all_kept": capacity.tokens_if_all_kept}
    found["sessions"] = [
        {
            "tokens": row.tokens,
            "sessions": row.sessions,
            "sessions_growing_part": row.sessions_growing_part,
            "sessions_if_all_kept": row.sessions_if_all_kept,
            "growing_bytes": row.growing_bytes,
            **({"sessions_with_shared_prefix": row.sessions_with_shared_prefix} if shares else {}),
        }
        for row in capacity.sessions
    ]
    return found


def _speed(sheet: KvSheet) -> float | None:
    """Tokens a second with the cache of the longest context, or of the weights alone where there is none."""
    longest = sheet.longest
    return sheet.tokens_per_second_without_cache if longest is None else longest.tokens_per_second


def _number(value: Fraction | None) -> int | float | None:
    """Whole numbers stay whole."""
    if value is None:
        return None
    return value.numerator if value.denominator == 1 else float(value)


FORMS: dict[str, Callable[[KvSheet, int], bytes]] = {"text": text, "json": json, "markdown": markdown}
