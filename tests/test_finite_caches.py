"""Caches with a size, a lifetime and several servers, through `audit`: laws on random logs, cases worked by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import prefixlab as pl
from prefixlab.registry import known_engines
from tests.command import prefixlab
from tests.engines.test_vllm import PlainCache

few = st.integers(0, 1)
request = st.fixed_dictionaries(
    {
        "prompt_token_ids": st.lists(few, min_size=1, max_size=14),
        "output_token_ids": st.lists(few, max_size=5),
        "cache_salt": st.sampled_from(["", "x"]),
        "session_id": st.sampled_from(["s", "t", "u"]),
    }
)
logs = st.lists(request, min_size=1, max_size=30)


def timed(log: list[dict[str, Any]], step: float = 10.0) -> list[dict[str, Any]]:
    return [{**one, "timestamp": 1_700_000_000 + number * step} for number, one in enumerate(log)]


SMALL_BLOCKS: dict[str, dict[str, Any]] = {
    "vllm": {"block_size": 2},
    "sglang": {"page_size": 2},
    "blocks": {"block_size": 2},
    "tensorrt_llm": {"tokens_per_block": 2},
    "lmcache": {"block_size": 2, "chunk_size": 4},
    "llama_server": {"slots": 2, "cache_ram_mib": 1, "bytes_per_token": 50_000},
}


@pytest.mark.parametrize("engine", SMALL_BLOCKS)
@settings(max_examples=40)
@given(log=logs, replicas=st.integers(1, 3), ttl=st.sampled_from([None, 25, 1000]))
def test_every_token_is_reused_or_lost_once(
    engine: str, log: list[dict[str, Any]], replicas: int, ttl: float | None
) -> None:
    """The report itself refuses to exist otherwise; here at three sizes, with servers and lifetimes."""
    sizes = [None, 12, 24, 60] if engine != "llama_server" else [None, 40, 200]
    for size in sizes:
        report = pl.audit(
            timed(log),
            tokenizer="none",
            engine=engine,
            engine_options=SMALL_BLOCKS[engine],
            **({} if size is None or _refuses_all(log, size) else {"cache_tokens": size}),
            replicas=replicas,
            routing="session" if replicas > 1 else None,
            ttl=ttl,
        )
        for row in report.requests:
            outcome, losses = row.outcome, row.losses
            assert outcome.cached_tokens + sum(losses) == outcome.prompt_tokens
            assert min(losses) >= 0
        if size is None and engine != "llama_server":
            assert report.losses.evicted == 0
        if ttl is None:
            assert report.losses.expired == 0
        if replicas == 1:
            assert report.losses.isolated == 0


def _refuses_all(log: list[dict[str, Any]], size: int) -> bool:
    return all(len(one["prompt_token_ids"]) + len(one["output_token_ids"]) + 8 > size for one in log)


@given(log=logs)
def test_reuse_never_grows_when_a_stack_of_blocks_shrinks(log: list[dict[str, Any]]) -> None:
    before: list[int] | None = None
    for capacity in (2, 3, 5, 8, 13, 40, None):
        outcomes = pl.simulate(log, "blocks", block_size=2, capacity_blocks=capacity)
        cached = [one.cached_tokens for one in outcomes]
        if before is not None:
            assert all(smaller <= larger for smaller, larger in zip(before, cached, strict=True))
        before = cached
    assert before == [one.aligned_tokens for one in outcomes]


@given(log=logs)
def test_reuse_never_grows_when_vllm_shrinks_and_no_block_is_there_twice(log: list[dict[str, Any]]) -> None:
    """Prompts that end inside a block and are never sent again whole leave no copies."""
    unique = [
        {**one, "prompt_token_ids": [*one["prompt_token_ids"], 100 + number], "output_token_ids": [7, 8, 9]}
        for number, one in enumerate(log)
        if len(one["prompt_token_ids"]) % 2 == 0
    ]
    before: list[int] | None = None
    for capacity in (11, 12, 14, 20, 200):
        outcomes = pl.simulate(unique, "vllm", block_size=2, num_gpu_blocks=capacity)
        assert not any(one.refused for one in outcomes)
        cached = [one.cached_tokens for one in outcomes]
        if before is not None:
            assert all(smaller <= larger for smaller, larger in zip(before, cached, strict=True))
        before = cached


@given(log=logs, replicas=st.integers(2, 4), routing=st.sampled_from(["round-robin", "session"]))
def test_servers_are_so_many_logs(log: list[dict[str, Any]], replicas: int, routing: str) -> None:
    """What each server reuses is what it would reuse of its own requests alone."""
    if routing == "round-robin":
        server_of = [number % replicas for number in range(len(log))]
    else:
        sessions = list(dict.fromkeys(one["session_id"] for one in log))
        server_of = [sessions.index(one["session_id"]) % replicas for one in log]
    report = pl.audit(
        log,
        tokenizer="none",
        engine_options={"block_size": 2, "num_gpu_blocks": 16},
        replicas=replicas,
        routing=routing,
    )
    together = [row.outcome.cached_tokens for row in report.requests]
    for server in range(replicas):
        own = [one for one, where in zip(log, server_of, strict=True) if where == server]
        alone = [one.cached_tokens for one in pl.simulate(own, block_size=2, num_gpu_blocks=16)]
        assert alone == [tokens for tokens, where in zip(together, server_of, strict=True) if where == server]


@given(log=logs, ttl=st.integers(5, 200))
def test_a_lifetime_is_that_of_every_block(log: list[dict[str, Any]], ttl: int) -> None:
    report = pl.audit(timed(log), tokenizer="none", block_size=2, ttl=ttl)
    used: dict[tuple[str, tuple[int, ...]], float] = {}
    for number, (one, row) in enumerate(zip(log, report.requests, strict=True)):
        now, prompt = number * 10.0, one["prompt_token_ids"]
        sequence = prompt + one["output_token_ids"][:-1]
        keys = [(one["cache_salt"], tuple(sequence[:end])) for end in range(2, len(sequence) + 1, 2)]
        hits = 0
        for key in keys[: (len(prompt) - 1) // 2]:
            if now - used.get(key, float("-inf")) > ttl:
                break
            hits += 1
        assert row.outcome.cached_tokens == hits * 2
        assert row.losses.expired == row.outcome.aligned_tokens - hits * 2
        used.update(dict.fromkeys(keys, now))


def test_prefix_routing_goes_where_the_prefix_is() -> None:
    log = [
        {"prompt_token_ids": [*[kind] * 64, number], "id": f"{kind}-{number}"} for number in range(6) for kind in (1, 2)
    ]
    rows = {
        routing: pl.audit(log, tokenizer="none", replicas=2, routing=routing).totals.cached_tokens
        for routing in ("prefix", "round-robin")
    }
    assert rows["prefix"] == 2 * 5 * 64
    # Kinds alternate and so do the servers: the same by luck. Three servers mix them.
    assert rows["round-robin"] == 2 * 5 * 64
    three = pl.audit(log, tokenizer="none", replicas=3, routing="round-robin")
    assert three.totals.cached_tokens == 6 * 64
    assert three.losses.isolated == 4 * 64


def test_three_prompts_in_turn_keep_their_heads() -> None:
    """The tail is evicted before the head: a round robin that does not fit still reuses most of it."""
    prompts = [[kind] * 1029 for kind in (1, 2, 3)]
    turns = [prompts[number % 3] for number in range(60)]
    plain = PlainCache(190, 16, empties_first=True)
    expected = [plain.serve("", prompt, []) for prompt in turns]
    report = pl.audit([{"prompt_token_ids": prompt} for prompt in turns], tokenizer="none", cache_blocks=190)
    assert [row.outcome.cached_tokens for row in report.requests] == expected
    assert report.warm.cached_reuse > 0.85
    assert report.losses.evicted > 0


class TestCommand:
    @pytest.fixture
    def log(self, tmp_path: Path) -> str:
        path = tmp_path / "log.jsonl"
        rows = [
            {"id": f"r{number}", "prompt_token_ids": [*range(number % 3 * 100, number % 3 * 100 + 64), number]}
            for number in range(9)
        ]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return str(path)

    def test_a_size_in_tokens_is_whole_blocks(self, log: str) -> None:
        runs = [
            prefixlab("audit", log, "--tokenizer", "none", "--format", "json", "--per-request", *size)
            for size in (
                ("--cache-tokens", "175"),
                ("--cache-blocks", "10"),
                ("--engine-option", "num_gpu_blocks=11"),
            )
        ]
        documents = [json.loads(run.stdout) for run in runs]
        assert [document["engine"]["cache_tokens"] for document in documents] == [160, 160, 160]
        assert documents[0]["requests"] == documents[1]["requests"] == documents[2]["requests"]
        assert documents[0]["losses"]["evicted"] > 0

    def test_a_memory_is_a_size(self, log: str, tmp_path: Path) -> None:
        config = tmp_path / "config.json"
        config.write_text(
            json.dumps(
                {
                    "model_type": "llama",
                    "num_hidden_layers": 2,
                    "num_attention_heads": 4,
                    "num_key_value_heads": 2,
                    "head_dim": 8,
                    "hidden_size": 32,
                    "torch_dtype": "bfloat16",
                }
            )
        )
        # 2 layers x keys and values x 2 heads x 8 x 2 bytes = 128 bytes a token
        run = prefixlab(
            "audit",
            log,
            "--tokenizer",
            "none",
            "--format",
            "json",
            "--kv-budget",
            "20KiB",
            "--model-config",
            str(config),
        )
        assert json.loads(run.stdout)["engine"]["cache_tokens"] == 160

    def test_what_does_not_fit_is_counted_and_named(self, tmp_path: Path) -> None:
        path = tmp_path / "log.jsonl"
        rows = [
            {"id": "small", "prompt_token_ids": list(range(20))},
            {"id": "big", "prompt_token_ids": list(range(99))},
        ]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        run = prefixlab("audit", str(path), "--tokenizer", "none", "--cache-tokens", "64")
        assert run.returncode == 0
        assert b"1 request does not fit into the cache of 64 tokens, such as big with 99" in b" ".join(
            run.stdout.split()
        )
        run = prefixlab("audit", str(path), "--tokenizer", "none", "--cache-tokens", "16")
        assert run.returncode == 2
        assert b"too small for every request" in run.stderr

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (["--cache-tokens", "15"], "no block of 16"),
            (["--cache-tokens", "0"], "--cache-tokens 0 cannot be"),
            (["--cache-blocks", "-1"], "--cache-blocks -1 cannot be"),
            (["--cache-tokens", "99", "--cache-blocks", "9"], "both say how large"),
            (["--kv-budget", "1GiB"], "--model-config"),
            (["--kv-budget", "1GiB", "--model-config", "nowhere.json"], "nowhere.json"),
            (["--ttl", "soon"], "--ttl soon is no time"),
            (["--ttl", "5m"], "log.jsonl:1: a lifetime needs the time of every request"),
            (["--replicas", "0"], "--replicas 0 cannot be"),
            (["--routing", "session"], "--replicas"),
            (["--replicas", "2", "--routing", "session"], "no request has the tag session"),
            (["--replicas", "2", "--routing", "fastest"], "--routing fastest is not known"),
            (["--engine-option", "blocksize=3"], "Did you mean block_size"),
            (["--engine-option", "block_size=three"], "block_size=three cannot be"),
            (["--engine-option", "block_size"], "KEY=VALUE"),
            (["--engine", "vlm"], "Did you mean vllm"),
            (["--engine", "llama_server", "--block-size", "16"], "has no blocks"),
            (["--engine", "anthropic", "--cache-tokens", "100000"], "hosted"),
            (["--price-per-mtok", "-1"], "--price-per-mtok -1 cannot be"),
            (["--price-per-mtok", "nan"], "--price-per-mtok nan cannot be"),
            (["--price-per-mtok", "1e300"], "--price-per-mtok 1e+300 cannot be"),
        ],
    )
    def test_a_wrong_option_is_one_line(self, log: str, options: list[str], said: str) -> None:
        run = prefixlab("audit", log, "--tokenizer", "none", *options)
        assert run.returncode == 2
        assert run.stdout == b""
        assert run.stderr.count(b"\n") == 1
        assert said in run.stderr.decode()

    @pytest.mark.parametrize("engine", sorted(known_engines()))
    def test_every_engine_audits_ids(self, log: str, engine: str) -> None:
        run = prefixlab("audit", log, "--tokenizer", "none", "--engine", engine)
        assert (run.returncode, run.stderr) == (0, b"")


def test_cached_reuse_after_a_fix_is_that_of_the_fixed_log(tmp_path: Path) -> None:
    """The clock is moved by hand; a finite cache of the log that results reuses what the ladder said."""
    clock = [f"2026-01-01T10:{number:02}:00Z" for number in range(40)]
    bodies = [
        "\n".join(f"Rule {number}: be {mood} in way {number * number}." for number in range(30))
        for mood in ("kind", "brief", "exact", "calm")
    ]
    questions = [f"What about order {number * 7919 % 1000}?" for number in range(40)]

    def chat(system: str, user: str) -> dict[str, Any]:
        return {"messages": [{"role": "system", "content": system}, {"role": "user", "content": user}]}

    logged = [
        chat(f"You are a helper.\nTime: {time}\n{bodies[number * number % 4]}", question)
        for number, (time, question) in enumerate(zip(clock, questions, strict=True))
    ]
    # The date at the end of the system message is one block more of the same text.
    fixed = [
        chat(f"You are a helper.\n{bodies[number * number % 4]}\nTime: {time}", question)
        for number, (time, question) in enumerate(zip(clock, questions, strict=True))
    ]
    sizes = []
    for blocks in (30, 60, 90, 140):
        options = {"tokenizer": "qwen3", "cache_blocks": blocks}
        ladder = pl.audit(logged, **options)
        assert {row.name for row in ladder.fields} == {"Time"}
        assert all("end of its own message" in row.advice for row in ladder.fields)
        again = pl.audit(fixed, **options)
        assert ladder.fields[-1].cached_reuse_after_fix * ladder.totals.prompt_tokens == again.totals.cached_tokens
        sizes.append(again.totals.cached_tokens)
    assert sizes[0] < sizes[-1]


def _marked(number: int, *, clock_first: bool) -> dict[str, Any]:
    time = f"Current time: 2026-03-17T08:{number:02}:39Z"
    rules = "\n".join(
        f"Rule {rule}: answer within {rule * 7} minutes and be kind to all who ask." for rule in range(60)
    )
    system = f"You are a helper.\n{time}\n{rules}" if clock_first else f"You are a helper.\n{rules}"
    question = f"What about order {number * 7919 % 1000}?"
    return {
        "model": "claude-opus-5-5",
        "max_tokens": 9,
        "timestamp": 1_700_000_000 + 60 * number,
        "system": [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": question if clock_first else f"{question}\n{time}"}],
    }


@pytest.mark.parametrize("engine", ["anthropic", "openai", "openai-gpt-4o", "vllm"])
def test_a_hosted_cache_serves_the_fixed_log_as_it_would_serve_it_written(engine: str) -> None:
    """The place of a moved value, its reuse and the bill are the engine's own, also where marks decide."""
    options = {"tokenizer": "o200k_base", "engine": engine}
    ladder = pl.audit([_marked(number, clock_first=True) for number in range(20)], **options)
    again = pl.audit([_marked(number, clock_first=False) for number in range(20)], **options)
    assert [row.name for row in ladder.fields] == ["Current time"]
    assert "newest user message" in ladder.fields[0].advice
    reused = ladder.fields[0].cached_reuse_after_fix * ladder.totals.prompt_tokens
    assert reused == pytest.approx(again.totals.cached_tokens)
    assert again.totals.cached_reuse > 0.8
    if ladder.bill is not None and again.bill is not None:
        assert ladder.bill.fixed == pytest.approx(again.bill.now)


