"""The helpers that a format adds to Handlebars, and how it finds partials."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from prefixlab.dialects.handlebars_nodes import Call
from prefixlab.prompt_templates import Part, Place

Named = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Helpers:
    """What a format knows beside the helpers of Handlebars itself."""

    values: Mapping[str, Callable[[Sequence[Any], Named], str]] = field(default_factory=dict)
    """Text for arguments; it is not escaped."""
    conditions: Mapping[str, Callable[[Sequence[Any]], bool]] = field(default_factory=dict)
    """Blocks that choose their first arm."""
    frames: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Blocks that put text around their body; `{name}` stands for a named argument."""
    parts: Mapping[str, Callable[[Call, Place], Sequence[Part]]] = field(default_factory=dict)
    """Values that are other than a hole."""
    is_escaping: bool = True
    """Whether values are escaped for HTML, as Handlebars does unless it is told not to."""
    partial_names: tuple[str, ...] = ("{name}.hbs", "{name}.handlebars", "_{name}.hbs", "partials/{name}.hbs")
    """File names of a partial."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Values of `@` variables."""


HANDLEBARS = Helpers()
"""Handlebars itself."""

BUILT_IN = frozenset({"if", "unless", "each", "with", "lookup", "log"})
"""Helpers of Handlebars itself."""

OF_JSON = frozenset({"json", "toJSON", "to_json", "tojson", "stringify", "JSONstringify", "jsonStringify"})
"""Helpers that write JSON with its keys as they come."""
