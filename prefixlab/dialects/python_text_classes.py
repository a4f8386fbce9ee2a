"""Classes around a text in Python: `TextPrompt("...")` is the text, to whoever reads it as a prompt."""

from __future__ import annotations

from prefixlab.dialects.python_arguments import Call
from prefixlab.dialects.python_values import Class, Imported, TextValue, Value

_SAID = ("prompt", "text", "template")
"""What the name of a class says that holds a text."""

_DEEPEST = 10
"""Bases of bases that are looked at."""


def text_in_class(call: Call, called: Value | None) -> TextValue | None:
    """The text that a call of a class wraps: of one that is a `str`, or of another module's that is called so."""
    given = call.positional[0] if len(call.positional) == 1 and not call.named else None
    if not isinstance(given, TextValue):
        return None
    if isinstance(called, Class):
        return given if _is_text(called) else None
    if not isinstance(called, Imported):
        return None
    name = called.name.rpartition(".")[2]
    return given if name[:1].isupper() and any([word in name.lower() for word in _SAID]) else None


def _is_text(of: Class, depth: int = 0) -> bool:
    for base in of.bases:
        if base in (Imported("str"), Imported("collections.UserString")):
            return True
        if isinstance(base, Class) and depth < _DEEPEST and _is_text(base, depth + 1):
            return True
    return False
