"""JSON schemas of classes: their keys stand in the order in which the class has its fields."""

from __future__ import annotations

from prefixlab.dialects.python_facts import facts
from prefixlab.dialects.python_values import Opaque, Value

_SCHEMAS = frozenset({"model_json_schema", "json_schema", "schema", "schema_json", "model_dump_schema"})
_ON_THE_WAY = frozenset({"TypeAdapter", "items", "copy"})


def is_schema(value: Value | None) -> bool:
    """Whether a value is the schema of a class, and nothing else."""
    if not isinstance(value, Opaque):
        return False
    calls = {call.rpartition(".")[2] for call in facts(value).calls}
    return bool(calls & _SCHEMAS) and calls <= _SCHEMAS | _ON_THE_WAY
