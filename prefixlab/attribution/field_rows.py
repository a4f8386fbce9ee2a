"""Rows of values in the ladder: what a value is called, where it stands, what it costs, what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from prefixlab.attribution.fix_replay import Encode, Hole, Target
from prefixlab.attribution.severity import severity_of
from prefixlab.attribution.sites import Found
from prefixlab.attribution.value_kinds import kind_of
from prefixlab.findings import Alternative, Field
from prefixlab.records import TEMPLATE, TOKEN_BYTES, Origin, Prompt

EXAMPLES = 3

_ROLES = ("system", "developer", "user", "assistant", "tool")

_LOOKED_AT = 1000
"""Values that tell of what kind a field is."""

NOT_WORTH = "Leave it as it is: some requests would win by the fix, but more is lost in others."


class FieldStep(NamedTuple):
    """A value fixed: where it went, and the aligned tokens that this won."""

    hole: Hole
    target: Target
    gain: int


class Reached(NamedTuple):
    """Where the log is once a step is taken, as shares of the tokens as logged."""

    reuse: float
    cached_reuse: float
    prompt_tokens: int
    warm: int
    """Requests that meet a warm cache."""
    pays: bool = True
    """Whether the log as a whole wins by the step."""


def field_row(
    step: FieldStep,
    rank: int,
    reached: Reached,
    prompts: Sequence[Prompt],
    lost: Sequence[int],
    found: Sequence[Found | None],
    encode: Encode,
    partner: str,
    alternatives: tuple[Alternative, ...] = (),
) -> Field:
    """The row of a value. `lost` are the tokens behind the first break of each request; `found` is where its site
    stands in each prompt; `partner` names the value without which this one wins nothing."""
    hole = step.hole
    site, number = hole
    standing = [(prompt, one) for prompt, one in zip(prompts, found, strict=True) if one is not None]
    shown_in = standing[0]
    origin = origin_of(hole, *shown_in)
    distinct = _distinct(hole, found)
    kind = kind_of(distinct[:_LOOKED_AT])
    name = name_of(hole)
    first = site.first[number]
    severity = severity_of(step.gain / reached.prompt_tokens, site.broken[number] / (reached.warm or 1), step.gain)
    called = sum([one.recoverable_tokens for one in alternatives if one.what == "tool_call"])
    cost = called - step.gain if step.gain and called else 0
    advice = _advice(name, kind, step.target, origin.role, partner, cost)
    return Field(
        rank=rank,
        name=name,
        kind=kind,
        path=origin.path,
        line=_line_in_text(hole, *shown_in),
        token_index=site.token_index if first and site.token_index >= 0 else _token_index(hole, *shown_in, encode),
        requests=site.broken[number],
        distinct_values=len(distinct),
        examples=tuple([value.strip()[:200] for value in distinct[:EXAMPLES]]),
        lost_tokens=sum([lost[one] for one in first]),
        recoverable_tokens=step.gain,
        reuse_after_fix=reached.reuse,
        cached_reuse_after_fix=reached.cached_reuse,
        level=level_of(origin.role),
        severity=severity if reached.pays else "low",
        confidence="high" if len(distinct) >= 3 and kind != "text" else "medium",
        advice=advice if reached.pays else f"{NOT_WORTH} {advice}",
        pays=reached.pays,
        alternatives=alternatives,
    )


def value_kind(hole: Hole, found: Sequence[Found | None]) -> str:
    """Of what kind the values of a hole are. `found` is where its site stands in each prompt."""
    return kind_of(_distinct(hole, found)[:_LOOKED_AT])


def _distinct(hole: Hole, found: Sequence[Found | None]) -> list[str]:
    return list(dict.fromkeys([one.values[hole.number] for one in found if one is not None]))


def level_of(role: str) -> str:
    """The coarse label that hosted providers use for the part of a request that changed."""
    if role in ("system", "developer"):
        return "system_changed"
    return "tools_changed" if role == "tools" else "messages_changed"


def origin_of(hole: Hole, prompt: Prompt, found: Found) -> Origin:
    """Where the value came from; a piece may hold text of several origins."""
    left = len(_text_before(hole, prompt, found))
    for span in prompt.pieces[found.piece].spans:
        left -= span.chars
        if left < 0:
            return span.origin
    return hole.site.origin


def _line_in_text(hole: Hole, prompt: Prompt, found: Found) -> int:
    """The line of the value in the text at its JSON path, from 1."""
    before = _text_before(hole, prompt, found)
    at = start = 0
    path = None
    for span in prompt.pieces[found.piece].spans:
        if span.origin.path != path:
            # A piece may begin with text of another part, or of the template.
            path, start = span.origin.path, at
        at += span.chars
        if at > len(before):
            break
    return before[start:].count("\n") + 1


def _text_before(hole: Hole, prompt: Prompt, found: Found) -> str:
    """The piece's text ahead of the value."""
    runs = prompt.pieces[found.piece].runs[: found.start]
    return "".join([run.text for run in runs]) + _literals_before(hole, found.values)


def _token_index(hole: Hole, prompt: Prompt, found: Found, encode: Encode) -> int:
    """The token at which the value starts, from 0."""
    pieces = prompt.pieces
    ahead = sum([piece.token_count for piece in pieces[: found.piece]])
    ahead += sum([len(run.tokens) for run in pieces[found.piece].runs[: found.start]]) // TOKEN_BYTES
    text = _literals_before(hole, found.values).rstrip(" ")
    return ahead + sum([len(run.tokens) for run in encode(text, hole.site.origin)]) // TOKEN_BYTES


def _literals_before(hole: Hole, values: tuple[str, ...]) -> str:
    """The text of the site's line ahead of a hole."""
    literals = hole.site.template.literals
    ahead = zip(literals, values[: hole.number], strict=False)
    return "".join([literal + value for literal, value in ahead]) + literals[hole.number]


def name_of(hole: Hole) -> str:
    """What the text calls a value, else its kind and where it stands."""
    origin = hole.site.origin
    name = hole.site.name(hole.number)
    # What stands ahead of the first line of a message is the template's word for its role.
    if name and name not in _ROLES:
        return name
    kind = hole.site.kind(hole.number)
    return f"{'value' if kind == 'text' else kind} in {origin.path or origin.role}"


def _advice(name: str, kind: str, target: Target, role: str, partner: str, cost: int) -> str:
    """`cost` are the tokens that the value costs at its new place, and would not if it were in no prompt."""
    if role == TEMPLATE.role:
        said = "It stands in the chat template, not in the log: change the template, or give it there what to write."
        return f"{said} If the model needs only the day, give the day." if kind in ("clock", "age") else said
    if role == "prompt":
        where = "to the end of the prompt"
    elif target == "newest":
        where = "to the end of the newest user message"
    else:
        where = "to the end of its own message"
    said = f"Move {name!r} {where}, behind the text that stays the same."
    if partner:
        said += f" It pays only together with {partner!r}, right behind it."
    if cost and target == "newest":
        said += f" A turn later it is gone from there, so each turn computes the last exchange again: {cost:,} tokens."
    elif cost:
        said += f" What stands behind it is computed again each time it changes: {cost:,} tokens."
    if kind in ("clock", "age"):
        return said + " If the model needs only the day, give the day: it then changes once in 24 hours."
    if kind in ("uuid", "id", "counter"):
        return said + " If the model does not need it, leave it to the request's metadata."
    return said
