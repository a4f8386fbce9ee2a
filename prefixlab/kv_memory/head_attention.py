"""Layers that keep a key and a value for each KV head: full, sliding-window and chunked attention, GQA, MQA and MHA.

A token takes `heads x (key bytes + value bytes)`. Full attention keeps every token. A sliding window of W keeps the
last W; chunked attention its chunk. An engine that does not free what left the window keeps every token of these too.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from prefixlab.kv_memory.cache_layers import CacheLayer
from prefixlab.kv_memory.config_fields import Fields, per_layer
from prefixlab.kv_memory.engine_rules import NumberTypes, heads_on_a_rank
from prefixlab.kv_memory.layer_plan import Role

HEADS = ("num_attention_heads", "n_head", "n_heads", "num_query_heads", "attention_heads", "num_heads")
_KV_HEADS = (
    "num_key_value_heads_per_layer",
    "num_key_value_heads",
    "num_kv_heads",
    "n_head_kv",
    "n_kv_heads",
    "num_attention_groups",
    "num_query_groups",
)
_SLIDING_KV_HEADS = ("swa_num_key_value_heads", "num_swa_key_value_heads")
_DIMS = ("head_dim", "attention_head_dim", "kv_channels")
_FALCON = ("falcon", "RefinedWeb", "RefinedWebModel")


class HeadAttention:
    """Heads and their sizes, layer by layer."""

    def __init__(self, fields: Fields, types: NumberTypes, layers: int, ranks: int) -> None:
        self._fields = fields
        self._types = types
        self._layers = layers
        self._ranks = ranks
        self._kv_heads = self._read_kv_heads()
        self._head_dim: int | None = None

    def layer(self, role: Role, at: int) -> CacheLayer:
        """What one layer takes on one rank."""
        kind, window = "full", None
        if role is Role.SLIDING:
            kind, window = "sliding_window", self.window()
        elif role is Role.CHUNKED:
            kind, window = "chunked", self._fields.count("attention_chunk_size")
        heads = heads_on_a_rank(self._heads_of(role, at), self._ranks)
        key, value = self._dims_of(role, at)
        keys, values = self._types.keys_and_values(kind, at)
        size = heads * (keys.vector_bytes(key) + values.vector_bytes(value))
        return CacheLayer(kind, Fraction(size), window)

    def window(self) -> int:
        """Tokens that a sliding-window layer keeps."""
        fields = self._fields
        found = fields.window("sliding_window", "attention_window_size", "sliding_window_size", "window_size")
        return fields.count("sliding_window") if found is None else found

    # --- heads --------------------------------------------------------------------------------------------------------

    def _read_kv_heads(self) -> list[int]:
        """KV heads of each layer; 0 where a layer has no attention."""
        fields, layers = self._fields, self._layers
        blocks = fields.list_or_none("block_configs")
        if blocks:
            return [self._heads_of_block(block) for block in per_layer(fields, "block_configs", blocks, layers)]
        inner = fields.part("attn_config")
        if inner is not None and inner.has("kv_n_heads"):
            return [inner.count("kv_n_heads")] * layers
        if inner is not None and inner.raw("attn_type") == "multiquery_attention":
            return self._one_head()
        if fields.flag("multi_query_attention") and fields.has("multi_query_group_num"):
            return [fields.count("multi_query_group_num")] * layers
        new_falcon = fields.model_type in _FALCON and fields.flag("new_decoder_architecture")
        single = fields.flag("multi_query", fields.model_type == "gpt_bigcode")
        if single and not new_falcon:
            return self._one_head()
        for name in _KV_HEADS:
            listed: Any = fields.raw(name)
            if isinstance(listed, list):
                found = [fields.checked(name, value, least=0) for value in per_layer(fields, name, listed, layers)]
                for at, heads in enumerate(found):
                    self._fits(name, heads, at)
                return found
            if listed is not None and self._says_heads(name):
                self._fits(name, fields.count(name), 0)
                return [fields.count(name)] * layers
        heads = fields.count(*HEADS)
        fields.assume(
            f"the config has no num_key_value_heads: multi-head attention (MHA), {heads} KV heads as it has query heads"
        )
        return [heads] * layers

    def _fits(self, name: str, kv_heads: int, at: int) -> None:
        """Each KV head is read by as many query heads as any other.

        Raises:
            BadRecord: the numbers do not allow that.
        """
        fields = self._fields
        asked = next((field for field in HEADS if fields.has(field)), None)
        if asked is None or not kv_heads:
            return
        listed = fields.raw(asked)
        if isinstance(listed, list):
            heads = fields.checked(asked, per_layer(fields, asked, listed, self._layers)[at], least=0)
        else:
            heads = fields.count(asked)
        if heads % kv_heads or heads < kv_heads:
            raise fields.complaint(name, f"{name} has {kv_heads} KV heads, which do not divide {heads} query heads")

    def _one_head(self) -> list[int]:
        self._fields.assume("multi-query attention (MQA): one KV head for all query heads")
        return [1] * self._layers

    def _says_heads(self, name: str) -> bool:
        """Whether the field counts KV heads here: a class default does only if it fits the query heads."""
        fields = self._fields
        return name in fields.values or fields.count(*HEADS) % fields.checked(name, fields.raw(name)) == 0

    def _heads_of_block(self, block: Any) -> int:
        """A block of a searched architecture (Nemotron-NAS): its attention may be left out or replaced."""
        fields = self._fields
        attention = block.get("attention") if isinstance(block, dict) else None
        if not isinstance(attention, dict):
            raise fields.complaint("block_configs", "block_configs has a block with no attention")
        if attention.get("no_op") or attention.get("replace_with_linear"):
            return 0
        in_group = fields.checked("n_heads_in_group", attention.get("n_heads_in_group"))
        heads = fields.count(*HEADS)
        if heads % in_group:
            raise fields.complaint("n_heads_in_group", f"groups of {in_group} do not divide {heads} heads")
        return heads // in_group

    def has_cache(self, at: int) -> bool:
        """Whether a layer has any KV head."""
        return self._kv_heads[at] > 0

    def _heads_of(self, role: Role, at: int) -> int:
        fields = self._fields
        own = self._override(at, "num_key_value_heads")
        if own is not None:
            return own
        if role is Role.SLIDING and fields.has(*_SLIDING_KV_HEADS):
            return fields.count(*_SLIDING_KV_HEADS)
        other = fields.part("attention_other_setting") if role is Role.SLIDING else None
        if other is not None and other.has("num_attention_groups"):
            return other.count("num_attention_groups")
        gated = fields.flag("attention_k_eq_v", not fields.model_type.startswith("gemma4"))
        if role is Role.FULL and fields.has("num_global_key_value_heads") and gated:
            return fields.count("num_global_key_value_heads")
        return self._kv_heads[at]

    # --- sizes --------------------------------------------------------------------------------------------------------

    def _dims_of(self, role: Role, at: int) -> tuple[int, int]:
        """Sizes of a key and of a value."""
        fields = self._fields
        own = self._override(at, "head_dim")
        if own is not None:
            return own, own
        if role is Role.SLIDING and fields.has("swa_head_dim"):
            key = fields.count("swa_head_dim")
            return key, fields.size_or_none("swa_v_head_dim", "v_head_dim") or key
        if role is Role.FULL and (fields.has("global_head_dim") or fields.model_type.startswith("gemma4")):
            given = fields.count_or_none("global_head_dim")
            key = 512 if given is None else given
            if given is None:
                fields.assume("global_head_dim is not in the config: 512, the default of gemma4_text")
            return key, key
        if role is Role.SLIDING and fields.has("num_swa_attention_heads"):
            # Baichuan M1: windows have other heads, that share the hidden size out too.
            key = self._shared_out("num_swa_attention_heads")
            return key, key
        key = self._plain_dim()
        return key, fields.size_or_none("v_head_dim") or key

    def _plain_dim(self) -> int:
        """The head size: read where it is given, else the hidden size shared out over the heads."""
        if self._head_dim is None:
            self._head_dim = self._read_dim()
        return self._head_dim

    def _read_dim(self) -> int:
        fields = self._fields
        given = fields.size_or_none(*_DIMS)
        if given is not None:
            return given
        if isinstance(fields.head_dim_default, int) and fields.head_dim_default and "head_dim" not in fields.values:
            fields.assume(
                f"head_dim is not in the config: {fields.head_dim_default}, the default of {fields.model_type}"
            )
            return fields.head_dim_default
        return self._shared_out(*HEADS)

    def _shared_out(self, *names: str) -> int:
        """The hidden size over the heads of that name."""
        fields = self._fields
        hidden = fields.count("hidden_size", "n_embd", "n_embed", "d_model", "dim", "model_dim")
        # Zamba's shared attention runs on the hidden state and the embedding side by side.
        wide = 2 * hidden if fields.model_type in ("zamba", "zamba2") else hidden
        heads = fields.count(*names)
        if wide % heads:
            raise fields.complaint(names[0], f"{heads} heads do not divide a hidden size of {wide}")
        fields.assume(f"head_dim is not in the config: {wide // heads}, the hidden size over {heads} heads")
        return wide // heads

    def _override(self, at: int, name: str) -> int | None:
        """A layer's own value, as newer configs have it under `per_layer_config`."""
        found = self._fields.raw("per_layer_config")
        own = found.get(str(at)) if isinstance(found, dict) else None
        value = own.get(name) if isinstance(own, dict) else None
        return None if value is None else self._fields.checked(name, value)
