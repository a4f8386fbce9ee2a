"""Layers that keep a state of fixed size: Mamba, gated delta net, Kimi delta, lightning attention, convolutions.

Shapes are those of vLLM's `mamba_utils.py`: a convolution keeps its last `kernel - 1` inputs, a recurrence one matrix a
head. The convolution has the model's 16 bits. The recurrence has the type that the config names (`mamba_ssm_dtype`,
`mamba_ssm_cache_dtype`), else the model's, as vLLM's `auto`; Kimi's is always fp32, and so is Griffin's.
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

from prefixlab.kv_memory.cache_layers import CacheLayer
from prefixlab.kv_memory.config_fields import Fields
from prefixlab.kv_memory.element_types import ElementType, element_type
from prefixlab.kv_memory.engine_rules import NumberTypes, divided


class StateShape(NamedTuple):
    """Numbers of one layer on one rank: the convolution's and the recurrence's; the type of the latter where fixed."""

    kind: str
    convolution: int
    recurrence: int
    fixed_type: str | None = None


def state_layer(fields: Fields, types: NumberTypes, ranks: int) -> CacheLayer:
    """The state that a recurrent layer of this model keeps.

    Raises:
        BadRecord: the config has none of the fields of a known state.
    """
    for shape in (_delta_net, _kimi_delta, _mamba2, _mamba1, _griffin, _lightning):
        found = shape(fields, ranks)
        if found is not None:
            return _sized(fields, types, found)
    raise fields.complaint(
        "model_type",
        f"the recurrent layers of {fields.model_type or 'this model'} have no fields of a state that is known here",
        "Use --bytes-per-token",
    )


def convolution_layer(fields: Fields, types: NumberTypes, ranks: int) -> CacheLayer:
    """A short convolution alone (LFM2): the last inputs of its kernel."""
    width = fields.count_or_none("conv_dim") or fields.count("hidden_size", "block_dim")
    kernel = fields.count("conv_L_cache")
    shape = StateShape("short_conv", divided(width, ranks, "channels of a convolution") * (kernel - 1), 0)
    return _sized(fields, types, shape)


def _sized(fields: Fields, types: NumberTypes, shape: StateShape) -> CacheLayer:
    named = types.named(shape.kind) or types.named("state")
    convolution = named or types.model
    recurrence = named or _recurrence_type(fields, shape, types.model)
    size = convolution.array_bytes(shape.convolution) + recurrence.array_bytes(shape.recurrence)
    if shape.recurrence:
        fields.assume(
            f"{shape.kind.replace('_', ' ')}: one state a session, recurrence in {recurrence.name}, convolution in "
            f"{convolution.name}; engines that cache prefixes of such layers keep more states"
        )
    return CacheLayer(shape.kind, state_bytes=ceil(size))


def _recurrence_type(fields: Fields, shape: StateShape, model: ElementType) -> ElementType:
    if shape.fixed_type is not None:
        return element_type(shape.fixed_type, "state")
    for name in ("mamba_ssm_dtype", "mamba_ssm_cache_dtype"):
        said = fields.raw(name)
        if isinstance(said, str) and said != "auto":
            return element_type(said, name)
    return model


def _delta_net(fields: Fields, ranks: int) -> StateShape | None:
    """Gated delta net (Qwen3-Next, Qwen3.5, OLMo hybrid): keys of few heads, values of many."""
    if not fields.has("linear_num_value_heads", "linear_key_head_dim"):
        return None
    values, value = fields.count("linear_num_value_heads"), fields.count("linear_value_head_dim")
    keys, key = fields.count("linear_num_key_heads"), fields.count("linear_key_head_dim")
    kernel = fields.count("linear_conv_kernel_dim")
    channels = divided(2 * keys * key + values * value, ranks, "channels of a convolution")
    heads = divided(values, ranks, "heads of linear attention")
    return StateShape("gated_delta_net", channels * (kernel - 1), heads * value * key)


def _kimi_delta(fields: Fields, ranks: int) -> StateShape | None:
    """Kimi delta attention: keys, queries and values of one size, three convolutions."""
    inner = fields.part("linear_attn_config")
    if inner is not None and inner.has("num_heads", "head_dim"):
        heads, size = inner.count("num_heads"), inner.count("head_dim")
        kernel = inner.count("short_conv_kernel_size")
    elif fields.has("linear_num_heads", "linear_head_dim"):
        heads, size = fields.count("linear_num_heads"), fields.count("linear_head_dim")
        kernel = fields.count("linear_conv_kernel_dim")
    elif fields.model_type == "bailing_hybrid" and fields.has("short_conv_kernel_size"):
        heads, size = fields.count("num_attention_heads"), fields.count("head_dim")
        kernel = fields.count("short_conv_kernel_size")
    else:
        return None
    own = divided(heads, ranks, "heads of linear attention")
    return StateShape("kimi_delta", 3 * own * size * (kernel - 1), own * size * size, "fp32")


_MAMBA2_HEADS = ("mamba_n_heads", "mamba_num_heads", "n_mamba_heads")


def _mamba2(fields: Fields, ranks: int) -> StateShape | None:
    """Mamba 2: heads with a matrix each; groups of B and C are convolved with the heads' inputs."""
    alone = fields.model_type == "mamba2"
    if not alone and (not fields.has(*_MAMBA2_HEADS) or fields.model_type == "zamba"):
        return None
    heads = fields.count("num_heads") if alone else fields.count(*_MAMBA2_HEADS)
    state = fields.count("mamba_d_state", "ssm_state_size", "state_size")
    kernel = fields.count_or_none("mamba_d_conv", "conv_kernel")
    kernel = _assumed(fields, "conv_kernel", 4) if kernel is None else kernel
    groups = fields.count_or_none("mamba_n_groups", "n_groups", "mamba_ngroups")
    groups = _assumed(fields, "n_groups", 1) if groups is None else groups
    names = ("head_dim",) if alone else ("mamba_d_head", "mamba_head_dim", "mamba_headdim")
    size = next((fields.raw(name) for name in names if fields.has(name)), None)
    if size is None or size == "auto":
        width = fields.count_or_none("mamba_d_ssm")
        width = width or _expanded(fields)
        if width % heads:
            raise fields.complaint(names[0], f"{heads} Mamba heads do not divide {width} channels")
        size = width // heads
    size = fields.checked(names[0], size)
    # A group is copied to each rank whose heads read it.
    spread = groups if groups % ranks == 0 else ranks
    channels = divided(heads * size + 2 * spread * state, ranks, "channels of a Mamba convolution")
    own = divided(heads, ranks, "Mamba heads")
    return StateShape("mamba2", channels * (kernel - 1), own * size * state)


