"""Which kind of layer stands where: the many ways configs say it, read to one name a layer."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from prefixlab.kv_memory.config_fields import MOST_LAYERS, Fields, per_layer, shorten
from prefixlab.kv_memory.unreadable import refuse_unread_layers, refuse_without_cache


class Role(StrEnum):
    """What a layer keeps between tokens."""

    FULL = "full attention"
    SLIDING = "sliding window"
    CHUNKED = "chunked attention"
    INDEXED = "attention with an indexer"
    LINEAR = "recurrent state"
    CONV = "short convolution"
    HYBRID = "full attention and recurrent state"
    CROSS = "cross attention"
    COMPRESSED = "compressed attention"
    NONE = "nothing"


_NAMES = {
    "full_attention": Role.FULL,
    "full": Role.FULL,
    "attention": Role.FULL,
    "global": Role.FULL,
    "global_attention": Role.FULL,
    "sliding_attention": Role.SLIDING,
    "sliding_window": Role.SLIDING,
    "sliding": Role.SLIDING,
    "swa": Role.SLIDING,
    "local": Role.SLIDING,
    "local_attention": Role.SLIDING,
    "chunked_attention": Role.CHUNKED,
    "chunked": Role.CHUNKED,
    "indexed_attention": Role.INDEXED,
    "deepseek_sparse_attention": Role.INDEXED,
    "minimax_m3_sparse": Role.INDEXED,
    "compressed_sparse_attention": Role.COMPRESSED,
    "heavily_compressed_attention": Role.COMPRESSED,
    "linear_attention": Role.LINEAR,
    "linear": Role.LINEAR,
    "mamba": Role.LINEAR,
    "mamba2": Role.LINEAR,
    "recurrent": Role.LINEAR,
    "kda": Role.LINEAR,
    "gated_delta_net": Role.LINEAR,
    "conv": Role.CONV,
    "short_conv": Role.CONV,
    "hybrid": Role.HYBRID,
    "moe": Role.NONE,
    "mlp": Role.NONE,
    "dense": Role.NONE,
    "sparse": Role.NONE,
}
_LETTERS = {"M": Role.LINEAR, "*": Role.FULL, "-": Role.NONE, "E": Role.NONE}

_ALTERNATING = {
    "gemma2": 2,
    "gpt_oss": 2,
    "gemma3_text": 6,
    "gemma3": 6,
    "gemma3n_text": 5,
    "gemma3n": 5,
    "gemma4_text": 6,
    "gemma4_unified_text": 6,
    "cohere2": 4,
    "olmo3": 4,
    "exaone4": 4,
    "afmoe": 4,
}
"""Model types whose code sets every n-th layer to full attention and the others to the window."""

_LINEAR_INTERVAL = {"qwen3_next": 4, "qwen3_5": 4, "qwen3_5_text": 4, "qwen3_5_moe": 4, "qwen3_5_moe_text": 4}
_STATE_ONLY = ("mamba", "mamba2", "falcon_mamba")
LAYER_COUNTS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_transformer_layers")


def layer_count(fields: Fields) -> int:
    """How many layers there are. The longest list counts where the number is missing.

    Raises:
        BadRecord: it is no number of layers, or they keep no cache.
    """
    refuse_without_cache(fields)
    found = fields.count_or_none(*LAYER_COUNTS)
    if found is None:
        for name in ("layer_types", "layers_block_type", "hybrid_override_pattern"):
            listed = fields.raw(name)
            if isinstance(listed, list | str) and listed:
                found = len(listed)
                break
        else:
            found = fields.count("num_hidden_layers")
    if found > MOST_LAYERS:
        name = next((name for name in LAYER_COUNTS if fields.has(name)), "")
        raise fields.complaint(name, f"{found} layers are more than any model has (at most {MOST_LAYERS})")
    return found


def layer_roles(fields: Fields, layers: int) -> list[Role]:
    """One role a layer, in order.

    Raises:
        BadRecord: a list does not fit, or a kind of layer is not known.
    """
    for reading in (_listed, _lettered, _numbered, _indexed_lists, _by_interval):
        roles = reading(fields, layers)
        if roles is not None:
            return _in_effect(fields, roles)
    roles = _in_effect(fields, _by_window(fields, layers) or [Role.FULL] * layers)
    refuse_unread_layers(fields)
    return roles


def _in_effect(fields: Fields, roles: list[Role]) -> list[Role]:
    """The roles once the model's own turns are taken: indexers, cross attention."""
    has_indexer = fields.has("index_head_dim") and fields.has("kv_lora_rank") and fields.flag("use_dsa", True)
    if has_indexer:
        roles = [Role.INDEXED if role is Role.FULL else role for role in roles]
    crossing = set(fields.indices("cross_attention_layers") or ())
    if not crossing and fields.model_type == "mllama_text_model" and not fields.has("cross_attention_layers"):
        crossing = {3, 8, 13, 18, 23, 28, 33, 38}
        fields.assume("cross_attention_layers is not in the config: 3, 8, ... 38, the default of mllama_text_model")
    return [Role.CROSS if at in crossing else role for at, role in enumerate(roles)]


