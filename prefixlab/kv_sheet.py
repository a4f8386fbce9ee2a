"""The nouns of `kv`'s answer: what a model's cache takes by kind of layer, and what that means for memory and time.

Bytes are for all tensor-parallel ranks together. A rate (bytes a token) is a `Fraction`, because quantized and
compressed layers take parts of a byte; whatever lies in memory is a whole number of bytes, rounded up.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil


def _demand(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(what)


@dataclass(frozen=True, slots=True)
class LayerGroup:
    """Layers of one kind and shape, and what they take for one session.

    `bytes_per_token` is what each further token adds; `fixed_bytes` is what lies there beside it at any length. Where
    there is a `window`, the fixed part is filled by the first `window` tokens; else it is there from the first token
    on, as a recurrent state is. `bytes_per_token_if_kept` is the rate of an engine that lets the window grow with the
    session. A state that stands for several tokens is written when the last of its `stride` tokens is there. A decode
    step reads all of it, or as much as `read_tokens` take where an indexer chooses them.
    """

    kind: str
    count: int
    bytes_per_token: Fraction
    fixed_bytes: int = 0
    window: int | None = None
    bytes_per_token_if_kept: Fraction = Fraction(0)
    stride: int = 1
    read_tokens: int | None = None

    def __post_init__(self) -> None:
        _demand(self.count >= 1, f"a group of {self.count} layers")
        _demand(self.bytes_per_token >= 0 and self.fixed_bytes >= 0, f"{self.kind} takes less than nothing")
        _demand(self.bytes_per_token_if_kept >= self.bytes_per_token, f"{self.kind} grows faster than if all is kept")
        _demand(self.window is None or self.window >= 1, f"a window of {self.window} tokens")
        _demand(self.stride >= 1, f"states of {self.stride} tokens")
        _demand(self.read_tokens is None or self.read_tokens >= 1, f"{self.read_tokens} tokens read")

    def growing_bytes(self, tokens: int) -> Fraction:
        """What has been added by so many tokens, the fixed part not counted."""
        return self.bytes_per_token * (tokens // self.stride * self.stride)

    def fixed_bytes_at(self, tokens: int) -> Fraction:
        """As much of the fixed part as a session of so many tokens fills."""
        if self.window is None or tokens >= self.window:
            return Fraction(self.fixed_bytes)
        return self.bytes_per_token_if_kept * tokens

    def read_bytes(self, tokens: int) -> Fraction:
        """What a decode step behind so many tokens reads."""
        chosen = tokens if self.read_tokens is None else min(tokens, self.read_tokens)
        return self.growing_bytes(chosen) + self.fixed_bytes_at(tokens)

    def kept_bytes(self, tokens: int) -> Fraction:
        """What the layers take if the engine keeps all tokens of all of them."""
        if self.window is None:
            return self.growing_bytes(tokens) + self.fixed_bytes
        return self.bytes_per_token_if_kept * (tokens // self.stride * self.stride)


@dataclass(frozen=True, slots=True)
class SessionCost:
    """What one session takes, summed over the groups of layers."""

    layers: tuple[LayerGroup, ...]

    @property
    def bytes_per_token(self) -> Fraction:
        """What each further token adds, where windows do not grow."""
        return sum((layer.bytes_per_token for layer in self.layers), Fraction(0))

    @property
    def bytes_per_token_if_all_kept(self) -> Fraction:
        """What each further token adds where the engine keeps windows whole."""
        return sum((layer.bytes_per_token_if_kept for layer in self.layers), Fraction(0))

    @property
    def fixed_bytes(self) -> int:
        """What a session takes beside the growing part: full windows and states."""
        return sum(layer.fixed_bytes for layer in self.layers)

    def growing_bytes(self, tokens: int) -> int:
        return ceil(sum((layer.growing_bytes(tokens) for layer in self.layers), Fraction(0)))

    def fixed_bytes_at(self, tokens: int) -> int:
        return ceil(sum((layer.fixed_bytes_at(tokens) for layer in self.layers), Fraction(0)))

    def bytes_at(self, tokens: int) -> int:
        """The whole of a session of so many tokens, windows no longer than they are."""
        parts = (layer.growing_bytes(tokens) + layer.fixed_bytes_at(tokens) for layer in self.layers)
        return ceil(sum(parts, Fraction(0)))

    def read_bytes(self, tokens: int) -> int:
        """What a decode step behind so many tokens reads: windows and states too, of sparse layers what is chosen."""
        return ceil(sum((layer.read_bytes(tokens) for layer in self.layers), Fraction(0)))

    def kept_bytes(self, tokens: int) -> int:
        """The whole of a session of so many tokens in an engine that keeps windows whole."""
        return ceil(sum((layer.kept_bytes(tokens) for layer in self.layers), Fraction(0)))


@dataclass(frozen=True, slots=True)
class Context:
    """One session of so many tokens. `bytes` is the growing part alone; `read_bytes` is what a rank reads of it in a
    decode step."""

    tokens: int
    bytes: int
    bytes_with_fixed: int
    bytes_if_all_kept: int
    read_bytes: int | None = None
    read_seconds: float | None = None
    tokens_per_second: float | None = None
    reservation_waste: Fraction | None = None

    def __post_init__(self) -> None:
        _demand(self.tokens >= 1, f"a context of {self.tokens} tokens")
        _demand(0 <= self.bytes <= self.bytes_with_fixed, f"the growing part of {self.tokens} tokens is over the whole")


@dataclass(frozen=True, slots=True)
class Sessions:
    """How many sessions of so many tokens fit: each with its fixed part, the growing part alone, every layer whole, and
    with a shared prefix. `None` is as many as one likes: they take nothing of their own."""

    tokens: int
    sessions: int | None
    sessions_growing_part: int | None
    sessions_if_all_kept: int | None
    growing_bytes: int
    """What the sessions of the growing part take together."""

    sessions_with_shared_prefix: int | None = None


@dataclass(frozen=True, slots=True)
class Capacity:
    """The memory that is there for the cache, and what fits. The parts are known where the cards were named."""

    cache_bytes: int
    tokens: int | None = None
    tokens_if_all_kept: int | None = None
    sessions: tuple[Sessions, ...] = ()
    gpu_bytes: int | None = None
    usable_bytes: int | None = None
    weights_bytes: int | None = None
    overhead_bytes: int | None = None

    def __post_init__(self) -> None:
        _demand(self.cache_bytes >= 1, f"a cache of {self.cache_bytes} bytes")
        _demand(self.tokens is None or self.tokens >= 0, f"a cache of {self.tokens} tokens")


@dataclass(frozen=True, slots=True)
class SharedPrefix:
    """A prefix that all requests begin with, computed once and held once. The number of requests may be left open."""

    tokens: int
    requests: int | None = None

    def __post_init__(self) -> None:
        _demand(self.tokens >= 1, f"a shared prefix of {self.tokens} tokens")
        _demand(self.requests is None or self.requests >= 1, f"{self.requests} requests")

    @property
    def resident_tokens(self) -> int:
        """What lies in memory with sharing."""
        return self.tokens

    @property
    def prompt_tokens(self) -> int | None:
        """The prefix in all requests: without sharing, all of it lies in memory and is computed."""
        return None if self.requests is None else self.tokens * self.requests

    @property
    def recomputed_tokens(self) -> int | None:
        """What is computed again without sharing, and saved with it."""
        return None if self.requests is None else self.tokens * (self.requests - 1)


@dataclass(frozen=True, slots=True)
class KvSheet:
    """All that was asked. What was not asked is `None` or empty."""

    model: str
    cost: SessionCost | None
    dtype: str = ""
    ranks: int = 1
    rank_cost: SessionCost | None = None
    lengths: tuple[int, ...] = ()
    contexts: tuple[Context, ...] = ()
    capacity: Capacity | None = None
    reserve: int | None = None
    block_size: int = 16
    prefill_tokens: int | None = None
    prefill_bytes: int | None = None
    bandwidth: int | None = None
    weights_read: int | None = None
    tokens_per_second_without_cache: float | None = None
    experts: tuple[int, int] | None = None
    ridge: Fraction | None = None
    ridge_batch: int | None = None
    shared_prefix: SharedPrefix | None = None
    assumptions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _demand(self.ranks >= 1, f"{self.ranks} ranks")
        _demand(self.experts is None or 1 <= self.experts[0] <= self.experts[1], "more experts than there are")
        _demand(not self.contexts or self.cost is not None, "contexts of an unknown model")

    @property
    def layers(self) -> tuple[LayerGroup, ...]:
        """The groups of layers; none where no model was given."""
        return () if self.cost is None else self.cost.layers

    @property
    def bytes_per_token(self) -> Fraction | None:
        """What each further token adds, where windows do not grow."""
        return None if self.cost is None else self.cost.bytes_per_token

    @property
    def bytes_per_token_if_all_kept(self) -> Fraction | None:
        """What each further token adds in an engine that keeps windowed layers whole."""
        return None if self.cost is None else self.cost.bytes_per_token_if_all_kept

    @property
    def fixed_bytes(self) -> int | None:
        """What a session takes beside the growing part."""
        return None if self.cost is None else self.cost.fixed_bytes

    @property
    def max_bytes_per_token(self) -> Fraction | None:
        """The most that a token may take for the longest length to fit once into the memory."""
        if self.capacity is None or not self.lengths:
            return None
        return Fraction(self.capacity.cache_bytes, max(self.lengths))

    @property
    def reservation_waste(self) -> Fraction | None:
        """The share of a contiguous reservation that the shortest length never touches."""
        if self.reserve is None or not self.lengths:
            return None
        return 1 - Fraction(min(self.lengths), self.reserve)

    @property
    def longest(self) -> Context | None:
        """The context of the most tokens."""
        return max(self.contexts, key=lambda context: context.tokens, default=None)
