"""Layers that keep one latent vector a token for all heads: MLA, its indexer, and compressed attention.

MLA keeps `kv_lora_rank + qk_rope_head_dim` numbers a token, once, and each tensor-parallel rank holds all of it. Of
sparse MLA (DeepSeek V3.2) vLLM's fp8 layout is `fp8_ds_mla`: the latent in fp8, a 4-byte scale for each 128 numbers,
the rope part in 16 bits, 656 bytes for 512 + 64. The indexer keeps one key a token, in fp8 with such scales too.

DeepSeek V4 keeps a window of shared key-values, and one compressed entry for each 4 or 128 tokens. Engines pack an
entry of 512 to 584 bytes (SGLang's `deepseek_v4_memory_pool.py`): 448 in fp8 with a 1-byte scale for each 64 and one
byte of padding, the 64 of rope in 16 bits.
"""

from __future__ import annotations

from fractions import Fraction

from prefixlab.kv_memory.cache_layers import CacheLayer
from prefixlab.kv_memory.config_fields import Fields, per_layer
from prefixlab.kv_memory.element_types import ElementType
from prefixlab.kv_memory.engine_rules import NumberTypes
from prefixlab.kv_memory.layer_plan import Role

_SCALE_GROUP = 128
_SCALE_BYTES = 4
_ROPE = 64
_PACKED_GROUP = 64
_RATIOS = {"compressed_sparse_attention": 4, "heavily_compressed_attention": 128}
_INDEXED_RATIO = 4
"""Compression at which DeepSeek V4's layers choose entries with an indexer."""


