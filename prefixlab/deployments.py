"""An engine at work on a log: what it takes from its cache for every request, and what denies it the rest."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from prefixlab.attribution.fixed_log import FixedLog, FixedReuse
from prefixlab.contracts import Engine
from prefixlab.engine_requests import EngineRequest, engine_requests
from prefixlab.errors import PrefixlabError
from prefixlab.intake import unit_of
from prefixlab.prefix_tree import Match
from prefixlab.records import Prompt
from prefixlab.registry import engine_kind, engine_named, engine_options
from prefixlab.routing import replicas_of
from prefixlab.settings import AuditSettings

if TYPE_CHECKING:
    from prefixlab.kv_memory.budget import Budget


def deployment_of(settings: AuditSettings, prompts: Sequence[Prompt], matches: Sequence[Match]) -> Deployment:
    """What the settings describe, for these prompts.

    Raises:
        PrefixlabError: an option cannot be, or not with these prompts.
    """
    memory = memory_of(settings)
    engine = engine_of(settings, unit_of(prompts), memory)
    lifetime = None
    if settings.ttl is not None:
        first_alive(prompts, seconds_of(settings.ttl))
        if not _has_lifetime(settings.engine):
            lifetime = seconds_of(settings.ttl)
    replica_of = None
    if settings.replicas > 1:
        replica_of = replicas_of(prompts, matches, settings.replicas, settings.routing or "round-robin")
    return Deployment(engine, replica_of, lifetime, settings.replicas, settings.routing, memory)


def engine_of(settings: AuditSettings, unit: int = 1, memory: Budget | None = None) -> Engine:
    """The engine of the settings, with its capacity: that of `memory`, where it was worked out already. The block of a
    trace is its `unit`, where none is given."""
    kind = engine_kind(settings.engine)
    block_size = settings.block_size
    if block_size is None and unit > 1 and kind.block_option and kind.block_option not in settings.engine_options:
        block_size = unit
    options = dict(settings.engine_options)
    if settings.ttl is not None and _has_lifetime(settings.engine):
        if "ttl" in options:
            raise PrefixlabError("--ttl and the engine's option ttl both say how long it keeps", "Give one of them")
        options["ttl"] = seconds_of(settings.ttl)
    engine = engine_named(settings.engine, options, block_size)
    _refuse_two_sizes(settings, engine)
    if settings.cache_tokens is not None:
        return engine.with_capacity(settings.cache_tokens)
    if settings.cache_blocks is not None:
        if kind.block_option is None:
            raise PrefixlabError(f"{settings.engine} has no blocks", "Leave --cache-blocks out")
        return engine.with_capacity(settings.cache_blocks * int(getattr(engine, kind.block_option)))
    memory = memory or memory_of(settings)
    return engine if memory is None else engine.with_capacity(memory.tokens)


def _refuse_two_sizes(settings: AuditSettings, engine: Engine) -> None:
    """Refuses a size of the cache beside an option of the engine that says it as well."""
    if engine.capacity_tokens is None:
        return
    for name in ("cache_tokens", "cache_blocks", "kv_budget"):
        if getattr(settings, name) is None:
            continue
        other = engine.with_capacity(2 * engine.capacity_tokens + engine.granularity)
        option = next((key for key in settings.engine_options if getattr(other, key) != getattr(engine, key)), "")
        raise PrefixlabError(
            f"--{name.replace('_', '-')} and the engine's option {option} both say how large the cache is",
            "Give one of them",
        )


def _has_lifetime(engine: str) -> bool:
    """Whether the engine itself has a lifetime to set."""
    return any([option.name == "ttl" for option in engine_options(engine_kind(engine))])


def memory_of(settings: AuditSettings) -> Budget | None:
    """The memory for keys and values as tokens, where the settings give one."""
    if settings.kv_budget is None:
        return None
    from prefixlab.kv_memory.budget import budget
    from prefixlab.kv_memory.quantities import whole_bytes

    assert settings.model_config is not None
    size = whole_bytes(settings.kv_budget, "--kv-budget")
    return budget(os.fspath(settings.model_config), size, settings.kv_dtype, offline=settings.offline)


_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def seconds_of(time: str | float) -> float:
    """Seconds of a number, or of a text such as `90`, `5m`, `1h`.

    Raises:
        PrefixlabError: it is no time, or not above zero.
    """
    seconds = float("nan")
    if isinstance(time, str):
        text = time.strip().lower()
        unit = _UNITS.get(text[-1:])
        with suppress(ValueError):
            seconds = float(text if unit is None else text[:-1]) * (unit or 1)
    else:
        seconds = float(time)
    if not 0 < seconds < float("inf"):
        shown = str(time).strip()[:40] or "''"
        raise PrefixlabError(f"--ttl {shown} is no time", "Give seconds, or a time such as 5m, 1h")
    return seconds


class Deployment(NamedTuple):
    """Servers with one engine each, and how long their caches keep what is not used again."""

    engine: Engine
    replica_of: Sequence[int] | None = None
    """The server of each request; None: there is one."""
    lifetime: float | None = None
    """Seconds since the last use; None: no end."""
    replicas: int = 1
    routing: str | None = None
    memory: Budget | None = None
    """The memory that the engine's capacity was reckoned from."""

    @property
    def is_limited(self) -> bool:
        """Whether it could keep less than one server with an unlimited cache."""
        engine = self.engine
        return (
            self.replica_of is not None
            or self.lifetime is not None
            or engine != engine.unlimited()
            or not engine.is_rule_exact
        )


