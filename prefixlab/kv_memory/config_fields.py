"""The fields of a config, read with suspicion: each is what it should be, or the complaint names its line."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from prefixlab.errors import BadRecord
from prefixlab.kv_memory.config_source import Document

LARGEST = 2**31 - 1
"""Of any size in a config; what is larger is a mistake, not a model."""

MOST_LAYERS = 10_000

_NESTED = ("thinker_config", "text_config", "llm_config", "language_config", "language_model_config", "llm", "decoder")
"""Where multimodal configs keep the language model, the outermost first."""

_LAYERS = (
    "num_hidden_layers",
    "n_layer",
    "n_layers",
    "num_layers",
    "num_transformer_layers",
    "layer_types",
    "layers_block_type",
)


@cache
def class_defaults() -> Mapping[str, Mapping[str, Any]]:
    """Defaults of the config classes of transformers 5.24 by model type; a nested config is written without them."""
    found: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("class_defaults.json").read_text())
    return found


class Fields:
    """A config, or the part of it that describes the language model. It collects what had to be assumed."""

    def __init__(
        self, document: Document, values: Mapping[str, Any], *, start: int = 0, outer: Fields | None = None
    ) -> None:
        self.document = document
        self.values = values
        self.outer = outer
        self._start = start
        self.assumptions: list[str] = outer.assumptions if outer is not None else []
        own = values.get("model_type")
        self.model_type: str = own if isinstance(own, str) else outer.model_type if outer is not None else ""
        known = class_defaults().get(self.model_type, {})
        # What a class writes of itself is whole; of a config inside another one, only what differs from the class.
        self._defaults = known if outer is not None else {}
        self.head_dim_default = known.get("head_dim")
        self._read: set[str] = set()

    # --- asking -------------------------------------------------------------------------------------------------------

    def has(self, *names: str) -> bool:
        return any([self._value(name) is not None for name in names])

    def raw(self, name: str) -> Any:
        return self._value(name)

    def was_read(self, name: str) -> bool:
        """Whether anything has asked for the field."""
        return name in self._read

    def anywhere(self, *names: str) -> Any:
        """A value from this part or from those around it, as for quantization."""
        for name in names:
            if self.values.get(name) is not None:
                return self.values[name]
        return self.outer.anywhere(*names) if self.outer is not None else None

    def count(self, *names: str) -> int:
        """The whole number that the first of the names there gives, at least 1."""
        found = self.count_or_none(*names)
        if found is None:
            raise BadRecord(
                f"the config has no {names[0]}, and the cache cannot be told without it",
                "Give the config.json of a decoder model",
                path=self.document.path,
                line=self.line(*_NESTED) if self.outer is not None else 1,
            )
        return found

    def count_or_none(self, *names: str, least: int = 1) -> int | None:
        for name in names:
            value = self._value(name)
            if value is not None:
                if name not in self.values:
                    self.assume(f"{name} is not in the config: {value}, the default of {self.model_type}")
                return self.checked(name, value, least=least)
        return None

    def size_or_none(self, *names: str) -> int | None:
        """A size that configs also give as 0 where there is none of it."""
        given = [name for name in names if self._value(name) != 0 or isinstance(self._value(name), bool)]
        return self.count_or_none(*given)

    def window(self, *names: str) -> int | None:
        """A window in tokens; none, and 0 or -1 as some configs have it, is no window."""
        for name in names:
            value = self._value(name)
            if value is None or value is False or (not isinstance(value, bool) and value in (0, -1)):
                continue
            return self.count_or_none(name)
        return None

    def flag(self, name: str, absent: bool = False) -> bool:
        value = self._value(name)
        if value is None:
            return absent
        if isinstance(value, bool) or value in (0, 1):
            return bool(value)
        raise self.complaint(name, f"{name} is {shorten(value)}, not true or false")

    def list_or_none(self, name: str) -> list[Any] | None:
        value = self._value(name)
        if value is None:
            return None
        if not isinstance(value, list):
            raise self.complaint(name, f"{name} is {shorten(value)}, not a list")
        return value

    def indices(self, name: str) -> list[int] | None:
        found = self.list_or_none(name)
        return None if found is None else [self.checked(name, value, least=0) for value in found]

    def part(self, name: str) -> Fields | None:
        """A mapping inside, such as `linear_attn_config`, to be asked in the same way."""
        value = self._value(name)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self.complaint(name, f"{name} is {shorten(value)}, not an object")
        inner = Fields(self.document, value, start=self._place(name), outer=self)
        inner._defaults = {}
        return inner

    # --- complaining --------------------------------------------------------------------------------------------------

    def checked(self, name: str, value: Any, least: int = 1) -> int:
        """The value as a whole number of at least `least`."""
        if isinstance(value, float) and value.is_integer() and abs(value) <= LARGEST:
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= LARGEST:
            raise self.complaint(name, f"{name} is {shorten(value)}, not a whole number from {least} to {LARGEST}")
        return value

    def complaint(self, name: str, what: str, todo: str = "Correct the config") -> BadRecord:
        return BadRecord(what, todo, path=self.document.path, line=self.line(name))

    def line(self, *names: str) -> int:
        """The line of the first of the names that the text has."""
        places = [self._place(name) for name in names]
        return self.document.text.count("\n", 0, max([*places, 0])) + 1

    def assume(self, said: str) -> None:
        if said not in self.assumptions:
            self.assumptions.append(said)

    def _value(self, name: str) -> Any:
        self._read.add(name)
        value = self.values.get(name)
        return self._defaults.get(name) if value is None and name not in self.values else value

    def _place(self, name: str) -> int:
        pattern = re.compile(rf'"{re.escape(name)}"\s*:')
        found = pattern.search(self.document.text, self._start) or pattern.search(self.document.text)
        return found.start() if found else self._start


def language_model(document: Document) -> Fields:
    """The part of a config that describes the language model: the innermost of those that multimodal configs nest."""
    fields = Fields(document, document.values)
    for _ in range(len(_NESTED)):
        for name in _NESTED:
            inner = fields.values.get(name)
            if isinstance(inner, dict) and (
                any([inner.get(field) is not None for field in (*_LAYERS, "model_type", *_NESTED)])
                or not any([fields.values.get(field) is not None for field in _LAYERS])
            ):
                fields = Fields(document, inner, start=fields._place(name), outer=fields)
                break
        else:
            break
    return fields


def shorten(value: Any) -> str:
    """A value of a config as a complaint shows it: its kind where it is large."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**30:
        return "a very large number"
    said = json.dumps(value, ensure_ascii=True)
    return said if len(said) <= 40 else said[:39] + "…"


def per_layer(fields: Fields, name: str, values: Sequence[Any], layers: int) -> list[Any]:
    """A list with an entry a layer. Entries beyond the layers are those of draft layers; too few are a mistake."""
    if len(values) < layers:
        raise fields.complaint(name, f"{name} has {len(values)} entries for {layers} layers")
    return list(values[:layers])
