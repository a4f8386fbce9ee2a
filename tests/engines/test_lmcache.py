"""LMCache behind vLLM: by hand from its source, and any options against a plain list of chunks."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prefixlab.engines.lmcache import Lmcache
from prefixlab.engines.vllm import Vllm
from prefixlab.errors import PrefixlabError
from prefixlab.records import Namespace
from tests.engines.replays import Ask, replay, requests_of, text


def test_with_room_for_all_in_front_only_a_whole_prompt_is_better():
    # 1,000 tokens: vLLM has 992 of them. 1,024 tokens: vLLM has 1,008, LMCache all but the last.
    for length, cached in ((1000, 992), (1024, 1023), (1040, 1024)):
        assert replay(Lmcache(), [Ask(text(1, length))] * 2) == [0, cached]
    assert replay(Lmcache(min_retrieve_tokens=16), [Ask(text(1, 1024))] * 2) == [0, 1008]
    assert replay(Lmcache(min_retrieve_tokens=15), [Ask(text(1, 1024))] * 2) == [0, 1023]


def test_chunks_stay_when_vllm_has_forgotten():
    # 63 usable blocks hold one prompt of 1,000 tokens.
    asks = [Ask(text(1, 1000)), Ask(text(2, 1000)), Ask(text(1, 1000))]
    engine = Lmcache(num_gpu_blocks=64)
    assert replay(engine.vllm, asks) == [0, 0, 0]
    assert replay(engine, asks) == [0, 0, 768]
    assert replay(Lmcache(num_gpu_blocks=64, min_retrieve_tokens=769), asks) == [0, 0, 0]
    assert replay(Lmcache(num_gpu_blocks=64, save_unfull_chunk=True), asks) == [0, 0, 999]


def test_an_unfilled_chunk_is_not_saved_behind_a_hit():
    # The second prompt finds 256 tokens and ends before 512: nothing of it is saved, not even its end.
    one, other = text(1, 300), text(1, 256) + text(2, 60)
    evict = Ask(text(3, 1000))
    engine = Lmcache(num_gpu_blocks=64, save_unfull_chunk=True)
    assert replay(engine, [Ask(one), evict, Ask(other), evict, Ask(other), evict, Ask(one)])[-3::2] == [256, 299]


def test_answers():
    turn = text(1, 500)
    asks = [Ask(turn, text(2, 600)), Ask(text(3, 1000)), Ask(turn + text(2, 600) + text(4, 20))]
    # 70 usable blocks hold the last request, of 1,120 tokens. vLLM keeps seven of the first one's.
    assert replay(Lmcache(num_gpu_blocks=71), asks) == [0, 0, 256]
    assert replay(Lmcache(num_gpu_blocks=71, save_decode_cache=True), asks) == [0, 0, 1024]


def test_the_first_chunk_goes_first():
    # Room for four chunks. A new request of three takes the two oldest: the first two of four.
    engine = Lmcache(num_gpu_blocks=129, max_local_cpu_tokens=1024)
    a, b = text(1, 1024), text(2, 768)
    asks = [Ask(a), Ask(b), Ask(text(3, 2000)), Ask(a)]
    assert replay(engine, asks)[-1] == 0
    # Once read again, the first chunk is the last to go.
    forget = [Ask(text(4, 255)) for _ in range(10)]
    asks = [Ask(text(1, 512)), *forget, Ask(text(1, 512))]
    assert replay(Lmcache(num_gpu_blocks=33, max_local_cpu_tokens=1024), asks)[-1] == 511


def test_a_prompt_larger_than_the_room_keeps_its_first_chunks():
    asks = [Ask(text(1, 1536)), Ask(text(1, 1536))]
    engine = Lmcache(num_gpu_blocks=97, max_local_cpu_tokens=1024)
    cache = engine.cache()
    for request in requests_of([asks[0], Ask(text(2, 250)), Ask(text(3, 250)), asks[1]]):
        cached = cache.serve(request)
    assert cached >= 1024
    # In steps of 512 tokens each step makes room for its own chunks, by dropping the first.
    steps = Lmcache(num_gpu_blocks=97, max_local_cpu_tokens=1024, max_num_batched_tokens=512)
    cache = steps.cache()
    first = requests_of([asks[0]])[0]
    cache.serve(first)
    assert [tokens for _, tokens in sorted((key[0], size) for key, size in cache._chunks.items())] == [256] * 4
    assert min(key[0] for key in cache._chunks) == list(first.block_keys(256))[2]


def test_a_prompt_that_vllm_refuses_leaves_nothing():
    engine = Lmcache(num_gpu_blocks=33)
    asks = [Ask(text(1, 1000)), Ask(text(1, 500))]
    assert replay(engine, asks) == [None, 0]


def test_namespaces_share_nothing():
    ask = Ask(text(1, 200))
    asks = [ask, ask._replace(namespace=Namespace(lora="x")), ask._replace(namespace=Namespace(lora="x"))]
    assert replay(Lmcache(save_unfull_chunk=True), asks) == [0, 0, 199]


def test_a_trace_of_blocks():
    ask = Ask([7, 8, 9, 10], unit=512, prompt_tokens=2048)
    assert replay(Lmcache(block_size=512), [ask, ask]) == [0, 2047]


def test_sizes():
    engine = Lmcache(max_local_cpu_size=5.0, bytes_per_token=131072)
    assert engine.cpu_tokens == 40960
    assert engine.with_capacity(1600).num_gpu_blocks == 101
    assert engine.with_capacity(1600).capacity_tokens == 1600
    assert engine.with_capacity(1600).unlimited() == Lmcache(bytes_per_token=131072)
    with pytest.raises(PrefixlabError, match="bytes_per_token"):
        Lmcache(max_local_cpu_size=5.0)
    with pytest.raises(PrefixlabError, match="Give one of them"):
        Lmcache(max_local_cpu_size=5.0, bytes_per_token=1, max_local_cpu_tokens=5)


@pytest.mark.parametrize(
    "options",
    [
        {"chunk_size": 0},
        {"save_unfull_chunk": "no"},
        {"save_decode_cache": None},
        {"min_retrieve_tokens": -1},
        {"cache_policy": "lfu"},
        {"max_local_cpu_tokens": 0},
        {"max_local_cpu_size": 0.0},
        {"bytes_per_token": 0},
        {"block_size": 0},
    ],
)
def test_values_that_cannot_be(options):
    with pytest.raises(PrefixlabError, match="cannot be"):
        Lmcache(**options)


def slowly(engine: Lmcache, asks: list[Ask], own_hits: list[int | None]) -> list[int | None]:
    """Chunks as whole prefixes, in a list that begins with the next to go. One step a prompt."""
    known: list[tuple[int, ...]] = []
    size, room = engine.chunk_size, engine.cpu_tokens

    def tokens_of(prefix: tuple[int, ...]) -> int:
        return (len(prefix) - 1) % size + 1

    def store(prefixes: list[tuple[int, ...]]) -> None:
        placed, used = [], 0
        for prefix in prefixes:
            need = tokens_of(prefix)
            while room is not None and known and sum(map(tokens_of, known)) + used + need > room:
                known.pop(0)
            if room is not None and sum(map(tokens_of, known)) + used + need > room:
                break
            used += need
            placed.append(prefix)
        known.extend(prefix for prefix in placed if prefix not in known)

    cached: list[int | None] = []
    for ask, own in zip(asks, own_hits, strict=True):
        if own is None:
            cached.append(None)
            continue
        prompt = tuple(ask.tokens)
        prefixes = [prompt[:end] for end in range(size, len(prompt) + 1, size)]
        if engine.save_unfull_chunk and len(prompt) % size:
            prefixes.append(prompt)
        hits = 0
        while hits < len(prefixes) and prefixes[hits] in known:
            hits += 1
        if engine.cache_policy == "LRU":
            for prefix in prefixes[:hits][::-1]:
                known.remove(prefix)
                known.append(prefix)
        found = len(prefixes[hits - 1]) if hits else 0
        more = found - own - (1 if found == len(prompt) else 0)
        cached.append(own + more if more > 0 and more >= engine.min_retrieve_tokens else own)
        if not found or len(prompt) >= (found // size + 1) * size:
            store(prefixes[hits:])
        if engine.save_decode_cache:
            sequence = (*prompt, *ask.generated)
            for end in range((len(prompt) // size + 1) * size, len(sequence) + 1, size):
                store([sequence[:end]])
    return cached


@settings(max_examples=300)
@given(
    st.lists(
        st.builds(
            lambda tokens, generated: Ask(tokens, generated),
            st.lists(st.integers(0, 1), min_size=1, max_size=14),
            st.lists(st.integers(0, 1), max_size=6),
        ),
        max_size=14,
    ),
    st.builds(
        Lmcache,
        chunk_size=st.integers(1, 5),
        save_unfull_chunk=st.booleans(),
        save_decode_cache=st.booleans(),
        min_retrieve_tokens=st.integers(0, 4),
        cache_policy=st.sampled_from(("LRU", "FIFO")),
        max_local_cpu_tokens=st.none() | st.integers(1, 30),
        block_size=st.integers(1, 3),
        num_gpu_blocks=st.none() | st.integers(4, 30),
    ),
)
def test_against_a_list(asks, engine):
    own = replay(
        Vllm(block_size=engine.block_size, num_gpu_blocks=engine.num_gpu_blocks, max_num_batched_tokens=8192), asks
    )
    found = replay(engine, asks)
    assert found == slowly(engine, asks, own)
    for request, cached in zip(requests_of(asks), found, strict=True):
        if cached is not None:
            assert cached <= engine.aligned_tokens(request.shared_tokens, request.prompt_tokens)
