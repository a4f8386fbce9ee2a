"""What is judged of a value: how often it is another, of what sort it is, and what tells."""

from __future__ import annotations

from typing import Literal, NamedTuple

from prefixlab.prompt_templates import Volatility

Sort = Literal[
    "clock", "date", "id", "random", "environment", "user", "session", "history", "retrieved", "question", "setting",
    "unknown",
]  # fmt: skip
"""What sort of value it is."""


class Judged(NamedTuple):
    """A hole's volatility, the sort of its value, and what tells: `declared`, `values`, `call` or `name`."""

    volatility: Volatility
    sort: Sort
    by: Literal["declared", "values", "call", "name", "nothing"]
    told_by: str = ""
    """The call or the name that tells."""

    @property
    def varies(self) -> bool:
        """Whether the value differs between requests of one deployment, or from day to day.

        A name of a tenant says only who may be asked for: it takes more to know that a deployment serves several.
        """
        if self.by in ("declared", "values"):
            return self.volatility >= Volatility.TENANT
        return self.volatility >= Volatility.USER or self.sort == "date"

    @property
    def is_assumed(self) -> bool:
        """Whether nothing shows that the value does not vary."""
        return (
            not self.varies
            and self.by not in ("declared", "values")
            and (self.sort == "unknown" or self.volatility == Volatility.TENANT)
        )


UNKNOWN = Judged(Volatility.DEPLOYMENT, "unknown", "nothing")
