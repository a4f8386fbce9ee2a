"""Names and paths to tokenizers, and one clear line where there is none."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import orjson
import pytest

from prefixlab.errors import PrefixlabError
from prefixlab.tokenizers import families, known_tokenizers, load_tokenizer, openai_encodings
from prefixlab.tokenizers.byte_level import ByteLevelTokenizer, byte_alphabet, unpack_ids
from prefixlab.tokenizers.model_names import tokenizer_of_model

MERGES = [("a", "b"), ("ab", "c"), ("d", "e"), ("de", "f"), ("abc", "def")]
QWEN_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def small_file(**changes: Any) -> dict[str, Any]:
    """A `tokenizer.json` of 256 bytes and five merges."""
    texts = [*byte_alphabet(), *(left + right for left, right in MERGES)]
    content: dict[str, Any] = {
        "version": "1.0",
        "added_tokens": [_added(len(texts), "<|end|>")],
        "normalizer": None,
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "Split", "pattern": {"Regex": QWEN_SPLIT}, "behavior": "Isolated", "invert": False},
                {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False},
            ],
        },
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "vocab": {text: id for id, text in enumerate(texts)},
            "merges": [" ".join(pair) for pair in MERGES],
        },
    }
    return content | changes


def _added(id: int, text: str, **flags: bool) -> dict[str, Any]:
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {"id": id, "content": text, **plain, **flags}


def write(folder: Path, content: dict[str, Any], config: dict[str, Any] | None = None) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "tokenizer.json").write_bytes(orjson.dumps(content))
    if config is not None:
        (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("gpt-4o", "o200k_base"),
        ("gpt-4o-mini-2024-07-18", "o200k_base"),
        ("gpt-4.1-nano", "o200k_base"),
        ("gpt-5", "o200k_base"),
        ("gpt-5.1-codex", "o200k_base"),
        ("o3-mini", "o200k_base"),
        ("ft:gpt-4o-mini:acme::abc", "o200k_base"),
        ("gpt-4-turbo", "cl100k_base"),
        ("gpt-3.5-turbo-0125", "cl100k_base"),
        ("gpt-oss-120b", "o200k_harmony"),
        ("openai/gpt-oss-20b", "o200k_harmony"),
        ("Qwen/Qwen3-8B", "qwen3"),
        ("Qwen3-235B-A22B-Instruct-2507", "qwen3"),
        ("Qwen/Qwen2.5-7B-Instruct", "qwen2.5"),
        ("Qwen/Qwen2-0.5B", "qwen2"),
        ("Qwen/Qwen3.5-9B", None),
        ("Qwen/Qwen2.5-VL-7B", None),
        ("meta-llama/Llama-3.1-8B", None),
        ("my-model", None),
    ],
)
def test_model_names(model: str, name: str | None) -> None:
    assert tokenizer_of_model(model) == name


def test_every_family_is_found_and_says_what_it_is() -> None:
    assert {family.name for family in families()} == {
        *("huggingface", "mistral", "none", "openai", "qwen", "sentencepiece")
    }
    for family in families():
        assert family.summary
        assert family.load("no such name", offline=True) is None
    offline = {row["name"] for row in known_tokenizers() if row["offline"] == "yes"}
    assert {"o200k_base", "cl100k_base", "o200k_harmony", "qwen3", "none"} <= offline


def test_close_names_are_offered() -> None:
    with pytest.raises(PrefixlabError, match=r"no tokenizer is called o200k-bas\. Use o200k_base"):
        load_tokenizer("o200k-bas")


def test_a_missing_encoding_names_the_ways_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))

    def no_network(*_: object, **__: object) -> object:
        raise OSError("no route to host")

    monkeypatch.setattr("urllib.request.urlopen", no_network)
    with pytest.raises(PrefixlabError) as offline:
        load_tokenizer("p50k_base", offline=True)
    assert "--offline does not fetch it" in str(offline.value)
    with pytest.raises(PrefixlabError) as dead:
        load_tokenizer("p50k_base")
    assert "no route to host" in str(dead.value)
    assert "TIKTOKEN_CACHE_DIR" in str(dead.value)
    assert "\n" not in str(dead.value)


def test_an_older_encoding_comes_from_tiktokens_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    alphabet = byte_alphabet()
    merges = b"#version: 0.2\n" + "".join([f"{a} {b}\n" for a, b in MERGES]).encode()
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    digest = hashlib.sha256(merges).hexdigest()
    monkeypatch.setitem(openai_encodings.PUBLISHED_FILES, "gpt2", ("gpt-2/vocab.bpe", digest))
    name = hashlib.sha1(f"{openai_encodings.SERVER}gpt-2/vocab.bpe".encode()).hexdigest()
    (tmp_path / name).write_bytes(merges)
    tokenizer = load_tokenizer("gpt2", offline=True)
    assert unpack_ids(tokenizer.encode_ordinary("abcdef!")) == [260, sorted(alphabet).index("!")]
    assert not tokenizer.cuts_at_whitespace
    assert {row["name"]: row["offline"] for row in known_tokenizers()}["gpt2"] == "cached"


def test_a_hub_id_comes_from_the_local_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    model = tmp_path / "models--acme--bot-1"
    (model / "refs").mkdir(parents=True)
    (model / "refs" / "main").write_text("abc")
    (model / "snapshots").mkdir()
    write(model / "snapshots" / "abc", small_file())
    tokenizer = load_tokenizer("acme/bot-1", offline=True)
    assert (tokenizer.name, tokenizer.source) == ("acme/bot-1", "acme/bot-1")
    assert {"name": "acme/bot-1", "source": "Hugging Face cache", "offline": "cached"} in known_tokenizers()
    with pytest.raises(PrefixlabError, match="acme/bot-2 is not in the local Hugging Face cache and --offline"):
        load_tokenizer("acme/bot-2", offline=True)


def test_the_fast_way_is_taken_where_it_is_sure(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(str(write(tmp_path / "bot", small_file())))
    assert isinstance(tokenizer, ByteLevelTokenizer)
    assert (tokenizer.name, tokenizer.source) == ("bot", "bot")
    assert tokenizer.special_tokens == {"<|end|>": 261}
    assert unpack_ids(tokenizer.encode_ordinary("abcdef")) == [260]


def _model(**changes: Any) -> dict[str, Any]:
    return {"model": small_file()["model"] | changes}


@pytest.mark.parametrize(
    "changes",
    [
        _model(byte_fallback=True, unk_token="a"),
        _model(merges=["ab c", "a b", "d e", "de f", "abc def"]),
        _model(merges=["a b", "ab c", "d e", "de f"]),
        _model(merges=["a b", "ab c", "d e", "de f", "abc def"], vocab={**small_file()["model"]["vocab"], "xyz": 300}),
        {"normalizer": {"type": "Lowercase"}},
        {"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}},
        {"added_tokens": [_added(261, "<|end|>", lstrip=True)]},
        {"added_tokens": [_added(261, "<|end|>"), _added(262, "|>x", normalized=True)]},
    ],
)
def test_every_other_file_is_left_to_the_library(changes: dict[str, Any], tmp_path: Path) -> None:
    from tokenizers import Tokenizer

    from prefixlab.records import Origin, Segment
    from prefixlab.tokenizers import SegmentEncoder

    folder = write(tmp_path / "bot", small_file(**changes))
    tokenizer = load_tokenizer(str(folder))
    assert type(tokenizer).__name__ == "LibraryTokenizer"
    reference = Tokenizer.from_file(str(folder / "tokenizer.json"))
    text = "ABC abcdef  <|end|>x de\n\nabc <|end|> f"
    for at in range(len(text)):
        parts = [Segment(text[:at], Origin("a", "user")), Segment(text[at:], Origin("b", "user"))]
        ids = [id for piece in SegmentEncoder(tokenizer).encode(parts) for id in unpack_ids(piece.tokens)]
        assert ids == reference.encode(text, add_special_tokens=False).ids


def test_a_merge_that_is_never_met_is_left_to_the_library(tmp_path: Path) -> None:
    vocabulary = {text: id for id, text in enumerate([*byte_alphabet(), "ab", "bc", "abc"])}
    added = {"added_tokens": [_added(len(vocabulary), "<|end|>")]}
    met = small_file(**_model(vocab=vocabulary, merges=["a b", "b c", "ab c"]), **added)
    assert isinstance(load_tokenizer(str(write(tmp_path / "met", met))), ByteLevelTokenizer)
    never = small_file(**_model(vocab=vocabulary, merges=["a b", "b c", "a bc"]), **added)
    assert not isinstance(load_tokenizer(str(write(tmp_path / "never", never))), ByteLevelTokenizer)


def test_what_goes_ahead_of_a_plain_prompt(tmp_path: Path) -> None:
    template = {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "<|end|>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"<|end|>": {"id": "<|end|>", "ids": [261], "tokens": ["<|end|>"]}},
    }
    with_template = small_file(post_processor=template)
    llama = {"tokenizer_class": "LlamaTokenizerFast", "bos_token": {"content": "<|end|>"}}

    def bos(content: dict[str, Any], config: dict[str, Any]) -> list[int]:
        return unpack_ids(load_tokenizer(str(write(tmp_path / "bot", content, config))).bos)

    assert bos(with_template, {}) == [261]
    assert bos(small_file(), {}) == []
    assert bos(small_file(), llama | {"add_bos_token": True}) == [261]
    assert bos(with_template, llama | {"add_bos_token": False}) == []


@pytest.mark.parametrize("content", ["{", "[]", "{}"])
def test_a_broken_file_is_said(content: str, tmp_path: Path) -> None:
    file = tmp_path / "tokenizer.json"
    file.write_text(content)
    with pytest.raises(PrefixlabError, match=r"tokenizer.json: not a tokenizer.json"):
        load_tokenizer(str(file))


def test_a_folder_without_a_tokenizer_is_said(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(PrefixlabError, match="holds no tokenizer"):
        load_tokenizer(str(tmp_path))


def test_older_files_are_converted(tmp_path: Path) -> None:
    texts = [*byte_alphabet(), *(left + right for left, right in MERGES), "<|endoftext|>"]
    (tmp_path / "vocab.json").write_text(json.dumps({text: id for id, text in enumerate(texts)}))
    merges = "".join([f"{left} {right}\n" for left, right in MERGES])
    (tmp_path / "merges.txt").write_text(f"#version: 0.2\n{merges}")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "GPT2Tokenizer"}))
    tokenizer = load_tokenizer(str(tmp_path))
    assert unpack_ids(tokenizer.encode_ordinary("abcdef!")) == [260, byte_alphabet().index("!")]
    assert tokenizer.special_tokens == {"<|endoftext|>": 261}


def test_older_files_that_cannot_be_converted_are_said(tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text("{}")
    with pytest.raises(PrefixlabError, match=r"has no tokenizer.json and transformers cannot make one"):
        load_tokenizer(str(tmp_path))


def _mistral_file(name: str) -> Path:
    common = pytest.importorskip("mistral_common")
    return Path(common.__file__).parent / "data" / name


def test_tekken_files(tmp_path: Path) -> None:
    import random

    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    from tests.tokenizers.varied_text import varied_text

    file = _mistral_file("tekken_240911.json")
    reference = Tekkenizer.from_file(file)
    tokenizer = load_tokenizer(str(file))
    source = random.Random(3)
    for _ in range(2000):
        text = varied_text(source)
        assert unpack_ids(tokenizer.encode_ordinary(text)) == reference.encode(text, bos=False, eos=False)
    assert unpack_ids(tokenizer.bos) == [reference.bos_id]
    for text in ("<s>", "[INST]", "[/INST]", "[TOOL_CALLS]", "[SYSTEM_PROMPT]"):
        assert tokenizer.special_tokens[text] == reference.get_special_token(text)
    shutil.copy(file, tmp_path / "tekken.json")
    assert load_tokenizer(str(tmp_path)).name == tmp_path.name
    (tmp_path / "tekken.json").write_text("{}")
    with pytest.raises(PrefixlabError, match=r"not a tekken.json"):
        load_tokenizer(str(tmp_path))


def test_sentencepiece_files(tmp_path: Path) -> None:
    from sentencepiece import SentencePieceProcessor

    file = _mistral_file("tokenizer.model.v1")
    reference = SentencePieceProcessor(model_file=str(file))
    tokenizer = load_tokenizer(str(file))
    text = "Where is my order? 東京 naïve\n\n  x"
    assert unpack_ids(tokenizer.encode_ordinary(text)) == reference.encode(text)
    assert unpack_ids(tokenizer.bos) == [1]
    assert tokenizer.decode(tokenizer.encode_ordinary("Where is it?")).decode() == "Where is it?"
    broken = tmp_path / "tokenizer.model"
    broken.write_bytes(b"nothing")
    with pytest.raises(PrefixlabError, match="is not a SentencePiece model"):
        load_tokenizer(str(tmp_path))


@pytest.mark.parametrize("name", ["", "  "])
def test_an_empty_name_is_not_the_current_folder(name: str) -> None:
    with pytest.raises(PrefixlabError, match=r"the name of the tokenizer is empty\. Name one"):
        load_tokenizer(name)


def test_a_folder_without_a_tokenizer_is_named(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    with pytest.raises(PrefixlabError) as caught:
        load_tokenizer(str(tmp_path / "model"))
    assert str(caught.value).startswith(f"{tmp_path / 'model'}: this folder holds no tokenizer: no tokenizer.json, no ")


def test_a_dead_hub_is_asked_once_and_in_silence(tmp_path: Path) -> None:
    """In a process of its own, for the hub's address is read at import."""
    pytest.importorskip("huggingface_hub")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}"
    code = "from prefixlab.tokenizers import load_tokenizer; load_tokenizer('foo/bar')"
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("HF_", "HUGGINGFACE_"))}
    environment |= {"HF_ENDPOINT": address, "HF_HOME": str(tmp_path), "NO_PROXY": "127.0.0.1"}
    start = time.monotonic()
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert time.monotonic() - start < 10
    assert run.stderr.startswith("Traceback")
    assert "thrown while requesting" not in run.stderr
    assert "Retrying" not in run.stderr
    assert "PrefixlabError: the tokenizer of foo/bar is not in the local Hugging Face cache and fetching" in run.stderr
