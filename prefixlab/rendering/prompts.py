"""The sandbox for a project's own Jinja2 prompts: the allowance of chat templates, the settings of plain Jinja2."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from traceback import walk_tb
from typing import Any

import jinja2
from jinja2.ext import do, i18n
from jinja2.utils import missing

from prefixlab.errors import MissingValue, PrefixlabError
from prefixlab.rendering.limits import TooMuch
from prefixlab.rendering.sandbox import ChatEnvironment
from prefixlab.template_files import BadTemplate

FIXED_NOW = datetime(2025, 1, 1)
"""The time of prompts that ask for it: the same at each rendering, so that results are reproducible."""

Source = Callable[[str, str | None], tuple[str, str] | None]
"""Text and path of a template by its name and the path of the template that asks for it."""


class PromptEnvironment(ChatEnvironment):
    """Renders templates that a `source` gives."""

    def __init__(self, source: Source, *, is_chat_template: bool = False) -> None:
        super().__init__(trim=is_chat_template, extensions=(do, i18n))
        self.install_null_translations()  # type: ignore[attr-defined]
        self.loader = jinja2.FunctionLoader(self._load)
        self.now = FIXED_NOW
        self.undefined = _Absent
        self._source = source
        self._is_chat_template = is_chat_template
        self._values: Mapping[str, Any] = {}
        self._paths: set[str] = set()

    def _load(self, name: str) -> tuple[str, str | None, None] | None:
        found = self._source(name, None)
        if found is None:
            return None
        self._paths.add(found[1])
        return found[0], found[1], None

    def join_path(self, template: str, parent: str) -> str:
        """The path of a template that another calls so."""
        found = self._source(template, parent)
        return template if found is None else found[1]

    def call(__self, __context: Any, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805 - as the base class
        """A call. What the values give under the name of a function is what a call of it gives, whatever its arguments:
        also where a macro is imported without the values, for functions are everywhere."""
        if isinstance(__obj, _Absent):
            __obj = __self._values.get(_sought(__obj), __obj)
        return super().call(__context, __obj, *args, **kwargs) if callable(__obj) else __obj

    def render(self, path: str, values: Mapping[str, Any]) -> str:
        """The text of a template with values.

        Raises:
            BadTemplate: it does what no values make right: takes too many steps, or reaches for Python itself.
            MissingValue: the values lack what it reads.
            PrefixlabError: it fails with these values.
        """
        self.allowance.renew(values)
        self._values = values
        try:
            return str(self.get_template(path).render(values))
        except TooMuch as error:
            kind = "chat template" if self._is_chat_template else "template"
            raise self._bad(error, f"the {kind} {error}", path) from None
        except RecursionError as error:
            raise self._bad(error, "the template goes too deep", path) from None
        except jinja2.TemplateSyntaxError as error:
            raise PrefixlabError(f"is not a Jinja2 template: {error.message}", "Correct it", path=path) from None
        except (jinja2.exceptions.SecurityError, OverflowError) as error:  # the latter: a range without end
            raise self._bad(error, f"cannot be rendered: {error}", path) from None
        except _Lacking as error:
            raise MissingValue(
                error.name,
                f"cannot be rendered with these values: {error}",
                f"Give {error.name!r} in each row of values; of a function, what a call of it gives",
                path=path,
            ) from None
        except PrefixlabError:
            raise
        except Exception as error:  # whatever a template does is the fault of the template or of its values
            raise PrefixlabError(
                f"cannot be rendered with these values: {error}", "Correct the template or the values", path=path
            ) from None

    def _bad(self, error: BaseException, what: str, path: str) -> BadTemplate:
        """The template's own fault, at the line of a template that it happened in."""
        line = None
        for frame, number in walk_tb(error.__traceback__):
            # Jinja2 gives the frames of a template its path and its lines.
            if frame.f_code.co_filename in self._paths:
                path, line = frame.f_code.co_filename, number
        return BadTemplate(what, "Correct the template", path=path, line=line)


class _Lacking(jinja2.UndefinedError):
    """A name is needed that there is no value of."""

    def __init__(self, name: str, message: str | None = None) -> None:
        super().__init__(message)
        self.name = name


class _Absent(jinja2.Undefined):
    """What is not there; of a variable it says which, where the template cannot do without it."""

    __slots__ = ()

    def __init__(
        self,
        hint: str | None = None,
        obj: Any = missing,
        name: str | None = None,
        exc: type[jinja2.TemplateRuntimeError] = jinja2.UndefinedError,
    ) -> None:
        super().__init__(hint, obj, name, exc)
        if name := _sought(self):
            self._undefined_exception = partial(_Lacking, name)  # type: ignore[assignment]


def _sought(absent: jinja2.Undefined) -> str:
    """The variable that is not there; empty for what is missing in one that is."""
    return absent._undefined_name or "" if absent._undefined_obj is missing else ""
