"""`curve`, the chain of its stages: a log goes in, reuse at every cache size comes out."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple

from prefixlab import __version__
from prefixlab.capacity.chains import Chains, chains_of
from prefixlab.capacity.clairvoyant import Clairvoyant
from prefixlab.capacity.conversations import Conversations
from prefixlab.capacity.lru_stack import Reuses, reuses_of
from prefixlab.capacity.popular_prefixes import PopularPrefixes, Prefix
from prefixlab.capacity.prompt_origins import origins_between
from prefixlab.capacity.size_curve import SizeCurve, knee_of
from prefixlab.contracts import Engine
from prefixlab.errors import PrefixlabError
from prefixlab.intake import Progress, match_prompts, quiet, served_models, take, unit_of
from prefixlab.number_words import counted, number
from prefixlab.prefix_tree import Match
from prefixlab.records import TOKEN_BYTES, Prompt, Request
from prefixlab.registry import engine_kind, engine_named
from prefixlab.reuse_curve import NEARLY_ALL, Axis, CurvePoint, KneePoint, PopularPrefix, ReuseCurve, TagCurve
from prefixlab.served_models import ServedModels
from prefixlab.settings import CURVE_KINDS, LogSettings, check_kinds

_LINE = 240
"""Sizes of the line for plots; a plot has no more columns."""
_WORDS = 12
"""Tokens of a popular prefix that are shown, from its start and from its end."""
_NO_TAG = "(none)"
FOLLOWED = ("vllm", "sglang", "blocks")
"""Engines whose cache a curve can follow: whole blocks, those least recently used dropped first."""
_STORE = "blocks"
"""The engine that is a store beside another: no request runs in it, so none is refused."""
_POINTS = 15


@dataclass(frozen=True, slots=True)
class CurveSettings(LogSettings):
    """The options of `curve`, with the defaults of the command line."""

    engine: str = "vllm"
    block_size: int | None = None
    """None: the engine's own default, or the block of a block-hash trace."""
    sizes: Sequence[str | int] = ()
    """Cache sizes: tokens, or memory such as `'20GiB'` with `model_config`. Empty: `points` of them, evenly over the
    logarithm, from what the largest request needs (of a store: from one block) to where the curve is flat."""
    points: int | None = None
    """15 if not given."""
    model_config: str | os.PathLike[str] | None = None
    kv_dtype: str | None = None
    top: int = 5
    """Popular prefixes to list."""

    def __post_init__(self) -> None:
        # `super()` knows no class with slots by this name.
        LogSettings.__post_init__(self)
        check_kinds(self, CURVE_KINDS)
        for name, value, least in (
            ("points", self.points, 2),
            ("top", self.top, 0),
            ("block-size", self.block_size, 1),
        ):
            if value is not None and value < least:
                raise PrefixlabError(f"--{name} {value} cannot be", f"Give {least} or more")
        if self.sizes and self.points is not None:
            raise PrefixlabError("--sizes and --points both say which sizes are shown", "Give one of them")
        if self.kv_dtype is not None and self.model_config is None:
            raise PrefixlabError("--dtype says nothing without a model", "Give --model-config config.json as well")


