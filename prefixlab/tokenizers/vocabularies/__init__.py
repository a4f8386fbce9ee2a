"""The vocabularies that ship with prefixlab, so that its main job needs no network. Licences: `NOTICE`.

`build.py` makes them from the published files and says what they hold; the tests rebuild the published files from
them and compare digests.
"""

from __future__ import annotations

import hashlib
import itertools
from pathlib import Path

from prefixlab.errors import PrefixlabError

PUBLISHED_SHA256 = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "qwen3": "b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186",
}
"""Of the vocabulary in tiktoken's text form: for the OpenAI encodings the published file, for Qwen 3 the
`qwen.tiktoken` that Qwen publishes, whose ranks are those of the `tokenizer.json` of Qwen 2, 2.5 and 3."""

PACKED_SHA256 = {
    "o200k_base": "fed0a844c6e6759cfb07a03771d03244eab6bb501f71d22d621439aebe279d53",
    "cl100k_base": "09f38bf06d95c27014117acc51d7898151c4def7f2f8acdaa7ed91bcd01ebcb1",
    "qwen3": "045db0fd3373511566fb480d97ea789b59b782b98a13ccfec99c574a3cb27586",
}
"""Of the packed files."""

SEPARATOR = b"\xfe\xff"
"""Stands between two tokens of a packed file: bytes that no UTF-8 has and that are one-byte tokens only."""


def read_ranks(name: str) -> dict[bytes, int]:
    """The tokens of a packaged vocabulary with their ranks.

    Raises:
        PrefixlabError: the packed file was changed since it was built.
    """
    return dict(zip(read_tokens(name), itertools.count()))


def read_tokens(name: str) -> list[bytes]:
    """The tokens of a packaged vocabulary in rank order.

    Raises:
        PrefixlabError: the packed file was changed since it was built.
    """
    from zstandard import ZstdDecompressor

    packed = (Path(__file__).parent / f"{name}.zst").read_bytes()
    if hashlib.sha256(packed).hexdigest() != PACKED_SHA256[name]:
        raise PrefixlabError(f"the packaged vocabulary {name} is damaged", "Install prefixlab again")
    return ZstdDecompressor().decompress(packed).split(SEPARATOR)
