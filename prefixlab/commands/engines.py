"""`prefixlab engines`: whose rules are known, and all there is to say of one of them."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import Any

from prefixlab.commands import Command, options

ENDINGS = {"text": (".txt",), "json": (".json",)}


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="The engine to tell all about. Default: list them all.")
    options.add_output_options(parser, "text or json.")


def engines(asked: Namespace) -> int:
    """The engines whose rules are known; of one, its rule, options, figures and their sources."""
    import orjson

    from prefixlab.destination import Destination
    from prefixlab.registry import engine_kind, known_engines
    from prefixlab.reporters.engine_catalogue import engine_list, engine_sheet

    destination = Destination(asked.output, [])
    form = options.chosen_form(asked.format, destination, ENDINGS)
    kinds = list(known_engines().values()) if asked.name is None else [engine_kind(asked.name)]
    entries = [described(kind) for kind in kinds]
    if form == "json":
        document = {"schema": "prefixlab.engines/1", "engines": entries}
        content = orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    else:
        width = options.terminal_width()
        text = engine_list(entries, width) if asked.name is None else engine_sheet(entries[0], width)
        content = text.encode()
    destination.write(content)
    return 0


def described(kind: Any) -> dict[str, Any]:
    """All that is known of an engine, in plain values."""
    from prefixlab.registry import engine_options

    profile = getattr(kind, "profile", None)
    engine = kind()
    return {
        "name": kind.name,
        "summary": kind.summary,
        "follows": kind.follows,
        "rule": _rule(kind),
        "granularity": engine.granularity,
        "min_tokens": engine.min_tokens,
        "block_option": kind.block_option,
        "options": [
            {"name": one.name, "default": one.default, "type": one.type, "help": one.help, "choices": list(one.choices)}
            for one in engine_options(kind)
        ],
        "profile": None if profile is None else _profile(profile),
    }


def _rule(kind: Any) -> str:
    """What the module of an engine, or of its mechanism, says of the rule."""
    for one in kind.__mro__:
        module = sys.modules[one.__module__]
        if "profile" not in vars(one) and module.__doc__:
            return str(module.__doc__).strip()
    return ""


def _profile(profile: Any) -> dict[str, Any]:
    return {
        "name": profile.name,
        "provider": profile.provider,
        "models": profile.models,
        "rule": profile.rule,
        "usage": profile.usage,
        "key": profile.key,
        "figures": [
            {
                "name": one.name,
                "value": one.value,
                "confirmed": one.confirmed,
                "note": one.note,
                "source": one.source.address,
                "date": one.source.date,
                "source_note": one.source.note,
            }
            for one in profile.figures.values()
        ],
    }


COMMAND = Command("[OPTIONS] [NAME]", add_options, engines)
