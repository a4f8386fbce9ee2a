"""The sandbox for a project's own Jinja2 prompts: the allowance of chat templates, the settings of plain Jinja2."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import jinja2
from jinja2.ext import do, i18n

from prefixlab.errors import PrefixlabError
from prefixlab.rendering.limits import TooMuch
from prefixlab.rendering.sandbox import ChatEnvironment

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
        self._source = source
        self._names: dict[str, str] = {}

    def _load(self, name: str) -> tuple[str, str | None, None] | None:
        found = self._source(name, None)
        return None if found is None else (found[0], found[1], None)

    def join_path(self, template: str, parent: str) -> str:
        """The path of a template that another calls so."""
        found = self._source(template, parent)
        return template if found is None else found[1]

    def call(__self, __context: Any, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805 - as the base class
        """A call; what the values give in place of a function without arguments, such as `now()`, is its result."""
        if not args and not kwargs and isinstance(__obj, str | int | float | list | dict):
            return __obj
        return super().call(__context, __obj, *args, **kwargs)

    def render(self, path: str, values: Mapping[str, Any]) -> str:
        """The text of a template with values.

        Raises:
            PrefixlabError: it fails, asks for what is not given, or takes too many steps.
        """
        self.allowance.renew(values)
        try:
            return str(self.get_template(path).render(values))
        except TooMuch as error:
            raise PrefixlabError(str(error), "Correct the template", path=path) from None
        except RecursionError:
            raise PrefixlabError("the template goes too deep", "Correct it", path=path) from None
        except jinja2.TemplateSyntaxError as error:
            raise PrefixlabError(f"is not a Jinja2 template: {error.message}", "Correct it", path=path) from None
        except PrefixlabError:
            raise
        except Exception as error:  # whatever a template does is the fault of the template or of its values
            raise PrefixlabError(
                f"cannot be rendered with these values: {error}", "Correct the template or the values", path=path
            ) from None
