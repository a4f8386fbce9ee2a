"""Templates of the dialects in short, for tests."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import prefixlab.dialects
from prefixlab.prompt_templates import Choice, Hole, Loop, Part, PromptTemplate, Text, Turn, walk
from prefixlab.template_files import TemplateFile

CORPUS = Path(__file__).parent / "corpus"
DATA = Path(__file__).parent / "data"


def dialects() -> list[Any]:
    """All dialects."""
    modules = [
        importlib.import_module(f"prefixlab.dialects.{one.name}")
        for one in pkgutil.iter_modules(prefixlab.dialects.__path__)
    ]
    return [module.DIALECT for module in modules if hasattr(module, "DIALECT")]


def of_file(file: TemplateFile) -> list[Any]:
    """The dialects that recognise a file."""
    return [one for one in dialects() if file.path.endswith(one.endings) and one.recognises(file)]


def templates_of(path: Path | str) -> list[PromptTemplate]:
    """The templates of a file, by the one dialect that recognises it."""
    file = TemplateFile.read(path)
    found = of_file(file)
    assert len(found) <= 1, [one.name for one in found]
    return [template for dialect in found for template in dialect.templates(file)]


def written(folder: Path, name: str, text: str) -> PromptTemplate:
    """The one template of a file with this text."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    (template,) = templates_of(path)
    return template


def outline(parts: Sequence[Part]) -> list[Any]:
    """Texts as texts, holes as `{source}`, turns as `@role`, history as `@@name`, choices and loops as tuples."""
    made: list[Any] = []
    for part in parts:
        if isinstance(part, Text):
            if made and isinstance(made[-1], str) and made[-1][:1] not in "{@":
                made[-1] += part.text
            else:
                made.append(part.text)
        elif isinstance(part, Hole):
            made.append("{" + part.expression.source + "}")
        elif isinstance(part, Turn):
            made.append("@" + part.role)
        elif isinstance(part, Choice):
            made.append(("choice", part.condition.source, *[outline(arm) for arm in part.arms]))
        elif isinstance(part, Loop):
            made.append(("loop", part.over.source, outline(part.body)))
        else:
            made.append("@@" + part.name)
    return made


def holes(template: PromptTemplate) -> list[Hole]:
    """All holes in rendering order."""
    return [part for part in walk(template.parts) if isinstance(part, Hole)]


def places(template: PromptTemplate) -> list[tuple[str, int, int]]:
    """Source, line and column of each hole."""
    return [(hole.expression.source, hole.at.line, hole.at.column) for hole in holes(template)]


def all_corpus_files() -> Iterator[Path]:
    """The sample files, without what is said of them."""
    return (path for path in sorted(CORPUS.rglob("*")) if path.is_file() and path.suffix != ".expected")
