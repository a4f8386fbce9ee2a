"""Packs published vocabularies into the form that ships, and takes them apart again for the checks.

A packed vocabulary is zstd over the tokens in rank order, with a separator between them that no token holds. That is a
third of the published text, and one call of `split` takes it apart. Nothing is lost: `tiktoken_text` gives the
published file back to the byte, which is how the tests hold the packed ones to their published digests.

    python -m prefixlab.tokenizers.vocabularies.build o200k_base FILE.tiktoken
    python -m prefixlab.tokenizers.vocabularies.build qwen3 tokenizer.json
"""

from __future__ import annotations

import base64
import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path

from zstandard import ZstdCompressionParameters, ZstdCompressor

from prefixlab.tokenizers.vocabularies import PUBLISHED_SHA256, SEPARATOR


def pack(tokens: Sequence[bytes]) -> bytes:
    """The packed file of tokens in rank order.

    Raises:
        ValueError: the separator would not tell these tokens apart.
    """
    content = SEPARATOR.join(tokens)
    if content.split(SEPARATOR) != list(tokens):
        raise ValueError("a token holds the separator")
    strongest = ZstdCompressionParameters.from_level(22, source_size=len(content), write_checksum=True)
    return ZstdCompressor(compression_params=strongest).compress(content)


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
    target = Path(__file__).with_name(f"{name}.zst")
    target.write_bytes(packed)
    print(f"{target.name}: {len(tokens)} tokens, {len(packed)} bytes, sha256 {hashlib.sha256(packed).hexdigest()}")


if __name__ == "__main__":
    main(*sys.argv[1:])
