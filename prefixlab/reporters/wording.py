"""What a report says, in words and rounded figures; the text and the Markdown report only lay it out.

Functions that put text from the log into a sentence take `show`, which makes such text fit for the form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from prefixlab.bill import Bill
from prefixlab.findings import Break, Field, Observed, Report, Totals
from prefixlab.number_words import counted, number, percent, span
from prefixlab.reporters.sizes import size

Show = Callable[[str], str]
"""Makes a text from the log fit for the form that is written."""

CEILING = "These figures are a ceiling: requests served one after another, with an unlimited cache."
CEILING_LIMITED = (
    "These figures are a ceiling: requests served one after another; `cached` counts the cache size, "
    "lifetime and routing given, everything else an unlimited cache."
)
CEILING_HOSTED = (
    "These figures are a ceiling: requests served one after another; `cached` counts the provider's lifetime{}, "
    "everything else a cache that forgets nothing."
)

_MEANINGS = {
    "cached": "reused",
    "volatile": "fixable: see below",
    "partial block": "rounded to blocks",
    "last token": "always computed",
    "below minimum": "under the minimum",
    "evicted": "cache too small",
    "expired": "lifetime over",
    "isolated": "on another replica",
    "first seen": "never sent before",
}
_NEARLY_ALL = 0.9
"""Share of the whole gain at which the headline stops counting what to fix."""
_MOST_NAMED = 2
"""Causes that the headline calls by name."""


# --- where the tokens go ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Share:
    """One part of the prompt tokens. All parts together are the whole."""

    label: str
    tokens: int
    share: float
    meaning: str


def shares(report: Report) -> list[Share]:
    """Where the prompt tokens go, without the empty parts: reused first, what can be changed, the rest."""
    losses = {name.replace("_", " "): tokens for name, tokens in report.losses._asdict().items()}
    parts = {"cached": report.totals.cached_tokens, **losses}
    whole = report.totals.prompt_tokens or 1
    meanings = _MEANINGS if _in_blocks(report) else {**_MEANINGS, "partial block": "denied by the engine's rule"}
    return [Share(label, parts[label], parts[label] / whole, meanings[label]) for label in meanings if parts[label]]


def _in_blocks(report: Report) -> int:
    """Tokens of the engine's blocks; 0 where it has none."""
    block = report.engine.get("block_size")
    return block if isinstance(block, int) and block > 1 else 0


_LIMITS = ("cache_tokens", "lifetime_seconds", "replicas")


def is_limited(report: Report) -> bool:
    """Whether a cache size, lifetime or routing was given, or an engine has one of its own."""
    given = any([report.engine.get(name) is not None for name in _LIMITS])
    return given or report.totals.cached_tokens != report.totals.aligned_tokens


def _is_hosted(report: Report) -> bool:
    """Whether the cache is a provider's, whose size nobody gives."""
    return report.engine.get("provider") is not None


def reuse_rows(report: Report) -> list[tuple[str, str]]:
    """The ratios that the report has: what each counts, and the name of its figure."""
    block = _in_blocks(report)
    rule = f"in blocks of {block}" if block else "by the engine's rule"
    rows = [("raw, equal from the first token", "raw"), (f"aligned, {rule}", "aligned")]
    cache = "in the provider's cache" if _is_hosted(report) else "in the cache given"
    return [*rows, (f"cached, {cache}", "cached")] if is_limited(report) else rows


def figure(totals: Totals, name: str) -> tuple[int, float]:
    """Tokens and share of `raw`, `aligned` or `cached`."""
    return {
        "raw": (totals.raw_shared_tokens, totals.raw_reuse),
        "aligned": (totals.aligned_tokens, totals.aligned_reuse),
        "cached": (totals.cached_tokens, totals.cached_reuse),
    }[name]


# --- what breaks the prefix -------------------------------------------------------------------------------------------

Rung = Field | Break
"""A row of the one ladder that fields and breaks form."""


def ladder(report: Report) -> list[Rung]:
    rows: list[Rung] = [*report.fields, *report.breaks]
    return sorted(rows, key=lambda row: row.rank)


def fixable(report: Report) -> list[Rung]:
    """The rungs down to the last that pays, without those that do not and those that are known and accepted.

    A value right ahead of another wins nothing by itself, yet the other wins nothing without it.
    """
    rows = [row for row in ladder(report) if row.pays and not row.ignored]
    last = max([at for at, row in enumerate(rows) if row.recoverable_tokens], default=-1)
    return [row for row in rows[: last + 1] if row.recoverable_tokens or isinstance(row, Field)]