def test_a_move_that_loses_more_than_it_wins_is_no_finding() -> None:
    """Few-shots of tenants: the name of the tenant at the head is what tells the prompts apart for good."""
    kinds = ["alpha", "beta", "gamma", "delta"]
    shots = {
        kind: "\n".join(f"Example {number}: {kind} says {kind * (number % 3 + 1)}." for number in range(40))
        for kind in kinds
    }
    log = [
        {"prompt": f"Label the input.\nTenant: {kind}\nTone: {kind[::-1]}\n{shots[kind]}\nInput: {number * 37}"}
        for number in range(60)
        for kind in [kinds[number * number % 7 % 4]]
    ]
    report = pl.audit(log, tokenizer="o200k_base")
    finite = pl.audit(log, tokenizer="o200k_base", cache_tokens=10**9)
    for one in (report, finite):
        reuse = [one.totals.cached_reuse, *[row.cached_reuse_after_fix for row in one.fields]]
        assert reuse[-1] >= reuse[0]
    assert [row.name for row in report.fields] == [row.name for row in finite.fields]


def test_prefix_routing_routes_the_fixed_log_anew() -> None:
    options: dict[str, Any] = {"tokenizer": "o200k_base", "replicas": 3, "routing": "prefix"}
    ladder = pl.audit([_marked(number, clock_first=True) for number in range(20)], **options)
    again = pl.audit([_marked(number, clock_first=False) for number in range(20)], **options)
    reused = ladder.fields[-1].cached_reuse_after_fix * ladder.totals.prompt_tokens
    assert reused == pytest.approx(again.totals.cached_tokens)
