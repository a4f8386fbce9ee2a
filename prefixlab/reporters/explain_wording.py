"""What `explain` says, in words and rounded figures; the text and the Markdown only lay it out.

Functions that put text from the log into a sentence take `show`, which makes such text fit for the form.
"""

from __future__ import annotations

from datetime import UTC, datetime

from prefixlab.explanation import Explanation, NextTurn, Parting, Party
from prefixlab.findings import Break, Field, Losses, Report, Totals
from prefixlab.number_words import counted, number, percent
from prefixlab.records import TEMPLATE
from prefixlab.reporters import wording as audit_wording
from prefixlab.reporters.wording import Show

MARKS = {
    "cached": ("#", "hit", "reused"),
    "evicted": ("e", "evicted", "lost: the cache is too small"),
    "expired": ("x", "expired", "lost: the lifetime is over"),
    "isolated": ("i", "isolated", "lost: another server has it"),
    "volatile": (".", "volatile", "lost: the log's fixes win it back"),
    "below_minimum": ("m", "below minimum", "lost: under the minimum"),
    "last_token": ("l", "last token", "lost: the last token is always computed"),
    "partial_block": ("p", "partial block", "lost: shared, but no whole block"),
    "first_seen": ("+", "new", "never sent before"),
}
"""For each fate its mark in the strip of blocks, its name, and what it means."""

_YEAR_2000 = 946684800
TURNS = ("user", "assistant", "tool", "function")
_MOST_TAGS = 6
_PATH = 38


def span_of(seconds: float) -> str:
    """A time in its two largest units."""
    if seconds < 60:
        return f"{seconds:.3g} s"
    units = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
    whole = round(seconds)
    parts = []
    for unit, size in units:
        if whole >= size:
            parts.append(f"{whole // size} {unit}")
            whole %= size
    return " ".join(parts[:2])


def moment(seconds: float) -> str:
    """A time of arrival: a date, or seconds where the log counts from its own start."""
    if seconds < _YEAR_2000:
        return f"{seconds:,.3f} s into the log"
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat("T", "milliseconds")[:23].removesuffix(".000") + "Z"
    except (OverflowError, ValueError, OSError):
        return f"{seconds:g} s since 1970"


def _blocks(found: Explanation) -> tuple[str, str]:
    return ("token", "tokens") if found.block_size == 1 else ("block", "blocks")


# --- the answer -------------------------------------------------------------------------------------------------------


def headline(found: Explanation, show: Show, quote: Show) -> list[str]:
    """What became of the request, and why; `quote` is for names and values."""
    out = found.outcome
    me = show(found.request.id)
    said = []
    if not out.prompt_tokens:
        return [f"{me} has not one prompt token: nothing to explain."]
    reused = f"{number(out.cached_tokens)} of its {counted(out.prompt_tokens, 'prompt token')} are reused"
    if out.refused:
        size = found.engine.get("cache_tokens")
        cache = f"the cache of {counted(size, 'token')}" if isinstance(size, int) else "the cache"
        said.append(f"{me} is refused: its {counted(out.prompt_tokens, 'prompt token')} never fit into {cache}.")
    elif not out.cached_tokens:
        said.append(f"Nothing of {me} is reused, of {counted(out.prompt_tokens, 'prompt token')}.")
    else:
        said.append(f"{me}: {reused} ({percent(out.cached_tokens / out.prompt_tokens)}).")
    said.append(_reason(found, show, quote))
    if not found.is_match and found.other is not None and found.outcome.matched is not None:
        said.append(f"Below it is compared with {show(found.other.id)}, as asked for.")
    elif not found.is_match and found.other is not None:
        said.append(f"Below it is compared with {show(found.other.id)}.")
    denied = _denied(found)
    return [" ".join(said), *([denied] if denied else [])]


def _reason(found: Explanation, show: Show, quote: Show) -> str:
    """Why the prefix is as long as it is."""
    out = found.outcome
    if found.requests == 1:
        return "The log has no other request to share with."
    if not found.earlier:
        first = "It is the first request of its namespace"
        return f"{first}: nothing was there to share." if _has_namespace(found) else "It is the first of the log."
    if out.matched is None:
        earlier = counted(found.earlier, "earlier request")
        return f"Its first token is not that of the {earlier}{' of its namespace' if _has_namespace(found) else ''}."
    if found.is_match and found.other is not None:
        other = f"{show(found.other.id)}{_before(found)}"
        if found.parting is None:
            return f"All of it was sent before, by {other}."
        if found.parting.other_ends:
            return f"It goes on where {other} ended: all of that is shared."
        shares = f"It shares the first {counted(out.raw_shared_tokens, 'token')} with {other}"
        return f"{shares}. {_parts_at(found, show, quote)}"
    return f"It shares {counted(out.raw_shared_tokens, 'token')} with the request it was matched with."


