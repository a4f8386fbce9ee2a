"""What an engine is given: the requests of a log in order of arrival, as ids, with the keys of their blocks.

A block's key stands for the block and all that is ahead of it, as the chained hashes of vLLM or the nodes of a radix
tree do. Here nothing is hashed: as the prefix tree says how much of a sequence is equal to which earlier one, its
blocks up to there have that one's keys and the others have new ones.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence

from prefixlab.prefix_tree import Match
from prefixlab.records import (
    NO_NAMESPACE,
    SERVED_PLAINLY,
    TOKEN_BYTES,
    Location,
    Namespace,
    Piece,
    Prompt,
    Run,
    Serving,
)

NO_MATCH = Match(0, None)


class BlockKeys:
    """Keys of the full blocks of every sequence of a run; equal keys are equal prefixes in one namespace.

    With a `lookahead` a key stands for so many tokens behind its block too.
    """

    def __init__(self, block_size: int, lookahead: int = 0) -> None:
        self._block_size = block_size
        self._lookahead = lookahead
        self._of: list[array[int]] = []
        self._next = 0

    def of(self, number: int, tokens: int, shared_tokens: int, matched: int | None) -> array[int]:
        """The keys of sequence `number`, of `tokens` tokens, the first `shared_tokens` of which are `matched`'s."""
        if number < len(self._of):
            return self._of[number]
        blocks = max(tokens - self._lookahead, 0) // self._block_size
        shared = min(max(shared_tokens - self._lookahead, 0) // self._block_size, blocks)
        keys = array("I") if matched is None else self._of[matched][:shared]
        new = blocks - len(keys)
        if new:
            keys.extend(range(self._next, self._next + new))
            self._next += new
        self._of.append(keys)
        return keys


class EngineRequest:
    """One request as an engine sees it. Token ids are `bytes`, four an id; see `Prompt` for `unit`."""

    __slots__ = ("_keys", "_moved", "_tokens", "generated", "match", "number", "prompt", "prompt_tokens", "unit")

    def __init__(
        self,
        number: int,
        prompt: Prompt,
        match: Match,
        keys: dict[tuple[int, int], BlockKeys],
        tokens: bytes | None = None,
        moved: Callable[[tuple[int, ...]], tuple[int, ...]] | None = None,
    ) -> None:
        """Where a fix moved some of the text, `tokens` are the prompt's ids and `moved` tells where places are now."""
        self.number = number
        """0, 1, 2 ... over the whole run."""
        self.prompt = prompt
        self.match = match
        self.generated = prompt.output_tokens
        """Generated ids but the last one sampled: those with keys and values."""
        self.prompt_tokens = prompt.token_count if tokens is None else len(tokens) // TOKEN_BYTES
        self.unit = prompt.unit
        self._keys = keys
        self._tokens = tokens
        self._moved = moved

    @classmethod
    def of_ids(
        cls,
        number: int,
        tokens: bytes,
        generated: bytes = b"",
        *,
        namespace: Namespace = NO_NAMESPACE,
        arrived_at: float | None = None,
        serving: Serving = SERVED_PLAINLY,
        unit: int = 1,
        prompt_tokens: int | None = None,
    ) -> EngineRequest:
        """A request by its ids alone, for engines that do not ask for block keys or matches."""
        prompt = Prompt(
            str(number),
            Location("ids", number + 1),
            (Piece((), (Run("", tokens),)),),
            namespace=namespace,
            arrived_at=arrived_at,
            output_tokens=generated,
            serving=serving,
            unit=unit,
            token_count=prompt_tokens,
        )
        return cls(number, prompt, NO_MATCH, {})

    @property
    def tokens(self) -> bytes:
        """The prompt's ids."""
        return self.prompt.tokens if self._tokens is None else self._tokens

    @property
    def sequence_tokens(self) -> int:
        """Tokens that have keys and values once the request is done: the prompt and all generated but the last."""
        return self.prompt_tokens + len(self.generated) // TOKEN_BYTES

    @property
    def generated_tokens(self) -> int:
        """Tokens sampled, the last included; 0 where the log has none."""
        return self.prompt.serving.sampled_tokens

    @property
    def shared_tokens(self) -> int:
        """Prompt tokens equal to the best earlier sequence of the namespace."""
        return min(self.match.shared * self.unit, self.prompt_tokens)

    @property
    def matched(self) -> int | None:
        """The number of that sequence."""
        return self.match.matched

    @property
    def namespace(self) -> Namespace:
        return self.prompt.namespace

    @property
    def arrived_at(self) -> float | None:
        """Seconds, on the clock of the log."""
        return self.prompt.arrived_at

    @property
    def priority(self) -> int:
        return self.prompt.serving.priority

    @property
    def prompt_logprobs(self) -> bool:
        return self.prompt.serving.prompt_logprobs

    @property
    def finish_reason(self) -> str | None:
        return self.prompt.serving.finish_reason

    @property
    def cache_prompt(self) -> bool:
        return self.prompt.serving.cache_prompt

    @property
    def message_ends(self) -> tuple[int, ...]:
        """Token positions where a message or a part of one ends, ascending; empty where they are not known."""
        from prefixlab.cache_marks import message_ends

        return self._placed(message_ends(self.prompt.pieces))

    @property
    def breakpoints(self) -> tuple[int, ...]:
        """Token positions that the request marks for caching."""
        if not self.prompt.marked_paths:
            return ()
        from prefixlab.cache_marks import positions_of

        return self._placed(positions_of(self.prompt.pieces, self.prompt.marked_paths))

    def _placed(self, places: tuple[int, ...]) -> tuple[int, ...]:
        return places if self._moved is None or self._tokens is None else self._moved(places)

    def block_keys(self, block_size: int, lookahead: int = 0) -> Sequence[int]:
        """Keys of the full blocks of prompt and generated tokens but the last.

        Equal keys are equal prefixes, over the whole run. Requests of a run are asked in order of their number, and
        none is left out.
        """
        table = self._keys.get((block_size, lookahead))
        if table is None:
            table = self._keys[block_size, lookahead] = BlockKeys(block_size, lookahead)
        tokens = self.sequence_tokens
        return table.of(self.number, tokens, min(self.match.kept * self.unit, tokens), self.match.kept_by)


def engine_requests(prompts: Sequence[Prompt], matches: Sequence[Match]) -> Iterator[EngineRequest]:
    """The requests of a run, in order, for one replay."""
    keys: dict[tuple[int, int], BlockKeys] = {}
    for number, (prompt, match) in enumerate(zip(prompts, matches, strict=True)):
        yield EngineRequest(number, prompt, match, keys)
