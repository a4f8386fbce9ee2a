"""SGLang: recordings, and a slow simulator that does every step on lists of ids."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prefixlab.engines.radix_tree import POLICIES
from prefixlab.engines.sglang import Sglang
from prefixlab.errors import PrefixlabError
from prefixlab.records import NO_NAMESPACE, Namespace
from tests.engines.engine_logs import Ask, meta_of, names_of, recorded, request, shared_length, workloads

RECORDINGS = names_of("sglang.")
OF_POLICIES = Path(__file__).parent / "sglang_policies"


def test_the_recordings_are_there() -> None:
    assert len(RECORDINGS) == 12


@pytest.mark.parametrize("name", RECORDINGS)
def test_every_recorded_request_takes_what_the_engine_took(name: str) -> None:
    meta = meta_of(name)
    cache = Sglang(meta["page_size"], meta.get("kv_capacity_tokens"), meta.get("eviction_policy", "lru")).cache()
    requests, expected = recorded(name)
    assert [cache.serve(request) for request in requests] == expected


@pytest.mark.parametrize("name", names_of("", OF_POLICIES))
def test_so_it_is_with_every_policy(name: str) -> None:
    meta = meta_of(name, OF_POLICIES)
    cache = Sglang(meta["page_size"], meta["kv_capacity_tokens"], meta["eviction_policy"]).cache()
    requests, expected = recorded(name, OF_POLICIES)
    assert len(expected) == 200
    assert [cache.serve(request) for request in requests] == expected


@dataclass(eq=False)
class Edge:
    """A node of the naive tree. Time is a count of events."""

    ids: list[int]
    parent: Edge | None
    touched: float
    made: float
    priority: int
    hits: int = 0
    pins: int = 0
    below: list[Edge] = field(default_factory=list)


ORDERS: dict[str, Callable[[Edge], tuple[Any, ...]]] = {
    "lru": lambda edge: (edge.touched,),
    "mru": lambda edge: (-edge.touched,),
    "lfu": lambda edge: (edge.hits, edge.touched),
    "slru": lambda edge: (edge.hits >= 2, edge.touched),
    "fifo": lambda edge: (edge.made, edge.touched),
    "filo": lambda edge: (-edge.made, edge.touched),
    "priority": lambda edge: (edge.priority, edge.touched),
}


class Naive:
    """Pins are counted on every node, leaves are found by walking all trees, each generated token is a step."""

    def __init__(self, page: int, capacity: int, policy: str) -> None:
        self.page, self.policy = page, policy
        self.pages = self.free = capacity // page
        self.roots: dict[Namespace, Edge] = {}
        self.time = 0.0

    def now(self) -> float:
        self.time += 1
        return self.time

    def walk(self, edge: Edge) -> list[Edge]:
        return [edge, *[deeper for child in edge.below for deeper in self.walk(child)]]

    def tree_pages(self) -> int:
        return sum(len(edge.ids) // self.page for root in self.roots.values() for edge in self.walk(root))

    def whole(self, ids: list[int]) -> list[int]:
        return ids[: len(ids) // self.page * self.page]

    def child_for(self, edge: Edge, ids: list[int]) -> Edge | None:
        for child in edge.below:
            if child.ids[: self.page] == ids[: self.page]:
                return child
        return None

    def split(self, edge: Edge, length: int) -> Edge:
        assert edge.parent is not None
        upper = Edge(edge.ids[:length], edge.parent, self.now(), self.time, edge.priority, edge.hits, edge.pins, [edge])
        edge.parent.below[edge.parent.below.index(edge)] = upper
        edge.ids, edge.parent, edge.touched = edge.ids[length:], upper, self.now()
        return upper

    def match(self, root: Edge, ids: list[int]) -> tuple[int, Edge]:
        edge, matched = root, 0
        while ids:
            child = self.child_for(edge, ids)
            if child is None:
                break
            same = len(self.whole(child.ids[: shared_length(child.ids, ids)]))
            matched += same
            ids = ids[same:]
            if same < len(child.ids):
                edge = self.split(child, same)
                break
            edge = child
        moment, up = self.now(), edge
        while up.parent is not None:
            up.touched = moment
            moment -= 0.0001
            up = up.parent
        return matched, edge

    def insert(self, root: Edge, ids: list[int], counted: int, priority: int) -> tuple[int, Edge]:
        """How much of `ids` was known, and the last node."""
        edge, known = root, 0
        while ids:
            child = self.child_for(edge, ids)
            if child is None:
                break
            child.touched = self.now()
            same = len(self.whole(child.ids[: shared_length(child.ids, ids)]))
            if same < len(child.ids):
                child = self.split(child, same)
            child.priority = max(child.priority, priority)
            known += same
            child.hits += known > counted
            edge, ids = child, ids[same:]
        if ids:
            leaf = Edge(ids, edge, self.now(), self.time, priority, hits=int(known + len(ids) > counted))
            edge.below.append(leaf)
            edge = leaf
        return known, edge

    def pin(self, edge: Edge, by: int) -> None:
        up: Edge | None = edge
        while up is not None:
            up.pins += by
            up = up.parent

    def make_room(self, tokens: int) -> None:
        while self.free * self.page < tokens:
            edges = [edge for root in self.roots.values() for edge in self.walk(root) if edge.parent is not None]
            leaves = [edge for edge in edges if not edge.below and not edge.pins]
            if not leaves:
                return
            first = min(leaves, key=ORDERS[self.policy])
            assert first.parent is not None
            first.parent.below.remove(first)
            self.free += len(first.ids) // self.page

    def serve(self, ask: Ask) -> int | None:
        page, size = self.page, len(ask.prompt)
        every = ask.prompt + ask.generated
        if size >= self.pages * page - 6 or -(-len(every) // page) > self.pages:
            return None
        root = self.roots.setdefault(ask.namespace, Edge([], None, 0, 0, 0))
        hit, edge = self.match(root, [] if ask.prompt_logprobs else self.whole(ask.prompt[:-1]))
        self.pin(edge, 1)
        self.make_room(size - hit + (page if page > 1 else 0))
        owned = hit
        self.free -= -(-size // page) - hit // page
        prompt = self.whole(ask.prompt)
        counted = 0
        if ask.generated:
            known, end = self.insert(root, prompt, 0, ask.priority)
            self.free += (known - owned) // page
            self.pin(edge, -1)
            self.pin(end, 1)
            edge, owned, counted = end, len(prompt), len(prompt)
            for place in range(size, len(every)):
                self.make_room(page)
                self.free -= place % page == 0
        known, _ = self.insert(root, self.whole(every), counted, ask.priority)
        self.free += (known - owned) // page + (len(every) % page > 0)
        if 0 < len(prompt) < len(self.whole(every)):
            self.insert(root, prompt, len(prompt), ask.priority + 1)
        self.pin(edge, -1)
        assert self.free + self.tree_pages() == self.pages
        return hit


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=60, deadline=None)
@given(asks=workloads(), page=st.sampled_from((1, 2, 4)), capacity=st.integers(8, 90))
def test_every_policy_is_the_naive_engines(policy: str, asks: list[Ask], page: int, capacity: int) -> None:
    cache, naive = Sglang(page, capacity, policy).cache(), Naive(page, capacity, policy)
    for number, ask in enumerate(asks):
        expected = naive.serve(ask)
        assert cache.serve(ask.as_request(number)) == expected
        assert cache.used_tokens == naive.tree_pages() * page <= capacity


@settings(max_examples=100, deadline=None)
@given(asks=workloads(), page=st.sampled_from((1, 2, 4)))
def test_an_unlimited_cache_takes_what_the_rule_says(asks: list[Ask], page: int) -> None:
    engine = Sglang(page)
    cache = engine.cache()
    for number, ask in enumerate(asks):
        shared = [
            shared_length(ask.prompt, earlier.prompt + earlier.generated)
            for earlier in asks[:number]
            if earlier.namespace == ask.namespace
        ]
        limit = 0 if ask.prompt_logprobs else max(shared, default=0)
        assert cache.serve(ask.as_request(number)) == engine.aligned_tokens(limit, len(ask.prompt))


def test_a_request_that_can_never_fit_is_refused_and_changes_nothing() -> None:
    cache = Sglang(1, 20).cache()
    assert cache.serve(request(0, [1, 2, 3, 4])) == 0
    assert cache.serve(request(1, [9] * 14)) is None
    assert cache.serve(request(2, [9] * 10, [8] * 11)) is None
    assert cache.used_tokens == 4
    assert cache.serve(request(3, [1, 2, 3, 4, 5])) == 4


def test_of_a_trace_the_partial_last_block_is_never_known() -> None:
    cache = Sglang(512).cache()
    trace = [request(number, [1, 2, 3], unit=512, prompt_tokens=1400) for number in range(2)]
    assert [cache.serve(one) for one in trace] == [0, 1024]
    longer = request(2, [1, 2, 3, 4], unit=512, prompt_tokens=2048)
    assert cache.serve(longer) == 1024
    assert cache.serve(request(3, [1, 2, 3, 4, 5], unit=512, prompt_tokens=2049)) == 2048


def test_of_a_trace_pages_of_several_blocks_are_whole_or_not_there() -> None:
    cache = Sglang(1024, 8192).cache()
    trace = [request(number, [1, 2, 3], unit=512, prompt_tokens=1536) for number in range(2)]
    assert [cache.serve(one) for one in trace] == [0, 1024]


def test_a_page_that_cuts_a_traces_blocks_is_refused() -> None:
    with pytest.raises(PrefixlabError, match=r"no multiple of the log's blocks of 512\. Give --block-size 512"):
        Sglang(16).cache().serve(request(0, [1, 2], unit=512, prompt_tokens=1024))


@pytest.mark.parametrize(
    "options",
    [{"page_size": 0}, {"capacity_tokens": -1}, {"policy": "random"}, {"page_size": 64, "capacity_tokens": 63}],
)
def test_options_that_cannot_be_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(PrefixlabError):
        Sglang(**options)


def test_a_namespace_is_a_tree_of_its_own() -> None:
    cache = Sglang().cache()
    other = Namespace("", "", "salt")
    assert [cache.serve(request(n, [1, 2, 3], namespace=space)) for n, space in enumerate((NO_NAMESPACE, other))] == [
        0,
        0,
    ]
