"""A radix tree over pages of tokens that drops whole leaves when it is asked to, in the order of a policy.

The tree of SGLang 0.5.23: `mem_cache/unified_cache/unified_tree_core.py` and `components/full.py` (the default,
`UnifiedRadixCache`), `mem_cache/radix_cache.py` (the older `RadixCache`) and `mem_cache/evict_policy.py`.

- An edge holds whole pages. Where a walk stops inside an edge, the edge is split there, on a match as on an insert.
- Every node on a walk is touched. On a match the deepest is the most recent, and so it is on an insert.
- A split touches the lower half too. The upper half takes over the hit count and the priority, and counts as newly made
  (`RadixCache`; the newer tree, which keeps the time, is not offered with `fifo` and `filo` on the command line).
- Only a leaf can be dropped, and whole. Its parent may be a leaf then, and competes at once with the others.
- Leaves are ranked by time of the last touch (`lru`, `mru`), hits (`lfu`), hits from two on (`slru`), time of making
  (`fifo`, `filo`) or priority; ties are broken by the last touch.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable
from typing import Final

from prefixlab.engines.longest_prefix import shared_bytes

Rank = tuple[float, float]
"""The leaf with the smallest rank is dropped first."""

PROTECTED_HITS: Final = 2
"""`slru` protects a node from so many hits on."""

LEAST_HEAP: Final = 1024
"""A heap smaller than this is never cleared of outdated entries."""


class Node:
    """An edge of `pages` pages and what hangs below it."""

    __slots__ = ("children", "created", "hits", "key", "pages", "parent", "priority", "queued", "touched")

    def __init__(self, key: bytes, pages: int, parent: Node | None, now: float, priority: int) -> None:
        self.key = key
        self.pages = pages
        self.parent = parent
        self.children: dict[bytes, Node] = {}
        self.touched = now
        self.created = now
        self.hits = 0
        self.priority = priority
        self.queued: Rank | None = None
        """The rank under which the node stands in the queue; None where it does not stand there."""


POLICIES: Final[dict[str, Callable[[Node], Rank]]] = {
    "lru": lambda node: (node.touched, 0.0),
    "lfu": lambda node: (node.hits, node.touched),
    "slru": lambda node: (node.hits >= PROTECTED_HITS, node.touched),
    "fifo": lambda node: (node.created, node.touched),
    "priority": lambda node: (node.priority, node.touched),
    "mru": lambda node: (-node.touched, 0.0),
    "filo": lambda node: (-node.created, node.touched),
}


class RadixTree:
    """One tree for each namespace, one order of eviction over all of them.

    Only a request at work pins its path. Requests come one after another, so that is one node with its ancestors, and
    an ancestor is no leaf: `pinned` is enough to keep them all.

    Args:
        page_bytes: Length of a page of ids; keys are multiples of it.
        policy: A name in `POLICIES`.
        is_bounded: Whether anything is ever dropped; if not, no order is kept.
    """

    def __init__(self, page_bytes: int, policy: str, *, is_bounded: bool) -> None:
        self._page_bytes = page_bytes
        self._rank = POLICIES[policy]
        self._is_bounded = is_bounded
        self._roots: dict[Hashable, Node] = {}
        self._clock = 0.0
        self._queue: list[tuple[Rank, int, Node]] = []
        self._entries = 0
        self._leaves = 0
        self._pinned: Node | None = None
        self.pages = 0
        """Pages that the tree holds."""

    def match(self, namespace: Hashable, key: bytes) -> Node:
        """The node where `key` stops being known. Splits an edge there and touches the path."""
        node = self._root(namespace)
        at, end, page = 0, len(key), self._page_bytes
        while at < end:
            child = node.children.get(key[at : at + page])
            if child is None:
                break
            if not key.startswith(child.key, at):
                node = self._split(child, self._shared(child.key, key, at))
                break
            node = child
            at += len(child.key)
        # An ancestor is a little older than what is below it, and newer than all that was touched before.
        now = self._tick()
        below: Node | None = node
        while below is not None:
            below.touched = now
            now -= 0.00001
            below = below.parent
        return node

    def insert(self, namespace: Hashable, key: bytes, *, counted: int, priority: int) -> Node:
        """Make `key` known; its last node. Nodes that end within the first `counted` bytes get no hit."""
        node = self._root(namespace)
        at, end, page = 0, len(key), self._page_bytes
        while at < end:
            child = node.children.get(key[at : at + page])
            if child is None:
                break
            child.touched = self._tick()
            if not key.startswith(child.key, at):
                child = self._split(child, self._shared(child.key, key, at))
            if child.priority < priority:
                child.priority = priority
            at += len(child.key)
            if at > counted:
                child.hits += 1
            node = child
        if at < end:
            leaf = Node(key[at:], (end - at) // page, node, self._tick(), priority)
            leaf.hits = int(end > counted)
            if node.children or node.parent is None:
                self._leaves += 1
            node.children[leaf.key[:page]] = leaf
            self.pages += leaf.pages
            node = leaf
        self._offer(node)
        return node

    def pin(self, node: Node | None) -> None:
        """Keep `node` and all above it from being dropped, in place of the node that was pinned until now."""
        free, self._pinned = self._pinned, node
        if free is not None:
            self._offer(free)

    def drop_leaf(self) -> int:
        """Drop the first leaf in the order of the policy: its pages, or 0 where nothing can be dropped."""
        queue = self._queue
        while queue:
            rank, _, node = heapq.heappop(queue)
            if node.queued is not rank:
                continue
            node.queued = None
            parent = node.parent
            if node.children or node is self._pinned or parent is None:
                continue
            del parent.children[node.key[: self._page_bytes]]
            self.pages -= node.pages
            if parent.children or parent.parent is None:
                self._leaves -= 1
            node.key = b""
            self._offer(parent)
            return node.pages
        return 0

    @staticmethod
    def depth(node: Node) -> int:
        """Pages from the root to the end of `node`."""
        pages = 0
        above: Node | None = node
        while above is not None:
            pages += above.pages
            above = above.parent
        return pages

    def _root(self, namespace: Hashable) -> Node:
        root = self._roots.get(namespace)
        if root is None:
            root = self._roots[namespace] = Node(b"", 0, None, self._tick(), 0)
        return root

    def _tick(self) -> float:
        self._clock += 1.0
        return self._clock

    def _split(self, child: Node, common: int) -> Node:
        """Cut `child`'s edge behind its first `common` bytes; the new node holds those."""
        parent = child.parent
        if parent is None:
            raise AssertionError("a root has no edge to split")
        page = self._page_bytes
        upper = Node(child.key[:common], common // page, parent, self._tick(), child.priority)
        upper.hits = child.hits
        parent.children[upper.key[:page]] = upper
        child.key = child.key[common:]
        child.pages -= upper.pages
        child.parent = upper
        child.touched = self._tick()
        upper.children[child.key[:page]] = child
        self._offer(child)
        return upper

    def _offer(self, node: Node) -> None:
        """Queue a leaf under its present rank. An earlier entry of it is outdated and is skipped when it comes up."""
        if not self._is_bounded or node.children or node.parent is None or node is self._pinned:
            return
        rank = node.queued = self._rank(node)
        self._entries += 1
        heapq.heappush(self._queue, (rank, self._entries, node))
        if len(self._queue) > LEAST_HEAP + 4 * self._leaves:
            self._queue = [entry for entry in self._queue if entry[2].queued is entry[0]]
            heapq.heapify(self._queue)

    def _shared(self, edge: bytes, key: bytes, at: int) -> int:
        """Bytes, in whole pages, that `edge` has in common with `key` from `at` on; one page at the least."""
        return shared_bytes(edge, key, at) // self._page_bytes * self._page_bytes
