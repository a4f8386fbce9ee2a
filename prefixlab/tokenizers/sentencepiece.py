"""SentencePiece models (`tokenizer.model`), by the `sentencepiece` package (extra of that name)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from prefixlab.errors import MissingExtra, PrefixlabError
from prefixlab.tokenizers.byte_level import pack_ids, unpack_ids


class SentencePieceTokenizer:
    """A SentencePiece model; a `TextTokenizer`.

    A word may reach over any blank and a stretch's start gets one of its own, so text is cut at special tokens only:
    the control symbols of the model, parsed in the template's text and never in a user's.
    """

    specials_in_content = False
    cuts_at_whitespace = False

    def __init__(self, raw: bytes, name: str, source: str) -> None:
        try:
            from sentencepiece import SentencePieceProcessor
        except ImportError:
            raise MissingExtra(f"reading {source}", "sentencepiece") from None
        self._model = SentencePieceProcessor()
        try:
            self._model.LoadFromSerializedProto(raw)
        except RuntimeError as error:
            raise PrefixlabError(f"{source} is not a SentencePiece model ({error})", "Fetch the file again") from None
        self.name = name
        self.source = source
        self.sha256: str | None = hashlib.sha256(raw).hexdigest()
        marks = [id for id in range(self._model.GetPieceSize()) if self._model.IsControl(id)]
        self.special_tokens: Mapping[str, int] = {self._model.IdToPiece(id): id for id in marks}
        bos = self._model.bos_id()
        self.bos = pack_ids([bos] if bos >= 0 else [])

    def encode_ordinary(self, text: str) -> bytes:
        try:
            return pack_ids(self._model.EncodeAsIds(text))
        except UnicodeEncodeError:
            raise PrefixlabError(
                "the text has a lone surrogate, which no tokenizer takes", "Write the text as valid Unicode"
            ) from None

    def decode(self, tokens: bytes) -> bytes:
        text: str = self._model.DecodeIds(unpack_ids(tokens))
        return text.encode()


class SentencePieceFamily:
    """A `*.model` file, or a folder with `tokenizer.model` and none of the other kinds."""

    name = "sentencepiece"
    summary = "a SentencePiece tokenizer.model"

    def load(self, wanted: str, *, offline: bool) -> SentencePieceTokenizer | None:
        path = Path(wanted)
        if path.is_dir() and not any((path / other).is_file() for other in ("tokenizer.json", "tekken.json")):
            path = path / "tokenizer.model"
        if not path.is_file() or ".model" not in path.name:
            return None
        name = path.resolve().parent.name if path.name == "tokenizer.model" else path.name
        return SentencePieceTokenizer(path.read_bytes(), name, path.name)

    def known(self) -> Iterable[Mapping[str, str]]:
        return []


FAMILY = SentencePieceFamily()
