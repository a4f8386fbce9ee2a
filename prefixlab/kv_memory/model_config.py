"""From a `config.json` to what a session takes: every layer read to its parts, like parts in one group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from prefixlab.errors import PrefixlabError
from prefixlab.kv_memory.cache_layers import CacheLayer, grouped
from prefixlab.kv_memory.config_fields import MOST_LAYERS, Fields, language_model
from prefixlab.kv_memory.config_source import Document, open_config
from prefixlab.kv_memory.engine_rules import EngineRules, NumberTypes, divided
from prefixlab.kv_memory.head_attention import HEADS, HeadAttention
from prefixlab.kv_memory.latent_attention import LatentAttention, compressed_parts, sparse_chosen, sparse_index_key
from prefixlab.kv_memory.layer_plan import Role, layer_count, layer_roles
from prefixlab.kv_memory.recurrent_state import convolution_layer, state_layer
from prefixlab.kv_sheet import SessionCost

MOST_RANKS = 4096


class ModelCache(NamedTuple):
    """A model's cache: of all ranks together and of one rank, and what was assumed on the way."""

    name: str
    dtype: str
    cost: SessionCost
    rank_cost: SessionCost
    assumptions: tuple[str, ...]


def model_cache(config: str, rules: EngineRules | None = None, *, offline: bool = False) -> ModelCache:
    """What the model of a config file, model folder or hub id takes.

    Raises:
        PrefixlabError: the config cannot be had, lacks a field that is needed, or has a layer that is not known.
    """
    return read_model(open_config(config, offline=offline), rules or EngineRules())


def read_model(document: Document, rules: EngineRules) -> ModelCache:
    """The same from a config that was read already."""
    if not 1 <= rules.ranks <= MOST_RANKS:
        raise PrefixlabError(f"--tp {rules.ranks} cannot be", f"Give a number of ranks from 1 to {MOST_RANKS}")
    fields = language_model(document)
    types = NumberTypes(fields, rules)
    parts = list(_parts(fields, types, rules.ranks))
    types.refuse_idle({part.kind for part in parts})
    _remark(fields, parts, rules.ranks)
    return ModelCache(
        document.name,
        types.cache.name,
        SessionCost(grouped(parts, rules.ranks)),
        SessionCost(grouped(parts)),
        tuple(fields.assumptions),
    )


# --- layers -----------------------------------------------------------------------------------------------------------


def _parts(fields: Fields, types: NumberTypes, ranks: int) -> Iterator[CacheLayer]:
    """Every part of every layer, on one rank."""
    layers = layer_count(fields)
    roles = layer_roles(fields, layers)
    shared = _shared_layers(fields, layers)
    readers = _Readers(fields, types, layers, ranks)
    # LongCat's layers hold two attentions each.
    times = 2 if fields.model_type == "longcat_flash" else 1
    turns = fields.size_or_none("total_ut_steps") or 1
    if turns > 1:
        # Ouro's layers run again on their own output; engines keep keys and values of every turn.
        if turns * layers > MOST_LAYERS:
            raise fields.complaint("total_ut_steps", f"{turns} turns of {layers} layers are more than any model has")
        fields.assume(f"total_ut_steps: every layer runs {turns} times a token and keeps a cache for each")
        times *= turns
    if fields.size_or_none("conv_window") and fields.has("sliding_window_layers"):
        fields.assume("the key and value that a layer's convolution keeps of the last token are not counted")
    for at, role in enumerate(roles):
        if at in shared and role is not Role.NONE:
            yield CacheLayer("shared")
        else:
            yield from readers.parts(role, at) * times


