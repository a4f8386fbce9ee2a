"""The longest prefix that a prompt shares with any earlier sequence, exact to the token.

A compressed (radix) tree over token ids, one for each namespace. Sequences are `bytes`, four a token, so an edge is
compared with one memory comparison. An edge that only one sequence uses holds no tokens, only the number of that
sequence: its tokens are asked for again when somebody walks there. So the tree's own memory grows with the tokens that
are shared, not with those that are sent.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import NamedTuple

from prefixlab.records import TOKEN_BYTES


class Match(NamedTuple):
    """`shared` ids of a prompt are equal to those of sequence number `matched`, the latest with that many.

    Of the prompt and what was generated `kept` ids are equal to those of sequence `kept_by`.
    """

    shared: int
    matched: int | None
    kept: int = 0
    kept_by: int | None = None


class _Node:
    """An edge and what hangs below it. `edge` is None where it is the rest of `latest`'s sequence from `start` on."""

    __slots__ = ("children", "edge", "latest", "start")

    def __init__(self, edge: bytes | None, latest: int, start: int) -> None:
        self.edge = edge
        self.latest = latest
        self.start = start
        self.children: dict[bytes, _Node] | None = None


Known = Callable[[int], bytes]
"""The bytes of a sequence by its number: prompt and generated tokens, or as much of them as is known without work."""

Rest = Callable[[int], tuple[bytes, int] | None]
"""The whole sequence and the length of its prompt, in bytes, where `Known` gives only a beginning; else None."""


class PrefixTree:
    """Sequences are added in order of arrival; each is first matched with all that came before in its namespace.

    A sequence may be added by its beginning alone: the rest is asked for only if another sequence shares all of it.
    """

    def __init__(self, known: Known, rest: Rest = lambda number: None) -> None:
        self._known = known
        self._rest = rest
        self._roots: dict[Hashable, dict[bytes, _Node]] = {}

    def add(
        self, number: int, prompt: bytes, generated: bytes = b"", namespace: Hashable = (), alive_from: int = 0
    ) -> Match:
        """Match `prompt` with the earlier sequences, then keep `prompt + generated` under `number`.

        Only what a sequence from number `alive_from` on had too counts as shared; what was last sent before that has
        expired. (A text that was sent again has the number of its latest sequence.)
        """
        children = self._roots.get(namespace)
        if children is None:
            children = self._roots[namespace] = {}
        sequence = prompt + generated if generated else prompt
        prompt_end = len(prompt)
        end = len(sequence)
        is_whole = False
        at = 0
        matched: int | None = None
        kept_by: int | None = None
        alive_end: int | None = None
        while True:
            if at == end:
                whole = None if is_whole else self._rest(number)
                is_whole = True
                if whole is None:
                    break
                sequence, prompt_end = whole
                end = len(sequence)
                continue
            key = sequence[at : at + TOKEN_BYTES]
            node = children.get(key)
            if node is None:
                children[key] = _Node(None, number, at)
                break
            edge = node.edge
            if edge is None:
                edge = self._known(node.latest)[node.start :]
                if sequence.startswith(edge, at):
                    whole = self._rest(node.latest)
                    edge = edge if whole is None else whole[0][node.start :]
            if alive_end is None:
                if node.latest < alive_from:
                    alive_end = at
                else:
                    kept_by = node.latest
                    if at < prompt_end:
                        matched = kept_by
            if sequence.startswith(edge, at):
                at += len(edge)
                # The newer sequence is the same text up to here, so it may stand for the edge.
                node.latest = number
                if node.children is None:
                    if at == end and (is_whole or self._rest(number) is None):
                        break
                    node.edge = edge
                    node.children = {}
                children = node.children
                continue
            common = _common(edge, sequence, at)
            if at + common == end and not is_whole:
                whole = self._rest(number)
                is_whole = True
                if whole is not None:
                    sequence, prompt_end = whole
                    end = len(sequence)
                    continue
            self._split(node, edge, common, number, at)
            at += common
            if at < end:
                if node.children is None:
                    raise AssertionError("a split node has children")
                node.children[sequence[at : at + TOKEN_BYTES]] = _Node(None, number, at)
            break
        kept = at if alive_end is None else alive_end
        return Match(min(kept, prompt_end) // TOKEN_BYTES, matched, kept // TOKEN_BYTES, kept_by)

    @staticmethod
    def _split(node: _Node, edge: bytes, common: int, number: int, at: int) -> None:
        """Cut `node`'s edge behind its first `common` bytes; the rest, with what hangs below, becomes its child."""
        rest = _Node(None if node.edge is None else edge[common:], node.latest, node.start + common)
        rest.children = node.children
        node.children = {edge[common : common + TOKEN_BYTES]: rest}
        node.edge = edge[:common]
        node.start = at
        node.latest = number


def _common(edge: bytes, sequence: bytes, at: int) -> int:
    """Bytes, in whole tokens, that `edge` has in common with `sequence` from `at` on; they differ somewhere."""
    low, step = 0, 64
    limit = min(len(edge), len(sequence) - at)
    while low + step <= limit and edge[low : low + step] == sequence[at + low : at + low + step]:
        low += step
        step *= 2
    high = min(low + step, limit)
    while low < high:
        middle = (low + high + 1) // 2
        if edge[low:middle] == sequence[at + low : at + middle]:
            low = middle
        else:
            high = middle - 1
    return low - low % TOKEN_BYTES
