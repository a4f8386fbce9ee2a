"""Jinja2 as a Python module uses it: templates made of texts, and those that an environment finds by their names.

Follows Jinja2 3.1.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from prefixlab.dialects import jinja2
from prefixlab.dialects.python_arguments import Call
from prefixlab.dialects.python_literals import Piece, Spot
from prefixlab.dialects.python_modules import import_folders
from prefixlab.dialects.python_texts import Joint
from prefixlab.dialects.python_values import (
    Dictionary,
    Gap,
    Items,
    Opaque,
    Plain,
    TemplateValue,
    TextPart,
    TextValue,
    Value,
    constant_text,
)
from prefixlab.prompt_templates import Choice, Expression, Hole, Loop, Place, Text
from prefixlab.template_files import BadTemplate, TemplateFile

_TEMPLATES = frozenset({"jinja2.Template", "jinja2.nativetypes.NativeTemplate"})
_LOADERS = {
    "FileSystemLoader": ("searchpath",),
    "PackageLoader": ("package_name", "package_path"),
    "DictLoader": ("mapping",),
    "ChoiceLoader": ("loaders",),
}
"""Loaders with the names of their arguments."""
_USUAL = ("", "templates", "prompts")
"""Folders of templates where no loader says one."""
_PROJECT_MARKS = ("pyproject.toml", "setup.py", ".git")
_HIGHEST = 8
"""Folders above a module in which its project is looked for."""
_ENDINGS = (".j2", ".jinja", ".jinja2", ".txt", ".md", ".tmpl", ".prompt")


def jinja_object(call: Call, owner: Opaque | None, method: str, file: TemplateFile) -> Value | None:
    """A template or a loader that a call makes; `owner` is the environment, where it is a value of the module."""
    kind = call.name.rpartition(".")[2]
    if owner is None and kind in _LOADERS and call.name.startswith("jinja2."):
        given = {name: one for at, name in enumerate(_LOADERS[kind]) if (one := call.argument(at, name)) is not None}
        return Opaque(Expression(call.source, calls=(call.name,)), call.at, given=given)
    if owner is not None and not _is_environment(owner):
        return None
    if method == "from_string" or (owner is None and call.name in _TEMPLATES):
        text = call.argument(0, "source")
        return None if not isinstance(text, TextValue) else _of_text(text, owner, call, file)
    if method == "get_template" and call.positional:
        name = constant_text(call.positional[0])
        return None if not name else _by_name(name, owner, call, file)
    return None


def _is_environment(value: Opaque) -> bool:
    """Whether a value is an environment: made as one, or called so."""
    if any([one.endswith("Environment") for one in value.expression.calls]):
        return True
    names = [name.rpartition(".")[2].lower() for name in value.expression.names]
    return any([name.endswith(("env", "environment")) or "jinja" in name for name in names])


def _of_text(text: TextValue, owner: Opaque | None, call: Call, file: TemplateFile) -> TemplateValue | None:
    if _is_chat_template(constant_text(text), file):
        return None
    options = owner.given if owner is not None else call.named
    is_usual = all([name in ("loader", "undefined", "source") or one == Plain(False) for name, one in options.items()])
    # With other options it is rendered otherwise.
    return TemplateValue("jinja2", (text,), call.at, unread=constant_text(text) if is_usual else None)


def _is_chat_template(text: str | None, file: TemplateFile) -> bool:
    """Whether a template renders the messages of a caller: those are the prompt, not its own text."""
    if text is None or "messages" not in text:
        return False
    try:
        return jinja2.read(file.with_text(text)).is_chat_template
    except BadTemplate:
        return False


def _by_name(name: str, owner: Opaque | None, call: Call, file: TemplateFile) -> TemplateValue | None:
    loader = owner.given.get("loader") if owner is not None else None
    for one in _loaders(loader):
        mapping = one.given.get("mapping")
        text = mapping.get(name) if isinstance(mapping, Dictionary) else None
        if isinstance(text, TextValue):
            return _of_text(text, owner, call, file)
    found = _file_of(name, [*_folders(loader)] or list(_USUAL), file)
    if found is None or (loader is None and not name.endswith(_ENDINGS)):
        return None
    if _is_chat_template(found.text, found):
        return None
    try:
        parts = tuple(jinja2.read(found).parts)
    except BadTemplate:
        return None
    return TemplateValue("parts", (TextValue(tuple([_own(part) for part in parts])),), call.at)


def _loaders(loader: Value | None, depth: int = 0) -> Iterator[Opaque]:
    if isinstance(loader, Opaque):
        yield loader
        inner = loader.given.get("loaders")
        if isinstance(inner, Items) and depth < 4:
            for one in inner.items:
                yield from _loaders(one, depth + 1)


def _folders(loader: Value | None) -> Iterator[str]:
    """The folders that loaders name, as far as the module tells."""
    for one in _loaders(loader):
        package = constant_text(one.given.get("package_name"))
        if package:
            inner = constant_text(one.given.get("package_path")) or "templates"
            yield str(PurePosixPath(package.replace(".", "/"), inner))
        paths = one.given.get("searchpath")
        for path in paths.items if isinstance(paths, Items) else (paths,):
            text = constant_text(path)
            # No source leads to files elsewhere.
            if text and not PurePosixPath(text).is_absolute() and ".." not in PurePosixPath(text).parts:
                yield text


def _file_of(name: str, folders: Sequence[str], file: TemplateFile) -> TemplateFile | None:
    """The file of a name in the first folder that has it: beside the module, where its package is, in the roots, and
    where the project begins."""
    for base in (*import_folders(file), *_project(file)):
        for folder in folders:
            searched = Path(os.path.normpath(base / folder))
            # What it includes is looked for there as well.
            inside = TemplateFile(str(searched / "_"), "", (searched, *file.roots), file.own_names, file.texts)
            found = inside.other(name)
            if found is not None:
                return found
    return None


def _project(file: TemplateFile) -> Iterator[Path]:
    """The folder in which a program of the project is mostly started."""
    folder = Path(file.path).parent
    for _ in range(_HIGHEST):
        if any([(folder / mark).exists() for mark in _PROJECT_MARKS]):
            yield folder
            return
        folder = Path(os.path.normpath(folder / ".."))


def _own(part: Any) -> TextPart:
    """A part of another dialect, as the parts of texts are here."""
    if isinstance(part, Text):
        return Piece(part.text, Spot(part.at))
    if isinstance(part, Hole):
        return _gap(part, part.at, part.entered_at)
    if isinstance(part, Choice):
        return part._replace(arms=tuple([tuple([_own(one) for one in arm]) for arm in part.arms]))
    return part._replace(body=tuple([_own(one) for one in part.body])) if isinstance(part, Loop) else part


def _gap(hole: Hole, at: Place, entered_at: Place) -> Gap:
    expression = hole.expression
    is_plain = not expression.calls and expression.names == (expression.source,)
    return Gap(expression, at, entered_at, is_plain=is_plain)


def jinja_parts(text: TextValue, at: Place, file: TemplateFile) -> tuple[TextPart, ...]:
    """The parts of a text that is Jinja2, with places in the module."""
    joint = Joint(text.parts)
    starts = [0]
    for number, character in enumerate(joint.text):
        if character == "\n":
            starts.append(number + 1)

    def offset(place: Place) -> int:
        return starts[min(place.line, len(starts)) - 1] + place.column - 1

    try:
        read = jinja2.read(file.with_text(joint.text)).parts
    except BadTemplate as error:
        if error.path != file.path or error.line is None:
            raise
        found = joint.place(offset(Place(file.path, error.line, error.column or 1)), at)
        raise BadTemplate.at(found, error.what, error.todo) from None

    def placed(part: Any) -> list[TextPart]:
        if isinstance(part, Text):
            begin = offset(part.at) if part.at.path == file.path else -1
            if begin >= 0 and joint.text.startswith(part.text, begin):
                return joint.cut(begin, begin + len(part.text))
            return [_own(part)]
        if isinstance(part, Hole):
            here = [
                joint.place(offset(one), at) if one.path == file.path else one for one in (part.at, part.entered_at)
            ]
            return [_gap(part, here[0], here[1])]
        if isinstance(part, Choice):
            return [part._replace(at=joint.place(offset(part.at), at), arms=tuple([many(arm) for arm in part.arms]))]
        if isinstance(part, Loop):
            return [part._replace(at=joint.place(offset(part.at), at), body=many(part.body))]
        return [part]

    def many(parts: Sequence[Any]) -> tuple[TextPart, ...]:
        return tuple([one for part in parts for one in placed(part)])

    return many(read)
