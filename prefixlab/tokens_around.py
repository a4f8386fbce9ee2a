"""Tokens ahead of a place of a prompt and behind it, seen from there: whoever came to an arm of a condition shares what
stands in it.
"""

from __future__ import annotations

from collections.abc import Sequence

from prefixlab.prompt_templates import Volatility

Around = tuple[tuple[tuple[int, int] | None, Volatility], ...]
"""Choices and loops, the outermost first: of an arm of a choice what tells it from all others, of a loop None; and how
volatile what decides is."""


def volatility_from(around: Around, seen_from: Around = ()) -> Volatility:
    """How volatile it is that a text is there, seen from a place: whoever came to an arm shares what stands in it."""
    shared = 0
    for one, other in zip(around, seen_from):
        if one != other or one[0] is None:
            break
        shared += 1
    return max([level for _, level in around[shared:]], default=Volatility.CONSTANT)


class TokensAround:
    """Tokens ahead of a place and behind it, seen from there."""

    def __init__(self, stretches: Sequence[tuple[int, Around, bool]]) -> None:
        self._stretches = stretches
        self._arms: dict[object, tuple[int, int]] = {}
        """Of each outermost arm its first stretch, and the one behind its last."""
        self._ahead = [0]
        """Tokens that all requests have, ahead of each stretch."""
        levels = [volatility_from(around) for _, around, _ in stretches]
        for number, (tokens, around, _) in enumerate(stretches):
            self._ahead.append(self._ahead[-1] + (0 if levels[number] else tokens))
            if around and around[0][0] is not None:
                first, _ = self._arms.get(around[0], (number, number))
                self._arms[around[0]] = (first, number + 1)
        self._behind = {}
        """By level and by whether the newest turn counts: tokens less volatile than that, from each stretch on."""
        for level in Volatility:
            for with_newest in (False, True):
                sums = [0]
                for (tokens, _, newest), own in zip(reversed(stretches), reversed(levels)):
                    counts = own < level and (with_newest or not newest)
                    sums.append(sums[-1] + (tokens if counts else 0))
                self._behind[level, with_newest] = sums[::-1]

    def around(self, around: Around, ahead: int, level: Volatility, with_newest: bool) -> tuple[int, int]:
        """Those that all who come to a place share ahead of it, and those less volatile than a level behind it."""
        first, end = self._arms.get(around[0], (ahead, ahead)) if around else (ahead, ahead)
        first, end = min(first, ahead), max(end, ahead)
        before, behind = self._ahead[first], self._behind[level, with_newest][end]
        for tokens, other, _ in self._stretches[first:ahead]:
            before += 0 if volatility_from(other, around) else tokens
        for tokens, other, newest in self._stretches[ahead:end]:
            behind += tokens if volatility_from(other, around) < level and (with_newest or not newest) else 0
        return before, behind