class _Readers:
    """The readers of kinds of layers, made when the first such layer is met, so that only its fields are needed."""

    def __init__(self, fields: Fields, types: NumberTypes, layers: int, ranks: int) -> None:
        self._fields = fields
        self._types = types
        self._layers = layers
        self._ranks = ranks
        self._heads: HeadAttention | None = None
        self._latents: LatentAttention | None = None
        self._state: CacheLayer | None = None

    def parts(self, role: Role, at: int) -> list[CacheLayer]:
        if role is Role.NONE:
            return [CacheLayer("no_cache")]
        if role is Role.CROSS:
            self._fields.assume(
                "cross-attention layers keep the keys of images or of an encoder, which are not counted"
            )
            return [CacheLayer("cross_attention")]
        if role is Role.LINEAR:
            return [self._recurrent()]
        if role is Role.CONV:
            return [convolution_layer(self._fields, self._types, self._ranks)]
        if role is Role.COMPRESSED:
            return compressed_parts(self._fields, self._types, at, self._fields.count("sliding_window"))
        if role is Role.HYBRID:
            return [*self._attention(Role.FULL, at), self._recurrent()]
        return self._attention(role, at)

    def _recurrent(self) -> CacheLayer:
        if self._state is None:
            self._state = state_layer(self._fields, self._types, self._ranks)
        return self._state

    def _attention(self, role: Role, at: int) -> list[CacheLayer]:
        fields = self._fields
        if fields.size_or_none("kv_lora_rank") and fields.flag("use_mla", True) and role is not Role.CHUNKED:
            if self._latents is None:
                self._latents = LatentAttention(fields, self._types, self._layers)
            window = fields.window("sliding_window", "sliding_window_size") if role is Role.SLIDING else None
            if role is Role.SLIDING and window is None:
                window = fields.count("sliding_window")
            return self._latents.parts(role, at, window)
        if self._heads is None:
            self._heads = HeadAttention(fields, self._types, self._layers, self._ranks)
        if not self._heads.has_cache(at):
            return [CacheLayer("no_cache")]
        if role is not Role.INDEXED:
            return [self._heads.layer(role, at)]
        if not (fields.has("sparse_attention_config") or fields.model_type.startswith("minimax_m3")):
            raise fields.complaint(
                "model_type",
                f"the indexer of {fields.model_type or 'this model'} is not known here",
                "Use --bytes-per-token",
            )
        layer = self._heads.layer(Role.FULL, at)._replace(read_tokens=sparse_chosen(fields))
        return [layer, sparse_index_key(fields, self._types)]


def _shared_layers(fields: Fields, layers: int) -> set[int]:
    """Layers that read the cache of another layer and keep none of their own."""
    last = fields.count_or_none("num_kv_shared_layers", least=0) or 0
    if last >= layers and last:
        raise fields.complaint("num_kv_shared_layers", f"{last} of {layers} layers share the cache of none")
    shared = set(range(layers - last, layers))
    if fields.flag("use_cla"):
        # Hunyuan's cross-layer attention: the first of each few layers keeps the cache for all of them.
        every = fields.count("cla_share_factor")
        shared |= {at for at in range(layers) if at % every}
    if shared:
        fields.assume(f"{len(shared)} of {layers} layers read the cache of an earlier layer and keep none")
    return shared


def _remark(fields: Fields, parts: list[CacheLayer], ranks: int) -> None:
    """What a reader has to know of the figures: draft layers, windows, ranks."""
    drafts = [
        name for name in ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules") if fields.has(name)
    ]
    if any([fields.count_or_none(name, least=0) for name in drafts]):
        fields.assume("layers for multi-token prediction are not counted")
    if any([part.window is not None for part in parts]):
        fields.assume(
            "windowed layers keep their window and no more; for engines that keep them whole, the figure if all is "
            "kept holds. Tokens in flight and rounding to blocks are not counted"
        )
    if ranks > 1:
        listed = next((value for value in map(fields.raw, HEADS) if value is not None), None)
        for heads in listed if isinstance(listed, list) else (fields.count_or_none(*HEADS),):
            if heads is not None:
                divided(fields.checked(HEADS[0], heads), ranks, "attention heads")
        fields.assume(
            f"bytes are those of all {ranks} ranks together: KV heads are shared out over the ranks and copied where "
            "there are fewer heads than ranks; latents and indexer keys are copied to each"
        )
