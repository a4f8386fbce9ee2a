"""The nouns that travel through prefixlab, each refusing to exist in a broken state.

A log's record becomes a `Request` (exactly as logged), a request is rendered to `Segment`s (text that knows where it
came from), segments are tokenized to `Piece`s made of interned `Run`s, and a `Prompt` is a request's pieces. Token ids
travel as `bytes`: four bytes a token, little-endian, so that a comparison of two prompts is one memory comparison and
no token is a Python object.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

TOKEN_BYTES = 4
"""Bytes that one token id takes in every `tokens` value (unsigned, little-endian)."""


class Location(NamedTuple):
    """Where a record stands: the path as the user gave it, and its line from 1."""

    path: str
    line: int


class Namespace(NamedTuple):
    """What an engine keys its cache by beside the tokens; requests of two namespaces never share."""

    model: str = ""
    lora: str = ""
    salt: str = ""


NO_NAMESPACE = Namespace()


class Serving(NamedTuple):
    """What a request asked of the engine, and how it ended, as far as the cache depends on it."""

    priority: int = 0
    prompt_logprobs: bool = False
    """Whether log-probabilities of the prompt's own tokens were asked for."""
    cache_prompt: bool = True
    """llama-server's switch for one request."""
    finish_reason: str | None = None
    sampled_tokens: int = 0
    """Tokens that were generated, the last included; 0 where the log has no answer."""


SERVED_PLAINLY = Serving()


# --- a request, as logged ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Chat:
    """An OpenAI-style chat body. Values are those of the log: key order, argument strings and parts are kept.

    `content_paths` gives, for each message, the JSON path of its content in the body (`messages[0].content`; for a
    Responses body `instructions` or `input[2].content`). `template_kwargs` are extra variables for the chat template.
    """

    messages: list[dict[str, Any]]
    tools: list[Any] | None = None
    documents: list[Any] | None = None
    template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    add_generation_prompt: bool = True
    continue_final_message: bool = False
    content_paths: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.content_paths is not None and len(self.content_paths) != len(self.messages):
            raise ValueError("one content path for each message")


@dataclass(frozen=True, slots=True)
class AnthropicChat:
    """An Anthropic Messages body: `tools`, `system` (text or blocks) and `messages`, as logged."""

    messages: list[dict[str, Any]]
    system: Any = None
    tools: list[Any] | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """A plain prompt, not templated. `path` is its JSON path in the record (empty for a line of text)."""

    prompt: str
    path: str = "prompt"


@dataclass(frozen=True, slots=True)
class TokenIds:
    """A prompt logged as token ids, four bytes each."""

    tokens: bytes


