"""OpenAI's encodings: two packaged, the older ones from tiktoken's cache or, where allowed, from OpenAI's server.

tiktoken's own download has no timeout and hangs behind a firewall that drops packets, so a missing file is fetched
here, with a timeout, checked against the digest that tiktoken publishes and put where tiktoken looks for it.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from prefixlab.errors import PrefixlabError
from prefixlab.tokenizers.byte_level import ByteLevelTokenizer, byte_alphabet
from prefixlab.tokenizers.patterns import CL100K, GPT2, O200K, PreTokenPattern
from prefixlab.tokenizers.vocabularies import PUBLISHED_SHA256, read_ranks

SERVER = "https://openaipublic.blob.core.windows.net/"
TIMEOUT_SECONDS = 10.0

PSEUDO_SPECIALS = {"<|im_start|>": 0x4000_0000, "<|im_end|>": 0x4000_0001, "<|im_sep|>": 0x4000_0002}
"""Marks of the ChatML-style layout that stands in for OpenAI's unpublished chat template. The published vocabularies
have no such tokens, the served models have something of the kind: each counts as one token, with an id beyond any
vocabulary, and only in text of the template."""

HARMONY_SPECIALS = {
    "<|startoftext|>": 199998,
    "<|endoftext|>": 199999,
    "<|reserved_200000|>": 200000,
    "<|reserved_200001|>": 200001,
    "<|return|>": 200002,
    "<|constrain|>": 200003,
    "<|reserved_200004|>": 200004,
    "<|channel|>": 200005,
    "<|start|>": 200006,
    "<|end|>": 200007,
    "<|message|>": 200008,
    "<|reserved_200009|>": 200009,
    "<|reserved_200010|>": 200010,
    "<|reserved_200011|>": 200011,
    "<|call|>": 200012,
    **{f"<|reserved_{id}|>": id for id in range(200013, 201088)},
    "<|endofprompt|>": 200018,
}


class Encoding(NamedTuple):
    """What tiktoken publishes about an encoding, and whether served models parse its special tokens in user text."""

    vocabulary: str
    pattern: PreTokenPattern
    special_tokens: Mapping[str, int]
    specials_in_content: bool = False


ENCODINGS = {
    "o200k_base": Encoding(
        "o200k_base", O200K, {"<|endoftext|>": 199999, "<|endofprompt|>": 200018, **PSEUDO_SPECIALS}
    ),
    "o200k_harmony": Encoding("o200k_base", O200K, HARMONY_SPECIALS, specials_in_content=True),
    "cl100k_base": Encoding(
        "cl100k_base",
        CL100K,
        {
            "<|endoftext|>": 100257,
            "<|fim_prefix|>": 100258,
            "<|fim_middle|>": 100259,
            "<|fim_suffix|>": 100260,
            "<|endofprompt|>": 100276,
            **PSEUDO_SPECIALS,
        },
    ),
    "p50k_base": Encoding("p50k_base", GPT2, {"<|endoftext|>": 50256, **PSEUDO_SPECIALS}),
    "p50k_edit": Encoding(
        "p50k_base",
        GPT2,
        {
            "<|endoftext|>": 50256,
            "<|fim_prefix|>": 50281,
            "<|fim_middle|>": 50282,
            "<|fim_suffix|>": 50283,
            **PSEUDO_SPECIALS,
        },
    ),
    "r50k_base": Encoding("r50k_base", GPT2, {"<|endoftext|>": 50256, **PSEUDO_SPECIALS}),
    "gpt2": Encoding("gpt2", GPT2, {"<|endoftext|>": 50256, **PSEUDO_SPECIALS}),
}

PUBLISHED_FILES = {
    "p50k_base": (
        "encodings/p50k_base.tiktoken",
        "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
    ),
    "r50k_base": (
        "encodings/r50k_base.tiktoken",
        "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
    ),
    "gpt2": (
        "gpt-2/encodings/main/vocab.bpe",
        "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",
    ),
}
"""Path on OpenAI's server and sha256 of each vocabulary that is not packaged."""


class OpenAIEncodings:
    """The encodings of tiktoken by name."""

    name = "openai"
    summary = (
        "OpenAI encodings: o200k_base and cl100k_base packaged, the older ones from tiktoken's cache or the network"
    )

    def load(self, wanted: str, *, offline: bool) -> ByteLevelTokenizer | None:
        encoding = ENCODINGS.get(wanted)
        if encoding is None:
            return None
        if encoding.vocabulary in PUBLISHED_SHA256:
            return _packaged(wanted)
        ranks = _published_ranks(wanted, encoding.vocabulary, offline)
        path, sha256 = PUBLISHED_FILES[encoding.vocabulary]
        return _tokenizer(wanted, ranks, path.rsplit("/", 1)[1], sha256)

    def known(self) -> Iterable[Mapping[str, str]]:
        for name, encoding in ENCODINGS.items():
            if encoding.vocabulary in PUBLISHED_SHA256:
                yield {"name": name, "source": "packaged", "offline": "yes"}
            else:
                cached = _cached_file(encoding.vocabulary) is not None
                yield {"name": name, "source": "openaipublic", "offline": "cached" if cached else "no"}


