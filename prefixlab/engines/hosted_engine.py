"""What engines of hosted providers have in common: a profile with the provider's figures, and no size of one's own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Self

from prefixlab.bill import Rates
from prefixlab.errors import PrefixlabError

if TYPE_CHECKING:
    from prefixlab.engines.provider_profiles import Figure, Profile


@dataclass(frozen=True, slots=True)
class HostedEngine:
    """A hosted provider's cache. The class of each profile is made from one of the mechanisms and its figures."""

    name: ClassVar[str]
    summary: ClassVar[str]
    follows: ClassVar[str]
    block_option: ClassVar[str | None] = None
    profile: ClassVar[Profile]

    @property
    def capacity_tokens(self) -> int | None:
        return None

    @property
    def reuses_moved_text(self) -> bool:
        return False

    @property
    def lifetime(self) -> float | None:
        """Seconds that an unused entry is kept; None: for ever."""
        ttl: float | None = getattr(self, "ttl", None)
        return ttl

    @property
    def rates(self) -> Rates:
        """What a token costs that is read from the cache or written to it."""
        return self.profile.rates(self.lifetime)

    def last_token_loss(self, shared_tokens: int, prompt_tokens: int) -> int:
        """No provider says that it computes the last token of a prompt that it has whole."""
        return 0

    def with_capacity(self, cache_tokens: int | None) -> Self:
        if cache_tokens is None:
            return self
        raise PrefixlabError(
            f"{self.name} is a hosted service: how much its cache holds is not yours to set",
            "Leave the size of the cache out",
        )

    def unlimited(self) -> Self:
        """The same rule with time for everything."""
        return replace(self, ttl=None)  # type: ignore[call-arg]

    def notes(self, *, has_times: bool) -> tuple[str, ...]:
        """Sentences for a report: which profile this is, what in it is not confirmed, what the log cannot tell."""
        said = list(self.profile.notes(self.name, self._uses))
        if self.lifetime is not None and not has_times:
            said.append(
                f"The log has no times, so nothing expires; {self.name} keeps what it does not use {_span(self)}."
            )
        return tuple(said)

    def _uses(self, figure: Figure) -> bool:
        """Whether the figure counts for this engine: an option may have another value, and one write price is paid."""
        if figure.name.startswith("write"):
            return figure is self.profile.write(self.lifetime)
        return bool(getattr(self, figure.name, figure.value) == figure.value)


def _span(engine: HostedEngine) -> str:
    seconds = engine.lifetime or 0
    for unit, size in (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1)):
        if seconds >= size and seconds % size == 0:
            count = int(seconds // size)
            return f"for {count} {unit}{'s' if count > 1 else ''}"
    return f"for {seconds:g} seconds"
