"""The sandbox for a project's own Jinja2 prompts: the allowance of chat templates, the settings of plain Jinja2."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from datetime import datetime
from functools import partial, wraps
from traceback import walk_tb
from typing import Any

import jinja2
from jinja2.ext import do, i18n
from jinja2.sandbox import SandboxedEnvironment, modifies_known_mutable
from jinja2.utils import missing

from prefixlab.errors import MissingValue, PrefixlabError
from prefixlab.rendering import limits
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
        self._changes_values = False
        """Whether a template asked for a method that changes a list or a mapping."""

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
        if not callable(__obj):
            return __obj
        owner: Any = getattr(__obj, "__self__", None)
        if type(owner) in (list, dict):
            name = __obj.__name__
            if name in ("extend", "update"):
                # Ahead of the call: what goes lazily through a list would never end while that list grows.
                args = tuple([__self._listed(one) for one in args])
            if name in ("append", "extend"):
                __self.allowance.spend(limits.CALL + limits.ITEM + sum(map(limits.extent, args)))
                return __obj(*args)
            if name in ("remove", "sort", "index", "count"):
                __self.allowance.spend(__self.allowance.read(owner) * len(owner).bit_length())
        return super().call(__context, __obj, *args, **kwargs)

    def _listed(self, values: Any) -> Any:
        return values if type(values) in (str, list, tuple, dict) else list(self._paid_through(values))

    def _paid_through(self, values: Iterable[Any]) -> Iterator[Any]:
        """What comes lazily, each item paid for as it comes: the list that it is of may have grown since."""
        for value in values:
            self.allowance.spend(limits.ITEM)
            yield value

    def _paid(self, name: str, filter: Callable[..., Any]) -> Callable[..., Any]:
        paid = super()._paid(name, filter)

        @wraps(paid)
        def lazily_paid(*arguments: Any, **options: Any) -> Any:
            made = paid(*arguments, **options)
            return self._paid_through(made) if isinstance(made, Iterator) else made

        return lazily_paid

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """As plain Jinja2 has it, a template may change lists and mappings; those of the values are copies then."""
        if self._is_chat_template or type(obj) not in (list, dict) or not modifies_known_mutable(obj, attr):
            return super().is_safe_attribute(obj, attr, value)
        if not self._changes_values:
            raise _Changes
        return SandboxedEnvironment.is_safe_attribute(self, obj, attr, value)

    def render(self, path: str, values: Mapping[str, Any]) -> str:
        """The text of a template with values.

        Raises:
            BadTemplate: it does what no values make right: takes too many steps, or reaches for Python itself.
            MissingValue: the values lack what it reads.
            PrefixlabError: it fails with these values.
        """
        try:
            try:
                return self._rendered(path, values)
            except _Changes:
                # Nothing has been changed yet: again, with copies, as each rendering from now on.
                self._changes_values = True
                return self._rendered(path, values)
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

    def _rendered(self, path: str, values: Mapping[str, Any]) -> str:
        self.allowance.renew(values)
        if self._changes_values:
            values = deepcopy(values)
            for template in (self.cache or {}).values():
                template._module = None  # what another imports has lists as well
        self._values = values
        return str(self.get_template(path).render(values))

    def _bad(self, error: BaseException, what: str, path: str) -> BadTemplate:
        """The template's own fault, at the line of a template that it happened in."""
        line = None
        for frame, number in walk_tb(error.__traceback__):
            # Jinja2 gives the frames of a template its path and its lines.
            if frame.f_code.co_filename in self._paths:
                path, line = frame.f_code.co_filename, number
        return BadTemplate(what, "Correct the template", path=path, line=line)


class _Changes(Exception):
    """A template is about to change a list or a mapping."""


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
