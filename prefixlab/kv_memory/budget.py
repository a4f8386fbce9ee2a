"""What other commands ask of a model's cache: the bytes of a token, and the tokens that a memory holds."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from prefixlab.errors import PrefixlabError
from prefixlab.kv_memory.engine_rules import EngineRules, number_type
from prefixlab.kv_memory.model_config import model_cache
from prefixlab.kv_sheet import SessionCost


class Budget(NamedTuple):
    """A memory as tokens of a model's cache, and how it was reckoned."""

    tokens: int
    budget_bytes: int
    bytes_per_token: Fraction
    model: str
    dtype: str
    fixed_bytes: int
    """Of each session's windows and states, which are not taken off; without windows where the rate has them."""
    tokens_if_all_kept: int | None
    """The same where windowed layers are kept whole; none where there are no such layers."""
    only_windows: bool
    """Whether every layer has a window, so that the rate is that of windows kept whole."""

    def notes(self) -> list[str]:
        """What a reader has to know of the tokens."""
        said = []
        if self.only_windows:
            said.append(
                f"Every attention layer of {self.model} has a window: the memory was divided by what a token takes "
                "where windows are kept whole, and an engine that frees them holds more sessions."
            )
        if self.fixed_bytes:
            said.append(
                f"What running sessions hold beside it in windows and states, {self.fixed_bytes:,} bytes each, is not "
                f"taken off the memory of {self.budget_bytes:,} bytes."
            )
        if self.tokens_if_all_kept is not None:
            said.append(f"An engine that keeps windowed layers whole holds {self.tokens_if_all_kept:,} tokens in it.")
        return said


def budget(
    config: str, budget_bytes: int, dtype: str | None = None, *, ranks: int = 1, offline: bool = False
) -> Budget:
    """How many tokens' growing part fits into so many bytes. Windows and states of sessions are not taken off.

    Where every layer has a window nothing grows without end. What is cached of earlier requests are tokens all the
    same, so there the rate of windows kept whole divides the memory.

    Raises:
        PrefixlabError: as `model_cache`; the budget is smaller than one token; or no layer keeps tokens, so that tokens
            do not say what fits.
    """
    model = model_cache(config, _rules(dtype, ranks), offline=offline)
    cost = model.cost
    rate, kept = cost.bytes_per_token, cost.bytes_per_token_if_all_kept
    only_windows = not rate and kept > 0
    tokens = tokens_at(kept if only_windows else rate, budget_bytes, model.name)
    if_kept = int(budget_bytes / kept) if kept != rate and not only_windows else None
    fixed = cost.fixed_bytes
    if only_windows:
        rate, fixed = kept, sum([layer.fixed_bytes for layer in cost.layers if layer.window is None])
    return Budget(tokens, budget_bytes, rate, model.name, model.dtype, fixed, if_kept, only_windows)


def tokens_in_budget(
    config: str, budget_bytes: int, dtype: str | None = None, *, ranks: int = 1, offline: bool = False
) -> int:
    """The tokens of `budget` alone.

    Raises:
        PrefixlabError: as `budget`.
    """
    return budget(config, budget_bytes, dtype, ranks=ranks, offline=offline).tokens


def bytes_per_token(
    config: str, dtype: str | None = None, *, ranks: int = 1, offline: bool = False
) -> tuple[float, int]:
    """What each further token of a session adds, and the fixed bytes of a session (full windows, states).

    Bytes are those of all ranks together. `dtype` is a name such as `fp8`; without it the config decides.

    Raises:
        PrefixlabError: as `model_cache`.
    """
    cost = model_cache(config, _rules(dtype, ranks), offline=offline).cost
    return float(cost.bytes_per_token), cost.fixed_bytes


def tokens_that_fit(cost: SessionCost, budget_bytes: int, model: str) -> int:
    """How many tokens' growing part fits into so many bytes.

    Raises:
        PrefixlabError: not even one, or any number.
    """
    return tokens_at(cost.bytes_per_token, budget_bytes, model)


def tokens_at(rate: Fraction, budget_bytes: int, model: str) -> int:
    """How many tokens of `rate` bytes fit into so many bytes.

    Raises:
        PrefixlabError: not even one, or any number.
    """
    name = model or "this model"
    if not rate:
        raise PrefixlabError(
            f"no layer of {name} grows with the tokens", "Ask for sessions: prefixlab kv CONFIG --kv-budget SIZE"
        )
    if budget_bytes < rate:
        raise PrefixlabError(
            f"a budget of {budget_bytes:,} bytes is smaller than one token of {name}, which takes "
            f"{float(rate):,.10g} bytes",
            "Give a larger budget, such as 71GiB",
        )
    return int(budget_bytes / rate)


def _rules(dtype: str | None, ranks: int) -> EngineRules:
    rules = EngineRules(ranks=ranks)
    return rules if dtype is None else EngineRules(dtype=number_type(dtype, rules), ranks=ranks)
