"""What a sheet of `kv` says, in words and rounded figures; the text and the Markdown form only lay it out."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from prefixlab.kv_sheet import Capacity, KvSheet, SessionCost, Sessions
from prefixlab.number_words import counted, number, percent
from prefixlab.reporters.sizes import decimal_size, size, size_beside


class Table(NamedTuple):
    """Columns; those from the second on are figures."""

    head: list[str]
    rows: list[list[str]]


class Section(NamedTuple):
    """A title, and a table or sentences under it."""

    title: str
    sentences: list[str]
    table: Table | None = None


def _figures(value: float) -> str:
    """Three figures, and never fewer digits than stand before the point."""
    return f"{value:,.0f}" if value >= 99.95 else f"{value:.3g}"


def seconds(value: float) -> str:
    """A time in the unit that fits."""
    for unit, scale in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        # What would be written as 1,000 of one unit is 1 of the next.
        if value * scale >= 0.9995:
            return f"{_figures(value * scale)} {unit}"
    return f"{_figures(value * 1e9)} ns" if value >= 1e-12 else "no time"


def speed(value: float) -> str:
    """Tokens a second: to a tenth, below that to the first figures that are not 0."""
    if value >= 1:
        return f"{value:,.1f}"
    return f"{value:.2g}" if value >= 1e-4 else "under 0.0001"


def _or_dash(amount: Fraction | int) -> str:
    return size(amount) if amount else "-"


def many(sessions: int | None) -> str:
    return "any number" if sessions is None else number(sessions)


# --- the answer -------------------------------------------------------------------------------------------------------


def headline(sheet: KvSheet) -> list[str]:
    """The answer: what a token and a session take, and what fits."""
    said = _cost(sheet)
    if sheet.capacity is not None and sheet.cost is not None:
        said.append(_fits(sheet.capacity))
    # Where nothing was asked of a model, the first of the other figures is the answer.
    said = said or figures(sheet)[:1]
    if not said and sheet.capacity is not None:
        room = sheet.capacity.cache_bytes
        said.append(f"{size(room)} = {decimal_size(room)} are left for the cache.")
    return said


def _cost(sheet: KvSheet) -> list[str]:
    cost = sheet.cost
    if cost is None:
        return []
    rate, fixed = cost.bytes_per_token, cost.fixed_bytes
    if not rate:
        said = f"No layer grows with the tokens: a session takes {size(fixed)} of cache, however long it is."
    else:
        said = f"A token takes {size(rate)} of KV cache"
        said += f", and a session {size(fixed)} that do not grow." if fixed else "."
    kept = cost.bytes_per_token_if_all_kept
    if kept == rate:
        return [said]
    return [said, f"An engine that keeps windowed layers whole takes {size(kept)} a token."]


def _fits(capacity: Capacity) -> str:
    room = size(capacity.cache_bytes)
    if not capacity.sessions:
        return (
            f"{room} hold {counted(capacity.tokens, 'token')}." if capacity.tokens is not None else f"{room} are there."
        )
    parts = [f"{many(row.sessions)} of {counted(row.tokens, 'token')}" for row in capacity.sessions]
    return f"Sessions that fit into {room}: {', '.join(parts)}."


# --- sections ---------------------------------------------------------------------------------------------------------


def sections(sheet: KvSheet) -> list[Section]:
    """What was asked, in the order in which one thing follows from another."""
    found = [_layers(sheet), _contexts(sheet), _memory(sheet), _sessions(sheet)]
    shown = headline(sheet)
    reckoned = [said for said in figures(sheet) if said not in shown]
    if reckoned:
        found.append(Section("What follows", reckoned))
    facts = _facts(sheet)
    if facts:
        found.append(Section("Model", [], Table([], facts)))
    if sheet.assumptions:
        found.append(Section("Assumed", list(sheet.assumptions)))
    return [section for section in found if section.sentences or (section.table and section.table.rows)]


def _layers(sheet: KvSheet) -> Section:
    if sheet.cost is None:
        return Section("", [])
    rows = []
    for layer in sheet.cost.layers:
        window = "-" if layer.window is None else number(layer.window)
        row = [layer.kind.replace("_", " "), number(layer.count), _or_dash(layer.bytes_per_token)]
        rows.append([*row, _or_dash(layer.fixed_bytes), window, _or_dash(layer.bytes_per_token_if_kept)])
    if len(rows) == 1 and rows[0][0] == "given":
        return Section("", [])
    cost = sheet.cost
    whole = ["a session", "", _or_dash(cost.bytes_per_token), _or_dash(cost.fixed_bytes), ""]
    rows.append([*whole, _or_dash(cost.bytes_per_token_if_all_kept)])
    if sheet.rank_cost is not None and sheet.ranks > 1:
        one = sheet.rank_cost
        rank = ["on each rank", "", _or_dash(one.bytes_per_token), _or_dash(one.fixed_bytes), ""]
        rows.append([*rank, _or_dash(one.bytes_per_token_if_all_kept)])
    return Section("", [], Table(["Layers", "count", "a token", "fixed", "window", "a token if kept"], rows))


def _contexts(sheet: KvSheet) -> Section:
    rows = [
        {
            "Tokens of a session": number(context.tokens),
            "growing part": size(context.bytes),
            "with fixed part": size_beside(context.bytes_with_fixed, context.bytes),
            "if all is kept": size(context.bytes_if_all_kept),
            "to read": "" if context.read_seconds is None else seconds(context.read_seconds),
            "tokens/s": "" if context.tokens_per_second is None else speed(context.tokens_per_second),
        }
        for context in sheet.contexts
    ]
    return Section("", [], _told(rows, _said_before(sheet.cost)))


def _said_before(cost: SessionCost | None) -> set[str]:
    """Columns that would say again what the one before says."""
    if cost is None:
        return set()
    again = set() if cost.fixed_bytes else {"with fixed part"}
    return again if cost.bytes_per_token_if_all_kept != cost.bytes_per_token else {*again, "if all is kept"}


def _told(rows: list[dict[str, str]], again: set[str]) -> Table:
    """The rows as a table, without columns that are empty or say nothing new."""
    heads = [head for head in (rows[0] if rows else ()) if head not in again and any(row[head] for row in rows)]
    return Table(heads, [[row[head] for head in heads] for row in rows])


def _memory(sheet: KvSheet) -> Section:
    capacity = sheet.capacity
    if capacity is None or capacity.gpu_bytes is None:
        return Section("", [])
    parts = (
        ("cards", capacity.gpu_bytes),
        ("usable", capacity.usable_bytes),
        ("weights", capacity.weights_bytes),
        ("overhead", capacity.overhead_bytes),
        ("left for the cache", capacity.cache_bytes),
    )
    rows = [[name, decimal_size(amount), size(amount)] for name, amount in parts if amount]
    return Section("", [], Table(["Memory", "in GB", "in GiB"], rows))


def _sessions(sheet: KvSheet) -> Section:
    capacity = sheet.capacity
    if capacity is None or not capacity.sessions:
        return Section("", [])
    shared = "" if sheet.shared_prefix is None else f"{number(sheet.shared_prefix.tokens)} shared"
    rows = [
        {
            "Sessions that fit": f"of {number(row.tokens)}",
            "growing part": many(row.sessions_growing_part),
            "with fixed part": many(row.sessions),
            "if all is kept": many(row.sessions_if_all_kept),
            **({shared: many(row.sessions_with_shared_prefix)} if shared else {}),
        }
        for row in capacity.sessions
    ]
    return Section("", [], _told(rows, _said_before(sheet.cost)))


# --- figures ----------------------------------------------------------------------------------------------------------


def figures(sheet: KvSheet) -> list[str]:
    """One sentence for each thing that was asked beside sizes."""
    said: list[str] = []
    capacity = sheet.capacity
    if capacity is not None and capacity.tokens is not None and capacity.sessions:
        said.append(f"{size(capacity.cache_bytes)} hold {counted(capacity.tokens, 'token')} of the growing part.")
        said += _together(capacity)
    if sheet.max_bytes_per_token is not None and capacity is not None:
        longest = counted(max(sheet.lengths), "token")
        most = size(sheet.max_bytes_per_token)
        said.append(f"For {longest} in {size(capacity.cache_bytes)}, a token may take at most {most}.")
    return [*said, *_reservation(sheet), *_time(sheet), *_sharing(sheet)]


def _together(capacity: Capacity) -> list[str]:
    row: Sessions = max(capacity.sessions, key=lambda each: each.tokens)
    if not row.sessions_growing_part:
        return []
    together = f"{size(row.growing_bytes)} ({decimal_size(row.growing_bytes)})"
    count = row.sessions_growing_part
    said = f"{counted(count, 'session')} of {counted(row.tokens, 'token')} "
    said += f"takes {together}" if count == 1 else f"take {together} together"
    weights = capacity.weights_bytes
    if not weights:
        return [f"{said}, the growing part alone."]
    relation = "more than" if row.growing_bytes > weights else "no more than"
    return [f"{said}, the growing part alone: {relation} the {decimal_size(weights)} of weights."]


def _reservation(sheet: KvSheet) -> list[str]:
    if sheet.reserve is None or sheet.reservation_waste is None:
        return []
    used = min(sheet.lengths)
    waste = percent(float(sheet.reservation_waste))
    said = (
        f"Of a contiguous reservation of {counted(sheet.reserve, 'token')}, a session of {number(used)} never touches "
    )
    return [f"{said}{waste}; in blocks of {counted(sheet.block_size, 'token')} it wastes less than one block."]


def _time(sheet: KvSheet) -> list[str]:
    said = []
    if sheet.prefill_tokens is not None and sheet.prefill_bytes is not None:
        amount = size(sheet.prefill_bytes)
        said.append(
            f"A prefill of {counted(sheet.prefill_tokens, 'token')} writes {amount} before the first output token."
        )
    longest = sheet.longest
    if sheet.bandwidth is not None:
        rate = f"{decimal_size(sheet.bandwidth)}/s"
        cache = ""
        if longest is not None and longest.read_seconds is not None and longest.read_bytes is not None:
            cache = f"{size(longest.read_bytes)} of cache"
            each = " on each rank" if sheet.ranks > 1 else ""
            read = f"reads {cache}{each}: {seconds(longest.read_seconds)} at {rate}"
            said.append(f"A decode step of {counted(longest.tokens, 'token')} {read}.")
        if sheet.weights_read is not None and sheet.tokens_per_second_without_cache is not None:
            at = f"{rate} on each of {sheet.ranks} ranks" if sheet.ranks > 1 else rate
            line = f"{decimal_size(sheet.weights_read)} of weights a step at {at} allow "
            line += f"{speed(sheet.tokens_per_second_without_cache)} tokens/s"
            if longest is not None and longest.tokens_per_second is not None:
                line += f"; with {cache} too, {speed(longest.tokens_per_second)}"
            said.append(f"{line}.")
    if sheet.experts is not None and sheet.ridge is not None and sheet.ridge_batch is not None:
        active, total = sheet.experts
        said.append(
            f"{number(active)} of {number(total)} experts active: intensity is the batch x {active / total:g}; "
            f"a ridge of {float(sheet.ridge):,g} takes a batch of {number(sheet.ridge_batch)}."
        )
    return said


def _sharing(sheet: KvSheet) -> list[str]:
    shared = sheet.shared_prefix
    if shared is None or shared.requests is None or shared.prompt_tokens is None or shared.recomputed_tokens is None:
        return []
    every = number(shared.prompt_tokens)
    said = f"{counted(shared.tokens, 'token')} shared by {counted(shared.requests, 'request')}, computed once: "
    return [
        f"{said}{number(shared.recomputed_tokens)} of {every} are not computed again.",
        f"In memory once: {counted(shared.resident_tokens, 'token')} in place of {every}.",
    ]


def _facts(sheet: KvSheet) -> list[list[str]]:
    facts = []
    if sheet.model:
        facts.append(["name", sheet.model])
    if sheet.dtype:
        facts.append(["cache type", sheet.dtype])
    if sheet.ranks > 1:
        facts.append(["ranks", f"{sheet.ranks} tensor-parallel"])
    return facts
