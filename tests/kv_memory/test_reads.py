"""What a decode step reads: all that lies there, of sparse layers what the indexer chooses, of ranks the own part."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from prefixlab.kv_memory.capacity import DecodeReads, sessions_behind
from prefixlab.kv_sheet import LayerGroup, SessionCost
from tests.kv_memory.configs import GPT_OSS_120B, SEVENTY_B, read

DEEPSEEK_V32: dict[str, Any] = {
    "model_type": "deepseek_v32",
    "num_hidden_layers": 61,
    "num_attention_heads": 128,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "index_head_dim": 128,
    "index_topk": 2048,
    "torch_dtype": "bfloat16",
}
LATENT, KEY = 61 * 1152, 61 * 132
CHOICES = {
    # Three sparse layers, each with a key to choose 16 blocks of 128 tokens by.
    "model_type": "minimax_m3_vl_text",
    "num_hidden_layers": 4,
    "num_attention_heads": 64,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "sparse_attention_config": {
        "sparse_index_dim": 128,
        "sparse_attention_freq": [0, 1, 1, 1],
        "sparse_topk_blocks": 16,
        "sparse_block_size": 128,
    },
    "torch_dtype": "bfloat16",
}
COMPRESSED = {
    "model_type": "deepseek_v4",
    "num_hidden_layers": 3,
    "num_attention_heads": 64,
    "head_dim": 512,
    "sliding_window": 128,
    "index_head_dim": 128,
    "index_topk": 512,
    "compress_ratios": [0, 4, 128],
    "torch_dtype": "bfloat16",
}


@pytest.mark.parametrize("tokens", [1, 2048, 2049, 131072])
def test_sparse_mla_reads_what_its_indexer_chooses(tokens: int) -> None:
    model = read(DEEPSEEK_V32)
    assert model.cost.read_bytes(tokens) == tokens * KEY + min(tokens, 2048) * LATENT
    assert model.cost.bytes_at(tokens) == tokens * (KEY + LATENT)
    assert any("the 2048 tokens that it chooses" in said for said in model.assumptions)


def test_layers_that_choose_as_the_one_before_read_no_more() -> None:
    model = read({**DEEPSEEK_V32, "index_topk_freq": 4, "index_skip_topk_offset": 3})
    own = next(layer.count for layer in model.cost.layers if layer.kind == "indexer")
    assert own < 61
    assert model.cost.read_bytes(10_000) == 10_000 * own * 132 + 2048 * LATENT


def test_without_the_number_the_whole_is_read_and_that_is_said() -> None:
    model = read({name: value for name, value in DEEPSEEK_V32.items() if name != "index_topk"})
    assert model.cost.read_bytes(10_000) == model.cost.bytes_at(10_000)
    assert any("a step reads the whole cache" in said for said in model.assumptions)


def test_sparse_heads_read_blocks() -> None:
    head = 2 * 4 * 128 * 2
    assert read(CHOICES).cost.read_bytes(100_000) == 100_000 * (head + 3 * 256) + 3 * 16 * 128 * head


def test_compressed_entries_that_are_chosen() -> None:
    windows, far = 3 * 128 * 584, 100_000 // 128 * 584
    assert read(COMPRESSED).cost.read_bytes(100_000) == windows + 512 * 584 + 100_000 // 4 * 132 + far


@pytest.mark.parametrize("config", [SEVENTY_B, GPT_OSS_120B])
@pytest.mark.parametrize("tokens", [1, 100, 128, 129, 50_000])
def test_other_layers_are_read_whole(config: dict[str, Any], tokens: int) -> None:
    cost = read(config).cost
    assert cost.read_bytes(tokens) == cost.bytes_at(tokens)


@pytest.mark.parametrize("ranks", [1, 2, 8])
def test_each_rank_reads_its_own_part(ranks: int) -> None:
    """Heads are shared out, so the step is faster by the ranks; a latent is copied, so only the weights are."""
    heads = DecodeReads(10**12, read(SEVENTY_B, ranks=ranks).rank_cost, ranks, 10**11)
    alone = DecodeReads(10**12, read(SEVENTY_B).rank_cost, 1, 10**11)
    assert heads.rank_bytes(4096) * ranks == alone.rank_bytes(4096)
    assert heads.tokens_per_second(4096) == pytest.approx(ranks * (alone.tokens_per_second(4096) or 0))
    assert heads.tokens_per_second_without_cache == pytest.approx(ranks * 10)
    latents = DecodeReads(10**12, read(DEEPSEEK_V32, ranks=ranks).rank_cost, ranks, 10**11)
    assert latents.rank_bytes(4096) == 4096 * KEY + 2048 * LATENT
    assert latents.tokens_per_second(4096) == pytest.approx(10**12 / (10**11 / ranks + latents.rank_bytes(4096)))


@pytest.mark.parametrize(
    ("room", "tokens", "prefix", "sessions"),
    [
        (1000, 900, 900, None),
        (1000, 1000, 1000, None),
        (1000, 1001, 1001, 0),
        (1000, 2000, 1001, 0),
        (1000, 2000, 1000, 0),
        (3000, 2000, 1000, 2),
        (1000, 10, 5000, None),
    ],
)
def test_a_prefix_that_fits_alone_or_not_at_all(room: int, tokens: int, prefix: int, sessions: int | None) -> None:
    """One byte a token: sessions that are all prefix take nothing more, but the prefix itself has to fit."""
    cost = SessionCost((LayerGroup("given", 1, Fraction(1), bytes_per_token_if_kept=Fraction(1)),))
    assert sessions_behind(cost, room, tokens, prefix) == sessions
