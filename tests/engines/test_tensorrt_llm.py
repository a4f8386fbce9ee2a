"""TensorRT-LLM: a slow simulator that does every step on lists of ids, as there is no recording."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prefixlab.engines.tensorrt_llm import TensorrtLlm
from prefixlab.errors import PrefixlabError
from prefixlab.records import NO_NAMESPACE, Namespace
from tests.engines.engine_logs import Ask, packed, request, shared_length, workloads


@dataclass(eq=False)
class Cell:
    """A block. What no request holds is in one list, in order of release."""

    on_host: bool
    ids: list[int] = field(default_factory=list)
    above: Cell | None = None
    below: list[Cell] = field(default_factory=list)
    priority: int = 35
    is_held: bool = False


def cut_off(cell: Cell) -> None:
    if cell.above is not None:
        cell.above.below.remove(cell)
        cell.above = None


def cut_up(cell: Cell) -> None:
    cut_off(cell)
    for child in list(cell.below):
        cut_up(child)


class Naive:
    """All children are compared, the next block to take is searched for in all that are free."""

    def __init__(self, engine: TensorrtLlm) -> None:
        self.engine, self.size = engine, engine.tokens_per_block
        self.cells = 0 if engine.max_tokens is None else engine.max_tokens // self.size
        self.free = [Cell(False) for _ in range(self.cells)]
        if engine.max_tokens is not None:
            self.free += [Cell(True) for _ in range(engine.host_tokens // self.size)]
        self.roots: dict[Namespace, Cell] = {}

    def first(self, *, on_host: bool) -> Cell | None:
        there = [cell for cell in self.free if cell.on_host == on_host]
        return min(there, key=lambda cell: cell.priority, default=None)

    def hold(self, cell: Cell, priority: int | None) -> None:
        self.free.remove(cell)
        cell.is_held = True
        if priority is not None:
            cell.priority = priority

    def release(self, cell: Cell) -> None:
        cell.is_held = False
        self.free.append(cell)

    def take(self, priority: int | None) -> Cell:
        if self.engine.max_tokens is None:
            new = Cell(False)
            self.free.append(new)
            self.hold(new, priority)
            return new
        cell = self.first(on_host=False)
        assert cell is not None
        spare = self.first(on_host=True)
        if cell.ids and cell.priority >= self.engine.offload_min_priority and spare is not None:
            cell.on_host, spare.on_host = True, False
            self.free.remove(cell)
            self.free.append(cell)
            cell = spare
        cut_up(cell)
        self.hold(cell, 35 if priority is None else priority)
        return cell

    def find(self, node: Cell, ids: list[int]) -> tuple[int, Cell | None]:
        for child in node.below:
            if child.ids == ids:
                return len(ids), child
        if not self.engine.enable_partial_reuse:
            return 0, None
        able = [cell for cell in node.below if self.engine.copy_on_partial_reuse or not (cell.below or cell.is_held)]
        most = max((shared_length(cell.ids, ids) for cell in able), default=0)
        if not most:
            return 0, None
        alike = sorted(
            (cell for cell in able if shared_length(cell.ids, ids) == most), key=lambda cell: packed(cell.ids)
        )
        after = [cell for cell in alike if packed(cell.ids) >= packed(ids)]
        return most, after[0] if after else alike[-1]

    def cut(self, ids: list[int]) -> list[list[int]]:
        return [ids[at : at + self.size] for at in range(0, len(ids), self.size)]

    def store(self, node: Cell, keys: list[list[int]], held: list[Cell]) -> None:
        is_known = True
        for ids, cell in zip(keys, held):
            known = next((child for child in node.below if child.ids == ids), None) if is_known else None
            if known is None:
                is_known = False
                cut_off(cell)
                cell.ids = list(ids)
                cell.above = node
                node.below.append(cell)
                known = cell
            node = known

    def serve(self, ask: Ask) -> int | None:
        every = ask.prompt + ask.generated
        if self.engine.max_tokens is not None and -(-len(every) // self.size) > self.cells:
            return None
        root = self.roots.setdefault(ask.namespace, Cell(False))
        priority = min(ask.priority, 100) if ask.priority > 0 else None
        keys = self.cut(ask.prompt[:-1])
        held: list[Cell] = []
        matched, node, is_looking = 0, root, True
        for place in range(-(-len(ask.prompt) // self.size)):
            ids = keys[place] if place < len(keys) else []
            shared, cell = self.find(node, ids) if is_looking and ids else (0, None)
            if cell is None:
                cell, is_looking = self.take(priority), False
                cell.ids = list(ids)
            else:
                matched += shared
                if shared == self.size:
                    self.hold(cell, priority)
                    node = cell
                else:
                    is_looking = False
                    if cell.below or cell.is_held:
                        cell = self.take(cell.priority)
                        cell.ids = list(ids)
                    else:
                        cut_off(cell)
                        self.hold(cell, priority)
                if cell.on_host:
                    spare = self.take(None)
                    cell.on_host, spare.on_host = False, True
                    self.release(spare)
            held.append(cell)
        self.store(root, [ids for ids in keys if len(ids) == self.size], held)
        while len(held) < -(-len(every) // self.size):
            held.append(self.take(priority))
        self.store(root, self.cut(every), held)
        for cell in reversed(held):
            self.release(cell)
        return matched


engines = st.builds(
    TensorrtLlm,
    tokens_per_block=st.sampled_from((1, 2, 4, 8)),
    enable_partial_reuse=st.booleans(),
    copy_on_partial_reuse=st.booleans(),
    max_tokens=st.sampled_from((None, 24, 40, 80)),
    host_tokens=st.sampled_from((0, 0, 16, 64)),
    offload_min_priority=st.sampled_from((30, 36)),
)


@settings(max_examples=400, deadline=None)
@given(asks=workloads(priorities=(0, 0, 0, 1, 50, 200)), engine=engines)
def test_every_cache_is_the_naive_one(asks: list[Ask], engine: TensorrtLlm) -> None:
    cache, naive = engine.cache(), Naive(engine)
    for number, ask in enumerate(asks):
        expected = naive.serve(ask)
        assert cache.serve(ask.as_request(number)) == expected
        assert cache.free_blocks == cache.device_blocks
        if engine.max_tokens is not None:
            assert cache.device_blocks == engine.max_tokens // engine.tokens_per_block


@settings(max_examples=200, deadline=None)
@given(asks=workloads(priorities=(0,)), block=st.sampled_from((2, 4)), is_partial=st.booleans())
def test_an_unlimited_cache_takes_no_more_than_is_shared_and_forgets_no_whole_block_but_by_parts(
    asks: list[Ask], block: int, is_partial: bool
) -> None:
    engine = TensorrtLlm(block, enable_partial_reuse=is_partial)
    cache = engine.cache()
    for number, ask in enumerate(asks):
        shared = max(
            [
                shared_length(ask.prompt, earlier.prompt + earlier.generated)
                for earlier in asks[:number]
                if earlier.namespace == ask.namespace
            ],
            default=0,
        )
        cached = cache.serve(ask.as_request(number))
        assert cached is not None
        assert cached <= min(shared, len(ask.prompt) - 1)
        if not is_partial:
            assert cached >= engine.aligned_tokens(shared, len(ask.prompt))


def test_a_part_of_the_last_block_is_reused() -> None:
    cache = TensorrtLlm(4).cache()
    assert cache.serve(request(0, [1, 2, 3, 4, 5, 6], [7])) == 0
    assert cache.serve(request(1, [1, 2, 3, 4, 5, 6, 8])) == 6


def test_a_last_block_that_nobody_uses_is_overwritten() -> None:
    cache = TensorrtLlm(4).cache()
    cache.serve(request(0, [1, 2, 3]))
    assert cache.serve(request(1, [1, 9, 9])) == 1
    assert cache.serve(request(2, [1, 2, 3])) == 1


def test_without_partial_reuse_an_equal_last_block_is_still_found() -> None:
    cache = TensorrtLlm(4, enable_partial_reuse=False).cache()
    cache.serve(request(0, [1, 2, 3, 4, 5, 6]))
    assert cache.serve(request(1, [1, 2, 3, 4, 5, 6, 7])) == 6
    assert cache.serve(request(2, [1, 2, 3, 4, 5, 9, 9])) == 4


def test_a_high_priority_outlives_a_newer_request() -> None:
    cache = TensorrtLlm(4, max_tokens=16).cache()
    for number, (first, priority) in enumerate(((1, 90), (2, 0), (3, 0), (4, 0))):
        cache.serve(request(number, [first] * 8, priority=priority))
    assert cache.serve(request(9, [1] * 9)) == 8


def test_a_request_that_can_never_fit_is_refused() -> None:
    cache = TensorrtLlm(4, max_tokens=8).cache()
    assert cache.serve(request(0, [1] * 8, [1])) is None
    assert cache.serve(request(1, [1] * 8)) == 0


def test_of_a_trace_whole_blocks_are_reused() -> None:
    cache = TensorrtLlm(512).cache()
    trace = [request(number, [1, 2, 3], unit=512, prompt_tokens=1400) for number in range(2)]
    assert [cache.serve(one) for one in trace] == [0, 1024]
    with pytest.raises(PrefixlabError, match="no multiple of the log's blocks of 512"):
        TensorrtLlm().cache().serve(trace[0])


@pytest.mark.parametrize(
    "options",
    [
        {"tokens_per_block": 0},
        {"tokens_per_block": 48},
        {"max_tokens": 31},
        {"host_tokens": -1},
        {"enable_partial_reuse": 1},
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(PrefixlabError):
        TensorrtLlm(**options)


def test_namespaces_share_nothing() -> None:
    cache = TensorrtLlm(4).cache()
    other = Namespace("", "", "salt")
    assert [cache.serve(request(n, [1, 2, 3], namespace=space)) for n, space in enumerate((NO_NAMESPACE, other))] == [
        0,
        0,
    ]
