"""The answer of `explain`: one request, what it was matched with, where they part, and what became of its blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from prefixlab.findings import Break, Field, Input, Losses, Outcome
    from prefixlab.records import Location, Namespace


class Party(NamedTuple):
    """A request that the answer speaks of."""

    id: str
    location: Location
    arrived_at: float | None
    namespace: Namespace
    tags: Mapping[str, str]
    prompt_tokens: int
    generated_tokens: int
    """Generated tokens that an engine has keys and values of: all in the log but the last."""
    server: int | None = None
    """The server it went to, from 1, where there are several."""


class Token(NamedTuple):
    """A token at the break; of a block-hash trace the logged id of a block. `text` is None where it has none."""

    id: int
    text: str | None


class Excerpt(NamedTuple):
    """Part of a text. `is_cut` says that the text goes on, on the side away from the break."""

    text: str
    is_cut: bool


@dataclass(frozen=True, slots=True)
class Parting:
    """Where two prompts part: the first `token_index` tokens are the same.

    Of the texts `before` is what both have up to the first character that differs, `now` and `was` what this request
    and the earlier one have from there on; all None where there is no text.
    """

    token_index: int
    of: str
    """`text`; `decoded`: the log has ids, and the text is what they stand for; `ids` or `blocks`: no text."""
    path: str
    """JSON path of the first character that differs; empty in text of the chat template."""
    role: str
    line: int | None
    """Its line in the text at that path, from 1."""
    behind_path: str
    """The last JSON path ahead of text of the template."""
    before: Excerpt | None
    now: Excerpt | None
    was: Excerpt | None
    tokens_same: tuple[Token, ...]
    """The last tokens that are the same."""
    tokens_now: tuple[Token, ...]
    """The first that are not; empty where the prompt ends."""
    tokens_was: tuple[Token, ...]
    """Those of the earlier request; empty where its prompt, and what it generated, end."""
    other_ends: bool
    """Whether the earlier request, with what it generated, ends there."""
    is_in_answer: bool
    """Whether the earlier request's side is in what was generated."""
    is_same_text: bool
    """Whether the texts are the same and only the tokens differ."""


@dataclass(frozen=True, slots=True)
class Cause:
    """The rung of the log's ladder at which the request's prefix ends, with the values where it is a value."""

    row: Field | Break
    now: str | None = None
    was: str | None = None


class BlockRange(NamedTuple):
    """Consecutive blocks with one fate: `cached`, or the name of a loss. A block counts where it begins."""

    fate: str
    blocks: int
    tokens: int


class NextTurn(NamedTuple):
    """What a later request keeps of this one's end: of the prompt and what was generated behind it."""

    request: Party
    shared_tokens: int
    """Tokens of this request's prompt and answer that the later one begins with."""
    is_turn: bool
    """Whether it goes on with this one's text; else it is the session's next request and parts long before the end."""
    lost_prompt_tokens: int
    lost_answer_tokens: int
    """Of the answer, as far as the log has it."""
    lost_blocks: int
    """Full blocks of this request that the next one cannot use."""
    tokens_was: tuple[Token, ...]
    tokens_now: tuple[Token, ...]


class Elsewhere(NamedTuple):
    """An earlier request of another namespace with more of the same tokens, which are never shared."""

    request: Party
    shared_tokens: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """The whole answer. It refuses to exist unless every prompt token has one fate."""

    version: str
    inputs: tuple[Input, ...]
    tokenizer: Mapping[str, Any]
    chat_template: Mapping[str, Any] | None
    engine: Mapping[str, Any]
    request: Party
    outcome: Outcome
    losses: Losses
    other: Party | None
    """What it is compared with."""
    is_match: bool
    """Whether that is the request it was matched with: the best earlier one of its namespace."""
    seconds_before: float | None
    shared_with_other: int
    """Prompt tokens equal to those of `other`, from the first on."""
    requests: int
    """Requests of the log."""
    earlier: int
    """Earlier ones of the same namespace."""
    family: int
    """Requests of the same template, this one included."""
    parting: Parting | None
    cause: Cause | None
    block_size: int
    blocks: tuple[BlockRange, ...]
    next_turn: NextTurn | None
    has_answer: bool
    """Whether the log has what the request generated, or its text."""
    elsewhere: Elsewhere | None
    is_limited: bool
    """Whether the cache has a size, a lifetime or several servers."""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if sum([one.tokens for one in self.blocks]) != self.outcome.prompt_tokens:
            raise ValueError("the blocks are not the prompt")
        if self.outcome.cached_tokens + sum(self.losses) != self.outcome.prompt_tokens:
            raise ValueError("cached tokens and losses do not add up to the prompt")


FATES = (
    "cached",
    "evicted",
    "expired",
    "isolated",
    "volatile",
    "below_minimum",
    "last_token",
    "partial_block",
    "first_seen",
)
"""What becomes of a prompt's tokens, in the order in which it does along the prompt."""


def fates(outcome: Outcome, losses: Losses) -> Iterator[tuple[str, int]]:
    """The fates of a prompt's tokens, front to back, with how many have each."""
    tokens = {"cached": outcome.cached_tokens, **losses._asdict()}
    return ((fate, tokens[fate]) for fate in FATES if tokens[fate])


def block_ranges(outcome: Outcome, losses: Losses, block_size: int) -> tuple[BlockRange, ...]:
    """The blocks of a prompt by their fate; tokens are counted one by one, blocks where they begin."""
    ranges = []
    end = 0
    for fate, tokens in fates(outcome, losses):
        start, end = end, end + tokens
        ranges.append(BlockRange(fate, -(-end // block_size) - -(-start // block_size), tokens))
    return tuple(ranges)
