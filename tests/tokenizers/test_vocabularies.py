"""The packaged vocabularies are the published ones."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from prefixlab.errors import PrefixlabError
from prefixlab.tokenizers import load_tokenizer, vocabularies
from prefixlab.tokenizers.byte_level import ByteLevelTokenizer, byte_alphabet, unpack_ids
from prefixlab.tokenizers.packaged_qwen import ADDED_TOKENS, CONTROL_TOKENS, FIRST_ADDED
from prefixlab.tokenizers.vocabularies import PACKED_SHA256, PUBLISHED_SHA256, SEPARATOR, read_tokens
from prefixlab.tokenizers.vocabularies.build import pack, parse_tiktoken, tiktoken_text
from tests.reference import reference_folder

BODY = (
    "You are a support assistant for an online bookshop. Answer in two sentences, quote the order number, and never "
    "promise a refund date. If you are unsure, ask one question."
)
TURN_1 = "User: Where is my order 1182?\nAssistant: It left the depot today. Shall I text you then?"
TURN_2 = "\nUser: Yes please, and can you also change the delivery address to my new office too?\nAssistant:"


@pytest.mark.parametrize("name", PACKED_SHA256)
def test_the_published_file_comes_back_to_the_byte(name: str) -> None:
    text = tiktoken_text(read_tokens(name))
    assert hashlib.sha256(text).hexdigest() == PUBLISHED_SHA256[name]
    assert parse_tiktoken(text) == read_tokens(name)


def test_packing_is_reproducible() -> None:
    packed = (Path(vocabularies.__file__).parent / "cl100k_base.zst").read_bytes()
    assert len(packed) < 400_000
    tokens = [bytes([byte]) for byte in range(256)] + [b"bc", b"a" * 300]
    assert pack(tokens) == pack(tokens)
    with pytest.raises(ValueError, match="separator"):
        pack([b"a" + SEPARATOR])


def test_a_changed_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PACKED_SHA256, "qwen3", "0" * 64)
    with pytest.raises(PrefixlabError, match=r"the packaged vocabulary qwen3 is damaged\. Install prefixlab again"):
        read_tokens("qwen3")


def test_qwen3_is_its_published_tokenizer_json() -> None:
    content = orjson.loads((reference_folder("qwen3") / "tokenizer.json").read_bytes())
    alphabet = byte_alphabet()
    tokens = ["".join([alphabet[byte] for byte in token]) for token in read_tokens("qwen3")]
    assert {token: rank for rank, token in enumerate(tokens)} == content["model"]["vocab"]
    added = [(token["content"], token["id"]) for token in content["added_tokens"]]
    assert added == [(token, FIRST_ADDED + place) for place, token in enumerate(ADDED_TOKENS)]
    assert {token["content"] for token in content["added_tokens"] if token["special"]} == CONTROL_TOKENS
    # A merge joins the two tokens that the ranks below its own leave of it.
    made = [left + right for left, right in content["model"]["merges"]]
    assert made == [token for token in tokens if len(token) > 1]


def test_the_licences_are_with_the_files() -> None:
    notice = (Path(vocabularies.__file__).parent / "NOTICE").read_text()
    assert "OpenAI" in notice
    assert "Apache License 2.0" in notice
    assert all(f"{name}.zst" in notice for name in PACKED_SHA256)


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base", "qwen3"])
def test_decoding_gives_the_text_back(name: str) -> None:
    tokenizer = load_tokenizer(name, offline=True)
    text = "Where is order 1182? 東京 👩\u200d💻\r\n\tüber"
    assert tokenizer.decode(tokenizer.encode_ordinary(text)).decode() == text
    for special, id in tokenizer.special_tokens.items():
        assert tokenizer.decode(id.to_bytes(4, "little")).decode() == special
    assert tokenizer.decode(b"\xfe\xff\xff\xff") == b""


def test_the_core_is_loaded_without_its_package_and_only_once() -> None:
    script = """
import sys
from prefixlab.tokenizers import load_tokenizer
core = type(load_tokenizer("qwen3", offline=True)._core)
assert not {"tiktoken", "concurrent.futures", "rich", "pandas", "prefixlab.tokenizers.huggingface"} & set(sys.modules)
import tiktoken
assert tiktoken.core._tiktoken.CoreBPE is core
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def _counts(name: str, *texts: str) -> list[int]:
    return [len(_ids(name, text)) for text in texts]


def _ids(name: str, text: str) -> list[int]:
    return unpack_ids(load_tokenizer(name).encode_ordinary(text))


def _shared(name: str, first: str, second: str) -> int:
    pairs = zip(_ids(name, first), _ids(name, second))
    return next((place for place, (a, b) in enumerate(pairs) if a != b), len(_ids(name, first)))


def test_published_token_counts() -> None:
    questions = ("What's your refund policy?", "What is your refund policy?")
    assert (_counts("o200k_base", *questions), _shared("o200k_base", *questions)) == ([5, 6], 0)
    assert (_counts("cl100k_base", *questions), _shared("cl100k_base", *questions)) == ([6, 6], 1)
    clock_first = [f"Current time: 09:{minute}.\n{BODY}" for minute in (14, 15)]
    assert (_counts("o200k_base", *clock_first), _shared("o200k_base", *clock_first)) == ([45, 45], 6)
    clock_last = [f"{BODY}\nCurrent time: 09:{minute}." for minute in (14, 15)]
    assert (_counts("o200k_base", *clock_last), _shared("o200k_base", *clock_last)) == ([45, 45], 43)
    turns = (TURN_1, TURN_1 + TURN_2)
    assert (_counts("o200k_base", *turns), _shared("o200k_base", *turns)) == ([24, 45], 23)


def test_names_of_the_same_ranks_differ_in_added_tokens() -> None:
    text = "<think>"
    assert "<think>" in load_tokenizer("qwen3").special_tokens
    assert "<think>" not in load_tokenizer("qwen2.5").special_tokens
    assert list(load_tokenizer("qwen2").special_tokens) == ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    assert isinstance(load_tokenizer("qwen3"), ByteLevelTokenizer)
    assert _ids("qwen3", text) == _ids("qwen2", text)