def _mamba1(fields: Fields, ranks: int) -> StateShape | None:
    """Mamba 1 (Mamba, Falcon Mamba, Jamba, Zamba): a state for each channel."""
    alone = fields.model_type in ("mamba", "falcon_mamba")
    if not alone and not fields.has("mamba_d_state"):
        return None
    width = fields.count_or_none("intermediate_size", "d_inner") if alone else None
    width = divided(width or _expanded(fields), ranks, "Mamba channels")
    state = fields.count("mamba_d_state", "state_size")
    kernel = fields.count_or_none("mamba_d_conv", "conv_kernel", "d_conv")
    kernel = _assumed(fields, "conv_kernel", 4) if kernel is None else kernel
    return StateShape("mamba1", width * (kernel - 1), width * state)


def _griffin(fields: Fields, ranks: int) -> StateShape | None:
    """Griffin (RecurrentGemma): one number a channel, and a convolution."""
    if not fields.has("conv1d_width"):
        return None
    width = divided(fields.count("lru_width", "hidden_size"), ranks, "channels of a recurrence")
    return StateShape("recurrent", width * (fields.count("conv1d_width") - 1), width, "fp32")


def _lightning(fields: Fields, ranks: int) -> StateShape | None:
    """Lightning attention (MiniMax): a matrix a head, no convolution."""
    if not (fields.has("attn_type_list") or fields.model_type.lower().startswith(("minimax", "bailing"))):
        return None
    heads = fields.count("num_attention_heads")
    size = fields.count_or_none("head_dim") or fields.count("hidden_size") // heads
    return StateShape("lightning", 0, divided(heads, ranks, "heads of linear attention") * size * size)


def _expanded(fields: Fields) -> int:
    """Channels of a Mamba mixer: the hidden size, expanded."""
    expand = fields.count_or_none("mamba_expand", "expand")
    expand = _assumed(fields, "mamba_expand", 2) if expand is None else expand
    return expand * fields.count("hidden_size", "d_model")


def _assumed(fields: Fields, name: str, value: int) -> int:
    fields.assume(f"{name} is not in the config: {value}, the usual default")
    return value
