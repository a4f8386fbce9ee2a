"""Prompts in Python source: read with `ast`, never imported or run.

Follows what a module itself says: constants, helper functions, classes, branches and loops, up to the call that sends
the prompt, the template object that holds it, or the function that returns it.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator

from prefixlab.dialects.jinja2 import renderer as jinja_renderer
from prefixlab.dialects.python_literals import Source
from prefixlab.dialects.python_prompts import Found, PromptReading
from prefixlab.dialects.python_rendering import renderer, shown
from prefixlab.prompt_templates import PromptTemplate, Render
from prefixlab.template_files import BadTemplate, TemplateFile

_HINTS = ("prompt", "messages", "instruction", "you are ", "system", "preamble")
"""One of these is in every module with a prompt; a module without any is not parsed."""


class PythonSource:
    """Modules of Python."""

    name = "python"
    summary = "Python source: model calls of the common SDKs and over HTTP, LangChain and Jinja2 objects, texts"
    endings = (".py",)

    def recognises(self, file: TemplateFile) -> bool:
        """Whether the file is a module; by its ending."""
        return file.path.endswith(self.endings)

    def templates(self, file: TemplateFile) -> Iterator[PromptTemplate]:
        """The prompts of a module, in the order of the file.

        Raises:
            BadTemplate: it is no Python, or a template in it cannot be read.
        """
        lower = file.text.lower()
        if not any([hint in lower for hint in _HINTS]):
            if file.is_named:
                # Whoever names a file wants to know if it cannot be read.
                _parsed(Source(file.path, file.text))
            return
        source = Source(file.path, file.text)
        found = PromptReading(source, _parsed(source), file)
        prompts = found.prompts()
        for one in prompts:
            parts = shown(one.parts)
            yield PromptTemplate(
                file.path, self.name, parts, one.at, one.name, _render(one, file), notes=found.notes.get(one.name, ())
            )


def _parsed(source: Source) -> ast.Module:
    if (null := source.text.find("\0")) >= 0:
        raise BadTemplate.at(source.place_at(null), "is not Python: a null stands in it", "Correct it")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source.text)
    except SyntaxError as error:
        raise BadTemplate(
            f"is not Python that this Python reads: {error.msg}",
            "Correct it",
            path=source.path,
            line=error.lineno,
            column=_column(error, source),
        ) from None
    except (RecursionError, MemoryError):
        raise BadTemplate("is nested too deeply", "Make it flatter", path=source.path) from None
    except ValueError as error:
        raise BadTemplate(f"is not Python: {error}", "Correct it", path=source.path) from None


def _column(error: SyntaxError, source: Source) -> int | None:
    """The column of a fault; None where Python says no place."""
    if not error.lineno or error.offset is None or error.offset < 1:
        return None
    line = source.text.split("\n")[error.lineno - 1]
    said = (error.text or "").strip()
    if said != line.strip() and said[:1] + said[-1:] == "()" and (inner := line.find(said[1:-1])) >= 0:
        # Before 3.12 it counts from a bracket that it sets around a field of an f-string.
        return inner + error.offset - 1
    return error.offset


def _render(found: Found, file: TemplateFile) -> Render | None:
    if found.unread is not None:
        return jinja_renderer(file.with_text(found.unread))
    return renderer(found.parts, file.path)


DIALECT = PythonSource()

__all__ = ["DIALECT"]
