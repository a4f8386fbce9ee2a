"""The formats that the folder holds, and which of them a record is of."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from prefixlab.contracts import RecordFormat
from prefixlab.errors import PrefixlabError
from prefixlab.readers.complaints import bad_record, listed, shown
from prefixlab.records import Location


@cache
def known_formats() -> dict[str, RecordFormat]:
    """Every format by its name: each module of this folder that has a `FORMAT`."""
    package = __name__.rpartition(".")[0]
    folder = import_module(package).__path__
    names = sorted(f"{package}.{module.name}" for module in iter_modules(folder))
    modules = [import_module(name) for name in names]
    return {module.FORMAT.name: module.FORMAT for module in modules if hasattr(module, "FORMAT")}


def named_format(name: str) -> RecordFormat:
    """The format that `--input-format` asks for."""
    formats = known_formats()
    if name not in formats:
        raise PrefixlabError(f"unknown input format {shown(name)}", f"Choose one of {', '.join(formats)}")
    return formats[name]


def format_of(record: Any, where: Location) -> RecordFormat:
    """The format that recognises the record; formats exclude each other, so the order is no matter.

    Raises:
        BadRecord: no format does; says which keys were seen.
    """
    for candidate in known_formats().values():
        if candidate.recognises(record):
            return candidate
    seen = f"its keys are {listed(record)}" if isinstance(record, dict) else f"the record is {shown(record)}"
    raise bad_record(
        where,
        f"no known log format: {seen}",
        f"Known are {', '.join(known_formats())}; --input-format NAME chooses one",
    )