def _named(fields: Fields, name: str, value: Any) -> Role:
    role = _NAMES.get(value) if isinstance(value, str) else None
    if role is None:
        raise fields.complaint(
            name,
            f"{shorten(value)} is no kind of layer that is known here",
            "Correct the config, or use --bytes-per-token",
        )
    return role


def _listed(fields: Fields, layers: int) -> list[Role] | None:
    for name in ("layer_types", "layers_block_type"):
        values = fields.list_or_none(name)
        if values:
            roles = [_named(fields, name, value) for value in per_layer(fields, name, values, layers)]
            # Where some layers are compressed, the windows of the others hold such entries too.
            return [Role.COMPRESSED] * layers if Role.COMPRESSED in roles else roles
    for name in ("block_types", "_block_types"):
        values = fields.list_or_none(name)
        if values:
            # Griffin's pattern, repeated over the layers; its attention has a window.
            tiled = [_named(fields, name, values[at % len(values)]) for at in range(layers)]
            return [
                Role.SLIDING if role is Role.FULL and fields.has("attention_window_size") else role for role in tiled
            ]
    return _repeated(fields, layers)


def _repeated(fields: Fields, layers: int) -> list[Role] | None:
    """GPT-Neo: kinds of layers, each list with the number of times that it stands there."""
    groups = fields.list_or_none("attention_types")
    if not groups:
        return None
    roles: list[Role] = []
    for group in groups:
        kinds, times = group if isinstance(group, list) and len(group) == 2 else (None, None)
        if not isinstance(kinds, list):
            raise fields.complaint("attention_types", "attention_types is not a list of kinds and their number")
        each = [_named(fields, "attention_types", kind) for kind in kinds]
        count = fields.checked("attention_types", times)
        if len(each) * count > MOST_LAYERS:
            raise fields.complaint("attention_types", f"attention_types has more than {MOST_LAYERS} layers")
        roles += each * count
    return per_layer(fields, "attention_types", roles, layers)


def _lettered(fields: Fields, layers: int) -> list[Role] | None:
    pattern = fields.raw("hybrid_override_pattern")
    if pattern is None:
        return None
    letters = pattern if isinstance(pattern, str) else ""
    if not letters or any([letter not in _LETTERS for letter in letters]):
        raise fields.complaint("hybrid_override_pattern", "hybrid_override_pattern is not made of M, *, - and E")
    return [_LETTERS[letter] for letter in per_layer(fields, "hybrid_override_pattern", letters, layers)]


def _numbered(fields: Fields, layers: int) -> list[Role] | None:
    """Lists of 0 and 1, and of compression ratios."""
    ratios = fields.indices("compress_ratios")
    if ratios:
        return [Role.COMPRESSED] * len(per_layer(fields, "compress_ratios", ratios, layers))
    sparse = fields.part("sparse_attention_config")
    if sparse is not None and sparse.has("sparse_attention_freq"):
        return _zero_one(sparse, "sparse_attention_freq", layers, Role.FULL, Role.INDEXED)
    for name, zero, one in (
        ("attn_type_list", Role.LINEAR, Role.FULL),
        ("hybrid_layer_pattern", Role.FULL, Role.SLIDING),
    ):
        if fields.list_or_none(name):
            return _zero_one(fields, name, layers, zero, one)
    if fields.has("attention_chunk_size") and (fields.has("no_rope_layers") or "llama4" in fields.model_type):
        if fields.list_or_none("no_rope_layers"):
            return _zero_one(fields, "no_rope_layers", layers, Role.FULL, Role.CHUNKED)
        every = fields.count_or_none("no_rope_layer_interval") or 4
        return _every(layers, every, Role.CHUNKED)
    return None