def _before(found: Explanation) -> str:
    return "" if found.seconds_before is None else f" ({span_of(found.seconds_before)} before)"


def _parts_at(found: Explanation, show: Show, quote: Show) -> str:
    cause, parting = found.cause, found.parting
    if cause is not None and isinstance(cause.row, Field):
        changed = "" if cause.now is None or cause.was is None else f": {quote(cause.was)} became {quote(cause.now)}"
        return f"They part at {quote(cause.row.name)} ({cause.row.kind}){changed}."
    if cause is not None:
        return f"They part over {_kind(cause.row)}."
    where = place(parting, show) if parting is not None else ""
    said = f"They part {where}." if where else "There they part."
    return f"{said} {_without_cause(parting)}".rstrip()


def _without_cause(parting: Parting | None) -> str:
    """What is said where the log's ladder has no rung for a break."""
    if parting is None or parting.of != "text" or parting.is_in_answer:
        return ""
    if parting.role in TURNS:
        return "No cause is named there: the conversation goes on with another text."
    return "The log's ladder names no cause there."


def _kind(row: Field | Break) -> str:
    return row.kind.replace("_", " ")


def _denied(found: Explanation) -> str:
    """What the engine, or its cache, keeps of what is shared."""
    lost = found.losses
    parts = []
    if lost.evicted:
        parts.append(f"{counted(lost.evicted, 'token')} had been evicted from the cache")
    if lost.expired:
        parts.append(f"{counted(lost.expired, 'token')} had expired")
    if lost.isolated:
        parts.append(f"{counted(lost.isolated, 'token')} are only on another server")
    if not parts:
        return ""
    said = f"An unlimited cache gives {counted(found.outcome.aligned_tokens, 'token')}: {', '.join(parts)}."
    return said if not found.outcome.refused else ""


def _has_namespace(found: Explanation) -> bool:
    return any(found.request.namespace)


# --- requests and places ----------------------------------------------------------------------------------------------


def party_rows(found: Explanation, show: Show) -> list[tuple[str, str]]:
    """The requests that the answer is about, each with where and when."""
    rows = [("request", party(found.request, show))]
    about = about_request(found.request, show)
    rows += [("", about)] if about else []
    if found.other is not None:
        label = "matched with" if found.is_match else "beside"
        apart = found.seconds_before
        when = "" if apart is None else f", {span_of(abs(apart))} {'before' if apart >= 0 else 'after'}"
        rows.append((label, party(found.other, show, with_time=False) + when))
        if found.other.namespace != found.request.namespace:
            rows.append(("", "another namespace: the engine never shares between them"))
        own, its = found.request.server, found.other.server
        if own is not None and own != its:
            rows.append(("", f"served by server {its}, this request by server {own}"))
    if found.elsewhere is not None:
        twin = found.elsewhere
        names = about_namespace(twin.request, show)
        more = (
            f"{party(twin.request, show, with_time=False)}: {counted(twin.shared_tokens, 'equal token')}, never shared"
        )
        rows.append(("elsewhere", more + (f" ({names})" if names else "")))
    return rows


def party(one: Party, show: Show, *, with_time: bool = True) -> str:
    """A request with its place in the log, and when it arrived."""
    said = f"{show(one.id)}, {_location(one, show)}"
    return said if not with_time or one.arrived_at is None else f"{said}, {moment(one.arrived_at)}"


def _location(one: Party, show: Show) -> str:
    """Where it stands in the log; of a long path the end."""
    path, line = one.location
    path = path if len(path) <= _PATH else f"…{path[-_PATH + 1 :]}"
    return show(f"{path}:{line}")


def about_namespace(one: Party, show: Show) -> str:
    return ", ".join([f"{name} {show(value)}" for name, value in one.namespace._asdict().items() if value])


def about_request(one: Party, show: Show) -> str:
    """Its namespace, its tags, its server."""
    parts = [about_namespace(one, show)]
    tags = [(name, value) for name, value in one.tags.items() if name not in ("model", "lora", "salt")]
    parts += [f"{show(name)} {show(value)}" for name, value in tags[:_MOST_TAGS]]
    parts += [f"server {one.server}"] if one.server is not None else []
    return ", ".join([part for part in parts if part])


def place(parting: Parting, show: Show) -> str:
    """Where two prompts part, in the words of the request."""
    if parting.is_in_answer:
        where = "in what the earlier one generated"
    elif parting.of in ("ids", "blocks", "decoded"):
        where = ""
    elif parting.role == TEMPLATE.role:
        behind = f", behind {show(parting.behind_path)}" if parting.behind_path else ""
        where = f"in text of the chat template{behind}"
    else:
        path = show(parting.path) if parting.path else "the text"
        role = f" ({show(parting.role)})" if parting.role and parting.role not in ("prompt", parting.path) else ""
        line = "" if parting.line is None else f", line {number(parting.line)}"
        where = f"in {path}{role}{line}"
    token = f"at token {number(parting.token_index)}"
    return f"{token} {where}" if where else token


