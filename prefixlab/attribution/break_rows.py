"""Rows of structural breaks in the ladder: what each costs and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence

from prefixlab.attribution.field_rows import NOT_WORTH, Reached, level_of, origin_of
from prefixlab.attribution.prompt_versions import PromptVersion
from prefixlab.attribution.quoting import quoted, shortened
from prefixlab.attribution.severity import severity_of
from prefixlab.attribution.sites import Located
from prefixlab.attribution.structural_breaks import Structural
from prefixlab.findings import Break, Field
from prefixlab.records import Prompt

VERSION = "prompt_version"
"""The kind of a new version of the prompt."""

_LEVELS = {
    "tool_order": "tools_changed",
    "tool_set": "tools_changed",
    "tool_text": "tools_changed",
    "head_parameter": "system_changed",
    "history_trimmed": "previous_message_not_found",
    "double_bos": "system_changed",
}

_ADVICE = {
    "tool_order": "Sort the tools, by name for example, so that every request lists them in one order.",
    "tool_set": "Load all tools before the first request, or announce late ones in a message. If the list must grow, "
    "put new tools at its end: what stands behind the list is computed again either way.",
    "key_order": "Write this JSON with its keys in one order, such as sorted.",
    "arguments_reserialised": "Send a tool call's arguments back as the model wrote them, byte for byte.",
    "tool_result_order": "Send the results of parallel calls in the order of the calls, not as they come in.",
    "permuted": "Give these blocks in one order, by id or by how often each is used.",
    "history_trimmed": "Let the history grow, or drop many messages at once and then none for a while: each cut costs "
    "the whole history once. What is won back is the ceiling of a history that is never cut.",
    "history_rewritten": "Leave old messages as they were sent. Prune rarely and much at a time, or where the cache is "
    "cold anyway: a changed message costs all that stands behind it. What is won back is the ceiling of never.",
    "turn_rerendered": "The client's history only grows, but it is rendered otherwise once it is history: take a chat "
    "template that keeps it, or send the answer back with what the template drops. Each turn loses its last answer.",
    "moving_suffix": "Keep the addition in the history, or put it behind all turns: a turn later it is gone from where "
    "it stood, so every turn loses the last exchange.",
    "head_parameter": "Hold this parameter for a whole conversation: it is rendered at the head of the prompt.",
    "image_position": "Put the text ahead of the image: what stands behind an image is computed again for each image.",
    "double_bos": "Add the begin-of-sequence token once: by the chat template or by the tokenizer, not by both.",
    "retokenised": "The generated ids are others than those of the same text encoded again. Send ids, or let the "
    "server keep them; no change of the prompt cures it.",
    "whitespace": "Write these blanks in one way.",
    "unicode_form": "Normalise text in one Unicode form, such as NFC, before it is sent.",
    VERSION: "Nothing to fix: the prompt has a new version, and all that stands behind it is computed once more. Make "
    "several changes in one version, and give it to all servers at once.",
    "tool_text": "Keep values out of the descriptions of tools.",
}


def break_row(
    one: Structural, rank: int, gain: int, reached: Reached, prompts: Sequence[Prompt], lost: Sequence[int]
) -> Break:
    """The row of a structural break. `lost` are the tokens behind the first break of each request."""
    rate = len(one.requests) / (reached.warm or 1)
    severity = severity_of(gain / reached.prompt_tokens, rate, gain)
    if one.kind == "history_rewritten" and _is_once(one, prompts):
        severity = "info"
    return Break(
        rank=rank,
        kind=one.kind,
        path=one.path,
        requests=len(one.requests),
        lost_tokens=sum([lost[number] for number in one.first]),
        recoverable_tokens=gain,
        reuse_after_fix=reached.reuse,
        cached_reuse_after_fix=reached.cached_reuse,
        level=_LEVELS.get(one.kind) or _level_at(one.path),
        severity=severity if reached.pays else "low",
        confidence="medium" if one.kind in ("history_rewritten", "moving_suffix") else "high",
        evidence=one.evidence,
        advice=_ADVICE[one.kind] if reached.pays else f"{NOT_WORTH} {_ADVICE[one.kind]}",
        pays=reached.pays,
    )


def version_row(
    version: PromptVersion,
    rank: int,
    reached: Reached,
    prompts: Sequence[Prompt],
    lost: Sequence[int],
    sites: Located,
) -> Break:
    """The row of a new version of the prompt: all values that changed with it."""
    first = {request for hole in version.holes for request in hole.site.first[hole.number]}
    found = sites[version.holes[0].site][version.since]
    origin = version.holes[0].site.origin
    if found is not None:
        origin = origin_of(version.holes[0], prompts[version.since], found)
    return Break(
        rank=rank,
        kind=VERSION,
        path=origin.path,
        requests=max([hole.site.broken[hole.number] for hole in version.holes]),
        lost_tokens=sum([lost[one] for one in first]),
        recoverable_tokens=0,
        reuse_after_fix=reached.reuse,
        cached_reuse_after_fix=reached.cached_reuse,
        level=level_of(origin.role),
        severity="info",
        confidence="medium",
        evidence=f"from {prompts[version.since].id} on {len(version.holes)} values are others, never to change back: "
        f"{shortened(version.was)} became {shortened(version.became)}",
        advice=_ADVICE[VERSION],
    )


def tool_text_row(field: Field) -> Break:
    """The row of a value inside the description of a tool."""
    values = ", ".join([quoted(example) for example in field.examples])
    return Break(
        rank=field.rank,
        kind="tool_text",
        path=field.path,
        requests=field.requests,
        lost_tokens=field.lost_tokens,
        recoverable_tokens=field.recoverable_tokens,
        reuse_after_fix=field.reuse_after_fix,
        cached_reuse_after_fix=field.cached_reuse_after_fix,
        level="tools_changed",
        severity=field.severity,
        confidence=field.confidence,
        evidence=f"{field.name}: {field.distinct_values} values, such as {values}",
        advice=f"{_ADVICE['tool_text']} {field.advice}",
        pays=field.pays,
    )


def _level_at(path: str) -> str:
    return level_of("system" if path.startswith("system") else "user")


def _is_once(one: Structural, prompts: Sequence[Prompt]) -> bool:
    """Whether no conversation, told by its session, was rewritten twice."""
    sessions = [prompts[number].tags.get("session") for number in one.requests]
    known = [session for session in sessions if session is not None]
    return len(one.requests) == 1 or (len(known) == len(sessions) and len(set(known)) == len(known))
