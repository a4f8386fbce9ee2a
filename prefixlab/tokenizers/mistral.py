"""Mistral's tekken vocabularies (`tekken.json`): tiktoken ranks, with the special tokens ahead of them."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import orjson

from prefixlab.errors import PrefixlabError
from prefixlab.tokenizers.byte_level import ByteLevelTokenizer
from prefixlab.tokenizers.patterns import PATTERNS


class MistralFamily:
    """A `tekken.json` file, or a folder that has one and no `tokenizer.json`."""

    name = "mistral"
    summary = "a tekken.json of Mistral's models"

    def load(self, wanted: str, *, offline: bool) -> ByteLevelTokenizer | None:
        path = Path(wanted)
        if path.is_dir() and not (path / "tokenizer.json").is_file():
            path = path / "tekken.json"
        if not path.is_file() or not (path.name.startswith("tekken") and path.suffix == ".json"):
            return None
        raw = path.read_bytes()
        try:
            content = orjson.loads(raw)
            return _tokenizer(raw, content, path)
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
            raise PrefixlabError(f"not a tekken.json ({error})", "Fetch the file again", path=str(path)) from None

    def known(self) -> Iterable[Mapping[str, str]]:
        return []


def _tokenizer(raw: bytes, content: Mapping[str, Any], path: Path) -> ByteLevelTokenizer:
    config = content["config"]
    size: int = config["default_vocab_size"]
    special_count: int = config["default_num_special_tokens"]
    pattern = next((pattern for pattern in PATTERNS if pattern.regex == config["pattern"]), None)
    if pattern is None:
        raise ValueError("its pattern is not known here")
    # The file lists more ranks than the model has; ids of ranks follow the special tokens.
    ranks = {
        base64.b64decode(entry["token_bytes"]): entry["rank"] + special_count
        for entry in content["vocab"][: size - special_count]
    }
    specials: dict[str, int] = {
        entry["token_str"]: entry["rank"] for entry in content.get("special_tokens") or _OLDER_SPECIALS
    }
    filler = {f"<SPECIAL_{id}>": id for id in range(len(specials), special_count)}
    return ByteLevelTokenizer(
        path.resolve().parent.name if path.name == "tekken.json" else path.stem,
        ranks,
        pattern,
        specials | filler,
        source=path.name,
        sha256=hashlib.sha256(raw).hexdigest(),
        specials_in_content=False,
        bos=[specials["<s>"]],
    )


_OLDER_SPECIALS: list[dict[str, Any]] = [
    {"rank": rank, "token_str": text}
    for rank, text in enumerate(
        (
            *("<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]"),
            *("[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]"),
            *("[PREFIX]", "[MIDDLE]", "[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]"),
        )
    )
]
"""Of files older than the list in the file itself."""

FAMILY = MistralFamily()
