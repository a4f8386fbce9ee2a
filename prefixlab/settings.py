"""What a run is asked to do, checked once, before anything is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from prefixlab.errors import PrefixlabError


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
        if self.block_size is not None and self.block_size < 1:
            raise PrefixlabError(f"--block-size {self.block_size} cannot be", "Give 1 or more")
        if self.limit is not None and self.limit < 1:
            raise PrefixlabError(f"--limit {self.limit} cannot be", "Give 1 or more")
        if self.image_tokens < 1:
            raise PrefixlabError(f"--image-tokens {self.image_tokens} cannot be", "Give 1 or more")
        if self.tool_arguments not in ("parsed", "raw"):
            raise PrefixlabError(f"--tool-arguments {self.tool_arguments!r} is not known", "Give parsed or raw")
