"""What a log's prompt tokens cost: as they are, with the fields fixed, and without a cache.

The unit is the price of one input token that is not cached. Most providers charge a fraction of it for a token read
from the cache; some charge more than it for a token that is written there (`Rates`). With a price for a million tokens
the same sums are money. Ratios are sums over sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

MILLION = 1_000_000


class Rates(NamedTuple):
    """What a token costs, in prices of an input token that is not cached."""

    read: float
    write: float | None = None
    """For a token that is written to the cache; None where a write costs no more than any other token."""


UNPRICED = Rates(read=0.0)
"""Of an engine that one runs oneself: a token in its cache is not computed again, and a write is free."""


class PromptTokens(NamedTuple):
    """Prompt tokens of a run, by what is charged for them."""

    cached: int
    written: int
    uncached: int
    """Neither read from the cache nor written to it."""

    @classmethod
    def of(cls, prompt_tokens: int, cached: int, written: int = 0) -> PromptTokens:
        """The sums of a run, from its prompt tokens, those read from the cache and those written to it."""
        return cls(cached, written, prompt_tokens - cached - written).checked()

    def checked(self) -> PromptTokens:
        """The sums themselves, once they are known to be possible."""
        if min(self) < 0:
            raise ValueError(f"a number of tokens is negative: {self}")
        return self

    @property
    def total(self) -> int:
        return sum(self)

    def won_back(self, tokens: int) -> PromptTokens:
        """The same run once `tokens` more are cached.

        What is cached then was written again in each request until now, so it is taken from the written tokens first.
        """
        tokens = min(tokens, self.written + self.uncached)
        from_written = min(tokens, self.written)
        return PromptTokens(
            self.cached + tokens, self.written - from_written, self.uncached - (tokens - from_written)
        ).checked()

    def cost(self, rates: Rates) -> float:
        """In prices of an input token that is not cached."""
        write = 1.0 if rates.write is None else rates.write
        return self.uncached + rates.read * self.cached + write * self.written


@dataclass(frozen=True, slots=True)
class Bill:
    """The input bill of a log. Amounts are in prices of an uncached input token, or in money where a price is given."""

    rates: Rates
    price_per_mtok: float | None
    now: float
    fixed: float
    without_cache: float

    @property
    def is_money(self) -> bool:
        return self.price_per_mtok is not None

    @property
    def now_ratio(self) -> float:
        """The bill as a fraction of that without a cache; above 1 where writes cost more than reads save."""
        return self._ratio(self.now)

    @property
    def fixed_ratio(self) -> float:
        return self._ratio(self.fixed)

    @property
    def saved_by_fixing(self) -> float:
        """The amount that fixing the fields takes off the bill."""
        return self.now - self.fixed

    def _ratio(self, amount: float) -> float:
        return amount / self.without_cache if self.without_cache else 0.0


def input_bill(
    now: PromptTokens, fixed: PromptTokens, rates: Rates = UNPRICED, *, price_per_mtok: float | None = None
) -> Bill:
    """The bill of a run as it is (`now`) and with its fields fixed; a fixed prompt may be a few tokens longer."""
    price = 1.0 if price_per_mtok is None else price_per_mtok / MILLION
    return Bill(
        rates=rates,
        price_per_mtok=price_per_mtok,
        now=now.cost(rates) * price,
        fixed=fixed.cost(rates) * price,
        without_cache=now.total * price,
    )
