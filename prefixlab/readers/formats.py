"""The formats that the folder holds, and which of them a record is of."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from prefixlab.contracts import RecordFormat
from prefixlab.errors import PrefixlabError
from prefixlab.readers.complaints import bad_record, listed, shown
from prefixlab.readers.envelope import PROMPT_KEYS, envelope_of
from prefixlab.readers.messages import is_converse
from prefixlab.records import Location

_UNREAD: dict[str, Callable[[dict[str, Any]], bool]] = {
    "Bedrock Converse bodies": is_converse,
    "Gemini bodies": lambda body: type(body.get("contents")) is list,
}
"""Formats that are met and have no reader."""


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
    raise bad_record(
        where,
        _unknown(record),
        f"Known are {', '.join(known_formats())}; --input-format NAME chooses one",
    )


def _unknown(record: Any) -> str:
    """Why a record is of no format."""
    if not isinstance(record, dict):
        return f"no known log format: the record is {shown(record)}"
    body = envelope_of(record).body
    null = next((key for key in PROMPT_KEYS if key in body and body[key] is None), None)
    if null is not None:
        return f"no prompt: `{null}` is null"
    for name, recognises in _UNREAD.items():
        if recognises(body):
            return f"{name} are not read"
    return f"no known log format: its keys are {listed(record)}"
