"""What a run is asked to do, checked once, before anything is read."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from prefixlab.errors import PrefixlabError


def _is_number(value: object) -> bool:
    return type(value) is int


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_switch(value: object) -> bool:
    return isinstance(value, bool)


def _are_texts(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and all(map(_is_text, value))


def _are_tags(value: object) -> bool:
    return isinstance(value, Mapping) and all(map(_is_text, (*value, *value.values())))


def _is_mapping(value: object) -> bool:
    return isinstance(value, Mapping) and all(map(_is_text, value))


def _is_path(value: object) -> bool:
    return isinstance(value, str | os.PathLike)


def _is_amount(value: object) -> bool:
    return isinstance(value, str) or type(value) in (int, float)


def _is_price(value: object) -> bool:
    return isinstance(value, float) or (type(value) is int and abs(value) < 10**15)


def _are_sizes(value: object) -> bool:
    return isinstance(value, list | tuple) and all([type(size) in (str, int) for size in value])


def _or_none(fits: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or fits(value)


_Check = tuple[str, Callable[[object], bool], str]

_LOG_KINDS: tuple[_Check, ...] = (
    ("tokenizers", _are_texts, "names of tokenizers"),
    ("chat_template", _is_text, "a name or a path"),
    ("input_format", _or_none(_is_text), "the name of a format"),
    ("skip_bad", _is_switch, "True or False"),
    ("limit", _or_none(_is_number), "a whole number"),
    ("tags", _are_tags, "a dict of names and JSON paths"),
    ("by", _are_texts, "a list of tags"),
    ("image_tokens", _is_number, "a whole number"),
    ("offline", _is_switch, "True or False"),
    ("digest", _is_switch, "True or False"),
)
"""What each option must be, for callers from Python; the command line gives no others."""

_ENGINE_KINDS: tuple[_Check, ...] = (
    ("family", _or_none(_is_text), "a tag"),
    ("engine", _is_text, "the name of an engine"),
    ("block_size", _or_none(_is_number), "a whole number"),
    ("engine_options", _is_mapping, "a dict of the engine's options"),
    ("cache_tokens", _or_none(_is_number), "a whole number"),
    ("cache_blocks", _or_none(_is_number), "a whole number"),
    ("kv_budget", _or_none(_is_amount), "bytes, or a text such as '71GiB'"),
    ("model_config", _or_none(_is_path), "the path of a config.json"),
    ("kv_dtype", _or_none(_is_text), "a type such as fp8"),
    ("ttl", _or_none(_is_amount), "seconds, or a text such as '5m'"),
    ("replicas", _is_number, "a whole number"),
    ("routing", _or_none(_is_text), "round-robin, session, prefix or tag:NAME"),
    ("price_per_mtok", _or_none(_is_price), "a price"),
    ("ignore", _are_texts, "a list of names"),
)

CURVE_KINDS: tuple[_Check, ...] = (
    *[kind for kind in _ENGINE_KINDS if kind[0] in ("engine", "block_size", "model_config", "kv_dtype")],
    ("sizes", _are_sizes, "a list such as [50000, '20GiB']"),
    ("points", _or_none(_is_number), "a whole number"),
    ("top", _is_number, "a whole number"),
)

LARGEST_PRICE = 1_000_000


def check_kinds(settings: object, kinds: tuple[_Check, ...]) -> None:
    """Refuses values of the wrong kind.

    Raises:
        PrefixlabError: an option is not what it must be.
    """
    for name, fits, wanted in kinds:
        value = getattr(settings, name)
        if not fits(value):
            raise PrefixlabError(f"{name}={value!r} cannot be", f"Give {wanted}")


@dataclass(frozen=True, slots=True)
class LogSettings:
    """How logs are read, rendered and tokenized, with the defaults of the command line."""

    tokenizers: tuple[str, ...] = ()
    """`NAME`, or `MODEL=NAME` for a log of several models; empty: each record's own `model` decides."""
    chat_template: str = "auto"
    input_format: str | None = None
    skip_bad: bool = False
    limit: int | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    """Tag name to JSON path in the record."""
    by: tuple[str, ...] = ()
    image_tokens: int = 64
    tool_arguments: Literal["parsed", "raw"] = "parsed"
    offline: bool = False
    digest: bool = True
    """Whether the inputs' SHA-256 is taken while they are read."""

    def __post_init__(self) -> None:
        check_kinds(self, _LOG_KINDS)
        if self.limit is not None and self.limit < 1:
            raise PrefixlabError(f"--limit {self.limit} cannot be", "Give 1 or more")
        if not all(self.by):
            raise PrefixlabError("--by '' names no tag", "Give a tag, such as tenant")
        if self.image_tokens < 1:
            raise PrefixlabError(f"--image-tokens {self.image_tokens} cannot be", "Give 1 or more")
        if self.tool_arguments not in ("parsed", "raw"):
            raise PrefixlabError(f"--tool-arguments {self.tool_arguments!r} is not known", "Give parsed or raw")