@dataclass(frozen=True, slots=True)
class BlockHashes:
    """A prompt logged as chained block ids (Mooncake, Bailian): `block_tokens` tokens an id, the last perhaps less."""

    hash_ids: tuple[int, ...]
    block_tokens: int
    prompt_tokens: int

    def __post_init__(self) -> None:
        needed = -(-self.prompt_tokens // self.block_tokens)
        if len(self.hash_ids) != needed:
            raise ValueError(
                f"{len(self.hash_ids)} hash_ids do not fit input_length {self.prompt_tokens}: "
                f"{needed} blocks of {self.block_tokens} tokens are expected"
            )


Body = Chat | AnthropicChat | Text | TokenIds | BlockHashes


@dataclass(frozen=True, slots=True)
class Output:
    """What the model generated, where the log has it: ids as sampled, or the text of the answer."""

    text: str | None = None
    tokens: bytes | None = None
    finish_reason: str | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """One request, exactly as logged. `arrived_at` and `ended_at` are seconds since 1970 (UTC), where known."""

    id: str
    location: Location
    body: Body
    arrived_at: float | None = None
    ended_at: float | None = None
    namespace: Namespace = NO_NAMESPACE
    tags: Mapping[str, str] = field(default_factory=dict)
    output: Output | None = None
    observed_cached_tokens: int | None = None
    observed_prompt_tokens: int | None = None
    serving: Serving = SERVED_PLAINLY


# --- a request, rendered ----------------------------------------------------------------------------------------------


class Origin(NamedTuple):
    """Where a piece of rendered text came from: JSON path in the body and the role of its message.

    Text of the chat template itself has the path `""` and the role `template`.
    """

    path: str
    role: str


TEMPLATE = Origin("", "template")


class Segment(NamedTuple):
    """Rendered text of one origin.

    `image` is set for the placeholder tokens of an image: `image_tokens` tokens whose identity is the image's URL or
    payload digest, whatever the tokenizer makes of the text.
    """

    text: str
    origin: Origin
    image: str | None = None
    image_tokens: int = 0


class Rendering(NamedTuple):
    """A rendered request: segments that tile the text, and the JSON paths whose content the template left out."""

    segments: tuple[Segment, ...]
    dropped: tuple[str, ...] = ()


# --- a request, tokenized ---------------------------------------------------------------------------------------------


class Run:
    """Text that tokenizes on its own, with its tokens. Interned by the encoder: one object for one text."""

    __slots__ = ("text", "tokens")

    def __init__(self, text: str, tokens: bytes) -> None:
        if len(tokens) % TOKEN_BYTES:
            raise ValueError("a run has whole tokens")
        self.text = text
        self.tokens = tokens

    def __repr__(self) -> str:
        return f"Run({self.text!r}, {len(self.tokens) // TOKEN_BYTES} tokens)"


class Span(NamedTuple):
    """The next `chars` characters of a piece come from `origin`."""

    origin: Origin
    chars: int


class Piece:
    """Consecutive text of a prompt: tiled by `spans` (where it came from) and by `runs` (how it tokenizes)."""

    __slots__ = ("runs", "spans", "token_count")

    def __init__(self, spans: tuple[Span, ...], runs: tuple[Run, ...]) -> None:
        if sum([span.chars for span in spans]) != sum([len(run.text) for run in runs]):
            raise ValueError("the spans of a piece and its runs must tile the same text")
        self.spans = spans
        self.runs = runs
        self.token_count = sum([len(run.tokens) for run in runs]) // TOKEN_BYTES

    @classmethod
    def counted(cls, spans: tuple[Span, ...], runs: tuple[Run, ...], token_count: int) -> Piece:
        """A piece of many runs whose lengths the caller knows; they are not added up again."""
        piece = cls.__new__(cls)
        piece.spans = spans
        piece.runs = runs
        piece.token_count = token_count
        return piece

    @property
    def origin(self) -> Origin:
        """Where the piece's first character came from."""
        return self.spans[0].origin if self.spans else TEMPLATE

    @property
    def text(self) -> str:
        return "".join([run.text for run in self.runs])

    @property
    def tokens(self) -> bytes:
        return b"".join([run.tokens for run in self.runs])

    def __repr__(self) -> str:
        return f"Piece({self.origin.path or 'template'}, {self.token_count} tokens)"


class Prompt:
    """A request's prompt, tokenized. What stays in memory of a log: pieces are shared, text is kept once.

    `marked_paths` are the JSON paths that the request marks for a hosted provider's cache.

    `unit` is the number of tokens that one id in `tokens` stands for: 1, or the block of a block-hash trace; then
    `token_count` (the true length) may end inside the last unit.
    """

    __slots__ = (
        "arrived_at",
        "ended_at",
        "id",
        "location",
        "marked_paths",
        "namespace",
        "observed_cached_tokens",
        "output_tokens",
        "pieces",
        "serving",
        "tags",
        "token_count",
        "unit",
    )

    def __init__(
        self,
        id: str,
        location: Location,
        pieces: tuple[Piece, ...],
        *,
        namespace: Namespace = NO_NAMESPACE,
        arrived_at: float | None = None,
        ended_at: float | None = None,
        tags: Mapping[str, str] | None = None,
        output_tokens: bytes = b"",
        observed_cached_tokens: int | None = None,
        serving: Serving = SERVED_PLAINLY,
        marked_paths: tuple[str, ...] = (),
        unit: int = 1,
        token_count: int | None = None,
    ) -> None:
        counted = sum([piece.token_count for piece in pieces]) * unit
        self.token_count = counted if token_count is None else token_count
        if not counted - unit < self.token_count <= counted:
            raise ValueError(f"{self.token_count} tokens do not fit {counted // unit} units of {unit}")
        self.id = id
        self.location = location
        self.pieces = pieces
        self.namespace = namespace
        self.arrived_at = arrived_at
        self.ended_at = ended_at
        self.tags = tags or {}
        self.output_tokens = output_tokens
        self.observed_cached_tokens = observed_cached_tokens
        self.serving = serving
        self.marked_paths = marked_paths
        self.unit = unit

    @property
    def tokens(self) -> bytes:
        return b"".join([run.tokens for piece in self.pieces for run in piece.runs])

    @property
    def text(self) -> str:
        return "".join([run.text for piece in self.pieces for run in piece.runs])
