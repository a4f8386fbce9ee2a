"""Any `tokenizer.json`, by the `tokenizers` library itself: exact by definition, and slower."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from prefixlab.errors import PrefixlabError
from prefixlab.tokenizers.byte_level import pack_ids, unpack_ids
from prefixlab.tokenizers.tokenizer_json import (
    added_tokens,
    bos_ids,
    can_split_at,
    normalizes_to_nfc,
    pattern_of,
    split_regexes,
)

DEEPSEEK_V3 = [
    r"\p{N}{1,3}",
    "[一-龥\u3040-ゟ゠-ヿ]+",
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^NL\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[NL]*|"""
    r"""\s*[NL]+|\s+(?!\S)|\s+""".replace("NL", "\r\n"),
]
"""Three splits one after the other, which no single expression does. The cuts of `patterns.py` hold: digits and CJK
runs hold no blanks, and the last split is of the same make as the others."""


class LibraryTokenizer:
    """A `tokenizer.json` at work in the `tokenizers` library; a `TextTokenizer`.

    Added tokens that take blanks along or mind their neighbours are left to the library: then text is split at none.
    """

    def __init__(
        self, raw: bytes, content: Mapping[str, Any], config: Mapping[str, Any], *, name: str, source: str
    ) -> None:
        from tokenizers import Tokenizer

        try:
            self._tokenizer = Tokenizer.from_buffer(raw)
        except Exception as error:  # the library raises plain exceptions
            raise PrefixlabError(f"{source} cannot be read as a tokenizer: {error}", "Fetch the file again") from None
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self.name = name
        self.source = source
        self.sha256: str | None = hashlib.sha256(raw).hexdigest()
        nfc = normalizes_to_nfc(content)
        added = added_tokens(content)
        splits = can_split_at(added, nfc) and not _minds_the_start(content)
        texts = [token["content"] for token in added] if splits else []
        self.special_tokens: Mapping[str, int] = {text: self._tokenizer.token_to_id(text) or 0 for text in texts}
        self.control_tokens = frozenset([token["content"] for token in added if token.get("special")])
        self.specials_in_content = True
        pattern = pattern_of(content)
        is_known = (pattern is not None and pattern.cuts) or split_regexes(content) == DEEPSEEK_V3
        self.cuts_at_whitespace = splits and nfc is not None and is_known
        self.bos = pack_ids(bos_ids(content, config))

    def encode_ordinary(self, text: str) -> bytes:
        """The ids of text; special tokens that the encoder did not split off are parsed here."""
        try:
            return pack_ids(self._tokenizer.encode(text, add_special_tokens=False).ids)
        except TypeError:
            raise PrefixlabError(
                "the text has a lone surrogate, which no tokenizer takes", "Write the text as valid Unicode"
            ) from None

    def decode(self, tokens: bytes) -> bytes:
        """The text that the ids stand for; a character cut by the ends is replaced."""
        decoded: str = self._tokenizer.decode(unpack_ids(tokens), skip_special_tokens=False)
        return decoded.encode()

    def __repr__(self) -> str:
        return f"LibraryTokenizer({self.name!r})"


def _minds_the_start(content: Mapping[str, Any]) -> bool:
    """Whether the first stretch of a text is treated unlike those behind special tokens."""
    found = str(content.get("pre_tokenizer")) + str(content.get("normalizer"))
    return "'prepend_scheme': 'first'" in found