def advised(report: Report) -> list[Rung]:
    """The rungs whose advice is worth reading: what to fix, or what there is to know where nothing can be fixed."""
    # Where nothing is to be fixed, a value that wins nothing is one that stands behind a known one.
    others = [row for row in ladder(report) if isinstance(row, Break) or row.recoverable_tokens]
    return [row for row in fixable(report) or others if row.advice and not row.ignored]


def kind(row: Rung, show: Show) -> str:
    return show(row.kind).replace("_", " ")


def reuse_after(row: Rung, report: Report) -> float:
    """Reuse once the ladder is fixed down to this row, in the cache that the headline speaks of."""
    return row.cached_reuse_after_fix if is_limited(report) else row.reuse_after_fix


def where(row: Rung, report: Report, show: Show) -> str:
    """How often a rung's break happens, and where: JSON path, and line and token of a value."""
    said = f"in {number(row.requests)} of {counted(report.totals.requests, 'request')}"
    said += f" at {show(row.path)}" if row.path else ""
    said += f", line {row.line}, token {number(row.token_index)}" if isinstance(row, Field) else ""
    return f"{said}; known, ignored" if row.ignored else said


_HALF_MEASURES = {"date": "the day alone", "once_a_session": "one value a session", "tool_call": "a tool call"}


def alternatives(row: Rung, report: Report) -> str:
    """What less than the fix would win back; empty where nothing is known to."""
    known = row.alternatives if isinstance(row, Field) and row.pays and not row.ignored else ()
    found = [(_HALF_MEASURES[one.what], one) for one in known if one.what in _HALF_MEASURES]
    if not found:
        return ""
    # A value right ahead of another wins by a half-measure what it wins by its fix: only together with that one.
    said = "instead" if row.recoverable_tokens else "instead, with the next one fixed"
    limited = is_limited(report)
    each = [
        f"{what} {number(one.recoverable_tokens)} ({percent(one.cached_reuse_after if limited else one.reuse_after)})"
        for what, one in found
    ]
    return f"{said}: {', '.join(each)}"


def _causes(rows: Iterable[Rung]) -> tuple[str, str]:
    kinds = {type(row) for row in rows}
    return ("field", "fields") if kinds == {Field} else ("cause", "causes")


# --- sentences --------------------------------------------------------------------------------------------------------


def headline(report: Report, quote: Show) -> list[str]:
    """The answer in one or two sentences, and what the warm requests have where that differs."""
    totals = report.totals
    if not totals.requests:
        skipped = sum(each.skipped for each in report.inputs)
        more = f" {counted(skipped, 'record was', 'records were')} skipped." if skipped else ""
        return [f"There are no requests in this log: nothing to measure.{more}"]
    if not totals.prompt_tokens:
        return [f"{counted(totals.requests, 'request')}, but not one prompt token: nothing to measure."]
    return [f"{_reusable(report)}{_gain(report, quote)}", *_warm(report)]


def _reusable(report: Report) -> str:
    totals = report.totals
    said = f"{percent(totals.cached_reuse)} of the prompt tokens can be reused"
    if totals.requests == 1:
        return f"{said}: one request has no earlier one to share with"
    if not is_limited(report):
        return said
    here, elsewhere = "in this cache", "in an unlimited one"
    if _is_hosted(report):
        life = report.engine.get("lifetime_seconds")
        here = "in the provider's cache"
        here += f" with its lifetime of {span(life)}" if isinstance(life, int | float) else ""
        elsewhere = "in one that forgets nothing"
    if totals.cached_tokens == totals.aligned_tokens:
        return f"{said} {here}, as {elsewhere}"
    return f"{said} {here} ({percent(totals.aligned_reuse)} {elsewhere})"


