"""Values at a path such as `metadata.users[0].id`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

_STEP = re.compile(r"\[(-?\d+)\]|([^.\[\]]+)")


@lru_cache(maxsize=256)
def steps(path: str) -> tuple[str | int, ...]:
    """The keys and indices of a path; dots part keys, `[i]` is an index."""
    return tuple([int(index) if index else key for index, key in _STEP.findall(path)])


def look_up(value: Any, path: str) -> Any:
    """The value at `path`, or None where there is none. A key that holds dots itself is found as a whole."""
    if isinstance(value, dict) and path in value:
        return value[path]
    for step in steps(path):
        if isinstance(step, str):
            value = value.get(step) if isinstance(value, dict) else None
        else:
            value = value[step] if isinstance(value, list) and -len(value) <= step < len(value) else None
        if value is None:
            return None
    return value