class Marks(NamedTuple):
    """Marks on the prompt of one request, in tokens: each cause of a loss lies between two of them."""

    cached: int
    alive: int
    """What an unlimited cache of the server would have had, with the lifetime."""
    local: int
    """The same without an end of life."""
    aligned: int
    """The same on one server for all."""


class Served(NamedTuple):
    """The marks of every request, and the numbers of those that the engine refuses."""

    marks: list[Marks]
    refused: list[int]
    written_tokens: int = 0
    """Prompt tokens that a hosted provider charges for writing, over all requests."""


def serve_log(deployment: Deployment, prompts: Sequence[Prompt], matches: Sequence[Match]) -> Served:
    """Serve the prompts one after another. `matches` are those on one server without an end of life."""
    engine = deployment.engine
    if not deployment.is_limited:
        aligned = _unlimited(engine, prompts, matches, None)
        return Served([Marks(tokens, tokens, tokens, tokens) for tokens in aligned], [])
    unlimited = engine.unlimited()
    aligned = _unlimited(unlimited, prompts, matches, None)
    local, alive, living = aligned, aligned, matches
    if deployment.replica_of is not None:
        living = match_within(prompts, deployment.replica_of, None)
        local = alive = _unlimited(unlimited, prompts, living, deployment.replica_of)
    if deployment.lifetime is not None:
        living = match_within(prompts, deployment.replica_of, deployment.lifetime)
        alive = _unlimited(unlimited, prompts, living, deployment.replica_of)
    elif engine.with_capacity(None) != unlimited:
        # The engine has a lifetime of its own.
        alive = serve(engine.with_capacity(None), engine_requests(prompts, living), deployment.replica_of).tokens
    served = serve(engine, engine_requests(prompts, living), deployment.replica_of)
    marks = []
    for cached, still, near, everywhere in zip(served.cached, alive, local, aligned, strict=True):
        tokens = cached or 0
        still = max(still, tokens)
        near = max(near, still)
        marks.append(Marks(tokens, still, near, max(everywhere, near)))
    return Served(marks, [number for number, cached in enumerate(served.cached) if cached is None], served.written)


