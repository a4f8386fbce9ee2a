"""The vocabularies that ship with prefixlab, so that its main job needs no network. Licences: `NOTICE`.

`build.py` makes them from the published files and says what they hold; the tests rebuild the published files from
them and compare digests.
"""

from __future__ import annotations

import hashlib
import lzma
from itertools import accumulate, pairwise
from pathlib import Path

from prefixlab.errors import PrefixlabError

PACKED_SHA256 = {
    "o200k_base": "60499583aaff290901747f38f3ae94b8a494cbd9e53cf03494b3c7fc52453314",
    "cl100k_base": "1c4034dce56da22e434ff44fba979fdd188ca612ada0959e2e86725921cebe8d",
    "qwen3": "1d879f3f403c92450e0f6d652d5ca2bc42bf499488239fc566a50d067178b8eb",
}


def read_tokens(name: str) -> list[bytes]:
    """The tokens of a packaged vocabulary in rank order.

    Raises:
        PrefixlabError: the packed file was changed since it was built.
    """
    packed = (Path(__file__).parent / f"{name}.xz").read_bytes()
    if hashlib.sha256(packed).hexdigest() != PACKED_SHA256[name]:
        raise PrefixlabError(f"the packaged vocabulary {name} is damaged", "Install prefixlab again")
    content = lzma.decompress(packed)
    body = 4 + int.from_bytes(content[:4], "little")
    ends = list(accumulate(content[4:body], initial=body))
    return [content[start:end] for start, end in pairwise(ends)]
