"""vLLM's block pool: the free queue in its real order, and the table from keys to blocks.

Follows `v1/core/block_pool.py` of vLLM 0.32. A block without a key can never be hit; how many of those stand at the
front of the queue is all that matters of them. A block with a key is a number: its key, or where a copy of the key is
there already, a number of its own below zero.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence

UNLIMITED = 1 << 60


class BlockPool:
    """Blocks that one request after another takes and gives back.

    `usable` is the number of blocks, the null block not counted. `empties_first` says whether blocks that are given
    back without a key go to the front of the queue, as from 0.24 on, or to its back.
    """

    def __init__(self, usable: int | None, *, empties_first: bool) -> None:
        self._empties = UNLIMITED if usable is None else usable
        self._empties_first = empties_first
        self._queue: OrderedDict[int, None] = OrderedDict()
        """Free blocks behind the empty ones at the front, next to be taken first."""
        self.known: dict[int, int] = {}
        """Key to the block that a hit uses: the first inserted of its copies."""
        self._copies: dict[int, list[int]] = {}
        """Keys with several blocks: all of them, in order of insertion."""
        self._key_of: dict[int, int] = {}
        """Blocks that are copies, to their key."""
        self._last_number = 0

    def touch(self, keys: Iterable[int]) -> list[int]:
        """Take the blocks that are known by `keys` out of the free queue."""
        known, queue = self.known, self._queue
        blocks = [known[key] for key in keys]
        for block in blocks:
            del queue[block]
        return blocks

    def take(self, count: int) -> None:
        """Take blocks from the front of the queue; a block that had a key loses it."""
        empties = min(self._empties, count)
        self._empties -= empties
        next_free = self._queue.popitem
        if self._last_number:
            for _ in range(count - empties):
                self._forget(next_free(last=False)[0])
        else:
            # No block was ever a copy, so every block is its own key.
            known = self.known
            for _ in range(count - empties):
                del known[next_free(False)[0]]

    def register(self, keys: Sequence[int]) -> list[int]:
        """Give keys to as many blocks that were taken. There is no de-duplication."""
        known = self.known
        if known.keys().isdisjoint(keys):
            known.update(zip(keys, keys))
            return list(keys)
        blocks = []
        for key in keys:
            first = known.get(key)
            if first is None:
                block = known[key] = key
            else:
                self._last_number -= 1
                block = self._last_number
                self._copies.setdefault(key, [first]).append(block)
                self._key_of[block] = key
            blocks.append(block)
        return blocks

    def give_back(self, blocks: Sequence[int], empties: int) -> None:
        """Put the blocks of a request back, its tail first: `empties` without a key, then `blocks` from behind."""
        if self._empties_first:
            self._empties += empties
        else:
            for _ in range(empties):
                self._last_number -= 1
                self._queue[self._last_number] = None
        self._queue.update(dict.fromkeys(reversed(blocks)))

    def _forget(self, block: int) -> None:
        """A block loses its key; the key stays known where it has other copies."""
        key = self._key_of.pop(block, None) if block < 0 else block
        if key is None:
            return
        copies = self._copies.get(key)
        if copies is None:
            del self.known[key]
            return
        copies.remove(block)
        self.known[key] = copies[0]
        if len(copies) == 1:
            del self._copies[key]
