"""The chain of `kv`: a config and what was asked of it become a sheet; the command and `pl.kv` both use it."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import fields

from prefixlab.errors import PrefixlabError
from prefixlab.kv_memory import capacity, quantities
from prefixlab.kv_memory.element_types import scale_layout
from prefixlab.kv_memory.engine_rules import EXCEPTIONS, EngineRules, number_type
from prefixlab.kv_memory.model_config import ModelCache, model_cache
from prefixlab.kv_memory.quantities import Amount
from prefixlab.kv_memory.question import BLOCK_SIZE, KvQuestion, check
from prefixlab.kv_sheet import Capacity, Context, KvSheet, LayerGroup, SessionCost, SharedPrefix

UTILIZATION = "0.92"
"""Share of a card that the engine may use where none is given."""


def kv(config: str | os.PathLike[str] | None = None, **asked: object) -> KvSheet:
    """What a model's KV cache takes, and what that means for the memory and the bandwidth given.

    `config` is a `config.json`, a model folder or a hub id; `bytes_per_token="160KiB"` stands in for it. The other
    keywords are the fields of `KvQuestion`.

    Raises:
        PrefixlabError: the config or a quantity is wrong; the message says what to do.
    """
    known = [each.name for each in fields(KvQuestion)]
    for name in asked:
        if name not in known:
            raise PrefixlabError(f"kv has no option {name!r}", f"Give one of {', '.join(known)}")
    path = config if isinstance(config, str) else os.fspath(config) if isinstance(config, os.PathLike) else None
    if not isinstance(path, str) and config is not None:
        raise PrefixlabError(
            f"a config of type {type(config).__name__} cannot be", "Give the path of a config.json, or a hub id"
        )
    return answer(path, KvQuestion(**asked))  # type: ignore[arg-type]


def answer(config: str | None, asked: KvQuestion) -> KvSheet:
    """The sheet for a question.

    Raises:
        PrefixlabError: the config or a quantity is wrong, or there is nothing to answer.
    """
    check(config, asked)
    model = _model(config, asked)
    cost = None if model is None else model.cost
    notes = list(model.assumptions) if model is not None else []
    lengths = () if asked.context is None else quantities.token_counts(asked.context, "--context")
    memory = _memory(asked, notes, has_model=model is not None)
    reads = _reads(asked, model, notes)
    reserve = _tokens(asked.reserve, "--reserve")
    shared = _shared(asked)
    prefill = _tokens(asked.prefill, "--prefill")
    contexts: tuple[Context, ...] = ()
    if cost is not None:
        contexts = tuple(capacity.context(cost, tokens, reads=reads, reserve=reserve) for tokens in lengths)
        if memory is not None:
            prefix = None if shared is None else shared.tokens
            memory = capacity.filled(memory, cost, lengths, prefix, model.name if model is not None else "")
    if reserve is not None:
        for tokens in lengths:
            capacity.reservation_waste(reserve, tokens)
    if shared is not None:
        notes.append("a shared prefix is counted to the token; engines share whole blocks of it")
    experts = None if asked.experts is None else quantities.active_of(asked.experts, "--experts")
    ridge = None if asked.ridge is None else quantities.number(asked.ridge, "--ridge")
    return KvSheet(
        model="" if model is None else model.name,
        cost=cost,
        dtype="" if model is None else model.dtype,
        ranks=asked.tp,
        rank_cost=None if model is None else model.rank_cost,
        lengths=lengths,
        contexts=contexts,
        capacity=memory,
        reserve=reserve,
        block_size=asked.block_size or BLOCK_SIZE,
        prefill_tokens=prefill,
        prefill_bytes=None if prefill is None or cost is None else capacity.prefill_bytes(cost, prefill),
        bandwidth=None if reads is None else reads.bandwidth,
        weights_read=None if reads is None else reads.weights_read,
        tokens_per_second_without_cache=None if reads is None else reads.tokens_per_second_without_cache,
        experts=experts,
        ridge=ridge,
        ridge_batch=None if experts is None or ridge is None else capacity.ridge_batch(*experts, ridge),
        shared_prefix=shared,
        assumptions=tuple(notes),
    )


def _model(config: str | None, asked: KvQuestion) -> ModelCache | None:
    if config is not None:
        return model_cache(config, _rules(asked), offline=asked.offline)
    if asked.bytes_per_token is None:
        return None
    rate = quantities.bytes_amount(asked.bytes_per_token, "--bytes-per-token")
    cost = SessionCost((LayerGroup("given", 1, rate, bytes_per_token_if_kept=rate),))
    return ModelCache("", "", cost, cost, ("every token takes the bytes given, none are fixed",))


def _rules(asked: KvQuestion) -> EngineRules:
    scales = None if asked.scales is None else scale_layout(asked.scales)
    base = EngineRules(scales=scales)
    exceptions = asked.layer_dtype or {}
    for kind in exceptions:
        if kind not in EXCEPTIONS:
            raise PrefixlabError(
                f"--layer-dtype {kind[:40]!r} is no kind of layer", f"Give one of {', '.join(EXCEPTIONS)}"
            )
    return EngineRules(
        dtype=None if asked.dtype is None else number_type(asked.dtype, base),
        layer_dtypes={kind: number_type(name, base, "--layer-dtype") for kind, name in exceptions.items()},
        scales=scales,
        ranks=asked.tp,
    )


def _memory(asked: KvQuestion, notes: list[str], *, has_model: bool) -> Capacity | None:
    if asked.kv_budget is not None:
        room = quantities.whole_bytes(asked.kv_budget, "--kv-budget")
        return Capacity(room, weights_bytes=_weights(asked.weights_bytes) or None)
    if asked.gpu is None:
        return None
    cards, each = quantities.cards_bytes(asked.gpu, "--gpu")
    if asked.tp > cards:
        raise PrefixlabError(
            f"--tp {asked.tp} takes as many cards, and --gpu names {cards}",
            f"Give --gpu {asked.tp}x80GB or the like, or fewer ranks",
        )
    if has_model and cards != asked.tp:
        notes.append(_spread(cards, asked))
    if asked.utilization is None:
        notes.append(f"the engine may use {UTILIZATION} of the cards; --utilization says otherwise")
    if asked.weights_bytes is None:
        notes.append("no weights are counted off the cards; --weights-bytes does")
    if asked.overhead is None:
        notes.append("no overhead (activations, graphs) is counted off the cards; --overhead does")
    return capacity.memory_for_cache(
        cards,
        each,
        quantities.share(UTILIZATION if asked.utilization is None else asked.utilization, "--utilization"),
        _weights(asked.weights_bytes),
        _bytes(asked.overhead, "--overhead") or 0,
    )


def _spread(cards: int, asked: KvQuestion) -> str:
    """How a cache lies on several cards that are not one rank each."""
    if asked.tp > 1:
        return f"the cache of {asked.tp} ranks is held once over {cards} cards, as if they were one memory"
    if asked.bytes_per_token is not None:
        return f"the bytes given are held once over {cards} cards; count in them what cards have copies of"
    copies = "latents, and KV heads where there are fewer than ranks"
    return f"the cache is held once over {cards} cards; --tp {cards} counts what ranks hold copies of: {copies}"


def _reads(asked: KvQuestion, model: ModelCache | None, notes: list[str]) -> capacity.DecodeReads | None:
    """What a decode step reads at which rate."""
    if asked.bandwidth is None:
        return None
    weights = _bytes(asked.weights_read, "--weights-read")
    rate = quantities.bytes_per_second(asked.bandwidth, "--bandwidth")
    if asked.tp > 1:
        notes.append(
            f"the bandwidth is that of one card: each of {asked.tp} ranks reads its own part of the cache"
            + (" and of the weights" if weights is not None else "")
            + ", all at the same time"
        )
    else:
        notes.append("all that a step reads is read at the bandwidth given; with --tp it is that of one card")
    if weights is not None:
        notes.append("a decode step takes as long as its reads of weights and cache: no compute, no overlap, batch 1")
    return capacity.DecodeReads(rate, None if model is None else model.rank_cost, asked.tp, weights)


def _weights(given: Amount | os.PathLike[str] | None) -> int:
    """Bytes of weights: an amount, or a safetensors index that states it, or the folder of one."""
    if given is None:
        return 0
    path = os.fspath(given) if isinstance(given, os.PathLike) else given
    if isinstance(path, str) and (isinstance(given, os.PathLike) or path.endswith(".json")):
        return capacity.weights_of_index(path)
    try:
        return quantities.whole_bytes(path, "--weights-bytes")
    except PrefixlabError:
        with suppress(ValueError):
            if isinstance(path, str) and os.path.isdir(path):
                return capacity.weights_of_index(path)
        raise


def _bytes(given: Amount | None, option: str) -> int | None:
    """Bytes, or none where none were given."""
    return None if given is None else quantities.whole_bytes(given, option)


def _tokens(given: Amount | None, option: str) -> int | None:
    return None if given is None else quantities.token_count(given, option)


def _shared(asked: KvQuestion) -> SharedPrefix | None:
    tokens = _tokens(asked.shared_prefix, "--shared-prefix")
    if tokens is None:
        return None
    return SharedPrefix(tokens, _tokens(asked.requests, "--requests") if asked.requests is not None else None)
