"""Packs published vocabularies into the form that ships, and takes them apart again for the checks.

A packed vocabulary is xz over: the number of tokens (four bytes, little-endian), the length of each token in rank order
(a byte each), the bytes of all tokens one after the other. That is a third of the published text, and reading it is one
pass without base64. Nothing is lost: `tiktoken_text` gives the published file back to the byte, which is how the tests
hold the packed ones to their published digests.

    python -m prefixlab.tokenizers.vocabularies.build o200k_base FILE.tiktoken
    python -m prefixlab.tokenizers.vocabularies.build qwen3 tokenizer.json
"""

from __future__ import annotations

import base64
import hashlib
import lzma
import sys
from collections.abc import Sequence
from pathlib import Path

PUBLISHED_SHA256 = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "qwen3": "b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186",
}
"""Of the vocabulary in tiktoken's text form: for the OpenAI encodings the published file, for Qwen 3 the
`qwen.tiktoken` that Qwen publishes, whose ranks are those of the `tokenizer.json` of Qwen 2, 2.5 and 3."""

FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "lp": 0, "pb": 0}]


def pack(tokens: Sequence[bytes]) -> bytes:
    """The packed file of tokens in rank order."""
    head = len(tokens).to_bytes(4, "little") + bytes(map(len, tokens))
    return lzma.compress(head + b"".join(tokens), check=lzma.CHECK_CRC64, filters=FILTERS)


def tiktoken_text(tokens: Sequence[bytes]) -> bytes:
    """The vocabulary as a `.tiktoken` file: base64 of the token, a blank, its rank."""
    return b"".join([base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens)])


def parse_tiktoken(text: bytes) -> list[bytes]:
    """Tokens in rank order from a `.tiktoken` file whose ranks have no gap."""
    tokens = []
    for rank, line in enumerate(text.splitlines()):
        token, number = line.split()
        if int(number) != rank:
            raise ValueError(f"line {rank + 1}: rank {int(number)} where {rank} is due")
        tokens.append(base64.b64decode(token))
    return tokens


def main(name: str, published: str) -> None:
    from prefixlab.tokenizers.byte_level import vocabulary_bytes

    data = Path(published).read_bytes()
    if published.endswith(".json"):
        import orjson

        tokens = vocabulary_bytes(orjson.loads(data)["model"]["vocab"])
    else:
        tokens = parse_tiktoken(data)
    digest = hashlib.sha256(tiktoken_text(tokens)).hexdigest()
    if digest != PUBLISHED_SHA256[name]:
        raise SystemExit(f"{published}: sha256 {digest} is not the published one of {name}")
    packed = pack(tokens)
    target = Path(__file__).with_name(f"{name}.xz")
    target.write_bytes(packed)
    print(f"{target.name}: {len(tokens)} tokens, {len(packed)} bytes, sha256 {hashlib.sha256(packed).hexdigest()}")


if __name__ == "__main__":
    main(*sys.argv[1:])
