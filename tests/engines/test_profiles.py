"""Profiles of hosted providers: complete, sourced, and of the prices that LiteLLM had on the day they were taken."""

import re
import tomllib
from dataclasses import fields
from importlib.resources import files

import pytest

from prefixlab.engines.breakpoints import Breakpoints
from prefixlab.engines.hosted import ENGINE
from prefixlab.engines.hosted_blocks import HostedBlocks
from prefixlab.engines.provider_profiles import Figure, Profile, Source, read_profiles
from prefixlab.engines.stored_units import StoredUnits
from prefixlab.errors import PrefixlabError
from prefixlab.registry import engine_named, engine_options
from tests.engines.replays import Ask, replay, text

PROFILES = {profile.name: profile for profile in read_profiles()}
PROVIDERS = {
    "OpenAI",
    "Azure OpenAI",
    "Anthropic",
    "AWS Bedrock",
    "Google Gemini",
    "DeepSeek",
    "xAI",
    "Moonshot",
    "Alibaba Qwen",
    "Z.AI",
    "Groq",
    "Fireworks",
    "Mistral",
    "MiniMax",
    "Together",
}

LITELLM_DATE = "2026-11-29"
LITELLM = {
    # profile: a model of it in LiteLLM 1.110.2, price of a read, of a write, of a write for an hour (OpenAI: for 12),
    # in prices of an uncached token, and the minimum where it has one.
    "openai-gpt-5.6": ("gpt-5.6", 0.1, 1.25, 2.5, None),
    "openai-gpt-6.1": ("gpt-6.1-sol", 0.05, 1.25, 2.5, None),
    "openai-gpt-5.5": ("gpt-5.5", 0.1, None, None, None),
    "openai-gpt-5": ("gpt-5.4", 0.1, None, None, None),
    "openai-gpt-4.1": ("gpt-4.1", 0.25, None, None, None),
    "openai-gpt-4o": ("gpt-4o", 0.5, None, None, None),
    "azure-openai": ("azure/gpt-5.5", 0.1, None, None, None),
    "azure-openai-gpt-5.6": ("azure/gpt-5.6", 0.1, 1.25, None, None),
    "anthropic-opus-5.5": ("claude-opus-5-5", 0.05, 1.25, 2.0, 512),
    "anthropic-opus-5": ("claude-opus-5", 0.1, 1.25, 2.0, 512),
    "anthropic-fable-5.1": ("claude-fable-5-1", 0.025, 1.25, 2.0, 512),
    "anthropic-sonnet-4.5": ("claude-sonnet-4-5", 0.1, 1.25, 2.0, 1024),
    "anthropic-opus-4.7": ("claude-opus-4-7", 0.1, 1.25, 2.0, 2048),
    "anthropic-opus-4.5": ("claude-opus-4-5", 0.1, 1.25, 2.0, 4096),
    "bedrock-claude": ("anthropic.claude-sonnet-4-5-20250929-v1:0", 0.1, 1.25, 2.0, 1024),
    "bedrock-nova": ("amazon.nova-pro-v1:0", 0.25, None, None, None),
    "gemini-4": ("gemini/gemini-4-argon", 0.05, None, None, 4096),
    "gemini-3": ("gemini/gemini-3.8-flash", 0.1, None, None, 4096),
    "gemini-2.5": ("gemini/gemini-2.5-pro", 0.1, None, None, 2048),
    "deepseek-v4": ("deepseek-v4-flash", 0.02, None, None, None),
    "deepseek-v3": ("deepseek/deepseek-v3.2", 0.1, None, None, None),
    "xai-grok-4.6": ("xai/grok-4.6", 0.25, None, None, None),
    "moonshot-kimi-k3": ("moonshot/kimi-k3", 0.1, 1.0, 2.0, None),
    "qwen-implicit": ("dashscope/qwen3.7-max", 0.2, 1.25, None, None),
    "qwen-explicit": ("dashscope/qwen3.7-max", 0.1, 1.25, None, None),  # explicit_cache_read_input_token_cost
    "zai": ("zai/glm-5", 0.2, None, None, None),
    "groq": ("groq/openai/gpt-oss-120b", 0.5, None, None, None),
    "mistral": ("mistral/mistral-large-4", 0.1, None, None, None),
    "minimax": ("minimax/MiniMax-M2.5", 0.1, 1.25, None, None),
    "minimax-explicit": ("minimax/MiniMax-M2.5", 0.1, 1.25, None, None),
}


WRITES_OF_THE_EXPLICIT_CACHE = ("qwen-implicit", "minimax")
"""LiteLLM has one entry for a model; by the providers' pages its write price is not that of the automatic cache."""


def test_all_providers_are_there():
    assert {profile.provider for profile in PROFILES.values()} == PROVIDERS


