"""vLLM's cache against a plain transcription of its rule: block objects in a list, keys as tuples of all tokens."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import prefixlab as pl
from prefixlab.engines.vllm import Vllm
from prefixlab.errors import PrefixlabError

Served = tuple[str, list[int], list[int]]
"""Salt, prompt, generated tokens with the last."""


class PlainBlock:
    key: object = None


class PlainCache:
    """The free queue as a list, front first, and the table as a list of blocks in order of insertion."""

    def __init__(self, blocks: int, size: int, *, empties_first: bool) -> None:
        self.queue = [PlainBlock() for _ in range(blocks)]
        self.table: list[PlainBlock] = []
        self.size = size
        self.total = blocks
        self.empties_first = empties_first

    def lookup(self, key: object) -> PlainBlock | None:
        return next((block for block in self.table if block.key == key), None)

    def take(self) -> PlainBlock:
        block = self.queue.pop(0)
        if block.key is not None:
            self.table.remove(block)
            block.key = None
        return block

    def serve(self, salt: str, prompt: list[int], generated: list[int]) -> int | None:
        size = self.size
        sequence = prompt + generated[:-1]
        if -(-len(sequence) // size) > self.total:
            return None
        keys = [(salt, tuple(sequence[: end * size])) for end in range(1, len(sequence) // size + 1)]
        held: list[PlainBlock] = []
        for key in keys[: (len(prompt) - 1) // size]:
            block = self.lookup(key)
            if block is None:
                break
            held.append(block)
        hits = len(held)
        for block in held:
            self.queue.remove(block)
        for length in range(len(prompt), len(sequence) + 1):
            while len(held) * size < length:
                held.append(self.take())
            for at in range(hits, length // size):
                if held[at].key is None:
                    held[at].key = keys[at]
                    self.table.append(held[at])
        for block in reversed(held):
            if block.key is None and self.empties_first:
                self.queue.insert(0, block)
            else:
                self.queue.append(block)
        return hits * size


few = st.integers(0, 1)
served = st.tuples(st.sampled_from(["", "x"]), st.lists(few, min_size=1, max_size=11), st.lists(few, max_size=6))
turns = st.lists(served, min_size=1, max_size=40)


def records(log: list[Served]) -> list[dict[str, Any]]:
    return [
        {"prompt_token_ids": prompt, "output_token_ids": generated or None, "cache_salt": salt}
        for salt, prompt, generated in log
    ]


@pytest.mark.parametrize(
    ("version", "empties_first"), [("0.22.1", False), ("0.23", False), ("0.24", True), ("0.33", True)]
)
@given(log=turns, blocks=st.integers(1, 14), size=st.integers(1, 4))
def test_equals_the_plain_queue(version: str, empties_first: bool, log: list[Served], blocks: int, size: int) -> None:
    plain = PlainCache(blocks, size, empties_first=empties_first)
    expected = [plain.serve(*one) for one in log]
    outcomes = pl.simulate(records(log), block_size=size, num_gpu_blocks=blocks + 1, version=version)
    assert [None if one.refused else one.cached_tokens for one in outcomes] == expected


@given(log=turns, size=st.integers(1, 4))
def test_a_cache_that_never_fills_is_the_unlimited_one(log: list[Served], size: int) -> None:
    outcomes = pl.simulate(records(log), block_size=size, num_gpu_blocks=100_000)
    assert [one.cached_tokens for one in outcomes] == [one.aligned_tokens for one in outcomes]
    assert outcomes == pl.simulate(records(log), block_size=size)


hybrid = st.lists(
    st.tuples(st.just(""), st.lists(few, min_size=1, max_size=24), st.lists(few, max_size=4)), min_size=1, max_size=25
)


@given(log=hybrid, window=st.integers(1, 12), groups=st.integers(1, 3), size=st.integers(1, 3))
def test_a_hybrid_reuses_no_more_than_full_attention_does(
    log: list[Served], window: int, groups: int, size: int
) -> None:
    full = pl.simulate(records(log), block_size=size)
    for interval in (None, 0):
        options = {"sliding_window": window, "sliding_groups": groups, "retention_interval": interval}
        outcomes = pl.simulate(records(log), block_size=size, **options)
        assert all(one.cached_tokens <= other.cached_tokens for one, other in zip(outcomes, full, strict=True))
        # Every layer's window is there, for dense retention keeps all blocks.
        if interval is None:
            assert [one.cached_tokens for one in outcomes] == [one.cached_tokens for one in full]


@given(log=hybrid, window=st.integers(1, 8), blocks=st.integers(2, 40), step=st.integers(1, 8))
def test_a_hybrid_gives_all_blocks_back(log: list[Served], window: int, blocks: int, step: int) -> None:
    """The pool holds as many blocks after a run as before it, whatever was taken, kept or refused."""
    engine = Vllm(2, blocks + 1, sliding_window=window, max_num_batched_tokens=step)
    cache = engine.cache()
    pool = cache._pool  # type: ignore[attr-defined]
    from tests.engines.requests import requests_of

    for request in requests_of(log):
        cache.serve(request)
        assert pool._empties + len(pool._queue) == blocks
        assert set(pool.known.values()) <= set(pool._queue)


def test_a_hybrid_frees_what_left_the_window_while_a_prompt_is_computed() -> None:
    """40 tokens in blocks of 2 need 20 blocks of full attention and, in steps of 4, a window of at most 5."""
    log = [{"prompt_token_ids": list(range(40)), "output_token_ids": [1]}]
    fits = {"block_size": 2, "sliding_window": 4, "max_num_batched_tokens": 4}
    assert [pl.simulate(log, num_gpu_blocks=blocks + 1, **fits)[0].refused for blocks in (22, 23, 24)] == [
        True,
        True,
        False,
    ]


def test_speculative_decoding() -> None:
    prompt = list(range(40))
    log = [{"prompt_token_ids": prompt}, {"prompt_token_ids": [*prompt[:33], 99]}]
    for version, cached in (("0.32", 16), ("0.33", 32)):
        assert pl.simulate(log, version=version, speculative="eagle")[1].cached_tokens == cached
        assert pl.simulate(log, version=version, speculative="eagle")[1].aligned_tokens == cached
    log[1]["prompt_token_ids"] = [*prompt[:32], 99, 98]
    assert pl.simulate(log, version="0.33", speculative="eagle")[1].cached_tokens == 16
    assert pl.simulate(log, version="0.33")[1].cached_tokens == 32


@pytest.mark.parametrize(
    "options",
    [
        {"block_size": 0},
        {"num_gpu_blocks": 1},
        {"version": "new"},
        {"version": "1"},
        {"sliding_window": 0},
        {"sliding_groups": 0},
        {"retention_interval": 8},
        {"max_num_batched_tokens": 0},
        {"sliding_window": 8, "speculative": "eagle"},
        {"speculative": "medusa"},
        {"block_size": "16.5"},
        {"num_gpu_blocks": True},
        {"colour": 1},
    ],
)
def test_what_cannot_be(options: dict[str, Any]) -> None:
    with pytest.raises(PrefixlabError):
        pl.simulate([{"prompt_token_ids": [1]}], **options)


def test_ids_are_told_apart_in_all_their_bytes() -> None:
    rows = [{"prompt_token_ids": [0, 2**32 - 1, 7]}, {"prompt_token_ids": [0, 2**32 - 1, 8]}]
    assert [one.cached_tokens for one in pl.simulate(rows, block_size=1)] == [0, 2]
    assert struct.pack("<I", 2**32 - 1) == b"\xff\xff\xff\xff"