# A vocabulary never changes: a notebook that asks again and again does not build it anew.
@lru_cache(maxsize=2)
def _packaged(name: str) -> ByteLevelTokenizer:
    vocabulary = ENCODINGS[name].vocabulary
    return _tokenizer(name, read_ranks(vocabulary), "packaged", PUBLISHED_SHA256[vocabulary])


def _tokenizer(name: str, ranks: dict[bytes, int], source: str, sha256: str) -> ByteLevelTokenizer:
    encoding = ENCODINGS[name]
    return ByteLevelTokenizer(
        name,
        ranks,
        encoding.pattern,
        encoding.special_tokens,
        source=source,
        sha256=sha256,
        specials_in_content=encoding.specials_in_content,
    )


def _cache_path(vocabulary: str) -> Path:
    """Where tiktoken keeps the file."""
    import tempfile

    folder = os.environ.get("TIKTOKEN_CACHE_DIR") or os.environ.get("DATA_GYM_CACHE_DIR")
    url = SERVER + PUBLISHED_FILES[vocabulary][0]
    key = hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()
    return Path(folder or os.path.join(tempfile.gettempdir(), "data-gym-cache")) / key


def _cached_file(vocabulary: str) -> bytes | None:
    """The file in tiktoken's cache, if it is there and is the published one."""
    try:
        data = _cache_path(vocabulary).read_bytes()
    except OSError:
        return None
    return data if hashlib.sha256(data).hexdigest() == PUBLISHED_FILES[vocabulary][1] else None


def _download(vocabulary: str) -> bytes:
    """The file from OpenAI's server, kept in tiktoken's cache where that can be written.

    Raises:
        OSError: no network, no answer in time, or another file than the published one.
    """
    import urllib.request
    import uuid

    path, sha256 = PUBLISHED_FILES[vocabulary]
    with urllib.request.urlopen(SERVER + path, timeout=TIMEOUT_SECONDS) as answer:  # noqa: S310
        data: bytes = answer.read()
    if hashlib.sha256(data).hexdigest() != sha256:
        raise OSError("the server sent another file than the published one")
    target = _cache_path(vocabulary)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f"{target.name}.{uuid.uuid4()}.tmp")
        partial.write_bytes(data)
        partial.replace(target)
    except OSError:
        pass
    return data


def _published_ranks(wanted: str, vocabulary: str, offline: bool) -> dict[bytes, int]:
    data = _cached_file(vocabulary)
    why = "--offline does not fetch it"
    if data is None and not offline:
        try:
            data = _download(vocabulary)
        except OSError as error:
            why = f"fetching it failed ({getattr(error, 'reason', None) or error})"
    if data is None:
        raise PrefixlabError(
            f"the vocabulary of {wanted} is not on this machine and {why}",
            f"Put {SERVER}{PUBLISHED_FILES[vocabulary][0]} in TIKTOKEN_CACHE_DIR as {_cache_path(vocabulary).name}, "
            "name a folder with a tokenizer.json, or use a packaged one: o200k_base, cl100k_base, qwen3",
        )
    if vocabulary == "gpt2":
        return {token: rank for rank, token in enumerate(_parse_merges(data))}
    return _parse_ranks(data)


def _parse_ranks(data: bytes) -> dict[bytes, int]:
    """Ranks of a `.tiktoken` file; p50k_base leaves out the rank of its special token."""
    pairs = [line.split() for line in data.splitlines() if line]
    return {base64.b64decode(token): int(rank) for token, rank in pairs}


def _parse_merges(data: bytes) -> list[bytes]:
    """Tokens in rank order of GPT-2's `vocab.bpe`: the bytes, printable ones first, then each merge."""
    alphabet = byte_alphabet()
    byte_of = {character: byte for byte, character in enumerate(alphabet)}
    tokens = [bytes([byte]) for byte in sorted(range(256), key=lambda byte: ord(alphabet[byte]))]
    for line in data.decode().split("\n")[1:-1]:
        tokens.append(bytes([byte_of[character] for character in line.replace(" ", "")]))
    return tokens


FAMILY = OpenAIEncodings()