def _gain(report: Report, quote: Show) -> str:
    rows = fixable(report)
    if not rows:
        # Without text nothing was looked for, and a single request has nothing to be compared with.
        nothing_judged = report.totals.requests == 1 or report.tokenizer.get("name") == "none"
        # Below an engine's minimum no fix wins anything, whatever value there is.
        nothing_judged = nothing_judged or bool(report.engine.get("min_tokens") and not report.totals.aligned_tokens)
        if nothing_judged:
            return "."
        if not report.warm.requests:
            return ". No two requests are of one family: nothing could be compared, so no value can be told."
        too_short = report.totals.raw_shared_tokens and not report.totals.aligned_tokens
        if too_short and not ladder(report):
            block = report.engine.get("block_size")
            least = f"a block of {number(block)} tokens" if isinstance(block, int) else "what is reused together"
            return f". What requests share is shorter than {least}: too short for this block size."
        would_win = [row for row in ladder(report) if row.recoverable_tokens]
        known = sum([row.ignored for row in would_win])
        if known:
            return f". What would win more is ignored: {counted(known, 'known cause')}."
        some_win = bool(would_win)
        if not report.is_all_looked_into:
            return ". Not all that changes could be looked into: see Notes."
        return ". What differs is not worth moving." if some_win else ". No volatile value was found."
    now, last = report.totals.cached_reuse, reuse_after(rows[-1], report)
    if percent(last) == percent(now):
        return "; what could be fixed would win back less than 0.1 %."
    reached = [reuse_after(row, report) for row in rows]
    enough = next((at for at, then in enumerate(reached, 1) if then - now >= _NEARLY_ALL * (last - now)), len(rows))
    said = f"fixing {counted(len(rows), *_causes(rows))}"
    if enough < len(rows):
        said = f"fixing the first {enough if enough > 1 else 'one'} of {counted(len(rows), *_causes(rows))}"
    if enough <= _MOST_NAMED:
        names = [quote(row.name) if isinstance(row, Field) else kind(row, quote) for row in rows[:enough]]
        said += f", {' and '.join(names)},"
    said += f" makes it {percent(reached[enough - 1])}"
    rest = f", all of them {percent(last)}" if percent(last) != percent(reached[enough - 1]) else ""
    return f"; {said}{rest}."


def _warm(report: Report) -> list[str]:
    name = "cached" if is_limited(report) else "aligned"
    share = percent(figure(report.warm, name)[1])
    if not report.warm.requests or share == percent(figure(report.totals, name)[1]):
        return []
    return [f"Now, in warm requests alone (all but the first of each family): {share}."]


def observed_sentence(observed: Observed) -> str:
    """The server's own count beside the predicted one."""
    reported = counted(observed.cached_tokens, "cached token")
    said = f"over {counted(observed.requests, 'request')} the server reported {reported}"
    said += f", predicted were {number(observed.predicted_tokens)}"
    apart = observed.difference
    if not apart:
        return f"{said}: equal"
    return f"{said}: {number(abs(apart))} {'more' if apart > 0 else 'fewer'}"


def ceiling(report: Report) -> str:
    if is_limited(report) and _is_hosted(report):
        return CEILING_HOSTED.format(" and the routing given" if report.engine.get("replicas") else "")
    return CEILING_LIMITED if is_limited(report) else CEILING


# --- facts ------------------------------------------------------------------------------------------------------------


def _settings(values: Mapping[str, Any], show: Show, known: Iterable[str]) -> list[str]:
    """The settings that have no wording of their own, as `name value`."""
    rest = ((key, value) for key, value in values.items() if key not in known and value not in (None, "", False))
    return [f"{show(str(key)).replace('_', ' ')} {show(str(value))}" for key, value in rest]


def _vocabulary(values: Mapping[str, Any], show: Show) -> str:
    said = show(str(values.get("name") or "unnamed"))
    source, digest = values.get("source"), values.get("sha256")
    more = [show(str(source))] if source and source != values.get("name") else []
    more += [f"sha256 {show(str(digest)[:12])}"] if digest else []
    more += _settings(values, show, ("name", "source", "sha256"))
    return f"{said} ({', '.join(more)})" if more else said


