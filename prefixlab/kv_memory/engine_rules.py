"""What the engine is asked to do with the cache: number types by kind of layer, and tensor-parallel ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from prefixlab.errors import PrefixlabError
from prefixlab.kv_memory.config_fields import Fields
from prefixlab.kv_memory.element_types import TYPE_NAMES, ElementType, Scales, element_type

STATES = ("mamba1", "mamba2", "gated_delta_net", "kimi_delta", "lightning", "recurrent", "short_conv")
KINDS = ("full", "sliding_window", "chunked", "mla", "sliding_window_mla", "indexer", "compressed", *STATES)
"""Kinds of layers that take memory."""

EXCEPTIONS = (*KINDS, "state")
"""What `--layer-dtype` may name: a kind, or `state` for all that do not grow with the tokens."""


@dataclass(frozen=True, slots=True)
class EngineRules:
    """What the caller asked for. `dtype` is that of keys, values and latents; `layer_dtypes` has exceptions by kind."""

    dtype: ElementType | None = None
    layer_dtypes: Mapping[str, ElementType] = field(default_factory=dict)
    scales: Scales | None = None
    ranks: int = 1


def number_type(name: str, rules: EngineRules, option: str = "--dtype") -> ElementType:
    """The type of that name with the scales asked for."""
    return element_type(name, option, rules.scales)


class NumberTypes:
    """The type of each kind and layer: the caller's word, else the config's, else 16 bits."""

    def __init__(self, fields: Fields, rules: EngineRules) -> None:
        self._rules = rules
        self._patterns = _by_pattern(fields, rules)
        self.model = self._model_type(fields)
        chosen = rules.dtype or self._of_scheme(fields)
        self.is_chosen = chosen is not None
        """Whether the caller or the config names the type of the cache."""

        self.cache = chosen or self.model
        if self.cache.bits < 16:
            fields.assume(f"{self.cache.name} cache: {self.cache.scales.said}")

    def refuse_idle(self, kinds: set[str]) -> None:
        """What the caller asked for and no layer takes.

        Raises:
            PrefixlabError: a kind that the model has no layer of, or scales of numbers that are not quantized.
        """
        for kind in self._rules.layer_dtypes:
            if kind not in kinds and not (kind == "state" and kinds & set(STATES)):
                had = ", ".join([each for each in KINDS if each in kinds])
                raise PrefixlabError(
                    f"--layer-dtype {kind}: this model has no such layers", f"Give one of those it has: {had}"
                )
        types = (self.cache, *self._rules.layer_dtypes.values(), *self._patterns.values())
        if self._rules.scales is not None and all([each.bits >= 16 for each in types]):
            raise PrefixlabError(
                f"--scales is for quantized numbers, and the cache is {self.cache.name}",
                "Give --dtype fp8, int8 or int4 too",
            )

    def keys_and_values(self, kind: str, layer: int) -> tuple[ElementType, ElementType]:
        """Of keys and of values in a layer."""
        if kind in self._rules.layer_dtypes:
            return (self._rules.layer_dtypes[kind],) * 2
        if self._rules.dtype is not None:
            return (self._rules.dtype,) * 2
        keys, values = (
            next(
                (found for pattern, found in self._patterns.items() if _matches(pattern, layer, projection)), self.cache
            )
            for projection in ("k_proj", "v_proj")
        )
        return keys, values

    def of_layout(self, kind: str) -> ElementType | None:
        """The type that was chosen for a kind of layer; none where the engine's own layout is left to stand."""
        return self.named(kind) or (self.cache if self.is_chosen else None)

    def named(self, kind: str) -> ElementType | None:
        """The caller's exception for a kind of layer."""
        return self._rules.layer_dtypes.get(kind)

    def _model_type(self, fields: Fields) -> ElementType:
        name = fields.anywhere("dtype", "torch_dtype")
        said = name.lower().removeprefix("torch.") if isinstance(name, str) else ""
        if said in ("float16", "half", "fp16"):
            return element_type("fp16", "dtype")
        if said in ("float32", "float") and self._rules.dtype is None:
            fields.assume("the weights are 32-bit: the cache is taken as 16-bit, as engines serve them")
        elif said not in ("bfloat16", "bf16") and self._rules.dtype is None:
            fields.assume("the config names no 16-bit type: the cache is taken as bf16")
        return element_type("bf16", "dtype")

    def _of_scheme(self, fields: Fields) -> ElementType | None:
        """The type that a quantized checkpoint names for its cache (compressed-tensors, ModelOpt)."""
        for name in ("quantization_config", "quantization"):
            config = fields.anywhere(name)
            if not isinstance(config, dict):
                continue
            scheme, algorithm = config.get("kv_cache_scheme"), config.get("kv_cache_quant_algo")
            said = algorithm.lower() if isinstance(algorithm, str) else ""
            if isinstance(scheme, dict):
                said = f"{'fp' if scheme.get('type') == 'float' else 'int'}{scheme.get('num_bits')}"
            if said in TYPE_NAMES:
                fields.assume(f"{name} of the config says that the cache is {said}")
                return element_type(said, name, self._rules.scales)
            if said:
                raise fields.complaint(
                    name,
                    f"{name} says that the cache is {said[:40]!r}, whose size is not known here",
                    f"Give --dtype with one of {', '.join(TYPE_NAMES)}, or --bytes-per-token",
                )
        return None


def _by_pattern(fields: Fields, rules: EngineRules) -> dict[str, ElementType]:
    """Types by name of the projection that writes the cache, as Quark's configs have them for each layer."""
    config = fields.anywhere("quantization_config")
    entries = config.get("kv_cache_quant_config") if isinstance(config, dict) else None
    if not isinstance(entries, dict) or rules.dtype is not None:
        return {}
    found = {}
    for pattern, entry in entries.items():
        output: Any = entry.get("output_tensors") if isinstance(entry, dict) else None
        name = output.get("dtype") if isinstance(output, dict) else None
        if not isinstance(name, str):
            raise fields.complaint("kv_cache_quant_config", "kv_cache_quant_config has an entry with no type")
        found[pattern[:200]] = element_type(name, "kv_cache_quant_config", rules.scales)
    if found:
        fields.assume("kv_cache_quant_config of the config says the type of the cache layer by layer")
    return found


def _matches(pattern: str, layer: int, projection: str) -> bool:
    return fnmatchcase(f"model.layers.{layer}.self_attn.{projection}", pattern)


def divided(amount: int, ranks: int, what: str) -> int:
    """A part of each rank.

    Raises:
        PrefixlabError: the ranks do not divide it.
    """
    if amount % ranks:
        raise PrefixlabError(
            f"--tp {ranks} does not divide {amount} {what}", "Give a number of ranks that divides them"
        )
    return amount // ranks


def heads_on_a_rank(heads: int, ranks: int) -> int:
    """KV heads of one rank. More ranks than heads hold copies.

    Raises:
        PrefixlabError: heads and ranks do not divide each other.
    """
    if ranks <= heads:
        return divided(heads, ranks, "KV heads")
    if ranks % heads:
        raise PrefixlabError(f"--tp {ranks} is no multiple of {heads} KV heads", "Give a number of ranks that is")
    return 1
