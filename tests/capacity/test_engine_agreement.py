"""At one size the curve gives what the engine gives when it serves the log with a cache of that size."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from prefixlab.capacity.chains import chains_of
from prefixlab.capacity.lru_stack import reuses_of
from prefixlab.capacity.size_curve import SizeCurve
from prefixlab.engine_requests import engine_requests
from prefixlab.engines.blocks import Blocks
from prefixlab.engines.vllm import Vllm
from prefixlab.intake import match_prompts
from prefixlab.records import Location, Piece, Prompt, Run, Serving
from tests.capacity.block_table import Served, ids, prompts_of
from tests.capacity.workloads import BLOCK, logs

TRACE = Path(__file__).parents[1] / "traces" / "mooncake_synthetic.jsonl.gz"


def engine_blocks(prompts: list[Prompt], block: int, size: int) -> int:
    """Blocks that the engine takes from a cache of `size` usable blocks, one more for its null block."""
    cache = Vllm(block_size=block, num_gpu_blocks=size + 1).cache()
    matches = match_prompts(prompts)
    served = [cache.serve(request) for request in engine_requests(prompts, matches)]
    assert None not in served
    return sum([tokens or 0 for tokens in served]) // block


def curve_of(prompts: list[Prompt], block: int) -> tuple[SizeCurve, int]:
    chains = chains_of(prompts, match_prompts(prompts), block)
    reuses = reuses_of(chains)
    return SizeCurve(zip(reuses.least, reuses.blocks, strict=True)), chains.largest


@given(logs(whole=False))
@settings(max_examples=60, deadline=None)
def test_random_logs_agree_at_every_size(log: list[Served]) -> None:
    prompts = prompts_of(log)
    curve, largest = curve_of(prompts, BLOCK)
    for size in range(max(largest, 1), largest + 25):
        assert curve.at(size) == engine_blocks(prompts, BLOCK, size)


@given(logs(), st.data())
@settings(max_examples=100, deadline=None)
def test_a_store_agrees_at_every_size(log: list[Served], data: st.DataObject) -> None:
    """It is never too small for a request, and what was asked of the model does not matter to it."""
    prompts = prompts_of(log)
    prompts[data.draw(st.integers(0, len(log) - 1))].serving = Serving(prompt_logprobs=True)
    chains = chains_of(prompts, match_prompts(prompts), BLOCK, is_store=True)
    reuses = reuses_of(chains)
    curve = SizeCurve(zip(reuses.least, reuses.blocks, strict=True))
    for size in range(1, curve.flat_from + 3):
        assert curve.at(size) == store_blocks(prompts, BLOCK, size)


@given(
    st.lists(st.tuples(st.lists(st.integers(0, 2), min_size=1, max_size=5), st.integers(1, 3)), min_size=1, max_size=9)
)
@settings(max_examples=100, deadline=None)
def test_a_store_of_a_trace_agrees_at_every_size(log: list[tuple[list[int], int]]) -> None:
    """A last block that is not full has a number of its own, as a hash of less text has."""
    log = [(blocks if last == BLOCK else [*blocks[:-1], 10 * last + blocks[-1]], last) for blocks, last in log]
    prompts = [
        Prompt(
            str(number),
            Location("log", number + 1),
            (Piece((), (Run("", ids(blocks)),)),),
            unit=BLOCK,
            token_count=(len(blocks) - 1) * BLOCK + last,
        )
        for number, (blocks, last) in enumerate(log)
    ]
    chains = chains_of(prompts, match_prompts(prompts), BLOCK, is_store=True)
    reuses = reuses_of(chains)
    curve = SizeCurve(zip(reuses.least, reuses.blocks, strict=True))
    for size in range(1, curve.flat_from + 3):
        assert curve.at(size) == store_blocks(prompts, BLOCK, size)


def store_blocks(prompts: list[Prompt], block: int, size: int) -> int:
    """Blocks that a store of `size` blocks gives."""
    cache = Blocks(block_size=block, capacity_blocks=size).cache()
    return sum([cache.serve(request) for request in engine_requests(prompts, match_prompts(prompts))]) // block


def test_agents_agree() -> None:
    """Sessions that go on with their answers, mixed with one another and with single questions."""
    rng = random.Random(11)
    system = tuple(range(50))
    sessions: list[tuple[int, ...]] = [system] * 8
    fresh = 1000
    log = []
    for _ in range(400):
        session = rng.randrange(8)
        turn = tuple(range(fresh, fresh + rng.randrange(3, 30)))
        answer = tuple(range(fresh + 100, fresh + 100 + rng.randrange(1, 20)))
        fresh += 200
        prompt = sessions[session] + turn
        if len(prompt) % 4 == 0:
            prompt = prompt[:-1]
        log.append(Served(prompt, answer[:-1]))
        sessions[session] = prompt + answer if len(prompt) < 300 else system
    prompts = prompts_of(log)
    curve, largest = curve_of(prompts, 4)
    for size in (largest, largest + 7, 2 * largest, 3 * largest, 5 * largest, curve.flat_from):
        assert curve.at(size) == engine_blocks(prompts, 4, size)
    assert curve.at(largest) < curve.at(2 * largest) < curve.unlimited


def test_public_trace() -> None:
    prompts = []
    numbers: dict[int, int] = {}
    with gzip.open(TRACE, "rt", encoding="utf-8") as log:
        for line, text in enumerate(log, 1):
            record = json.loads(text)
            blocks = [numbers.setdefault(block, len(numbers)) for block in record["hash_ids"]]
            piece = Piece((), (Run("", ids(blocks)),))
            prompts.append(
                Prompt(str(line), Location("log", line), (piece,), unit=512, token_count=record["input_length"])
            )
    curve, largest = curve_of(prompts, 512)
    tokens = sum([prompt.token_count for prompt in prompts])
    assert f"{curve.unlimited * 512 / tokens:.4f}" == "0.6504"
    for size in (largest, 3 * largest, 20 * largest):
        assert curve.at(size) == engine_blocks(prompts, 512, size)
