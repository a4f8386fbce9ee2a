"""An earlier run of `lint`, saved as JSON: what the templates shared then."""

from __future__ import annotations

from prefixlab.errors import PrefixlabError
from prefixlab.lint_findings import TemplateFigures
from prefixlab.saved_documents import saved_document

_SCHEMA = "prefixlab.lint/1"


class EarlierLint:
    """Stable and stranded tokens of templates, by path and name."""

    def __init__(self, figures: dict[tuple[str, str], tuple[int, int]]) -> None:
        self._figures = figures

    @classmethod
    def read(cls, path: str) -> EarlierLint:
        """The run in a file.

        Raises:
            PrefixlabError: it cannot be read, or is none.
        """
        todo = "Save one with lint --format json"
        document = saved_document(path, _SCHEMA, "run of lint", todo)
        try:
            rows = {
                (str(row["path"]), str(row["name"])): (int(row["stable_tokens"]), int(row["stranded_tokens"]))
                for row in document["templates"]
            }
        except (KeyError, TypeError, ValueError):
            raise PrefixlabError("a template of it is not whole", todo, path=path) from None
        return cls(rows)

    def beside(self, figures: TemplateFigures) -> TemplateFigures:
        """The figures with those of then."""
        stable, stranded = self._figures.get((figures.path, figures.name), (None, None))
        return figures._replace(stable_tokens_then=stable, stranded_tokens_then=stranded)
