"""The longest prefix shared with an earlier prompt that is not forgotten: a radix tree whose edges know when they were
last used.

Whoever uses an edge uses all above it, so an edge is never newer than what it hangs on: a walk down meets the live part
first and the forgotten part after it.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from prefixlab.engines.longest_prefix import shared_bytes
from prefixlab.records import TOKEN_BYTES


class Shared(NamedTuple):
    """What a prompt has in common with earlier ones."""

    ids: int
    is_repeat: bool
    """Whether just this prompt was there before."""


class _Node:
    """An edge, when it was last used, and when a prompt last ended at its end."""

    __slots__ = ("children", "edge", "ended", "used")

    def __init__(self, edge: bytes, used: float | None) -> None:
        self.edge = edge
        self.used = used
        self.ended: float | None = None
        self.children: dict[bytes, _Node] = {}


class LivePrefixTree:
    """Prompts in order of arrival. `ttl` seconds after its last use a prefix is forgotten; None: never."""

    def __init__(self, ttl: float | None) -> None:
        self._ttl = ttl
        self._roots: dict[Hashable, _Node] = {}
        self._now = float("-inf")

    def add(self, namespace: Hashable, prompt: bytes, answer: bytes, arrived_at: float | None) -> Shared:
        """What `prompt` shares with the live ones; then it is one of them, with what was answered.

        A prompt without a time of its own comes when the one before it came.
        """
        if arrived_at is not None and arrived_at > self._now:
            self._now = arrived_at
        now = self._now
        oldest = float("-inf") if self._ttl is None else now - self._ttl
        node = self._roots.get(namespace)
        if node is None:
            node = self._roots[namespace] = _Node(b"", now)
        tokens = prompt + answer if answer else prompt
        at, live, end, prompt_end = 0, 0, len(tokens), len(prompt)
        is_repeat = False
        while at < end:
            child = node.children.get(tokens[at : at + TOKEN_BYTES])
            if child is None:
                child = node.children[tokens[at : at + TOKEN_BYTES]] = _Node(tokens[at:], None)
            elif not tokens.startswith(child.edge, at):
                child = _split(child, node, shared_bytes(child.edge, tokens, at))
            if at < prompt_end < at + len(child.edge):
                # A node ends where the prompt does, to tell later that just this was sent.
                child = _split(child, node, prompt_end - at)
            if live == at and child.used is not None and child.used >= oldest:
                live += len(child.edge)
            at += len(child.edge)
            if at == prompt_end:
                is_repeat = child.ended is not None and child.ended >= oldest
                child.ended = now
            child.used = now
            node = child
        return Shared(min(live, prompt_end) // TOKEN_BYTES, is_repeat)


def _split(child: _Node, parent: _Node, length: int) -> _Node:
    """Cut the first `length` bytes off `child`'s edge: the node that has them now, with `child` below it."""
    upper = _Node(child.edge[:length], child.used)
    parent.children[upper.edge[:TOKEN_BYTES]] = upper
    child.edge = child.edge[length:]
    upper.children[child.edge[:TOKEN_BYTES]] = child
    return upper
