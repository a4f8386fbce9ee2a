"""Causes outside of the prompt: another namespace or server, a lifetime, a minimum. Nothing to fix in the text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from prefixlab.attribution.quoting import quoted
from prefixlab.attribution.severity import severity_of
from prefixlab.contracts import Engine
from prefixlab.findings import Break, Losses, Outcome
from prefixlab.prefix_tree import PrefixTree
from prefixlab.records import Namespace, Prompt


class Foreign(NamedTuple):
    """What requests of other namespaces have of each request beyond what it shares with those of its own."""

    tokens: list[int]
    """As an engine would reuse them."""
    example: tuple[Namespace, Namespace] | None


def outer_breaks(
    foreign: Foreign,
    outcomes: Sequence[Outcome],
    losses: Sequence[Losses],
    engine: Engine,
    warm: int,
    rank: int,
) -> list[Break]:
    """The rows, from `rank` on; `lost_tokens` are what each denies."""
    found = [_namespaces(foreign), *_denied(losses, engine)]
    prompt_tokens = sum([outcome.prompt_tokens for outcome in outcomes]) or 1
    reuse = sum([outcome.aligned_tokens for outcome in outcomes]) / prompt_tokens
    cached = sum([outcome.cached_tokens for outcome in outcomes]) / prompt_tokens
    rows: list[Break] = []
    for one in found:
        if one is None:
            continue
        kind, path, requests, lost, level, evidence, advice = one
        rows.append(
            Break(
                rank=rank + len(rows),
                kind=kind,
                path=path,
                requests=requests,
                lost_tokens=lost,
                recoverable_tokens=0,
                reuse_after_fix=reuse,
                cached_reuse_after_fix=cached,
                level=level,
                severity=severity_of(lost / prompt_tokens, requests / (warm or 1), lost),
                confidence="high",
                evidence=evidence,
                advice=advice,
            )
        )
    return rows


_Found = tuple[str, str, int, int, str, str, str]


def foreign_tokens(prompts: Sequence[Prompt], outcomes: Sequence[Outcome], engine: Engine) -> Foreign:
    """How much further requests are equal to one of another model, LoRA or salt than to any of their own."""
    found = Foreign([0] * len(prompts), None)
    if len({prompt.namespace for prompt in prompts}) < 2:
        return found
    tree = PrefixTree(lambda number: prompts[number].tokens + prompts[number].output_tokens)
    for number, (prompt, outcome) in enumerate(zip(prompts, outcomes, strict=True)):
        match = tree.add(number, prompt.tokens, prompt.output_tokens)
        shared = min(match.shared * prompt.unit, prompt.token_count)
        denied = engine.aligned_tokens(shared, prompt.token_count) - outcome.aligned_tokens
        if denied > 0 and match.matched is not None:
            found.tokens[number] = denied
            if found.example is None:
                found = found._replace(example=(prompts[match.matched].namespace, prompt.namespace))
    return found


def _namespaces(foreign: Foreign) -> _Found | None:
    if foreign.example is None:
        return None
    path, was, became = _unlike(*foreign.example)
    evidence = f"the same tokens with {path} {quoted(was)} and {quoted(became)}"
    advice = "Engines never share between models, LoRA adapters or salts. If that is meant, nothing is wrong."
    requests = sum([bool(tokens) for tokens in foreign.tokens])
    return "namespace", path, requests, sum(foreign.tokens), "model_changed", evidence, advice


def _unlike(one: Namespace, other: Namespace) -> tuple[str, str, str]:
    if one.model != other.model:
        return "model", one.model, other.model
    if one.lora != other.lora:
        return "lora", one.lora, other.lora
    return "cache_salt", one.salt, other.salt


def _denied(losses: Sequence[Losses], engine: Engine) -> list[_Found]:
    """What routing, a lifetime and a minimum cost."""
    rows = [
        (
            "replica",
            [one.isolated for one in losses],
            "another server had it",
            "Route requests of one conversation, or of one prompt, to one server.",
        ),
        (
            "expired",
            [one.expired for one in losses],
            "it was not used for longer than it is kept",
            "Ask for a longer lifetime, send requests of one prompt closer together, or keep it warm.",
        ),
        (
            "below_minimum",
            [one.below_minimum for one in losses],
            f"{engine.name} caches from {engine.min_tokens:,} tokens on",
            "Only a longer stable beginning would be cached; nothing is wrong with this one.",
        ),
    ]
    return [
        (kind, "", sum([bool(one) for one in tokens]), sum(tokens), "messages_changed", evidence, advice)
        for kind, tokens, evidence, advice in rows
        if any(tokens)
    ]