def curve(
    log: Sequence[str] | Iterable[Request | Mapping[str, Any]],
    settings: CurveSettings,
    *,
    stdin: BinaryIO | None = None,
    progress: Progress = quiet,
) -> ReuseCurve:
    """How much of a log's prompt tokens a cache of any size reuses, and what the best cache of that size could.

    `log` holds the paths of logs, or requests, or records as a log would have them.

    Raises:
        PrefixlabError: the input or the settings are wrong; the message says what to do.
    """
    _engine(settings, 1)
    axis = _axis(settings)
    asked = [_asked_tokens(str(size), axis) for size in settings.sizes]
    models = served_models(settings)
    taken = take(log, settings, models, stdin, progress)
    prompts = taken.prompts
    engine = _engine(settings, unit_of(prompts))
    block = engine.granularity
    matches = match_prompts(prompts, progress)
    whole = _Pass.over(range(len(prompts)), prompts, matches, block, is_store=engine.name == _STORE)
    chains, reuses, shape = whole.chains, whole.reuses, whole.shape
    sizes = _sizes(asked, settings.points or _POINTS, chains, shape, block)
    passes = _passes(sizes, whole, prompts, block)
    points = []
    for size, one in zip(sizes, passes, strict=True):
        refused = len(prompts) - len(one.served)
        points.append(CurvePoint(size * block, one.shape.at(size) * block, one.bound.blocks(size) * block, refused))
    conversations = Conversations(prompts, matches)
    popular = PopularPrefixes(chains) if settings.top else None
    smallest = chains.largest
    return ReuseCurve(
        version=__version__,
        inputs=taken.inputs,
        tokenizer=models.described(),
        chat_template=models.described_template(),
        engine={"name": settings.engine, "block_size": block, "cache_tokens": None, "min_tokens": engine.min_tokens},
        requests=len(prompts),
        prompt_tokens=sum(chains.prompt_tokens),
        largest_tokens=smallest * block,
        points=tuple(points),
        line=tuple([(size * block, shape.at(size) * block) for size in _evenly(smallest, shape.flat_from, _LINE)]),
        unlimited_tokens=shape.unlimited * block,
        all_tokens=max(shape.flat_from, smallest) * block,
        flat_tokens=_flat(shape, smallest, block),
        knee=_knee(shape, smallest, block),
        conversations=conversations.count,
        conversations_are_sessions=conversations.are_sessions,
        within_tokens=_within(conversations, reuses, block),
        most_sent=_shown(popular.by_count(settings.top), prompts, block, models) if popular else (),
        most_tokens=_shown(popular.by_volume(settings.top), prompts, block, models) if popular else (),
        by={tag: _by(tag, prompts, whole, sizes, passes, block) for tag in settings.by},
        axis=axis,
        notes=(
            *taken.notes,
            *models.notes(),
            *_untagged(settings.by, prompts),
            *_refusals(sizes, passes, prompts, chains, block),
            *_unlike(engine, chains),
        ),
    )


# --- engine, axis, sizes ----------------------------------------------------------------------------------------------


