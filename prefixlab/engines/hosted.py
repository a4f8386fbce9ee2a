"""Hosted providers: one engine for each table of `profiles.toml`, and one for each of its aliases.

An engine's class is made from the class of its mechanism: the same options, with the profile's figures as defaults. The
file is read when somebody asks for an engine that has no module of that name.
"""

from __future__ import annotations

from dataclasses import field, fields, make_dataclass
from typing import Any

from prefixlab.engines.breakpoints import Breakpoints
from prefixlab.engines.hosted_blocks import HostedBlocks
from prefixlab.engines.hosted_engine import HostedEngine
from prefixlab.engines.provider_profiles import Profile, read_profiles
from prefixlab.engines.stored_units import StoredUnits

MECHANISMS: dict[str, type[HostedEngine]] = {
    "blocks": HostedBlocks,
    "breakpoints": Breakpoints,
    "stored_units": StoredUnits,
}


def engine_of(profile: Profile, name: str) -> type[HostedEngine]:
    """The engine of a profile, called `name`."""
    mechanism = MECHANISMS[profile.rule]
    figures = profile.options
    options: list[Any] = []
    for option in fields(mechanism):
        value = figures.pop(option.name, option.default)
        if isinstance(value, int) and "float" in str(option.type):
            value = float(value)
        options.append((option.name, option.type, field(default=value, metadata=option.metadata)))
    if figures:
        raise ValueError(f"{profile.name}: {', '.join(figures)} is no option of {profile.rule}")
    alias = f"stands for {profile.name}: " if name != profile.name else ""
    return make_dataclass(
        "".join([part.title() for part in name.replace(".", "_").split("-")]),
        options,
        bases=(mechanism,),
        namespace={
            "__module__": __name__,
            "__doc__": f"{profile.provider}, {profile.models}.",
            "name": name,
            "summary": f"{alias}{profile.models}",
            "follows": f"the pages of {profile.provider}, read {profile.read_on}",
            "profile": profile,
        },
        frozen=True,
        slots=True,
    )


ENGINE = tuple([engine_of(profile, name) for profile in read_profiles() for name in (profile.name, *profile.aliases)])