class Reuse(NamedTuple):
    """What an engine took from its cache for each request, None where it refused one; and wrote to it, in all."""

    cached: list[int | None]
    written: int

    @property
    def tokens(self) -> list[int]:
        """Cached tokens, none of a refused request."""
        return [tokens or 0 for tokens in self.cached]


def serve(engine: Engine, requests: Iterable[EngineRequest], replica_of: Sequence[int] | None = None) -> Reuse:
    """Serve requests one after another. Each server has a cache of its own."""
    caches: list[Any] = [engine.cache() for _ in range(max(replica_of or (0,)) + 1)]
    writes = hasattr(caches[0], "last_written")
    written = 0
    cached = []
    for number, request in enumerate(requests):
        cache = caches[0 if replica_of is None else replica_of[number]]
        cached.append(cache.serve(request))
        if writes:
            written += cache.last_written
    return Reuse(cached, written)


def serve_fixed(deployment: Deployment, log: FixedLog) -> FixedReuse:
    """What the engine takes from its cache and writes to it, over all requests of a log with fixes."""
    matches: Sequence[Match] = log.matches
    replica_of = deployment.replica_of
    if replica_of is not None and deployment.routing == "prefix":
        # Where a prompt begins otherwise it goes to another server.
        replica_of = replicas_of(log.prompts, matches, deployment.replicas, "prefix")
    if replica_of is not None or deployment.lifetime is not None:
        matches = match_within(log.prompts, replica_of, deployment.lifetime, log)
    prompt_tokens = 0

    def counted_requests() -> Iterator[EngineRequest]:
        nonlocal prompt_tokens
        for request in log.requests(matches):
            prompt_tokens += request.prompt_tokens
            yield request

    reuse = serve(deployment.engine, counted_requests(), replica_of)
    return FixedReuse(sum(reuse.tokens), reuse.written, prompt_tokens)


def match_within(
    prompts: Sequence[Prompt],
    replica_of: Sequence[int] | None,
    lifetime: float | None,
    fixed: FixedLog | None = None,
) -> list[Match]:
    """The best earlier sequence of the same server and namespace that was used within the lifetime."""
    log = fixed or FixedLog.unchanged(prompts)
    tree = log.tree()
    alive_from = first_alive(prompts, lifetime)
    matches = []
    for number, prompt in enumerate(prompts):
        namespace: Any = prompt.namespace if replica_of is None else (replica_of[number], prompt.namespace)
        matches.append(log.add(tree, number, namespace, alive_from[number]))
    return matches


def first_alive(prompts: Sequence[Prompt], lifetime: float | None) -> Sequence[int]:
    """For each request the number of the first one whose text has not expired when it arrives.

    Raises:
        PrefixlabError: a lifetime is given and a request has no time of arrival.
    """
    if lifetime is None:
        return [0] * len(prompts)
    times = [prompt.arrived_at for prompt in prompts]
    known = [time for time in times if time is not None]
    if len(known) < len(times):
        lacking = times.index(None)
        path, line = prompts[lacking].location
        raise PrefixlabError(
            "a lifetime needs the time of every request, and this one has none",
            "Log a timestamp, or leave --ttl out",
            path=path,
            line=line,
        )
    return [bisect_left(known, time - lifetime) for time in known]


def _unlimited(
    engine: Engine, prompts: Sequence[Prompt], matches: Sequence[Match], replica_of: Sequence[int] | None
) -> list[int]:
    """What an engine with an unlimited cache takes from it for each request."""
    requests = engine_requests(prompts, matches)
    if engine.is_rule_exact and all([_is_served_plainly(prompt) for prompt in prompts]):
        return [engine.aligned_tokens(request.shared_tokens, request.prompt_tokens) for request in requests]
    return serve(engine, requests, replica_of).tokens


def _is_served_plainly(prompt: Prompt) -> bool:
    """Whether the request asked for nothing that keeps an engine from reading its cache."""
    return prompt.serving.cache_prompt and not prompt.serving.prompt_logprobs
