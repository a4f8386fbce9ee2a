"""Byte-level BPE at tiktoken's speed: ranks, a pre-token pattern, NFC where the model's tokenizer applies it."""

from __future__ import annotations

import codecs
import re
import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from prefixlab.errors import PrefixlabError
from prefixlab.tokenizers.normalization import to_nfc
from prefixlab.tokenizers.patterns import BLANKS, INLINE_BLANKS, PreTokenPattern
from prefixlab.tokenizers.tiktoken_core import core_bpe

if TYPE_CHECKING:
    from tiktoken._tiktoken import CoreBPE

LONG_BLANKS = 1000
"""Runs of blanks from this length on are encoded without the regular expression, whose stack they overflow."""

SAMPLED = 50
"""One character in so many is looked at first to find out whether a text can hold such a run."""

SCAN_ID = 0xFFFF_FFFF
_IS_LITTLE = sys.byteorder == "little"
_NO_SPECIALS: set[str] = set()


def byte_alphabet() -> str:
    """The character that GPT-2's byte alphabet writes for each byte, by byte."""
    printable = [byte for byte in range(256) if chr(byte).isprintable() and byte != 0x20]
    shown = {byte: chr(byte) for byte in printable}
    hidden = [byte for byte in range(256) if byte not in shown]
    shown.update({byte: chr(256 + place) for place, byte in enumerate(hidden)})
    return "".join([shown[byte] for byte in range(256)])


def vocabulary_bytes(vocabulary: Iterable[str]) -> list[bytes]:
    """The bytes of tokens written in the byte alphabet.

    Raises:
        UnicodeEncodeError: a token has a character outside the alphabet.
    """
    tokens = list(vocabulary)
    encoded = codecs.charmap_encode("".join(tokens), "strict", codecs.charmap_build(byte_alphabet()))[0]
    ends = list(accumulate(map(len, tokens), initial=0))
    return [encoded[start:end] for start, end in pairwise(ends)]


def pack_ids(ids: Iterable[int]) -> bytes:
    """Ids as `tokens` bytes: four a token, little-endian."""
    packed = array("I", ids)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def unpack_ids(tokens: bytes) -> list[int]:
    """The ids of `tokens` bytes."""
    ids = array("I", tokens)
    if sys.byteorder == "big":
        ids.byteswap()
    return ids.tolist()


class ByteLevelTokenizer:
    """A byte-level BPE vocabulary on tiktoken's core; a `TextTokenizer`.

    `control_tokens` are the special tokens that a user's text should not hold: those that carry a prompt's structure.
    """

    def __init__(
        self,
        name: str,
        ranks: dict[bytes, int],
        pattern: PreTokenPattern,
        special_tokens: Mapping[str, int],
        *,
        source: str,
        sha256: str | None,
        specials_in_content: bool,
        nfc: bool = False,
        bos: Sequence[int] = (),
        control_tokens: Iterable[str] | None = None,
    ) -> None:
        self.name = name
        self.source = source
        self.sha256 = sha256
        self.special_tokens: Mapping[str, int] = dict(special_tokens)
        self.specials_in_content = specials_in_content
        self.control_tokens = frozenset(special_tokens if control_tokens is None else control_tokens)
        self.cuts_at_whitespace = pattern.cuts
        self.bos = pack_ids(bos)
        self._nfc = nfc
        # One special token keeps tiktoken's scan for them cheap; none at all makes it match everywhere.
        self._core: CoreBPE = core_bpe()(ranks, {"<|special|>": SCAN_ID}, pattern.regex)
        self._special_texts = {id: text.encode() for text, id in special_tokens.items()}
        blanks = INLINE_BLANKS if pattern.newline_blanks else BLANKS
        self._may_be_long = re.compile(rf"[{blanks}]{{{LONG_BLANKS // SAMPLED}}}")
        self._long_blanks = re.compile(rf"(?<![{blanks}])[{blanks}]{{{LONG_BLANKS},}}+(?![\r\n])")

    def encode_ordinary(self, text: str) -> bytes:
        """The ids of text without special tokens; look-alikes of them count as text."""
        if self._nfc and not text.isascii():
            text = to_nfc(text)
        if len(text) >= LONG_BLANKS and self._may_be_long.search(text[::SAMPLED]):
            return b"".join(self._encode_long(text))
        return self._encode(text)

    def _encode(self, text: str) -> bytes:
        try:
            if _IS_LITTLE:
                return bytes(self._core.encode_to_tiktoken_buffer(text, _NO_SPECIALS))
            return pack_ids(self._core.encode_ordinary(text))
        except UnicodeEncodeError:
            raise PrefixlabError(
                "the text has a lone surrogate, which no tokenizer takes", "Write the text as valid Unicode"
            ) from None

    def _encode_long(self, text: str) -> Iterable[bytes]:
        """Encodes around long runs of blanks: all of such a run but its last blank is one pre-token.

        `\\s+(?!\\S)` gives the last blank back to the word behind; at the end of text it keeps it.
        """
        place = 0
        for match in self._long_blanks.finditer(text):
            start, end = match.span()
            end -= end < len(text)
            yield self._encode(text[place:start])
            yield pack_ids(self._core.encode_single_piece(text[start:end].encode()))
            place = end
        yield self._encode(text[place:])

    def decode(self, tokens: bytes) -> bytes:
        """The UTF-8 bytes that the ids stand for; nothing for an id outside the vocabulary."""
        ids = unpack_ids(tokens)
        try:
            return bytes(self._core.decode_bytes(ids))
        except KeyError:
            return b"".join(map(self._decode_one, ids))

    def _decode_one(self, id: int) -> bytes:
        try:
            return self._special_texts.get(id) or bytes(self._core.decode_single_token_bytes(id))
        except KeyError:
            return b""

    def __repr__(self) -> str:
        return f"ByteLevelTokenizer({self.name!r})"
