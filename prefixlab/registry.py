"""What can be chosen by name: found by scanning the folder of each family, so that a new thing is one new file."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import prefixlab
from prefixlab.contracts import Dialect, Engine, Reporter
from prefixlab.errors import PrefixlabError
from prefixlab.lint_rules import Rule

_ALIKE = 0.75
"""How like a name must be, from 0 to 1, to be the one that was meant."""


def engine_named(name: str, options: Mapping[str, object], block_size: int | None = None) -> Engine:
    """The engine `name` with its options; text is read as the option's type. `block_size` sets its block option.

    Raises:
        PrefixlabError: there is no such engine or option, or a value cannot be.
    """
    kind = engine_kind(name)
    known = {one.name: one for one in engine_options(kind)}
    values = {}
    for key, value in options.items():
        if key not in known:
            close = get_close_matches(key, known, 1, _ALIKE)
            hint = f"Did you mean {close[0]}? " if close else ""
            has = f"It has {', '.join(known)}" if known else "It has none"
            raise PrefixlabError(f"{name} has no option {key!r}", f"{hint}{has}; see prefixlab engines {name}")
        values[key] = known[key].read(value)
    if block_size is not None:
        option = kind.block_option
        if option is None:
            raise PrefixlabError(f"{name} has no blocks", "Leave --block-size out")
        if values.get(option, block_size) != block_size:
            raise PrefixlabError(f"--block-size {block_size} and {option}={values[option]} differ", "Give one of them")
        values[option] = block_size
    engine: Engine = kind(**values)
    return engine


def engine_kind(name: str) -> Any:
    """What makes engines of that name when called with options: a class, or a hosted provider's profile.

    Raises:
        PrefixlabError: there is no such engine.
    """
    for engine in _scan("engines", "ENGINE", first=name):
        if engine.name == name:
            return engine
    raise _unknown("engine", name, list(known_engines()))


def known_engines() -> dict[str, Any]:
    """What makes every engine, by name."""
    return {engine.name: engine for engine in _scan("engines", "ENGINE")}


class EngineOption(NamedTuple):
    """An option of an engine, as its field declares it."""

    name: str
    default: Any
    type: str
    """As annotated, such as `int | None`."""
    help: str
    choices: tuple[str, ...]

    def read(self, value: object) -> object:
        """The value in the option's type; text, as the command line has it, is read.

        Raises:
            PrefixlabError: it is none of that type.
        """
        types = [part.strip() for part in self.type.split("|")]
        if isinstance(value, str):
            value = _read(value, types)
        fits = (value is None and "None" in types) or type(value).__name__ in types
        if not fits and type(value) is int and "float" in types:
            return float(value)
        if not fits or (self.choices and value is not None and value not in self.choices):
            wanted = ", ".join(self.choices) or " or ".join([_TYPE_NAMES.get(one, one) for one in types])
            raise PrefixlabError(f"{self.name}={value} cannot be", f"Give {wanted}")
        return value


_TYPE_NAMES = {"int": "a whole number", "float": "a number", "str": "a text", "bool": "true or false", "None": "none"}
_WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def _read(text: str, types: Sequence[str]) -> object:
    if "None" in types and text.lower() in ("none", "null"):
        return None
    if "bool" in types and text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for name, kind in (("int", int), ("float", float)):
        if name in types:
            try:
                return kind(text)
            except ValueError:
                continue
    return text


def engine_options(kind: Any) -> list[EngineOption]:
    """The options of an engine, in the order of its fields."""
    return [
        EngineOption(
            one.name,
            one.default,
            str(one.type),
            one.metadata.get("help", ""),
            tuple(one.metadata.get("choices", ())),
        )
        for one in fields(getattr(kind, "options", kind))
        if one.init
    ]


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


def known_dialects() -> dict[str, Dialect]:
    """Every template dialect by its name; those that look at a file's content go before those that go by its ending
    alone."""
    found = sorted(_scan("dialects", "DIALECT"), key=lambda one: one.name in _BY_ENDING)
    return {one.name: one for one in found}


_BY_ENDING = ("jinja2", "mustache", "handlebars", "python")


def known_rules() -> dict[str, Rule]:
    """Every rule of `lint` by its code."""
    return {one.code: one for one in sorted(_scan("rules", "RULE"), key=lambda one: one.code)}


def _scan(folder: str, constant: str, *, first: str = "") -> Iterator[Any]:
    """What the modules of a folder define, each imported when its turn comes; those named like `first` come first."""
    modules = [module.name for module in pkgutil.iter_modules([str(Path(prefixlab.__file__).parent / folder)])]
    for module in sorted(modules, key=lambda name: (not name.startswith(first), name)):
        found = getattr(import_module(f"prefixlab.{folder}.{module}"), constant, None)
        if found is None:
            continue
        yield from found if isinstance(found, tuple) else (found,)


def _unknown(what: str, name: str, known: list[str]) -> PrefixlabError:
    close = get_close_matches(name, known, 1, _ALIKE)
    hint = f"Did you mean {close[0]}? " if close else ""
    return PrefixlabError(f"there is no {what} {name!r}", f"{hint}Known: {', '.join(sorted(known))}")