def test_every_source_is_used():
    table = tomllib.loads(files("prefixlab.engines").joinpath("profiles.toml").read_text())
    used = {figure["source"] for profile in table["profiles"] for figure in profile["figures"].values()}
    assert used == set(table["sources"])


def test_names():
    names = [engine.name for engine in ENGINE]
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"[a-z][a-z0-9.-]*", name) for name in names)
    assert set(PROFILES) <= set(names)
    assert engine_named("anthropic", {}).profile.name == "anthropic-opus-5.5"


@pytest.mark.parametrize("profile", PROFILES.values(), ids=list(PROFILES))
def test_every_figure_has_a_source_and_a_date(profile):
    mechanism = {"blocks": HostedBlocks, "breakpoints": Breakpoints, "stored_units": StoredUnits}[profile.rule]
    assert {"rule", "min_tokens", "read"} <= set(profile.figures)
    if profile.rule == "blocks":
        assert "granularity" in profile.figures
    if profile.rule == "breakpoints":
        assert {"ttl", "max_breakpoints", "automatic", "look_back"} <= set(profile.figures)
    assert set(profile.options) <= {field.name for field in fields(mechanism)}
    for figure in profile.figures.values():
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", figure.source.date)
        assert figure.source.address.startswith("https://") or not figure.confirmed
        assert figure.confirmed or figure.note
    assert 0 < float(profile.figures["read"].value) <= 1
    assert profile.usage
    assert profile.key
    assert profile.models


@pytest.mark.parametrize("kind", ENGINE, ids=[kind.name for kind in ENGINE])
def test_every_engine_works(kind):
    engine = kind()
    assert engine == engine.with_capacity(None)
    assert engine.capacity_tokens is None
    assert all(option.help for option in engine_options(kind))
    least = max(engine.min_tokens, 1)
    prompt = text(1, least + 5000)
    asks = [Ask(prompt, ends=(len(prompt),), marks=(len(prompt),))] * 2
    first, again = replay(engine, asks)
    assert first == 0
    assert least <= again <= len(prompt)
    assert again == engine.aligned_tokens(len(prompt), len(prompt))
    assert engine.last_token_loss(len(prompt), len(prompt)) == 0
    assert engine.aligned_tokens(max(engine.min_tokens - 1, 0), len(prompt)) == 0
    assert str(engine.granularity).isdigit()
    with pytest.raises(PrefixlabError, match="hosted service"):
        engine.with_capacity(100_000)


def test_prices_are_those_of_litellm():
    hour, half_a_day = 3600.0, 12 * 3600.0
    for name, (_, read, write, long, least) in LITELLM.items():
        profile = PROFILES[name]
        assert profile.rates(300.0).read == read, name
        if name not in WRITES_OF_THE_EXPLICIT_CACHE:
            assert profile.rates(300.0).write == write, name
        if long is not None:
            assert profile.rates(half_a_day if profile.provider == "OpenAI" else hour).write == long, name
        if least is not None:
            assert profile.figures["min_tokens"].value == least, name
    # Fireworks and Together have a price for each model.
    assert set(PROFILES) - set(LITELLM) == {"fireworks", "together"}
    for profile in PROFILES.values():
        for figure in profile.figures.values():
            if "litellm" in figure.source.address:
                assert figure.source.date == LITELLM_DATE


def test_a_write_costs_by_its_lifetime():
    assert engine_named("anthropic", {}).rates.write == 1.25
    assert engine_named("anthropic", {"ttl": "3600"}).rates.write == 2.0
    assert engine_named("openai", {"ttl": 43200}).rates.write == 2.5
    assert engine_named("openai-gpt-4o", {"ttl": 43200}).rates.write is None
    assert engine_named("anthropic", {"ttl": None}).rates.write == 1.25


def test_what_is_not_confirmed_is_said_when_it_is_used():
    def said(name: str, **options: object) -> str:
        return " ".join(engine_named(name, options).notes(has_times=True))

    assert said("bedrock-nova").startswith(
        "Not confirmed by AWS Bedrock: min_tokens=1024 (1,000 by another source), look_back=1 "
    )
    assert "min_tokens" not in said("bedrock-nova", min_tokens=1000)
    assert said("openai").startswith("openai stands for openai-gpt-5.6: ")
    assert "write_12h" not in said("openai")
    assert "write_12h=2.5" in said("openai", ttl=43200.0)
    assert "rule=blocks" in said("deepseek-v3")
    assert "Not confirmed" not in said("anthropic-sonnet-4.5")


def test_a_figure_that_is_no_option_is_a_mistake_in_the_file():
    from prefixlab.engines.hosted import engine_of

    source = Source("https://example.org", "2026-01-01")
    figures = {name: Figure(name, 1, source) for name in ("read", "granularity", "window")}
    figures["rule"] = Figure("rule", "blocks", source)
    with pytest.raises(ValueError, match="window is no option of blocks"):
        engine_of(Profile("x", "X", "x", "u", "k", figures), "x")
