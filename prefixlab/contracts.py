"""The protocols of everything that can be added by adding one file: formats, templates, tokenizers, engines, reports.

Each family lives in a folder of that name. A module there that defines the constant named below is found by scanning
the folder (`registry.py`); nothing is registered by hand.

| folder | constant | protocol |
|---|---|---|
| `readers/` | `FORMAT` | `RecordFormat` |
| `engines/` | `ENGINE` | `Engine` |
| `reporters/` | `REPORTER` | `Reporter` |
| `tokenizers/` | `FAMILY` | `TokenizerFamily` |
| `dialects/` | `DIALECT` | `Dialect` |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from prefixlab.engine_requests import EngineRequest
from prefixlab.findings import Outcome, Report
from prefixlab.prompt_templates import PromptTemplate
from prefixlab.records import Location, Rendering, Request
from prefixlab.template_files import TemplateFile


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How records are read: where the tags lie (`NAME -> json.path`), beside the places every format knows."""

    tags: Mapping[str, str] = field(default_factory=dict)


class RecordFormat(Protocol):
    """One log format: recognises a parsed record by its content and turns it into requests."""

    name: str
    summary: str

    def recognises(self, record: Any) -> bool:
        """Whether this record is of the format. Cheap, and never raises."""
        ...

    def requests(self, record: Any, where: Location, options: ReadOptions) -> Iterable[Request]:
        """The record's requests, as logged.

        Raises:
            BadRecord: the record is of this format but cannot be used; says what is wrong and what to do.
        """
        ...


class Renderer(Protocol):
    """A chat template at work: a chat body in, text with origins out."""

    name: str
    sha256: str | None
    notes: tuple[str, ...]
    """Sentences for the report, such as that the layout is not the provider's own."""

    def render(self, request: Request) -> Rendering:
        """The request's prompt.

        Raises:
            BadRecord: the template refuses the request.
        """
        ...


class TextTokenizer(Protocol):
    """A vocabulary at work on text. Ids come as bytes, four a token, little-endian."""

    name: str
    source: str
    """Where the vocabulary came from: a name, a file's base name, a hub id; never an absolute path."""
    sha256: str | None
    special_tokens: Mapping[str, int]
    """Texts that become one id wherever the served tokenizer parses them."""
    specials_in_content: bool
    """Whether special tokens typed in user text are parsed as such, as a served Hugging Face tokenizer does."""
    cuts_at_whitespace: bool
    """Whether every place between a non-blank and a blank, and behind a line break before a non-blank other than `/`,
    is a boundary of pre-tokens, so that text may be encoded piecewise there."""
    bos: bytes
    """Ids that the tokenizer puts ahead of a plain prompt on the completions route; empty where it puts none."""

    def encode_ordinary(self, text: str) -> bytes:
        """The ids of text that is known to hold no special token, or whose look-alikes count as text."""
        ...

    def decode(self, tokens: bytes) -> bytes:
        """The UTF-8 bytes that the ids stand for."""
        ...


class TokenizerFamily(Protocol):
    """A way to get a tokenizer from a name or a path."""

    name: str
    summary: str

    def load(self, wanted: str, *, offline: bool) -> TextTokenizer | None:
        """The tokenizer, or None where the name is not of this family.

        Raises:
            PrefixlabError: the name is of this family but its vocabulary cannot be had; names the ways out.
        """
        ...

    def known(self) -> Iterable[Mapping[str, str]]:
        """Rows for `prefixlab tokenizers`: `name`, `source`, `offline` (yes, no, cached)."""
        ...


class EngineCache(Protocol):
    """An engine's cache at work: it is given the requests of a run one after another."""

    def serve(self, request: EngineRequest) -> int | None:
        """Prompt tokens that are taken from the cache; then the request's own are in it.

        None: the engine refuses the request, because it could never fit; the cache stays as it was.
        """
        ...


class Engine(Protocol):
    """An engine with its options, which are its fields: a frozen dataclass.

    Each field has a default and the metadata `help` (one line) and, where only some values can be, `choices`.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    follows: ClassVar[str]
    """The upstream version whose behaviour this is."""
    block_option: ClassVar[str | None]
    """The option that `--block-size` sets; None where an engine has no blocks."""

    @property
    def granularity(self) -> int:
        """Tokens that are reused together."""
        ...

    @property
    def min_tokens(self) -> int:
        """Tokens below which nothing is reused."""
        ...

    @property
    def capacity_tokens(self) -> int | None:
        """Tokens that the cache holds; None where it is unlimited, or measured otherwise."""
        ...

    @property
    def is_rule_exact(self) -> bool:
        """Whether `aligned_tokens` is what an unlimited cache gives. Else an unlimited cache has to be replayed."""
        ...

    @property
    def reuses_moved_text(self) -> bool:
        """Whether tokens are reused at another place than the one where they were computed."""
        ...

    def aligned_tokens(self, shared_tokens: int, prompt_tokens: int) -> int:
        """Tokens reused of `shared_tokens` that equal an earlier sequence, for a prompt of `prompt_tokens`."""
        ...

    def last_token_loss(self, shared_tokens: int, prompt_tokens: int) -> int:
        """Tokens that only the rule that the last prompt token is always computed denies."""
        ...

    def with_capacity(self, cache_tokens: int | None) -> Engine:
        """The engine with a cache of so many tokens, or an unlimited one.

        Raises:
            PrefixlabError: the engine has no such size.
        """
        ...

    def unlimited(self) -> Engine:
        """The same rule with room and time for everything."""
        ...

    def cache(self) -> EngineCache:
        """A new, empty cache."""
        ...


class Dialect(Protocol):
    """A template dialect: recognises a file by its ending and content and reads it into prompt templates."""

    name: str
    summary: str
    endings: tuple[str, ...]

    def recognises(self, file: TemplateFile) -> bool:
        """Whether this file is of the dialect. Cheap, and never raises."""
        ...

    def templates(self, file: TemplateFile) -> Iterable[PromptTemplate]:
        """The prompts that the file makes; none where it makes none.

        Raises:
            BadTemplate: the file is of this dialect but cannot be read; says what is wrong and what to do.
        """
        ...


class Reporter(Protocol):
    """A form of a report."""

    name: str
    """What `--format` calls it."""
    endings: tuple[str, ...]
    """File endings that choose it for `-o FILE`."""

    def render(self, report: Report, *, per_request: bool, width: int) -> bytes:
        """The whole document."""
        ...


__all__ = [
    "Dialect",
    "Engine",
    "EngineCache",
    "EngineRequest",
    "Outcome",
    "ReadOptions",
    "RecordFormat",
    "Renderer",
    "Reporter",
    "TextTokenizer",
    "TokenizerFamily",
]
