"""Methods that change a list, a set, or a text that is written bit by bit into `io.StringIO`."""

from __future__ import annotations

from collections.abc import Sequence

from prefixlab.dialects.python_values import Items, Plain, Spread, Value


def list_method(value: Items, name: str, args: Sequence[Value]) -> Items | None:
    """The list behind a method that changes it; None where the method does not."""
    if name in ("append", "add", "write") and args:
        return Items((*value.items, args[0]), value.kind)
    if name in ("extend", "update") and args:
        more = args[0]
        added = more.items if isinstance(more, Items) and not more.is_unordered else (Spread(more),)
        return Items((*value.items, *added), value.kind)
    if name == "insert" and len(args) == 2 and isinstance(args[0], Plain) and isinstance(args[0].value, int):
        at = args[0].value
        return Items((*value.items[:at], args[1], *value.items[at:]), value.kind)
    if name == "clear":
        return Items((), value.kind)
    if name == "reverse":
        return Items(value.items[::-1], value.kind)
    if name == "pop":
        number = args[0].value if args and isinstance(args[0], Plain) else -1
        if isinstance(number, int) and value.items and -len(value.items) <= number < len(value.items):
            left = list(value.items)
            del left[number]
            return Items(tuple(left), value.kind)
    return None