class LatentAttention:
    """Latents of a model with `kv_lora_rank`, layer by layer."""

    def __init__(self, fields: Fields, types: NumberTypes, layers: int) -> None:
        self._fields = fields
        self._types = types
        self._layers = layers
        self._indexers = indexer_layers(fields, layers)
        fields.assume("MLA: one latent a token for all heads, held whole by every tensor-parallel rank")

    def parts(self, role: Role, at: int, window: int | None) -> list[CacheLayer]:
        """What one layer takes on one rank: the latent, and the indexer's key where it has one."""
        fields = self._fields
        sliding = role is Role.SLIDING
        prefix = "swa_" if sliding and fields.has("swa_kv_lora_rank") else ""
        rank = fields.count(f"{prefix}kv_lora_rank")
        rope = fields.count_or_none(f"{prefix}qk_rope_head_dim", least=0) or 0
        kind = "sliding_window_mla" if sliding else "mla"
        number = self._types.keys_and_values(kind, at)[0]
        if number.name == "fp8" and role is Role.INDEXED and not number.scales.bytes:
            size = rank + -(-rank // _SCALE_GROUP) * _SCALE_BYTES + 2 * rope
            fields.assume(f"fp8 of sparse MLA as vLLM's fp8_ds_mla: {size} bytes a token and layer")
        else:
            size = number.vector_bytes(rank + rope)
            if role is Role.INDEXED and number.bits == 16:
                fields.assume("sparse MLA in 16 bits; vLLM may choose fp8 for it by itself: --dtype fp8")
        chosen = chosen_tokens(fields, fields.size_or_none("index_topk")) if role is Role.INDEXED else None
        parts = [CacheLayer(kind, Fraction(size), window if sliding else None, read_tokens=chosen)]
        if role is Role.INDEXED and self._indexers[at]:
            parts.append(indexer_key(fields, self._types, fields.count_or_none("index_kpool") or 1))
        return parts


def chosen_tokens(fields: Fields, tokens: int | None) -> int | None:
    """Tokens that a decode step reads of a layer with an indexer: those that it chooses, and the keys to choose by."""
    if tokens is None:
        fields.assume("the config does not say how many tokens the indexer chooses: a step reads the whole cache")
    else:
        fields.assume(f"a decode step reads the indexer's keys and the {tokens} tokens that it chooses in each layer")
    return tokens


def indexer_layers(fields: Fields, layers: int) -> list[bool]:
    """Which layers have an indexer of their own; others choose what the one before them chose (GLM 5.2)."""
    listed = fields.list_or_none("indexer_types")
    if listed:
        return [value == "full" for value in per_layer(fields, "indexer_types", listed, layers)]
    pattern = fields.raw("index_topk_pattern")
    if isinstance(pattern, str | list) and pattern:
        return [value in ("F", "full") for value in per_layer(fields, "index_topk_pattern", pattern, layers)]
    every = fields.count_or_none("index_topk_freq") or 1
    offset = fields.count_or_none("index_skip_topk_offset", least=0)
    offset = 2 if offset is None else offset
    return [max(at - offset + 1, 0) % every == 0 for at in range(layers)]


def indexer_key(fields: Fields, types: NumberTypes, stride: int) -> CacheLayer:
    """The indexer's key: fp8 with scales as vLLM keeps it, unless the caller named a type."""
    length = fields.count("index_head_dim")
    named = types.named("indexer")
    if named is not None:
        size = named.vector_bytes(length)
    else:
        size = length + -(-length // _SCALE_GROUP) * _SCALE_BYTES
        fields.assume(
            f"indexer: one key a token in fp8 with a 4-byte scale for each 128 numbers, {size} bytes, as in vLLM; "
            "--layer-dtype indexer=bf16 for engines that keep 16 bits"
        )
    # What is pooled before it is kept stands for several tokens; the open pool's own keys are 16-bit.
    tail = 2 * length * stride if stride > 1 else 0
    return CacheLayer("indexer", Fraction(size, stride), None, tail, stride)


def sparse_index_key(fields: Fields, types: NumberTypes) -> CacheLayer:
    """The index key of MiniMax M3's sparse layers beside their heads: one for all heads, 16 bits."""
    inner = fields.part("sparse_attention_config")
    length = fields.count_or_none("index_head_dim")
    if length is None:
        length = inner.count("sparse_index_dim") if inner is not None else fields.count("index_head_dim")
    named = types.named("indexer")
    if named is None:
        fields.assume("indexer: one 16-bit key a token in sparse layers; --layer-dtype indexer=fp8 for another type")
    return CacheLayer("indexer", Fraction((named or types.model).vector_bytes(length)))


def sparse_chosen(fields: Fields) -> int | None:
    """Tokens that MiniMax M3's sparse layers read: whole blocks of them."""
    inner = fields.part("sparse_attention_config")
    blocks, size = fields.size_or_none("index_topk_blocks"), fields.size_or_none("index_block_size")
    if inner is not None:
        blocks = blocks or inner.size_or_none("sparse_topk_blocks")
        size = size or inner.size_or_none("sparse_block_size")
    return chosen_tokens(fields, blocks * size if blocks and size else None)


def compressed_parts(fields: Fields, types: NumberTypes, at: int, window: int) -> list[CacheLayer]:
    """DeepSeek V4: the window, and what is compressed of all tokens."""
    ratio = _ratio(fields, at)
    length = fields.count("head_dim")
    near = _entry_bytes(fields, types.of_layout("sliding_window"), length)
    parts = [CacheLayer("sliding_window", Fraction(near), window)]
    fields.assume(
        "DeepSeek V4: key and value are one vector; padding of the engine's blocks and open windows not counted"
    )
    if ratio:
        far = _entry_bytes(fields, types.of_layout("compressed"), length)
        entries = fields.size_or_none("index_topk") if ratio == _INDEXED_RATIO else None
        chosen = chosen_tokens(fields, entries and entries * ratio) if ratio == _INDEXED_RATIO else None
        parts.append(CacheLayer("compressed", Fraction(far, ratio), None, 0, ratio, chosen))
    if ratio == _INDEXED_RATIO:
        key = indexer_key(fields, types, 1)
        parts.append(CacheLayer("indexer", key.token_bytes / ratio, None, 0, ratio))
    return parts


def _ratio(fields: Fields, at: int) -> int:
    """Tokens that a compressed entry of a layer stands for; 0 where a layer has its window alone."""
    ratios = fields.indices("compress_ratios")
    if ratios:
        return ratios[at]
    name = (fields.list_or_none("layer_types") or [])[at]
    rates = fields.part("compress_rates")
    if rates is not None and rates.has(name):
        return rates.count(name)
    return _RATIOS.get(name, 0)


def _entry_bytes(fields: Fields, number: ElementType | None, length: int) -> int:
    """One key-value vector of DeepSeek V4: packed as engines do, unless another type than fp8 was asked for."""
    if number is not None and (number.name != "fp8" or number.scales.bytes):
        return number.vector_bytes(length)
    rope = fields.count_or_none("qk_rope_head_dim")
    rope = min(_ROPE if rope is None else rope, length)
    plain = length - rope
    size = plain + -(-plain // _PACKED_GROUP) + 1 + 2 * rope
    fields.assume(f"DeepSeek V4: {size} bytes an entry, in fp8 with the rope part in 16 bits; --dtype bf16 for 16 bits")
    return size
