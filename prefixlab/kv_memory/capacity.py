"""The arithmetic of memory and time: contexts, budgets, sessions, reservation, reads, the roofline of a decode step."""

from __future__ import annotations

import os
from collections.abc import Sequence
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from prefixlab.errors import PrefixlabError
from prefixlab.kv_memory.budget import tokens_that_fit
from prefixlab.kv_memory.config_source import LARGEST_INDEX, read_document
from prefixlab.kv_sheet import Capacity, Context, SessionCost, Sessions

SAFETENSORS_INDEX = "model.safetensors.index.json"


class DecodeReads(NamedTuple):
    """What a decode step reads at what rate: `bandwidth` is that of each of `ranks` ranks, which read at the same time.

    A rank reads its own part of the cache, `rank_cost`, and its share of the weights.
    """

    bandwidth: int
    rank_cost: SessionCost | None
    ranks: int = 1
    weights_read: int | None = None

    @property
    def tokens_per_second_without_cache(self) -> float | None:
        """With the weights read alone."""
        return None if self.weights_read is None else self.bandwidth * self.ranks / self.weights_read

    def rank_bytes(self, tokens: int) -> int:
        """Of the cache of so many tokens."""
        assert self.rank_cost is not None
        return self.rank_cost.read_bytes(tokens)

    def tokens_per_second(self, tokens: int) -> float | None:
        """The step takes as long as its reads of weights and cache take."""
        if self.weights_read is None:
            return None
        return float(self.bandwidth / (Fraction(self.weights_read, self.ranks) + self.rank_bytes(tokens)))


def context(cost: SessionCost, tokens: int, *, reads: DecodeReads | None, reserve: int | None) -> Context:
    """One session of so many tokens: its bytes, and whatever else was given to reckon with."""
    read = None if reads is None else reads.rank_bytes(tokens)
    return Context(
        tokens=tokens,
        bytes=cost.growing_bytes(tokens),
        bytes_with_fixed=cost.bytes_at(tokens),
        bytes_if_all_kept=cost.kept_bytes(tokens),
        read_bytes=read,
        read_seconds=None if reads is None or read is None else read / reads.bandwidth,
        tokens_per_second=None if reads is None else reads.tokens_per_second(tokens),
        reservation_waste=None if reserve is None else reservation_waste(reserve, tokens),
    )


def reservation_waste(reserve: int, used: int) -> Fraction:
    """The share of a contiguous reservation that is never touched.

    Raises:
        PrefixlabError: the session is longer than what is reserved for it.
    """
    if used > reserve:
        raise PrefixlabError(
            f"a context of {used} tokens does not fit in --reserve {reserve}",
            "Reserve as many tokens as the longest takes",
        )
    return 1 - Fraction(used, reserve)


def memory_for_cache(
    cards: int, card_bytes: int, utilization: Fraction, weights_bytes: int, overhead_bytes: int
) -> Capacity:
    """What the cards leave for the cache, with the parts it was reckoned from.

    Raises:
        PrefixlabError: nothing is left.
    """
    total = cards * card_bytes
    usable = int(total * utilization)
    left = usable - weights_bytes - overhead_bytes
    if left < 1:
        raise PrefixlabError(
            f"of {usable} usable bytes, {weights_bytes} of weights and {overhead_bytes} of overhead leave nothing",
            "Give more or larger cards to --gpu",
        )
    return Capacity(
        cache_bytes=left,
        gpu_bytes=total,
        usable_bytes=usable,
        weights_bytes=weights_bytes,
        overhead_bytes=overhead_bytes,
    )


def filled(memory: Capacity, cost: SessionCost, lengths: Sequence[int], prefix: int | None, model: str) -> Capacity:
    """The capacity with what fits in it.

    Raises:
        PrefixlabError: the memory is smaller than one token.
    """
    room = memory.cache_bytes
    rate, kept = cost.bytes_per_token, cost.bytes_per_token_if_all_kept
    return Capacity(
        cache_bytes=room,
        tokens=tokens_that_fit(cost, room, model) if rate else None,
        tokens_if_all_kept=int(room / kept) if kept else None,
        sessions=tuple(sessions_that_fit(cost, room, tokens, prefix) for tokens in lengths),
        gpu_bytes=memory.gpu_bytes,
        usable_bytes=memory.usable_bytes,
        weights_bytes=memory.weights_bytes,
        overhead_bytes=memory.overhead_bytes,
    )


def sessions_that_fit(cost: SessionCost, room: int, tokens: int, prefix: int | None) -> Sessions:
    """How many sessions of so many tokens fit into so many bytes."""
    growing = cost.growing_bytes(tokens)
    alone = _fit(room, growing)
    return Sessions(
        tokens=tokens,
        sessions=_fit(room, cost.bytes_at(tokens)),
        sessions_growing_part=alone,
        sessions_if_all_kept=_fit(room, cost.kept_bytes(tokens)),
        growing_bytes=growing * (alone or 0),
        sessions_with_shared_prefix=None if prefix is None else sessions_behind(cost, room, tokens, prefix),
    )


def sessions_behind(cost: SessionCost, room: int, tokens: int, prefix: int) -> int | None:
    """Sessions that fit when the first `prefix` of their tokens are held once for all of them.

    Windows and states are each session's own. What is shared is no longer than the session.
    """
    shared = min(prefix, tokens)
    once = cost.growing_bytes(shared)
    if once > room:
        return 0
    return _fit(room - once, cost.growing_bytes(tokens) - once + cost.fixed_bytes_at(tokens))


def _fit(room: int, each: int) -> int | None:
    """How many of a size fit; any number of what takes nothing."""
    return room // each if each else None


def prefill_bytes(cost: SessionCost, tokens: int) -> int:
    """What a prefill writes: every token to every layer that has a cache, also to windows that it leaves again."""
    states = sum(layer.fixed_bytes for layer in cost.layers if layer.window is None)
    return ceil(cost.bytes_per_token_if_all_kept * tokens) + states


def ridge_batch(active: int, total: int, ridge: Fraction) -> int:
    """The batch at which a mixture of experts has `ridge` operations for each byte of weights.

    Each of `total` experts sees `active / total` of the batch, so intensity is the batch times that share.
    """
    return ceil(ridge * total / active)


def weights_of_index(path: str) -> int:
    """The bytes of weights that a safetensors index states as `metadata.total_size`; a folder is that of the model.

    Raises:
        PrefixlabError: the file is none, or the folder has none.
    """
    if os.path.isdir(path):
        folder, path = path, os.path.join(path, SAFETENSORS_INDEX)
        if not os.path.isfile(path):
            raise PrefixlabError(
                f"the folder {folder[:200]} has no {SAFETENSORS_INDEX}", "Give the size itself, such as 65.25GB"
            )
    document = read_document(path, path, LARGEST_INDEX)
    metadata = document.values.get("metadata")
    size = metadata.get("total_size") if isinstance(metadata, dict) else None
    if isinstance(size, float) and size.is_integer():
        size = int(size)
    if isinstance(size, bool) or not isinstance(size, int) or not 0 < size < 10**18:
        raise PrefixlabError(
            "has no metadata.total_size", f"Give a {SAFETENSORS_INDEX}, or the size itself such as 65.25GB", path=path
        )
    return size