def _engine(values: Mapping[str, Any], show: Show) -> str:
    block, cache, least = values.get("block_size"), values.get("cache_tokens"), values.get("min_tokens")
    life, servers = values.get("lifetime_seconds"), values.get("replicas")
    parts = [show(str(values.get("name") or "unnamed"))]
    parts += [f"blocks of {counted(block, 'token')}"] if isinstance(block, int) and block > 1 else []
    parts += [f"a cache of {counted(cache, 'token')}"] if isinstance(cache, int) else []
    memory = values.get("memory")
    if isinstance(memory, Mapping):
        parts.append(_memory(memory, show))
    parts += [f"kept {span(life)}"] if isinstance(life, int | float) else []
    parts += ["unlimited cache"] if not isinstance(cache, int) and not isinstance(life, int | float) else []
    parts += [f"at least {counted(least, 'token')}"] if isinstance(least, int) and least > 1 else []
    if isinstance(servers, int):
        parts.append(f"{counted(servers, 'server')}, routed by {show(str(values.get('routing')))}")
    refused = values.get("refused_requests")
    parts += [f"{counted(refused, 'request')} refused"] if isinstance(refused, int) else []
    options = values.get("options")
    if isinstance(options, Mapping):
        parts += [f"{show(str(key))}={show(str(value))}" for key, value in options.items()]
    known = ("name", "block_size", "cache_tokens", "min_tokens", "lifetime_seconds", "replicas", "routing", "options")
    return ", ".join([*parts, *_settings(values, show, (*known, "memory", "refused_requests", "provider"))])


def _memory(values: Mapping[str, Any], show: Show) -> str:
    """The memory that a cache's tokens were reckoned from."""
    room, rate = values.get("budget_bytes"), values.get("bytes_per_token")
    model, dtype = show(str(values.get("model") or "the model")), show(str(values.get("dtype")))
    if not isinstance(room, int) or not isinstance(rate, int | float):
        return f"the memory of {model}"
    return f"the {size(room)} that {model} fills with {size(Fraction(rate))} a token in {dtype}"


def bill_title(bill: Bill) -> str:
    """What the figures of the bill are."""
    rates = f"read x {bill.rates.read:g}"
    rates += f", write x {bill.rates.write:g}" if bill.rates.write is not None else ""
    unit = "in tokens at the full price" if bill.price_per_mtok is None else f"at {bill.price_per_mtok:g} a million"
    return f"Input bill, {unit} ({rates})"


def bill_rows(report: Report) -> list[tuple[str, str, str]]:
    """What is paid for, the amount, and its share of the bill without a cache."""
    bill = report.bill
    if bill is None:
        return []
    rows = [("without a cache", bill.without_cache), ("now", bill.now)]
    rows += [("with the fields fixed", bill.fixed)] if fixable(report) else []
    whole = bill.without_cache or 1.0
    return [(label, _amount(amount, bill), percent(amount / whole)) for label, amount in rows]


def _amount(amount: float, bill: Bill) -> str:
    if bill.price_per_mtok is None or amount >= 1000:
        return f"{amount:,.0f}"
    return f"{amount:,.2f}" if amount >= 1 else f"{amount:.4f}"


def facts(report: Report, show: Show) -> list[tuple[str, str]]:
    """What the figures rest on: requests, files, tokenizer, template, engine, the server's own report."""
    totals = report.totals
    families = counted(totals.families, "family", "families")
    rows = [("requests", f"{number(totals.requests)} in {families}, {number(report.warm.requests)} of them warm")]
    for each in report.inputs:
        said = f"{show(each.path)}: {show(each.format)}, {counted(each.requests, 'request')}"
        rows.append(("input", f"{said}, {number(each.skipped)} skipped" if each.skipped else said))
    rows.append(("tokenizer", _vocabulary(report.tokenizer, show)))
    rows.append(("template", _vocabulary(report.chat_template, show) if report.chat_template else "none"))
    rows.append(("engine", _engine(report.engine, show)))
    if report.observed:
        rows.append(("observed", observed_sentence(report.observed)))
    rows.append(("version", f"prefixlab {show(report.version)}"))
    return rows


def largest(groups: Mapping[str, Totals], most: int) -> list[tuple[str, Totals]]:
    """The groups of a breakdown with the most prompt tokens, largest first."""
    return sorted(groups.items(), key=lambda item: -item[1].prompt_tokens)[:most]


def largest_loss(report: Report, tag: str, value: str) -> tuple[str, float]:
    """What the requests with a value of a tag lose most tokens to, and its share of their prompt tokens."""
    losses = report.by_losses.get(tag, {}).get(value)
    if losses is None or not any(losses):
        return "-", 0.0
    tokens = max(losses)
    return losses._fields[losses.index(tokens)].replace("_", " "), tokens / report.by[tag][value].prompt_tokens


def first_cause(report: Report, tag: str, value: str) -> str:
    """What the prefixes of most requests with a value of a tag end at."""
    causes = report.by_causes.get(tag, {}).get(value)
    return max(causes, key=lambda cause: causes[cause]) if causes else "-"
