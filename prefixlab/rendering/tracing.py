"""stub"""
from __future__ import annotations
from typing import Any
class Traced: ...
class Rope: ...
MISSING = object()
FILTERS: dict = {}
TYPE_TESTS: frozenset = frozenset()
def guarded(f): return f
def typed(f): return f
def concatenate(values): return "".join([str(v) for v in values])
def join(values, separator): return separator.join(values)
def strftime(now, format): ...
