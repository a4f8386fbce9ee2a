"""Constants that a module imports from others of the same project: read from their files, never imported.

What is followed is what is named like a constant or a prompt (`SYSTEM`, `system_prompt`); each module is read once.
"""

from __future__ import annotations

import ast
import os
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from prefixlab.dialects.python_values import Dictionary, Items, Plain, TextValue, Value, constant_text
from prefixlab.template_files import BadTemplate, TemplateFile

MOST_MODULES = 500
"""Modules that are kept."""

_DEEPEST = 8
"""Modules that are read for one another."""

Member = Callable[[Sequence[str]], Value | None]
"""What a module calls so: the value of a name, or of one in a class."""

Read = Callable[[TemplateFile, ast.Module], Member]
"""Reads the statements of a module."""

Wanted = Callable[[Value | None], bool]
"""Whether a value of another module is what is looked for."""

_State = tuple[str, int, int]
"""A module's path, and when and how large it was."""

_KNOWN: OrderedDict[_State, tuple[Member | None, set[_State]]] = OrderedDict()
"""Modules with those that were read for them."""
_OPEN: list[tuple[str, set[_State]]] = []
"""Modules that are being read: one that asks for itself gets nothing."""
_ASKED: list[tuple[str, str]] = []
"""What is being looked for, by the files that ask: the same."""


def is_followed(name: str) -> bool:
    """Whether a name that is imported is one of a constant or a prompt."""
    last = name.rpartition(".")[2]
    lower = last.lower()
    return (last.isupper() and len(last) > 1) or "prompt" in lower or "instruction" in lower or "system" in lower


def imported_constant(home: str, file: TemplateFile, read: Read) -> Value | None:
    """What `from ..prompts import SYSTEM` gives, written `..prompts.SYSTEM`; None where it is no constant of a file of
    the project."""
    return imported(home, file, read, _is_constant)


def imported(home: str, file: TemplateFile, read: Read, is_wanted: Wanted) -> Value | None:
    """What is imported, where it is what is looked for."""
    if (file.path, home) in _ASKED:
        return None
    _ASKED.append((file.path, home))
    try:
        return _found(home, file, read, is_wanted)
    finally:
        _ASKED.pop()


def _found(home: str, file: TemplateFile, read: Read, is_wanted: Wanted) -> Value | None:
    level = len(home) - len(home.lstrip("."))
    parts = home[level:].split(".")
    for folder in import_folders(file, level):
        for length in range(len(parts) - 1, -1 if level else 0, -1):
            found = _module_file(folder, parts[:length])
            if found is not None:
                member = _module(found, file, read)
                value = None if member is None else member(parts[length:])
                if is_wanted(value):
                    return value
    return None


def import_folders(file: TemplateFile, level: int = 0) -> Iterator[Path]:
    """Where the first part of an import can be found."""
    own = Path(file.path).parent
    if level:
        for _ in range(level - 1):
            if not (own / "__init__.py").is_file():
                return
            own = Path(os.path.normpath(own / ".."))
        yield own
        return
    top = own
    while (top / "__init__.py").is_file() and top != top.parent:
        top = Path(os.path.normpath(top / ".."))
    yield from dict.fromkeys([own, top, *file.roots])


def _module_file(folder: Path, parts: Sequence[str]) -> Path | None:
    if not all([part.isidentifier() for part in parts]):
        return None
    base = folder.joinpath(*parts)
    for path in (base.with_suffix(".py") if parts else base / "__init__.py", base / "__init__.py"):
        if path.is_file():
            return path
    return None


def _module(path: Path, file: TemplateFile, read: Read) -> Member | None:
    shown = os.path.normpath(path)
    if len(_OPEN) >= _DEEPEST or any([shown == one for one, _ in _OPEN]):
        return None
    if file.texts:
        # Texts that are not written yet count for this run alone.
        return _read(shown, file, read)[0]
    state = _state(shown)
    known = _KNOWN.get(state)
    if known is None or any([_state(one[0]) != one for one in known[1]]):
        known = _KNOWN[state] = _read(shown, file, read)
        if len(_KNOWN) > MOST_MODULES:
            _KNOWN.popitem(last=False)
    for _, used in _OPEN:
        used |= {state, *known[1]}
    return known[0]


def _state(path: str) -> _State:
    try:
        state = os.stat(path)
    except OSError:
        return path, 0, 0
    return path, state.st_mtime_ns, state.st_size


def _read(path: str, file: TemplateFile, read: Read) -> tuple[Member | None, set[_State]]:
    used: set[_State] = set()
    _OPEN.append((path, used))
    try:
        other = TemplateFile.read(path, file.roots, file.own_names, file.texts)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(other.text.replace("\r\n", "\n").replace("\r", "\n"))
        return read(other, tree), used
    except (BadTemplate, SyntaxError, ValueError, RecursionError, MemoryError):
        return None, used
    finally:
        _OPEN.pop()


def _is_constant(value: Value | None, depth: int = 0) -> bool:
    """Whether a value is text or made of texts, so that nothing of its module is needed any more."""
    if isinstance(value, TextValue):
        return depth == 0 or constant_text(value) is not None
    if isinstance(value, Items):
        return depth < 4 and all([_is_constant(one, depth + 1) for one in value.items])
    if isinstance(value, Dictionary):
        return depth < 4 and all([name is not None and _is_constant(one, depth + 1) for name, one in value.entries])
    return isinstance(value, Plain) and (depth > 0 or value.value is not None)
