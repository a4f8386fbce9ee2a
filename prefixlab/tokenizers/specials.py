"""Finding special tokens in text the way Hugging Face tokenizers do: leftmost first, the longest there."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator


class SpecialTokens:
    """A set of texts that become one token each, ready to be found."""

    def __init__(self, texts: Collection[str]) -> None:
        self._texts = frozenset(text for text in texts if text)
        self.hold_line_breaks = any("\n" in text for text in self._texts)
        self._firsts = sorted({text[0] for text in self._texts})
        self._longest = max(map(len, self._texts), default=0)
        self._prefixes = {text[:end] for text in self._texts for end in range(1, len(text))}
        self._regex = re.compile(f"({_trie_regex(sorted(self._texts))})") if self._texts else None

    def split(self, text: str) -> list[str]:
        """Ordinary text and special tokens in turn: an even place is ordinary (perhaps empty), an odd one special."""
        if self._regex is None or not self._may_hold(text):
            return [text]
        return self._regex.split(text)

    def found(self, text: str) -> list[str]:
        """The special tokens in the text."""
        return self.split(text)[1::2]

    def ends_open(self, text: str) -> bool:
        """Whether text that follows could complete a special token begun in this text's end."""
        tail = text[1 - self._longest :] if self._longest > 1 else ""
        if not self._may_hold(tail):
            return False
        return any(tail[start:] in self._prefixes for start in range(len(tail)))

    def _may_hold(self, text: str) -> bool:
        for first in self._firsts:  # noqa: SIM110
            if first in text:
                return True
        return False


def _trie_regex(texts: list[str]) -> str:
    """A regular expression for any of the sorted, distinct texts that takes the longest, without trying each."""
    return "|".join(_branches(texts))


def _branches(texts: list[str]) -> Iterator[str]:
    place = 0
    while place < len(texts):
        group = [text for text in texts[place:] if text[0] == texts[place][0]]
        place += len(group)
        shared = _shared_prefix(group[0], group[-1])
        rests = [text[len(shared) :] for text in group]
        if rests == [""]:
            yield re.escape(shared)
        elif rests[0] == "":
            yield f"{re.escape(shared)}(?:{_trie_regex(rests[1:])})?"
        else:
            yield f"{re.escape(shared)}(?:{_trie_regex(rests)})"


def _shared_prefix(first: str, last: str) -> str:
    """What all of a sorted list share is what its first and last share."""
    end = 0
    while end < min(len(first), len(last)) and first[end] == last[end]:
        end += 1
    return first[:end]
