"""JSON that an earlier run has written, told by its schema."""

from __future__ import annotations

from typing import Any

import orjson

from prefixlab.errors import PrefixlabError


def saved_document(path: str, schema: str, what: str, todo: str) -> dict[str, Any]:
    """The document of a schema in a file; `what` says what it should be, `todo` what to do where it is none.

    Raises:
        PrefixlabError: it cannot be read, or is none.
    """
    try:
        with open(path, "rb") as file:
            document: Any = orjson.loads(file.read())
    except OSError as error:
        raise PrefixlabError(f"cannot be read: {error.strerror or error}", todo, path=path) from None
    except orjson.JSONDecodeError as error:
        raise PrefixlabError(f"not JSON: {error}", todo, path=path) from None
    if not isinstance(document, dict) or document.get("schema") != schema:
        raise PrefixlabError(f"no {what}: its schema is not {schema}", todo, path=path)
    return document
