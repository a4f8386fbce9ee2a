"""The commands, one module each, named as on the command line: options, and work that ends in an exit status."""

from __future__ import annotations

import pkgutil
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

from prefixlab.errors import PrefixlabError


class Command(NamedTuple):
    """What a command's usage line names, which options it has, and what does the work; `COMMAND` in its module.

    The first line of the docstring of `work` is the command's summary.
    """

    arguments: str
    add_options: Callable[[ArgumentParser], None]
    work: Callable[[Namespace], int]


_ORDER = ("audit", "explain", "fix", "lint", "curve", "kv", "rules", "engines", "tokenizers")
"""Commands that people meet first; others follow by name."""


def command_names() -> list[str]:
    """Every command, in the order of `prefixlab --help`."""
    names = [module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("options")]
    return sorted(names, key=lambda name: (_ORDER.index(name) if name in _ORDER else len(_ORDER), name))


def command(name: str) -> Command:
    """The command of that name.

    Raises:
        PrefixlabError: there is none.
    """
    if name not in command_names():
        raise PrefixlabError(f"there is no command {name!r}", "See prefixlab --help")
    found = import_module(f"prefixlab.commands.{name}").COMMAND
    assert isinstance(found, Command)
    return found


def no_options(parser: ArgumentParser) -> None:
    """For commands with nothing but `--help`."""