def token_rows(found: Explanation) -> list[tuple[str, int, str]]:
    """The figures of an audit for this request."""
    out = found.outcome
    rule = f"in blocks of {found.block_size}" if found.block_size > 1 else "by the engine's rule"
    rows = [("prompt", out.prompt_tokens, ""), ("raw shared", out.raw_shared_tokens, "equal from the first token")]
    rows.append(("aligned", out.aligned_tokens, f"{rule}, unlimited cache"))
    if found.is_limited or out.cached_tokens != out.aligned_tokens:
        rows.append(("cached", out.cached_tokens, "in the cache given"))
    if not found.is_match and found.other is not None and found.shared_with_other:
        rows.append(("with that one", found.shared_with_other, "shared with the request it is compared with"))
    return rows


def without_text(found: Explanation) -> str:
    """What is said where a log has no text."""
    parting = found.parting
    if parting is None or parting.of in ("text", "decoded"):
        return ""
    kind = "block hashes" if parting.of == "blocks" else "token ids"
    return f"The log has {kind} and no text: what differs cannot be read here."


def same_text(found: Explanation) -> str:
    """What is said where only the tokens differ."""
    parting = found.parting
    if parting is None or not parting.is_same_text:
        return ""
    return "The text is the same on both sides, the tokens are not: another image, or ids as they were sampled."


# --- blocks and the next turn -----------------------------------------------------------------------------------------


def blocks_title(found: Explanation) -> str:
    one, many = _blocks(found)
    counts = {"hit": 0, "lost": 0, "new": 0}
    for each in found.blocks:
        kind = {"cached": "hit", "first_seen": "new"}.get(each.fate, "lost")
        counts[kind] += each.blocks
    whole = counted(sum(counts.values()), one, many)
    of = f" of {found.block_size}" if found.block_size > 1 else ""
    return f"{whole}{of}: " + ", ".join([f"{number(count)} {kind}" for kind, count in counts.items()])


def next_turn(found: Explanation, show: Show) -> list[str]:
    """What a later request keeps of this one's end."""
    turn = found.next_turn
    if turn is None:
        return ["No later request of the log goes on with this one: what the next turn keeps of its end is not known."]
    later = f"{show(turn.request.id)} ({_location(turn.request, show)})"
    if not turn.is_turn:
        end = counted(found.request.prompt_tokens, "token")
        said = f"{later} is the next turn, but parts from this request at token {number(turn.shared_tokens)} of {end}:"
        return [f"{said} what is lost there comes first; explain that request."]
    out = [_kept(found, turn, later)]
    if not found.has_answer:
        out.append("The log has no answer of this request: what of it the next turn could reuse is not known.")
    return out


def _kept(found: Explanation, turn: NextTurn, later: str) -> str:
    one, many = _blocks(found)
    prompt, answer = turn.lost_prompt_tokens, turn.lost_answer_tokens
    has = found.request.generated_tokens
    if not prompt and not answer:
        return f"{later} goes on with this one and keeps all of it{' and of its answer' if has else ''}."
    parts = [f"the last {counted(prompt, 'token')} of the prompt"] if prompt else []
    parts += [f"{counted(answer, 'token')} of the answer"] if answer else []
    blocks = f", {counted(turn.lost_blocks, one, many)}" if turn.lost_blocks and found.block_size > 1 else ""
    return (
        f"{later} goes on with this one and cannot use {' and '.join(parts)}{blocks}: there it is rendered otherwise."
    )


# --- facts ------------------------------------------------------------------------------------------------------------


def as_report(found: Explanation) -> Report:
    """The parts of an audit's report that the answer has too, so that they are worded and redacted as there."""
    fields = (found.cause.row,) if found.cause and isinstance(found.cause.row, Field) else ()
    breaks = (found.cause.row,) if found.cause and isinstance(found.cause.row, Break) else ()
    recoverable = sum([row.recoverable_tokens for row in (*fields, *breaks)])
    return Report(
        version=found.version,
        inputs=found.inputs,
        tokenizer=found.tokenizer,
        chat_template=found.chat_template,
        engine=found.engine,
        totals=Totals(prompt_tokens=recoverable),
        warm=Totals(),
        losses=Losses(volatile=recoverable),
        fields=fields,
        breaks=breaks,
        observed=None,
        requests=(),
        notes=found.notes,
    )


def facts(found: Explanation, show: Show) -> list[tuple[str, str]]:
    """What the figures rest on."""
    family = "no other of its family" if found.family == 1 else f"{number(found.family)} of its family"
    _, *rest = audit_wording.facts(as_report(found), show)
    return [("requests", f"{number(found.requests)} in the log, {family}"), *rest]
