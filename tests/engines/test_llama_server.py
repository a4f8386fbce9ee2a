"""llama-server: recordings, and a slow simulator that does every step on lists of ids."""

from __future__ import annotations

from ctypes import c_float
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prefixlab.engines import llama_server
from prefixlab.engines.llama_server import LlamaServer
from prefixlab.errors import PrefixlabError
from prefixlab.records import NO_NAMESPACE, Namespace
from tests.engines.engine_logs import Ask, meta_of, names_of, recorded, request, shared_length, workloads

RECORDINGS = names_of("llamacpp.")
UNDER_FLAGS = Path(__file__).parent / "llama_server_flags"
VALUES = {"-np": "slots", "-c": "n_ctx", "--cache-ram": "cache_ram_mib", "--cache-reuse": "cache_reuse"}
SWITCHES = {"-kvu": ("kv_unified", True), "--no-cache-idle-slots": ("cache_idle_slots", False)}


def options_of(arguments: list[str]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    flags = iter(arguments)
    for flag in flags:
        name, value = SWITCHES[flag] if flag in SWITCHES else (VALUES[flag], int(next(flags)))
        options[name] = value
    return options


def test_the_recordings_are_there() -> None:
    assert len(RECORDINGS) == 8


@pytest.mark.parametrize("bytes_per_token", [520, 528])
@pytest.mark.parametrize("name", RECORDINGS)
def test_every_recorded_request_takes_what_the_server_took(name: str, bytes_per_token: int) -> None:
    cache = LlamaServer(bytes_per_token=bytes_per_token, **options_of(meta_of(name)["args"])).cache()
    requests, expected = recorded(name)
    assert [cache.serve(request) for request in requests] == expected


@pytest.mark.parametrize("name", names_of("", UNDER_FLAGS))
def test_so_it_is_under_other_flags(name: str) -> None:
    cache = LlamaServer(bytes_per_token=524, **options_of(meta_of(name, UNDER_FLAGS)["args"])).cache()
    requests, expected = recorded(name, UNDER_FLAGS)
    assert len(expected) == 120
    assert [cache.serve(request) for request in requests] == expected


STEP = 16
"""Contexts are rounded to it in place of 256: small ones fill sooner."""


def rounded(tokens: int) -> int:
    return -(-tokens // STEP) * STEP


def ratio(part: float, whole: float) -> float:
    return c_float(part / whole).value


@dataclass
class Sequence:
    """Ids with the namespace in front, as if it were an id."""

    ids: list[Any] = field(default_factory=list)
    used: int = -1

    def __len__(self) -> int:
        return max(len(self.ids) - 1, 0)

    def shares(self, other: Sequence) -> int:
        return max(shared_length(self.ids, other.ids) - 1, 0)


class Naive:
    """The store is a list, oldest first; all of it is looked at for every request."""

    def __init__(self, engine: LlamaServer, most_bytes: float | None) -> None:
        self.engine, self.most_bytes = engine, most_bytes
        self.slots = [Sequence() for _ in range(engine.slot_count)]
        self.store: list[Sequence] = []
        self.has_store = engine.cache_ram_mib != 0
        self.time = 0
        self.slot_room = self.room = None if engine.n_ctx is None else rounded(engine.n_ctx)
        if self.room is not None and not engine.is_unified:
            self.slot_room = rounded(self.room // engine.slot_count)
            self.room = self.slot_room * engine.slot_count

    def size(self) -> float:
        return sum(len(stored) * (self.engine.bytes_per_token or 0) + 48 for stored in self.store)

    def save(self, slot: Sequence) -> None:
        if not len(slot) or any(stored.shares(slot) == len(slot) for stored in self.store):
            return
        new = len(slot) * (self.engine.bytes_per_token or 0) + 48
        if self.most_bytes is not None and new > self.most_bytes:
            return
        self.store = [stored for stored in self.store if stored.shares(slot) < len(stored)]
        while self.most_bytes is not None and self.store and self.size() + new > self.most_bytes:
            del self.store[0]
        self.store.append(Sequence(list(slot.ids)))

    def load(self, slot: Sequence, prompt: Sequence) -> None:
        kept = ratio(slot.shares(prompt), len(slot)) if len(slot) else -1.0
        covered = ratio(slot.shares(prompt), len(prompt))
        best = None
        for stored in self.store:
            shared = stored.shares(prompt)
            if ratio(shared, len(stored)) < 0.25:
                continue
            if kept < ratio(shared, len(stored)) and covered < ratio(shared, len(prompt)):
                kept, covered, best = ratio(shared, len(stored)), ratio(shared, len(prompt)), stored
        if best is not None:
            slot.ids = best.ids
            self.store = [stored for stored in self.store if stored is not best]

    def trim(self) -> None:
        limit = self.room if self.engine.cache_ram_mib < 0 else None
        while limit is not None and self.store and sum(len(stored) for stored in self.store) > limit:
            del self.store[0]

    def pick(self, prompt: Sequence) -> Sequence:
        picked, best = None, 0.0
        for slot in self.slots:
            if not len(slot):
                continue
            similarity = ratio(slot.shares(prompt), len(prompt))
            if similarity > best and similarity > c_float(0.1).value:
                picked, best = slot, similarity
        is_changed = picked is None
        if picked is not None:
            is_changed = ratio(c_float(best * len(prompt)).value, len(picked)) < 0.5
        else:
            oldest = min(slot.used for slot in self.slots)
            picked = [slot for slot in self.slots if slot.used == oldest][-1]
        if is_changed and self.has_store:
            self.save(picked)
            self.load(picked, prompt)
            self.trim()
        return picked

    def serve(self, ask: Ask) -> int | None:
        engine = self.engine
        if self.slot_room is not None and len(ask.prompt) + len(ask.generated) >= self.slot_room:
            return None
        prompt = Sequence([ask.namespace, *ask.prompt])
        slot = self.pick(prompt)
        for other in self.slots:
            if other is not slot and self.has_store and engine.cache_idle_slots:
                self.save(other)
                self.trim()
                if engine.is_unified:
                    other.ids = []
        past = slot.shares(prompt) if ask.cache_prompt else 0
        if ask.cache_prompt and engine.cache_reuse:
            here = there = past + 1
            while there < len(slot.ids) and here < len(prompt.ids):
                run = shared_length(slot.ids[there:], prompt.ids[here:])
                if run >= engine.cache_reuse:
                    past, here, there = past + run, here + run, there + run
                else:
                    there += 1
        slot.ids = prompt.ids + ask.generated
        self.time += 1
        slot.used = self.time
        if engine.is_unified and self.room is not None:
            for other in self.slots:
                if sum(len(each) for each in self.slots) > self.room and other is not slot:
                    other.ids = []
        return min(past, len(ask.prompt) - 1)


engines = st.builds(
    LlamaServer,
    slots=st.sampled_from((None, 1, 1, 2, 3)),
    cache_ram_mib=st.sampled_from((0, 1, 1, -1)),
    cache_reuse=st.sampled_from((0, 0, 1, 2, 4)),
    n_ctx=st.sampled_from((None, 40, 90)),
    kv_unified=st.sampled_from((None, True, False)),
    cache_idle_slots=st.booleans(),
    bytes_per_token=st.sampled_from((1024 * 1024 // 30, 1024 * 1024 // 80)),
)


@settings(max_examples=400, deadline=None)
@given(asks=workloads(), engine=engines)
def test_every_server_is_the_naive_one(asks: list[Ask], engine: LlamaServer) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(llama_server, "CONTEXT_STEP", STEP)
        most = 1024 * 1024 if engine.cache_ram_mib > 0 else None
        cache, naive = engine.cache(), Naive(engine, most)
        for number, ask in enumerate(asks):
            expected = naive.serve(ask)
            assert cache.serve(ask.as_request(number)) == expected
            assert cache.used_tokens == sum(len(slot) for slot in naive.slots)
            assert cache.stored_tokens == sum(len(stored) for stored in naive.store)
            assert engine.capacity_tokens is None or cache.used_tokens <= engine.capacity_tokens
            assert most is None or cache.stored_tokens * (engine.bytes_per_token or 0) <= most


@settings(max_examples=100, deadline=None)
@given(asks=workloads(), slots=st.integers(1, 3))
def test_without_moved_runs_no_more_is_reused_than_is_shared(asks: list[Ask], slots: int) -> None:
    engine = LlamaServer(slots=slots)
    cache = engine.cache()
    for number, ask in enumerate(asks):
        shared = [
            shared_length(ask.prompt, earlier.prompt + earlier.generated)
            for earlier in asks[:number]
            if earlier.namespace == ask.namespace
        ]
        cached = cache.serve(ask.as_request(number))
        assert cached is not None
        assert cached <= engine.aligned_tokens(max(shared, default=0), len(ask.prompt))


def test_a_moved_run_is_reused_where_the_prompt_has_it() -> None:
    cache = LlamaServer(slots=1, cache_ram_mib=0, cache_reuse=3).cache()
    assert cache.serve(request(0, [1, 2, 3, 50, 51, 60, 61, 62])) == 0
    assert cache.serve(request(1, [1, 2, 3, 60, 61, 62, 9])) == 6
    assert LlamaServer(cache_reuse=3).reuses_moved_text
    assert not LlamaServer().reuses_moved_text


def test_the_slot_is_kept_for_the_next_request_that_may_use_it() -> None:
    cache = LlamaServer(slots=1, cache_ram_mib=0).cache()
    cache.serve(request(0, [1, 2, 3]))
    assert cache.serve(request(1, [1, 2, 3, 4], cache_prompt=False)) == 0
    assert cache.serve(request(2, [1, 2, 3, 4, 5])) == 4


def test_a_prompt_as_long_as_the_context_is_refused() -> None:
    engine = LlamaServer(slots=2, n_ctx=1000)
    assert (engine.slot_tokens, engine.capacity_tokens) == (512, 1024)
    cache = engine.cache()
    assert cache.serve(request(0, [1] * 512)) is None
    assert cache.serve(request(1, [1] * 511)) == 0
    assert cache.serve(request(2, [1] * 511, [1])) is None


@pytest.mark.parametrize(
    ("options", "slot", "whole"),
    [
        ({"slots": 3, "n_ctx": 1000}, 512, 1536),
        ({"slots": 3, "n_ctx": 1000, "kv_unified": True}, 1024, 1024),
        ({"n_ctx": 1000}, 1024, 1024),
        ({"slots": 4, "n_ctx": 300}, 256, 1024),
        ({"slots": 1, "n_ctx": 700}, 768, 768),
    ],
)
def test_contexts_are_rounded_as_the_server_said_they_are(options: dict[str, Any], slot: int, whole: int) -> None:
    engine = LlamaServer(**options)
    assert (engine.slot_tokens, engine.capacity_tokens) == (slot, whole)


def test_a_trace_of_block_hashes_is_refused() -> None:
    with pytest.raises(PrefixlabError, match="reuses single tokens, and a block-hash trace has none"):
        LlamaServer().cache().serve(request(0, [1, 2], unit=512, prompt_tokens=1024))


@pytest.mark.parametrize(
    "options",
    [
        {"slots": 0},
        {"cache_ram_mib": -2},
        {"cache_reuse": -1},
        {"n_ctx": 0},
        {"bytes_per_token": 0},
        {"kv_unified": 1},
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(PrefixlabError):
        LlamaServer(**options)


def test_namespaces_share_nothing() -> None:
    cache = LlamaServer(slots=1).cache()
    other = Namespace("", "", "salt")
    spaces = (NO_NAMESPACE, other, NO_NAMESPACE, other)
    assert [cache.serve(request(n, [1, 2, 3], namespace=space)) for n, space in enumerate(spaces)] == [0, 0, 2, 2]
