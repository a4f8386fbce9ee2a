"""The figures of hosted providers: `profiles.toml` as objects, each figure with its source, date and standing."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, NamedTuple

from prefixlab.bill import Rates

HOUR = 3600.0
NO_OPTIONS = ("rule", "read", "write")
"""Figures that are no option of an engine; `write_1h` and the like belong to them."""


class Source(NamedTuple):
    """Where figures are from."""

    address: str
    read: str
    """The day on which the copy was read."""
    dated: str | None = None
    """The page's own date, where it has one."""
    note: str = ""

    @property
    def date(self) -> str:
        return self.dated or self.read


class Figure(NamedTuple):
    """One figure of a profile. One that is not confirmed is not the provider's word, or not one that was read."""

    name: str
    value: Any
    source: Source
    confirmed: bool = True
    note: str = ""

    @property
    def said(self) -> str:
        """The figure as a report says it."""
        return f"{self.name}={_written(self.value)}"


@dataclass(frozen=True, slots=True)
class Profile:
    """A provider's prompt cache for models that follow one rule."""

    name: str
    provider: str
    models: str
    usage: str
    """The field of an answer that reports cached tokens."""
    key: str
    """What an entry depends on beside the tokens."""
    figures: Mapping[str, Figure]
    aliases: tuple[str, ...] = ()

    @property
    def rule(self) -> str:
        """Which mechanism it is: `blocks`, `breakpoints` or `stored_units`."""
        return str(self.figures["rule"].value)

    @property
    def read_on(self) -> str:
        """The day on which its sources were last read."""
        return max(figure.source.read for figure in self.figures.values())

    @property
    def options(self) -> dict[str, Any]:
        """The figures that are options of the engine."""
        return {name: one.value for name, one in self.figures.items() if not name.startswith(NO_OPTIONS)}

    def rates(self, ttl: float | None) -> Rates:
        """Prices of reads, and of writes of entries that are kept for `ttl` seconds."""
        write = self.write(ttl)
        return Rates(float(self.figures["read"].value), None if write is None else float(write.value))

    def write(self, ttl: float | None) -> Figure | None:
        """The price of a write of an entry that is kept for `ttl` seconds; None: it costs what any token costs."""
        price = self.figures.get("write")
        for name, one in self.figures.items():
            if name.startswith("write_") and ttl is not None:
                hours = float(name.removeprefix("write_").removesuffix("h"))
                price = one if ttl >= hours * HOUR else price
        return price

    def notes(self, asked: str, used: Callable[[Figure], bool]) -> tuple[str, ...]:
        """Sentences for a report: which profile an alias is, and what of the figures that are used is not confirmed."""
        said = []
        if asked != self.name:
            said.append(f"{asked} stands for {self.name}: {self.models}.")
        figures = [one for one in self.figures.values() if not one.confirmed and used(one)]
        if figures:
            listed = ", ".join([one.said + (f" ({one.note})" if one.note else "") for one in figures])
            said.append(f"Not confirmed by {self.provider}: {listed}.")
        return tuple(said)


def read_profiles() -> tuple[Profile, ...]:
    """All profiles, in the order of the file."""
    table = tomllib.loads(files("prefixlab.engines").joinpath("profiles.toml").read_text(encoding="utf-8"))
    sources = {name: Source(**source) for name, source in table["sources"].items()}
    return tuple([_profile(row, sources) for row in table["profiles"]])


def _profile(row: dict[str, Any], sources: Mapping[str, Source]) -> Profile:
    figures = {
        name: Figure(name, one["value"], sources[one["source"]], one.get("confirmed", True), one.get("note", ""))
        for name, one in row["figures"].items()
    }
    rest = {key: value for key, value in row.items() if key not in ("figures", "aliases")}
    return Profile(figures=figures, aliases=tuple(row.get("aliases", ())), **rest)


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
