"""The chain of `kv`: a config and what was asked of it become a sheet; the command and `pl.kv` both use it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields

from prefixlab.errors import PrefixlabError
from prefixlab.kv_memory import capacity, quantities
from prefixlab.kv_memory.element_types import scale_layout
from prefixlab.kv_memory.engine_rules import EXCEPTIONS, EngineRules, number_type
from prefixlab.kv_memory.model_config import ModelCache, model_cache
from prefixlab.kv_sheet import Capacity, Context, KvSheet, LayerGroup, SessionCost, SharedPrefix

UTILIZATION = "0.92"
"""Share of a card that the engine may use where none is given."""

Amount = str | int | float
"""A quantity as people write it, or a plain number."""


@dataclass(frozen=True, slots=True)
class KvQuestion:
    """What is asked. Quantities are as on the command line: `71GiB`, `2x80GB`, `4096,32768`; numbers will do too."""

    dtype: str | None = None
    layer_dtype: Mapping[str, str] = field(default_factory=dict)
    scales: str | None = None
    tp: int = 1
    bytes_per_token: Amount | None = None
    context: Amount | Sequence[int] | None = None
    kv_budget: Amount | None = None
    gpu: str | None = None
    utilization: Amount | None = None
    weights_bytes: Amount | None = None
    overhead: Amount | None = None
    bandwidth: Amount | None = None
    weights_read: Amount | None = None
    reserve: Amount | None = None
    block_size: int = 16
    prefill: Amount | None = None
    experts: str | None = None
    ridge: Amount | None = None
    shared_prefix: Amount | None = None
    requests: Amount | None = None
    offline: bool = False


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
    return answer(None if config is None else os.fspath(config), KvQuestion(**asked))  # type: ignore[arg-type]


def answer(config: str | None, asked: KvQuestion) -> KvSheet:
    """The sheet for a question.

    Raises:
        PrefixlabError: the config or a quantity is wrong, or there is nothing to answer.
    """
    _check(config, asked)
    model = _model(config, asked)
    cost = None if model is None else model.cost
    notes = list(model.assumptions) if model is not None else []
    lengths = _lengths(asked.context)
    memory = _memory(asked, notes)
    bandwidth = None if asked.bandwidth is None else quantities.bytes_per_second(str(asked.bandwidth), "--bandwidth")
    weights_read = _bytes(asked.weights_read, "--weights-read")
    reserve = _tokens(asked.reserve, "--reserve")
    shared = _shared(asked)
    prefill = _tokens(asked.prefill, "--prefill")
    contexts: tuple[Context, ...] = ()
    if cost is not None:
        contexts = tuple(
            capacity.context(
                cost,
                tokens,
                bandwidth=bandwidth,
                weights_read=weights_read,
                reserve=reserve,
            )
            for tokens in lengths
        )
        if memory is not None:
            prefix = None if shared is None else shared.tokens
            memory = capacity.filled(memory, cost, lengths, prefix, model.name if model is not None else "")
    if reserve is not None:
        for tokens in lengths:
            capacity.reservation_waste(reserve, tokens)
    if shared is not None:
        notes.append("a shared prefix is counted to the token; engines share whole blocks of it")
    if weights_read is not None:
        notes.append("a decode step takes as long as its reads of weights and cache: no compute, no overlap, batch 1")
    experts = None if asked.experts is None else quantities.active_of(asked.experts, "--experts")
    ridge = None if asked.ridge is None else quantities.number(str(asked.ridge), "--ridge")
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
        block_size=asked.block_size,
        prefill_tokens=prefill,
        prefill_bytes=None if prefill is None or cost is None else capacity.prefill_bytes(cost, prefill),
        bandwidth=bandwidth,
        weights_read=weights_read,
        tokens_per_second_without_cache=(
            None if bandwidth is None or weights_read is None else bandwidth / weights_read
        ),
        experts=experts,
        ridge=ridge,
        ridge_batch=None if experts is None or ridge is None else capacity.ridge_batch(*experts, ridge),
        shared_prefix=shared,
        assumptions=tuple(notes),
    )


def _check(config: str | None, asked: KvQuestion) -> None:
    """Options that need each other, or exclude each other."""
    has_rate = config is not None or asked.bytes_per_token is not None
    if config is not None and asked.bytes_per_token is not None:
        raise PrefixlabError("CONFIG and --bytes-per-token are both given", "Give one of them")
    if asked.kv_budget is not None and asked.gpu is not None:
        raise PrefixlabError("--kv-budget and --gpu are both given", "Give one of them")
    for name, value in (
        ("--utilization", asked.utilization),
        ("--weights-bytes", asked.weights_bytes),
        ("--overhead", asked.overhead),
    ):
        if value is not None and asked.gpu is None:
            raise PrefixlabError(f"{name} says what cards leave, and there are none", "Name them with --gpu, as 2x80GB")
    of_model = (asked.dtype, asked.layer_dtype or None, asked.scales, None if asked.tp == 1 else asked.tp)
    if config is None and any([each is not None for each in of_model]):
        raise PrefixlabError(
            "--dtype, --layer-dtype, --scales and --tp are for the layers of a CONFIG", "Give a CONFIG"
        )
    pairs = (
        ("--weights-read", asked.weights_read, "--bandwidth", asked.bandwidth),
        ("--reserve", asked.reserve, "--context", asked.context),
        ("--experts", asked.experts, "--ridge", asked.ridge),
        ("--ridge", asked.ridge, "--experts", asked.experts),
        ("--requests", asked.requests, "--shared-prefix", asked.shared_prefix),
    )
    for name, value, other, wanted in pairs:
        if value is not None and wanted is None:
            raise PrefixlabError(f"{name} needs {other}", f"Give {other} too")
    if asked.prefill is not None and not has_rate:
        raise PrefixlabError("--prefill needs the bytes that a token takes", "Give a CONFIG or --bytes-per-token")
    if asked.bandwidth is not None and asked.weights_read is None and (asked.context is None or not has_rate):
        raise PrefixlabError("--bandwidth has nothing to read", "Give a CONFIG with --context, or --weights-read")
    alone = (asked.gpu, asked.weights_read, asked.experts, asked.reserve, asked.requests)
    if not has_rate and not any([each is not None for each in alone]) and not (asked.kv_budget and asked.context):
        raise PrefixlabError("there is no model to size", "Give a CONFIG (file, folder or hub id) or --bytes-per-token")


def _model(config: str | None, asked: KvQuestion) -> ModelCache | None:
    if isinstance(asked.tp, bool) or not isinstance(asked.tp, int) or asked.tp < 1:
        raise PrefixlabError(f"--tp {str(asked.tp)[:40]} cannot be", "Give a number of ranks, at least 1")
    if isinstance(asked.block_size, bool) or not isinstance(asked.block_size, int) or asked.block_size < 1:
        raise PrefixlabError(
            f"--block-size {str(asked.block_size)[:40]} cannot be", "Give a number of tokens, at least 1"
        )
    if config is not None:
        return model_cache(config, _rules(asked), offline=asked.offline)
    if asked.bytes_per_token is None:
        return None
    rate = quantities.bytes_amount(str(asked.bytes_per_token), "--bytes-per-token")
    cost = SessionCost((LayerGroup("given", 1, rate, bytes_per_token_if_kept=rate),))
    return ModelCache("", "", cost, cost, ("every token takes the bytes given, none are fixed",))


def _rules(asked: KvQuestion) -> EngineRules:
    scales = None if asked.scales is None else scale_layout(asked.scales)
    base = EngineRules(scales=scales)
    for kind in asked.layer_dtype:
        if kind not in EXCEPTIONS:
            raise PrefixlabError(
                f"--layer-dtype {kind[:40]!r} is no kind of layer", f"Give one of {', '.join(EXCEPTIONS)}"
            )
    return EngineRules(
        dtype=None if asked.dtype is None else number_type(asked.dtype, base),
        layer_dtypes={kind: number_type(name, base, "--layer-dtype") for kind, name in asked.layer_dtype.items()},
        scales=scales,
        ranks=asked.tp,
    )


def _lengths(context: Amount | Sequence[int] | None) -> tuple[int, ...]:
    if context is None:
        return ()
    said = str(context) if isinstance(context, str | int | float) else ",".join(str(each) for each in context)
    return quantities.token_counts(said, "--context")


def _memory(asked: KvQuestion, notes: list[str]) -> Capacity | None:
    if asked.kv_budget is not None:
        return Capacity(quantities.whole_bytes(str(asked.kv_budget), "--kv-budget"))
    if asked.gpu is None:
        return None
    cards, each = quantities.cards_bytes(asked.gpu, "--gpu")
    if asked.utilization is None:
        notes.append(f"the engine may use {UTILIZATION} of the cards; --utilization says otherwise")
    if asked.weights_bytes is None:
        notes.append("no weights are counted off the cards; --weights-bytes does")
    if asked.overhead is None:
        notes.append("no overhead (activations, graphs) is counted off the cards; --overhead does")
    return capacity.memory_for_cache(
        cards,
        each,
        quantities.share(UTILIZATION if asked.utilization is None else str(asked.utilization), "--utilization"),
        _weights(asked.weights_bytes),
        _bytes(asked.overhead, "--overhead") or 0,
    )


def _weights(given: Amount | None) -> int:
    """Bytes of weights: an amount, or a safetensors index that states it."""
    if given is None:
        return 0
    if isinstance(given, str) and given.endswith(".json"):
        return capacity.weights_of_index(given)
    return quantities.whole_bytes(str(given), "--weights-bytes")


def _bytes(given: Amount | None, option: str) -> int | None:
    """Bytes, or none where none were given."""
    return None if given is None else quantities.whole_bytes(str(given), option)


def _tokens(given: Amount | None, option: str) -> int | None:
    return None if given is None else quantities.token_count(str(given), option)


def _shared(asked: KvQuestion) -> SharedPrefix | None:
    tokens = _tokens(asked.shared_prefix, "--shared-prefix")
    if tokens is None:
        return None
    return SharedPrefix(tokens, _tokens(asked.requests, "--requests") if asked.requests is not None else None)
