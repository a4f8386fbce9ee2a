"""The tokenizer `none`: for logs that hold token ids, which need no vocabulary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from prefixlab.errors import PrefixlabError


class TokenIdsOnly:
    """Takes token ids as they are and refuses text; a `TextTokenizer`."""

    name = "none"
    source = "token ids as logged"
    sha256: str | None = None
    special_tokens: Mapping[str, int] = {}
    specials_in_content = False
    cuts_at_whitespace = False
    bos = b""

    def encode_ordinary(self, text: str) -> bytes:
        raise PrefixlabError(
            "the log has text, and the tokenizer `none` takes token ids only",
            "Name the served model's tokenizer, such as --tokenizer qwen3 or a folder with its tokenizer.json",
        )

    def decode(self, tokens: bytes) -> bytes:
        """Nothing: an id has no text here."""
        return b""


class TokenIdFamily:
    """The name `none`."""

    name = "none"
    summary = "token ids as logged, no vocabulary"

    def load(self, wanted: str, *, offline: bool) -> TokenIdsOnly | None:
        return TokenIdsOnly() if wanted == "none" else None

    def known(self) -> Iterable[Mapping[str, str]]:
        return [{"name": "none", "source": "the log itself", "offline": "yes"}]


FAMILY = TokenIdFamily()