@dataclass(frozen=True, slots=True)
class AuditSettings(LogSettings):
    """The options of `audit`: how the log is read; which engine's rules count, what its cache holds, how long, on how
    many servers; what a token costs."""

    family: str | None = None
    """Tag that tells the template a request was made from; None: families are found by their text."""
    engine: str = "vllm"
    block_size: int | None = None
    """None: the engine's own default, or the block of a block-hash trace."""
    engine_options: Mapping[str, object] = field(default_factory=dict)
    """Options of the engine by name; text is read as the option's type."""
    cache_tokens: int | None = None
    cache_blocks: int | None = None
    kv_budget: str | int | None = None
    """Bytes for keys and values; with `model_config`."""
    model_config: str | os.PathLike[str] | None = None
    kv_dtype: str | None = None
    ttl: str | float | None = None
    """Seconds, or `5m`, `1h`, that what was not used again is kept."""
    replicas: int = 1
    routing: str | None = None
    """`round-robin`, `session`, `prefix` or `tag:NAME`."""
    price_per_mtok: float | None = None
    """Price of a million input tokens that are not cached, in any currency."""
    ignore: tuple[str, ...] = ()
    """Known causes: names of fields, kinds of breaks, `kind:clock`."""

    def __post_init__(self) -> None:
        LogSettings.__post_init__(self)
        check_kinds(self, _ENGINE_KINDS)
        if self.block_size is not None and self.block_size < 1:
            raise PrefixlabError(f"--block-size {self.block_size} cannot be", "Give 1 or more")
        sizes = [name for name in ("cache_tokens", "cache_blocks", "kv_budget") if getattr(self, name) is not None]
        if len(sizes) > 1:
            options = " and ".join(["--" + name.replace("_", "-") for name in sizes])
            raise PrefixlabError(f"{options} both say how large the cache is", "Give one of them")
        for name in ("cache_tokens", "cache_blocks"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise PrefixlabError(f"--{name.replace('_', '-')} {value} cannot be", "Give 1 or more")
        if self.kv_budget is not None and self.model_config is None:
            raise PrefixlabError(
                "--kv-budget alone does not say how many tokens fit", "Name the model's config with --model-config"
            )
        if self.model_config is not None and self.kv_budget is None:
            raise PrefixlabError(
                "--model-config alone gives no size of a cache", "Name the memory with --kv-budget, such as 71GiB"
            )
        if self.kv_dtype is not None and self.model_config is None:
            raise PrefixlabError("--dtype is of the cache of a model", "Name its config with --model-config")
        if not all([name.strip() for name in self.ignore]):
            raise PrefixlabError("--ignore '' names nothing", "Give a field's name, a kind of break, or kind:clock")
        if self.replicas < 1:
            raise PrefixlabError(f"--replicas {self.replicas} cannot be", "Give 1 or more")
        if self.routing is not None and self.replicas == 1:
            raise PrefixlabError("--routing needs more than one server", "Give --replicas N")
        price = self.price_per_mtok
        if price is not None and not 0 <= price <= LARGEST_PRICE:
            raise PrefixlabError(
                f"--price-per-mtok {price:g} cannot be",
                f"Give a price from 0 to {LARGEST_PRICE:,} for a million tokens",
            )
