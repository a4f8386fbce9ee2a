"""`prefixlab engines`: whose rules are known."""

from __future__ import annotations

from argparse import Namespace

from prefixlab.commands import Command, no_options


def engines(asked: Namespace) -> int:
    """The engines whose rules are known."""
    from prefixlab.registry import known_engines

    for name, engine in known_engines().items():
        print(f"{name:<10} {engine.summary} ({engine.follows})")
    return 0


COMMAND = Command("[-h]", no_options, engines)
