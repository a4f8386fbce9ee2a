"""`[tool.prefixlab]` of the nearest pyproject.toml: what a project's runs have in common.

The command line wins: a table says only what it leaves unsaid. Nothing is read before a command needs it, and nothing
is imported for reading unless there is a table.
"""

from __future__ import annotations

import os
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from glob import escape
from typing import Any, NamedTuple

from prefixlab.commands.audit import SEVERITIES
from prefixlab.errors import PrefixlabError

FILE = "pyproject.toml"
TABLE = "tool.prefixlab"

_HEADER = re.compile(r"\s*\[+([^\[\]]+)\]+\s*(?:#.*)?")
_KEY = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
_LONGEST_VALUE = 40


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_text_or_texts(value: object) -> bool:
    return _is_text(value) or _are_texts(value)


def _is_size(value: object) -> bool:
    return type(value) is int and value >= 1


def _is_share(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value <= 1  # type: ignore[operator]


def _are_tags(value: object) -> bool:
    return isinstance(value, dict) and all([_is_name(key) and _is_text(value[key]) for key in value])


def _are_options(value: object) -> bool:
    kinds = (str, int, float, bool)
    return isinstance(value, dict) and all([_is_name(key) and isinstance(value[key], kinds) for key in value])


def _are_budgets(value: object) -> bool:
    return isinstance(value, dict) and all(map(_is_budget, value.values()))


def _is_budget(value: object) -> bool:
    known = {"min_stable_tokens", "max_stranded_tokens"}
    return isinstance(value, dict) and known >= {*value} and all([type(n) is int and n >= 0 for n in value.values()])


def _is_name(key: str) -> bool:
    """Whether it can stand in front of the sign in `NAME=VALUE`."""
    return bool(key) and "=" not in key


class _Key(NamedTuple):
    """A key of the table: the option that it stands for, what it must be, how that is said."""

    option: str
    fits: Callable[[object], bool]
    wanted: str


_KEYS = {
    "ignore": _Key("ignore", _are_texts, 'a list of names, such as ["tool_set"]'),
    "tokenizer": _Key("tokenizer", _is_text_or_texts, "a name, or a list such as ['gpt-5=o200k_base']"),
    "chat-template": _Key("chat_template", _is_text, "a name or a path in quotes"),
    "engine": _Key("engine", _is_text, "the name of an engine in quotes"),
    "block-size": _Key("block_size", _is_size, "a whole number, 1 or more"),
    "engine-options": _Key("engine_option", _are_options, "a table of texts, numbers, true or false"),
    "cache-tokens": _Key("cache_tokens", _is_size, "a whole number, 1 or more"),
    "fail-on": _Key("fail_on", lambda value: value in SEVERITIES, f"one of {', '.join(SEVERITIES)} in quotes"),
    "fail-under": _Key("fail_under", _is_share, "a fraction from 0 to 1"),
    "tags": _Key("tag", _are_tags, "a table of names and JSON paths"),
    "by": _Key("by", _is_text_or_texts, "a tag, or a list of tags"),
    "select": _Key("select", _are_texts, 'a list of rules of lint, such as ["PL1", "PL302"]'),
    "ignore-rules": _Key("ignore_rules", _are_texts, 'a list of rules of lint, such as ["PL404"]'),
    "exclude": _Key("exclude", _are_texts, "a list of paths or patterns"),
    "search-paths": _Key("search_path", _are_texts, "a list of folders"),
    "jinja-filters": _Key("jinja_filter", _are_texts, "a list of names"),
    "baseline": _Key("baseline", _is_text, "a path in quotes"),
    "volatility": _Key("volatility", _are_tags, 'a table of variables and words, such as region = "deployment"'),
    "budgets": _Key(
        "budgets",
        _are_budgets,
        'a table such as "prompts/system.j2" = { min_stable_tokens = 800, max_stranded_tokens = 50 }',
    ),
}
_PATHS = ("tokenizer", "chat-template")
"""Keys whose values may be paths, which then start where the file lies."""
_PAIRS = ("engine-options", "tags", "volatility")
"""Tables whose entries are options of the form `NAME=VALUE`, each of which the command line can override."""
_OF_ONE_ENGINE = ("block-size", "engine-options")


def with_table(parser: ArgumentParser, arguments: Sequence[str], asked: Namespace) -> Namespace:
    """What was asked for, and where the command line is silent what the nearest table says.

    `asked` is what the parser made of the arguments; it gets a note about the file that was taken.

    Raises:
        PrefixlabError: the table cannot be read, or a key or value of it cannot be.
    """
    path = _nearest()
    table = {} if path is None else _table(path)
    table = {key: value for key, value in table.items() if hasattr(asked, _KEYS[key].option)}
    if path is None or not table:
        return asked
    engine = table.get("engine", parser.get_default("engine"))
    # Without defaults it shows which options the command line has.
    parser.set_defaults(**dict.fromkeys([*[_KEYS[key].option for key in table], "engine"]))
    given = parser.parse_intermixed_args(arguments)
    if given.engine not in (None, engine):
        table = {key: value for key, value in table.items() if key not in _OF_ONE_ENGINE}
    if getattr(given, "cache_blocks", None) is not None or getattr(given, "kv_budget", None) is not None:
        table.pop("cache-tokens", None)
    taken = []
    for key, value in table.items():
        option = _KEYS[key].option
        said = getattr(given, option)
        if key in _PAIRS:
            named = {pair.partition("=")[0] for pair in said or ()}
            pairs = [f"{name}={_as_text(each)}" for name, each in value.items() if name not in named]
            setattr(asked, option, [*pairs, *(said or ())])
            taken += [key] if pairs else []
        elif said is None:
            values = value if isinstance(value, list) else [value]
            values = [_placed(path, key, each) for each in values]
            if isinstance(getattr(asked, option), list):
                setattr(asked, option, values)
            elif values:
                # Where one tokenizer is wanted and the table has one for each model, the first counts.
                setattr(asked, option, values[0].rpartition("=")[2] if key == "tokenizer" else values[0])
            taken.append(key)
    if taken:
        asked.table_note = f"From the table {TABLE} of {os.path.relpath(path)}: {', '.join(taken)}."
    return asked


def _nearest() -> str | None:
    """The file in the current folder or the first one above that has one; none above a repository's root."""
    try:
        folder = os.getcwd()
    except FileNotFoundError:
        return None
    while True:
        path = os.path.join(folder, FILE)
        if os.path.isfile(path):
            return path
        above = os.path.dirname(folder)
        if above == folder or os.path.exists(os.path.join(folder, ".git")):
            return None
        folder = above


def _table(path: str) -> dict[str, Any]:
    """The table's keys and values, checked; nothing where the file does not have it."""
    shown = os.path.relpath(path)
    todo = "Mend the file, or give --no-config"
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise PrefixlabError(f"cannot be read: {error.strerror}", todo, path=shown) from None
    if b"prefixlab" not in data:
        return {}
    import tomllib

    try:
        text = data.decode()
        document: Any = tomllib.loads(text)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise PrefixlabError("not UTF-8", todo, path=shown, line=line) from None
    except tomllib.TOMLDecodeError as error:
        at = re.search(r" \(at line (\d+), column \d+\)", str(error))
        line = int(at[1]) if at else text.count("\n") + 1
        said = re.sub(r" \(at .*\)", "", str(error))
        raise PrefixlabError(f"not TOML: {said}", todo, path=shown, line=line) from None
    names = TABLE.split(".")
    for depth, name in enumerate(names, 1):
        document = document.get(name, {})
        if not isinstance(document, dict):
            line = _line_of(names[:depth], text)
            raise PrefixlabError(f"{'.'.join(names[:depth])} is no table", "Make it one", path=shown, line=line)
    table: dict[str, Any] = document
    for key, value in table.items():
        if key not in _KEYS:
            what, todo = f"[{TABLE}] has no key {key!r}", f"Known: {', '.join(_KEYS)}"
        elif not _KEYS[key].fits(value):
            what, todo = f"{key} = {_short(value)} cannot be", f"Give {_KEYS[key].wanted}"
        else:
            continue
        raise PrefixlabError(what, todo, path=shown, line=_line_of([*names, key], text))
    return table


def _line_of(wanted: Sequence[str], text: str) -> int:
    """The line on which a key is written, or else the one that opens what it stands in; the TOML is known to be sound.

    A line inside a text of several lines may look like a key: then the number is wrong, and the message still right.
    """
    section: list[str] = []
    best, depth = 1, 0
    for number, line in enumerate(text.splitlines(), 1):
        header, key = _HEADER.fullmatch(line), _KEY.match(line)
        if header:
            section = name = _parts(header[1])
        elif key:
            name = [*section, *_parts(key[1])]
        else:
            continue
        if name[: len(wanted)] == list(wanted):
            return number
        if list(wanted[: len(name)]) == name and len(name) > depth:
            best, depth = number, len(name)
    return best


def _parts(dotted: str) -> list[str]:
    return [part.strip().strip("\"'") for part in dotted.split(".")]


def _short(value: object) -> str:
    said = str(value).lower() if isinstance(value, bool) else repr(value)
    return said if len(said) <= _LONGEST_VALUE else f"{said[: _LONGEST_VALUE - 1]}…"


def _as_text(value: object) -> str:
    """A value as it is written behind `NAME=`."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _placed(path: str, key: str, value: Any) -> Any:
    """A value whose paths and patterns of paths start where the file lies, as they are from here."""
    if key in _PATHS:
        return _beside(path, value)
    folder = os.path.dirname(path)
    if key in ("search-paths", "baseline"):
        return os.path.relpath(os.path.join(folder, value))
    if key == "budgets":
        return {os.path.join(escape(folder), pattern): budget for pattern, budget in value.items()}
    # A pattern without a folder is of names, wherever they are.
    return os.path.join(escape(folder), value) if key == "exclude" and "/" in value.rstrip("/") else value


def _beside(path: str, named: str) -> str:
    """The name; where it looks like the path of something that lies beside the file, that path from here."""
    model, equals, name = named.rpartition("=")
    found = os.path.join(os.path.dirname(path), name)
    if os.path.isabs(name) or not ("/" in name or "." in name) or not os.path.exists(found):
        return named
    return f"{model}{equals}{os.path.relpath(found)}"
