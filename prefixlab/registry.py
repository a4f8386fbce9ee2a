"""What can be chosen by name: found by scanning the folder of each family, so that a new thing is one new file."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any

import prefixlab
from prefixlab.contracts import Engine, Reporter
from prefixlab.errors import PrefixlabError


def engine_class(name: str) -> Any:
    """The class of an engine; called with `block_size=` it is the engine's rule.

    Raises:
        PrefixlabError: there is no such engine.
    """
    for engine in _scan("engines", "ENGINE", first=name):
        if engine.name == name:
            return engine
    raise _unknown("engine", name, list(known_engines()))


def known_engines() -> dict[str, type[Engine]]:
    """Every engine by its name."""
    return {engine.name: engine for engine in _scan("engines", "ENGINE")}


def reporter(form: str) -> Reporter:
    """The reporter that `--format` calls `form`.

    Raises:
        PrefixlabError: there is no such form.
    """
    found: Reporter
    for found in _scan("reporters", "REPORTER", first="terminal" if form == "text" else form):
        if found.name == form:
            return found
    raise _unknown("format", form, list(known_reporters()))


def reporter_for_file(path: str) -> Reporter | None:
    """The reporter that a file's ending chooses, or None."""
    ending = Path(path).suffix.lower()
    return next((one for one in known_reporters().values() if ending in one.endings), None)


def known_reporters() -> dict[str, Reporter]:
    """Every reporter by the name of its form."""
    return {one.name: one for one in _scan("reporters", "REPORTER")}


def _scan(folder: str, constant: str, *, first: str = "") -> Iterator[Any]:
    """What the modules of a folder define, each imported when its turn comes; those named like `first` come first."""
    modules = [module.name for module in pkgutil.iter_modules([str(Path(prefixlab.__file__).parent / folder)])]
    for module in sorted(modules, key=lambda name: (not name.startswith(first), name)):
        found = getattr(import_module(f"prefixlab.{folder}.{module}"), constant, None)
        if found is None:
            continue
        yield from found if isinstance(found, tuple) else (found,)


def _unknown(what: str, name: str, known: list[str]) -> PrefixlabError:
    close = get_close_matches(name, known, 1)
    hint = f"Did you mean {close[0]}? " if close else ""
    return PrefixlabError(f"there is no {what} {name!r}", f"{hint}Known: {', '.join(sorted(known))}")
