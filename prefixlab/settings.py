"""What a run is asked to do, checked once, before anything is read."""

from __future__ import annotations

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


def _or_none(fits: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or fits(value)


_KINDS: tuple[tuple[str, Callable[[object], bool], str], ...] = (
    ("tokenizers", _are_texts, "names of tokenizers"),
    ("chat_template", _is_text, "a name or a path"),
    ("engine", _is_text, "the name of an engine"),
    ("block_size", _or_none(_is_number), "a whole number"),
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


@dataclass(frozen=True, slots=True)
class AuditSettings:
    """The options of `audit`, with the defaults of the command line."""

    tokenizers: tuple[str, ...] = ()
    """`NAME`, or `MODEL=NAME` for a log of several models; empty: each record's own `model` decides."""
    chat_template: str = "auto"
    engine: str = "vllm"
    block_size: int | None = None
    """None: the engine's own default, or the block of a block-hash trace."""
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
        for name, fits, wanted in _KINDS:
            value = getattr(self, name)
            if not fits(value):
                raise PrefixlabError(f"{name}={value!r} cannot be", f"Give {wanted}")
        if self.block_size is not None and self.block_size < 1:
            raise PrefixlabError(f"--block-size {self.block_size} cannot be", "Give 1 or more")
        if self.limit is not None and self.limit < 1:
            raise PrefixlabError(f"--limit {self.limit} cannot be", "Give 1 or more")
        if not all(self.by):
            raise PrefixlabError("--by '' names no tag", "Give a tag, such as tenant")
        if self.image_tokens < 1:
            raise PrefixlabError(f"--image-tokens {self.image_tokens} cannot be", "Give 1 or more")
        if self.tool_arguments not in ("parsed", "raw"):
            raise PrefixlabError(f"--tool-arguments {self.tool_arguments!r} is not known", "Give parsed or raw")