def _zero_one(fields: Fields, name: str, layers: int, zero: Role, one: Role) -> list[Role]:
    values = per_layer(fields, name, fields.list_or_none(name) or [], layers)
    if any([not isinstance(value, int) or value not in (0, 1) for value in values]):
        raise fields.complaint(name, f"{name} is not a list of 0 and 1")
    return [one if value else zero for value in values]


def _indexed_lists(fields: Fields, layers: int) -> list[Role] | None:
    """Lists of the layers of one kind."""
    linear = fields.part("linear_attn_config")
    if linear is not None and linear.has("kda_layers", "full_attn_layers"):
        full, states = linear.indices("full_attn_layers") or [], linear.indices("kda_layers") or []
        every = sorted([*full, *states])
        if every not in (list(range(1, layers + 1)), list(range(layers))):
            raise fields.complaint(
                "kda_layers", f"kda_layers and full_attn_layers do not name each of {layers} layers once"
            )
        first = every[0]
        return [Role.FULL if at + first in set(full) else Role.LINEAR for at in range(layers)]
    for name, inside, outside in (
        ("attn_layer_indices", Role.FULL, Role.LINEAR),
        ("full_attn_idxs", Role.FULL, Role.CONV),
        ("sliding_window_layers", Role.SLIDING, Role.FULL),
    ):
        found = fields.indices(name)
        if found is not None:
            return [inside if at in set(found) else outside for at in range(layers)]
    return None


def _every(layers: int, every: int, others: Role, full: Role = Role.FULL) -> list[Role]:
    """Full attention in each `every`-th layer."""
    return [full if (at + 1) % every == 0 else others for at in range(layers)]


def _by_interval(fields: Fields, layers: int) -> list[Role] | None:
    """A period of layers with a state."""
    kind = fields.model_type
    if kind in _STATE_ONLY:
        return [Role.LINEAR] * layers
    period = fields.count_or_none("attn_layer_period")
    if period is not None:
        offset = fields.count_or_none("attn_layer_offset", least=0) or 0
        if kind == "zamba":
            head: list[Role] = [Role.LINEAR, Role.LINEAR, Role.HYBRID]
            tail = [Role.HYBRID if at % period == offset else Role.LINEAR for at in range(max(layers - 3, 0))]
            return [*head, *tail][:layers]
        return [Role.FULL if at % period == offset else Role.LINEAR for at in range(layers)]
    every = fields.count_or_none("full_attention_interval", "layer_group_size") or _LINEAR_INTERVAL.get(kind)
    if every is not None:
        return _every(layers, every, Role.LINEAR)
    return {
        "falcon_h1": lambda: [Role.HYBRID] * layers,
        "kimi_linear": lambda: [Role.FULL if at and at % 4 == 0 else Role.LINEAR for at in range(layers)],
        "minimax": lambda: [Role.LINEAR if at % 2 else Role.FULL for at in range(layers)],
        "olmo_hybrid": lambda: _every(layers, 4, Role.LINEAR),
        "mimo_v2_flash": lambda: [Role.FULL if at == 0 or (at + 1) % 6 == 0 else Role.SLIDING for at in range(layers)],
    }.get(kind, lambda: None)()


def _by_window(fields: Fields, layers: int) -> list[Role] | None:
    """A window, and which layers have it."""
    if fields.window("sliding_window", "attention_window_size") is None or not fields.flag("use_sliding_window", True):
        return None
    pattern = fields.raw("sliding_window_pattern") or fields.raw("_sliding_window_pattern")
    if isinstance(pattern, str) and pattern and set(pattern) <= {"L", "G"}:
        # EXAONE: letters over and over, and the last layer always whole.
        tiled = [Role.SLIDING if pattern[at % len(pattern)] == "L" else Role.FULL for at in range(layers)]
        return [*tiled[:-1], Role.FULL]
    if pattern is not None:
        return _every(layers, fields.checked("sliding_window_pattern", pattern), Role.SLIDING)
    every = fields.count_or_none("global_attn_every_n_layers") or _ALTERNATING.get(fields.model_type)
    if every is not None:
        return _every(layers, every, Role.SLIDING)
    if fields.has("max_window_layers"):
        if not fields.has("use_sliding_window"):
            return None
        whole = fields.count_or_none("max_window_layers", least=0) or 0
        return [Role.FULL if at < whole else Role.SLIDING for at in range(layers)]
    if fields.model_type.startswith("qwen") and not fields.has("use_sliding_window"):
        return None
    fields.assume("the config names a sliding window and no layers for it: every layer has it")
    return [Role.SLIDING] * layers
