"""What every engine makes of its settings: values far too large, a size said twice, blocks where there are none."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import prefixlab as pl
from prefixlab.intake import match_prompts
from prefixlab.records import Prompt
from prefixlab.registry import engine_kind, engine_options, known_engines
from prefixlab.routing import LIKE_ENOUGH, replicas_of
from tests.capacity.block_table import Served, prompts_of
from tests.command import prefixlab

HUGE = 1_000_000_000
IDS = [{"prompt_token_ids": [*range(number % 3 * 100, number % 3 * 100 + 70), number]} for number in range(30)]
WHOLE = [
    (name, option.name)
    for name, kind in sorted(known_engines().items())
    for option in engine_options(kind)
    if "int" in option.type
]
SIZES = {
    "vllm": "num_gpu_blocks=100",
    "sglang": "capacity_tokens=900",
    "blocks": "capacity_blocks=90",
    "tensorrt_llm": "max_tokens=900",
    "lmcache": "num_gpu_blocks=100",
    "llama_server": "n_ctx=900",
}
NEEDS: dict[str, dict[str, object]] = {
    "sliding_groups": {"sliding_window": 32},
    "retention_interval": {"sliding_window": 32, "block_size": 10},
    "hidden_tokens": {"interval": 128},
}


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "log.jsonl"
    path.write_text("".join([json.dumps(row) + "\n" for row in IDS]), encoding="utf-8")
    return str(path)


def refused(*arguments: str) -> str:
    run = prefixlab("audit", *arguments)
    said = run.stderr.decode()
    assert (run.returncode, run.stdout, said.count("\n")) == (2, b"", 1)
    return said


@pytest.mark.parametrize(("engine", "option"), WHOLE)
def test_a_huge_value_is_served_at_once_or_refused(engine: str, option: str) -> None:
    said = ""
    try:
        served = len(pl.simulate(IDS, engine, **{**NEEDS.get(option, {}), option: HUGE}))
    except pl.PrefixlabError as error:
        served, said = 0, str(error)
    assert served == len(IDS) or str(HUGE) in said


@pytest.mark.parametrize(("engine", "option", "most"), [("llama_server", "slots", 256), ("vllm", "sliding_groups", 64)])
def test_what_each_request_goes_through_has_an_upper_limit(engine: str, option: str, most: int) -> None:
    options = NEEDS.get(option, {})
    assert len(pl.simulate(IDS, engine, **{**options, option: most})) == len(IDS)
    with pytest.raises(
        pl.PrefixlabError, match=f"{option}={most + 1} cannot be. Give a whole number, from 1 to {most}"
    ):
        pl.simulate(IDS, engine, **{**options, option: most + 1})


@pytest.mark.parametrize("routing", ["prefix", "round-robin", "session"])
def test_more_servers_than_requests_change_nothing(routing: str) -> None:
    rows = [{**row, "session_id": str(number % 4)} for number, row in enumerate(IDS)]
    few, many = [
        pl.audit(rows, tokenizer="none", replicas=replicas, routing=routing).totals for replicas in (len(rows), HUGE)
    ]
    assert few == many


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 9)), max_size=30), st.integers(1, 6))
def test_prefix_routing_goes_to_the_idlest(asks: list[tuple[int, int]], replicas: int) -> None:
    """As plainly as can be: the least loaded server is looked for among all."""
    served = [Served((*[kind] * tokens, 100 + number)) for number, (kind, tokens) in enumerate(asks)]
    prompts: list[Prompt] = prompts_of(served)
    matches = match_prompts(prompts)
    load = [0] * replicas
    expected: list[int] = []
    for prompt, match in zip(prompts, matches, strict=True):
        if match.matched is not None and match.shared > LIKE_ENOUGH * prompt.token_count:
            server = expected[match.matched]
        else:
            server = load.index(min(load))
        load[server] += prompt.token_count
        expected.append(server)
    assert replicas_of(prompts, matches, replicas, "prefix") == expected


@pytest.mark.parametrize("engine", SIZES)
@pytest.mark.parametrize("size", ["--cache-tokens", "--cache-blocks"])
def test_a_size_is_said_once(log: str, engine: str, size: str) -> None:
    option = SIZES[engine].partition("=")[0]
    said = refused(log, "--engine", engine, "--engine-option", SIZES[engine], size, "5000")
    assert f"{size} and the engine's option {option} both say how large the cache is. Give one of them." in said


def test_every_engine_with_a_size_is_among_those() -> None:
    sized = [name for name, kind in known_engines().items() if not hasattr(kind, "profile")]
    assert sorted(sized) == sorted(SIZES)


@pytest.mark.parametrize("engine", sorted(known_engines()))
def test_blocks_are_those_of_the_engine(log: str, engine: str) -> None:
    """`--cache-blocks` and `--block-size` are refused alike where there are none."""
    if engine_kind(engine).block_option is None:
        assert "has no blocks. Leave --cache-blocks out." in refused(log, "--engine", engine, "--cache-blocks", "9")
        return
    found: list[dict[str, Any]] = []
    for size in (("--cache-blocks", "30"), ("--cache-tokens", "480")):
        run = prefixlab("audit", log, "--engine", engine, "--block-size", "16", *size, "--format", "json")
        found.append(json.loads(run.stdout))
    assert found[0] == found[1]
    assert found[0]["engine"]["cache_tokens"] == 480


def test_an_option_has_one_value(log: str) -> None:
    twice = ("--engine-option", "num_gpu_blocks=9", "--engine-option")
    assert "--engine-option num_gpu_blocks is given as 9 and as 10" in refused(log, *twice, "num_gpu_blocks=10")
    assert prefixlab("audit", log, *twice, "num_gpu_blocks=9").returncode == 0
    assert "--tag a is given as b and as c" in refused(log, "--tag", "a=b", "--tag", "a=c")


def notes(log: str, *arguments: str) -> str:
    run = prefixlab("audit", log, "--tokenizer", "none", "--format", "json", *arguments)
    assert run.returncode == 0, run.stderr
    return " ".join(json.loads(run.stdout)["notes"])


def test_what_a_size_does_not_limit_is_said(log: str) -> None:
    lmcache = ("--engine", "lmcache", "--cache-tokens", "900")
    assert "LMCache behind them is unlimited" in notes(log, *lmcache)
    assert "LMCache" not in notes(log, *lmcache, "--engine-option", "max_local_cpu_tokens=5000")
    assert "LMCache" not in notes(log, *lmcache[:2])
    llama = ("--engine", "llama_server", "--cache-tokens", "900")
    assert "a multiple of 256: 900 tokens are 1,024." in notes(log, *llama)
    assert "all prompts fit into the 8,192 MiB" in notes(log, *llama)
    own = ("--engine-option", "slots=4")
    assert "a multiple of 256 for each of 4 slots: 900 tokens are 1,024." in notes(log, *llama, *own)
    exact = (*llama[:3], "1024", "--engine-option", "bytes_per_token=1000")
    assert "256" not in notes(log, *exact)
    assert "MiB" not in notes(log, *exact)


@pytest.mark.parametrize("name", ["nope", "x", "", "engine", "gpt"])
def test_a_name_that_is_like_none_is_given_no_guess(name: str) -> None:
    run = prefixlab("engines", name)
    assert run.returncode == 2
    assert f"there is no engine {name!r}. Known: ".encode() in run.stderr


@pytest.mark.parametrize("name", sorted(known_engines()))
def test_a_slip_of_the_pen_is(name: str) -> None:
    at = random.Random(name).randrange(len(name))
    wrong = name[:at] + name[at + 1 :]
    if wrong not in known_engines():
        assert b"Did you mean " in prefixlab("engines", wrong).stderr
