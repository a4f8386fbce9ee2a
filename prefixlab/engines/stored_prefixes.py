"""Prefixes of any length that earlier requests left behind, found again by their tokens.

A prefix is kept under a chained digest of its whole steps of 64 ids and the ids that are left over. So whether a prefix
of a known length is stored costs one look-up, and the longest of all costs at most one for each step and each length
of a rest that occurs there, however many prefixes are stored.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from prefixlab.records import TOKEN_BYTES

if TYPE_CHECKING:
    from prefixlab.records import Namespace

STEP = 64 * TOKEN_BYTES
DIGEST = 16

_Rests = dict[int, dict[bytes, float]]
"""By the length of what is left over: the bytes left over, and when the prefix was last touched."""


class Sequence:
    """The bytes of a sequence with the digests of its whole steps."""

    __slots__ = ("ids", "links", "tokens")

    def __init__(self, root: bytes, tokens: bytes) -> None:
        self.tokens = tokens
        self.ids = len(tokens) // TOKEN_BYTES
        link = root
        self.links = [link]
        for at in range(STEP, len(tokens) + 1, STEP):
            link = blake2b(link + tokens[at - STEP : at], digest_size=DIGEST).digest()
            self.links.append(link)


class StoredPrefixes:
    """What is stored, with the time of its last touch. `ttl` seconds after that it is gone; None: it stays."""

    def __init__(self, ttl: float | None) -> None:
        self._ttl = ttl
        self._roots: dict[Namespace, bytes] = {}
        self._stored: dict[bytes, _Rests] = {}
        self._now = float("-inf")

    def sequence(self, namespace: Namespace, tokens: bytes) -> Sequence:
        """A sequence to look for or to store prefixes of; two namespaces have no prefix in common."""
        root = self._roots.setdefault(namespace, len(self._roots).to_bytes(DIGEST, "little"))
        return Sequence(root, tokens)

    def advance(self, arrived_at: float | None) -> None:
        """It is now. A request without a time of its own comes when the one before it came."""
        if arrived_at is not None and arrived_at > self._now:
            self._now = arrived_at

    def touch(self, sequence: Sequence, ids: int) -> None:
        """Store the first `ids` ids of the sequence, or begin their lifetime anew."""
        at, rest = divmod(ids * TOKEN_BYTES, STEP)
        rests = self._stored.setdefault(sequence.links[at], {})
        rests.setdefault(rest, {})[sequence.tokens[at * STEP : at * STEP + rest]] = self._now

    def has(self, sequence: Sequence, ids: int) -> bool:
        """Whether just the first `ids` ids are stored and not gone."""
        at, rest = divmod(ids * TOKEN_BYTES, STEP)
        rests = self._stored.get(sequence.links[at])
        if rests is None or rest not in rests:
            return False
        return self._is_live(rests[rest].get(sequence.tokens[at * STEP : at * STEP + rest]))

    def longest(self, sequence: Sequence, ids: int) -> int:
        """Ids of the longest stored prefix of the first `ids` ids; 0 where there is none."""
        last, most = divmod(ids * TOKEN_BYTES, STEP)
        tokens = sequence.tokens
        for at in range(last, -1, -1):
            rests = self._stored.get(sequence.links[at])
            if rests is None:
                continue
            limit = most if at == last else STEP
            for rest in sorted(rests, reverse=True):
                if rest <= limit and self._is_live(rests[rest].get(tokens[at * STEP : at * STEP + rest])):
                    return (at * STEP + rest) // TOKEN_BYTES
        return 0

    def _is_live(self, touched: float | None) -> bool:
        return touched is not None and (self._ttl is None or touched >= self._now - self._ttl)