def _engine(settings: CurveSettings, unit: int) -> Engine:
    engine_kind(settings.engine)
    if settings.engine not in FOLLOWED:
        raise PrefixlabError(
            f"a curve cannot follow the cache of {settings.engine}",
            f"Give --engine {', '.join(FOLLOWED[:-1])} or {FOLLOWED[-1]}, or ask `prefixlab audit` about one size",
        )
    block = settings.block_size or (unit if unit > 1 else None)
    if settings.engine == _STORE and block is not None:
        # A trace's own blocks cannot be cut.
        block = -(-block // unit) * unit
    return engine_named(settings.engine, {}, block)


def _axis(settings: CurveSettings) -> Axis | None:
    if settings.model_config is None:
        return None
    from prefixlab.kv_memory import bytes_per_token

    config = os.fspath(settings.model_config)
    growing, fixed = bytes_per_token(config, settings.kv_dtype, offline=settings.offline)
    if growing <= 0:
        raise PrefixlabError(f"a token takes no memory by {config}", "Leave --model-config out")
    return Axis(growing, fixed, os.path.basename(config) if os.path.isabs(config) else config)


def _asked_tokens(size: str, axis: Axis | None) -> int:
    text = size.strip().replace("_", "")
    if text.isascii() and text.isdigit() and len(text) < 16:
        tokens = int(text)
    else:
        from prefixlab.kv_memory.quantities import whole_bytes

        try:
            memory = whole_bytes(text, "--sizes")
        except PrefixlabError:
            memory = 0
        if not memory or text[-1:] not in "bB":
            raise PrefixlabError(f"--sizes {size[:40]!r} is no cache size", "Give tokens as 50000 or memory as 20GiB")
        if axis is None:
            raise PrefixlabError(
                f"--sizes {size[:40]} is memory, and nothing says what a token takes", "Give --model-config config.json"
            )
        tokens = int(memory / axis.bytes_per_token)
    if not tokens:
        raise PrefixlabError(f"--sizes {size[:40]!r} holds no token", "Give a larger cache")
    return tokens


def _sizes(asked: Sequence[int], points: int, chains: Chains, shape: SizeCurve, block: int) -> list[int]:
    """The cache sizes to show, in blocks, in rising order."""
    if not asked:
        return _evenly(chains.largest, shape.flat_from, points) if chains.prompt_tokens else []
    smallest = min(chains.need, default=0)
    for tokens in asked:
        if not tokens // block:
            raise PrefixlabError(
                f"a cache of {counted(tokens, 'token')} has no block of {block}", "Give larger --sizes"
            )
        if tokens // block < smallest:
            raise PrefixlabError(
                f"a cache of {number(tokens)} tokens runs no request: the smallest needs {number(smallest * block)}",
                "Give larger --sizes",
            )
    return sorted({tokens // block for tokens in asked})


def _evenly(low: int, high: int, count: int) -> list[int]:
    """`count` whole numbers from `low` to `high`, evenly over the logarithm; fewer where there are not as many."""
    low = max(low, 1)
    if high <= low:
        return [low]
    ratio = high / low
    return sorted({round(low * ratio ** (at / (count - 1))) for at in range(count)})


# --- passes -----------------------------------------------------------------------------------------------------------


class _Pass(NamedTuple):
    """One pass over the requests that a cache can run."""

    served: Sequence[int]
    """Their numbers in the log."""
    chains: Chains
    reuses: Reuses
    shape: SizeCurve
    bound: Clairvoyant

    @classmethod
    def over(
        cls,
        served: Sequence[int],
        prompts: Sequence[Prompt],
        matches: Sequence[Match],
        block: int,
        *,
        is_store: bool = False,
    ) -> _Pass:
        chains = chains_of(prompts, matches, block, is_store=is_store)
        reuses = reuses_of(chains)
        shape = SizeCurve(zip(reuses.least, reuses.blocks, strict=True))
        return cls(served, chains, reuses, shape, Clairvoyant(chains, reuses, is_store=is_store))


def _passes(sizes: Sequence[int], whole: _Pass, prompts: Sequence[Prompt], block: int) -> list[_Pass]:
    """The pass that holds for each size: over the whole log, or without the requests that the size is too small for.

    An engine refuses these, and what was not run is not found later.
    """
    by_count = {len(prompts): whole}
    passes = []
    for size in sizes:
        served: Sequence[int] = range(len(prompts))
        if size < whole.chains.largest:
            served = [number for number, need in enumerate(whole.chains.need) if need <= size]
        if len(served) not in by_count:
            kept = [prompts[number] for number in served]
            by_count[len(served)] = _Pass.over(served, kept, match_prompts(kept), block)
        passes.append(by_count[len(served)])
    return passes


def _refusals(
    sizes: Sequence[int], passes: Sequence[_Pass], prompts: Sequence[Prompt], chains: Chains, block: int
) -> list[str]:
    notes = []
    for size, one in zip(sizes, passes, strict=True):
        refused = len(prompts) - len(one.served)
        if refused:
            largest = chains.need.index(chains.largest)
            path, line = prompts[largest].location
            notes.append(
                f"A cache of {number(size * block)} tokens refuses {counted(refused, 'request')} that it is too small "
                f"for; the largest needs {number(chains.largest * block)} tokens (line {line} of {_file(path)})."
            )
    return notes


def _file(path: str) -> str:
    return os.path.basename(path) if os.path.isabs(path) else path


def _flat(shape: SizeCurve, smallest: int, block: int) -> int | None:
    return max(shape.reaching(NEARLY_ALL * shape.unlimited), smallest) * block if shape.unlimited else None


def _knee(shape: SizeCurve, smallest: int, block: int) -> KneePoint | None:
    if not shape.unlimited:
        return None
    knee = knee_of(shape, smallest)
    return KneePoint(knee.size * block, shape.at(knee.size) * block, knee.height)


# --- where the reuse comes from ---------------------------------------------------------------------------------------


def _within(conversations: Conversations, reuses: Reuses, block: int) -> int:
    """Of the tokens that an unlimited cache reuses, those that the same conversation had sent before."""
    reused: dict[int, int] = {}
    for request, blocks in zip(reuses.until, reuses.blocks, strict=True):
        reused[request] = reused.get(request, 0) + blocks
    known = conversations.known_tokens
    return sum([min(known[request] // block, blocks) for request, blocks in reused.items()]) * block


def _by(
    tag: str, prompts: Sequence[Prompt], whole: _Pass, sizes: Sequence[int], passes: Sequence[_Pass], block: int
) -> tuple[TagCurve, ...]:
    """The share of each value of a tag, in order of first appearance."""
    value_of = [prompt.tags.get(tag, _NO_TAG) for prompt in prompts]
    requests = Counter(value_of)
    tokens: Counter[str] = Counter()
    for value, length in zip(value_of, whole.chains.prompt_tokens, strict=True):
        tokens[value] += length
    shapes_of: dict[int, dict[str, SizeCurve]] = {}
    for one in (whole, *passes):
        if id(one) not in shapes_of:
            stretches: dict[str, list[tuple[int, int]]] = {value: [] for value in requests}
            for request, blocks, least in zip(one.reuses.until, one.reuses.blocks, one.reuses.least, strict=True):
                stretches[value_of[one.served[request]]].append((least, blocks))
            shapes_of[id(one)] = {value: SizeCurve(pairs) for value, pairs in stretches.items()}
    curves = []
    for value, count in requests.items():
        shape = shapes_of[id(whole)][value]
        reused = tuple([shapes_of[id(one)][value].at(size) * block for size, one in zip(sizes, passes, strict=True)])
        flat = _flat(shape, whole.chains.largest, block)
        curves.append(TagCurve(value, count, tokens[value], shape.unlimited * block, flat, reused))
    return tuple(curves)


def _shown(
    prefixes: Sequence[Prefix], prompts: Sequence[Prompt], block: int, models: ServedModels
) -> tuple[PopularPrefix, ...]:
    """The prefixes with where they end and their first and last words."""
    shown = []
    for prefix in prefixes:
        prompt = prompts[prefix.request]
        tokens = prefix.blocks * block
        starts = ends = ""
        path, role = "", ""
        if prompt.unit == 1:
            ids = (prompt.tokens + prompt.output_tokens)[: tokens * TOKEN_BYTES]
            starts, ends = [
                models.decode(part).decode("utf-8", "replace")
                for part in (ids[: _WORDS * TOKEN_BYTES], ids[-_WORDS * TOKEN_BYTES :])
            ]
            origins = origins_between(prompt, tokens - 1, tokens)
            path, role = origins[-1] if origins else ("", "")
        shown.append(PopularPrefix(tokens, prefix.requests, prompt.id, prompt.location.line, path, role, starts, ends))
    return tuple(shown)


# --- notes ------------------------------------------------------------------------------------------------------------


def _untagged(tags: Sequence[str], prompts: Sequence[Prompt]) -> list[str]:
    return [
        f"No request has the tag {tag}; --tag {tag}=json.path names where it lies."
        for tag in tags
        if prompts and not any([tag in prompt.tags for prompt in prompts])
    ]


def _unlike(engine: Engine, chains: Chains) -> list[str]:
    """Where an engine of that size may reuse something else than the curve says."""
    notes = []
    if engine.name == "vllm":
        twice = sum([shared > limit for shared, limit in zip(chains.shared, chains.limit, strict=True)])
        if twice:
            notes.append(
                f"{counted(twice, 'request computes', 'requests compute')} a block again that was sent before, such as "
                "one with the last prompt token. vLLM then holds it twice, the curve once: in a full cache the "
                "engine may reuse a little less or more."
            )
    elif engine.name == "sglang":
        notes.append(
            "SGLang drops whole nodes of its tree, the curve the least recently used pages one by one, the last of a "
            "prompt first; in a full cache the engine may reuse less. `audit --cache-tokens` follows the engine."
        )
    return notes
