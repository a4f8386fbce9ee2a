"""Hugging Face tokenizers: a `tokenizer.json`, a model folder, or a hub id through the local cache or the hub."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from prefixlab.contracts import TextTokenizer
from prefixlab.errors import MissingExtra, PrefixlabError
from prefixlab.tokenizers.packaged_qwen import PUBLISHED_TOKENIZER_JSON, PUBLISHED_TOKENIZER_JSON_BYTES, load_packaged

HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
HUB_TIMEOUT_SECONDS = 5
FILES = ("tokenizer.json", "tokenizer_config.json")
SLOW_FILES = ("vocab.json", "vocab.txt", "tokenizer_config.json")
"""What a folder without a `tokenizer.json` may have for transformers to make one from."""
OTHER_FAMILIES = ("tekken.json", "tokenizer.model")


class HuggingFaceFamily:
    """Files, folders and hub ids."""

    name = "huggingface"
    summary = "a tokenizer.json, a model folder, or a hub id (local cache first, then the hub)"

    def load(self, wanted: str, *, offline: bool) -> TextTokenizer | None:
        path = Path(wanted)
        if path.is_dir():
            file = path / "tokenizer.json"
            if file.is_file():
                return load_file(file, name=path.resolve().name, source=path.resolve().name)
            return _convert(path) if any((path / other).is_file() for other in SLOW_FILES) else None
        if path.is_file():
            if path.suffix != ".json" or path.name.startswith("tekken"):
                return None
            folder = path.resolve().parent.name
            return load_file(path, name=folder if path.name == "tokenizer.json" else path.stem, source=path.name)
        if HUB_ID.fullmatch(wanted):
            return _from_hub(wanted, offline)
        return None

    def known(self) -> Iterable[Mapping[str, str]]:
        """The hub models in the local cache that have a `tokenizer.json`."""
        for folder in sorted(hub_cache().glob("models--*--*")):
            hub_id = "/".join(folder.name.split("--")[1:])
            if cached_file(hub_id, "tokenizer.json") is not None:
                yield {"name": hub_id, "source": "Hugging Face cache", "offline": "cached"}


def load_file(file: Path, *, name: str, source: str) -> TextTokenizer:
    """The tokenizer of a `tokenizer.json`; its neighbour `tokenizer_config.json` says what goes ahead of a prompt.

    Raises:
        PrefixlabError: the file cannot be read.
    """
    try:
        if _is_published_qwen(file):
            return load_packaged("qwen3", name=name, source=source, sha256=PUBLISHED_TOKENIZER_JSON)
        raw = file.read_bytes()
    except OSError as error:
        raise PrefixlabError(f"cannot be read ({error.strerror})", "Check its permissions", path=str(file)) from None
    return _tokenizer(raw, str(file), file.with_name("tokenizer_config.json"), name=name, source=source)


def _tokenizer(raw: bytes, path: str, config_file: Path, *, name: str, source: str) -> TextTokenizer:
    from prefixlab.tokenizers.huggingface_library import LibraryTokenizer
    from prefixlab.tokenizers.tokenizer_json import fast_tokenizer, parse

    content, config = parse(raw, path), _config(config_file)
    return fast_tokenizer(raw, content, config, name=name, source=source) or LibraryTokenizer(
        raw, content, config, name=name, source=source
    )


def _is_published_qwen(file: Path) -> bool:
    """Whether the file is the one that the packaged vocabulary reproduces, told without holding its 11 MB."""
    if file.stat().st_size != PUBLISHED_TOKENIZER_JSON_BYTES:
        return False
    with file.open("rb", buffering=0) as content:
        return hashlib.file_digest(content, "sha256").hexdigest() == PUBLISHED_TOKENIZER_JSON


def _convert(folder: Path) -> TextTokenizer | None:
    """The tokenizer of a folder that has only the files of transformers' older tokenizers."""
    if any((folder / other).is_file() for other in OTHER_FAMILIES):
        return None
    name = folder.resolve().name
    try:
        from transformers import AutoTokenizer
    except ImportError:
        raise MissingExtra(f"reading the tokenizer of {name}, which has no tokenizer.json,", "hub") from None
    try:
        loaded = AutoTokenizer.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
        raw: bytes = loaded.backend_tokenizer.to_str().encode()
    except Exception as error:  # whatever the model's own loader raises
        raise PrefixlabError(
            f"the folder {name} has no tokenizer.json and transformers cannot make one ({_first_line(error)})",
            "Fetch the model's tokenizer.json",
        ) from None
    return _tokenizer(raw, name, folder / "tokenizer_config.json", name=name, source=name)


def _config(file: Path) -> dict[str, Any]:
    try:
        config = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    return config if isinstance(config, dict) else {}


# --- the hub ----------------------------------------------------------------------------------------------------------


def hub_cache() -> Path:
    """The folder where hub libraries keep what they fetched."""
    explicit = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE")
    if explicit:
        return Path(explicit).expanduser()
    home = os.environ.get("HF_HOME")
    if home:
        return Path(home).expanduser() / "hub"
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "huggingface" / "hub"


def cached_file(hub_id: str, name: str) -> Path | None:
    """A file of a hub model in the local cache: of the revision that `main` was last, else of any."""
    folder = hub_cache() / f"models--{hub_id.replace('/', '--')}"
    try:
        revision = (folder / "refs" / "main").read_text().strip()
    except OSError:
        revision = "*"
    found = sorted(folder.glob(f"snapshots/{revision}/{name}")) or sorted(folder.glob(f"snapshots/*/{name}"))
    return found[0] if found else None


def _from_hub(hub_id: str, offline: bool) -> TextTokenizer:
    file = cached_file(hub_id, FILES[0])
    why = "--offline does not fetch it"
    if file is None and not (offline or os.environ.get("HF_HUB_OFFLINE") in ("1", "true", "True")):
        file, why = _fetch(hub_id)
    if file is None:
        raise PrefixlabError(
            f"the tokenizer of {hub_id} is not in the local Hugging Face cache and {why}",
            "Fetch the model's tokenizer.json (hf download) and name its folder, "
            "or use a packaged vocabulary: o200k_base, cl100k_base, qwen3",
        )
    return load_file(file, name=hub_id, source=hub_id)


def _fetch(hub_id: str) -> tuple[Path | None, str]:
    """The file from the hub, or why it cannot be had."""
    os.environ.setdefault("HF_HUB_ETAG_TIMEOUT", str(HUB_TIMEOUT_SECONDS))
    os.environ.setdefault("HF_HUB_DOWNLOAD_TIMEOUT", str(HUB_TIMEOUT_SECONDS))
    try:
        from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url
    except ImportError:
        raise MissingExtra(f"fetching the tokenizer of {hub_id} from the hub", "hub") from None
    file: Path | None = None
    with _silence():
        for name in FILES:
            try:
                # Asks once; the download by itself would try again for half a minute.
                get_hf_file_metadata(hf_hub_url(hub_id, name), timeout=HUB_TIMEOUT_SECONDS)
                fetched = Path(hf_hub_download(hub_id, name, etag_timeout=HUB_TIMEOUT_SECONDS))
            except Exception as error:  # the hub's errors have no common base
                if name == FILES[0]:
                    return None, f"fetching it failed ({_first_line(error)})"
            else:
                file = file or fetched
    return file, ""


@contextmanager
def _silence() -> Iterator[None]:
    """Keeps the hub's library from writing its warnings and progress bars between our lines."""
    from huggingface_hub import utils

    logger = logging.getLogger("huggingface_hub")
    level, were_disabled = logger.level, utils.are_progress_bars_disabled()  # type: ignore[attr-defined]
    logger.setLevel(logging.CRITICAL)
    utils.disable_progress_bars()  # type: ignore[attr-defined]
    try:
        yield
    finally:
        logger.setLevel(level)
        if not were_disabled:
            utils.enable_progress_bars()  # type: ignore[attr-defined]


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__


FAMILY = HuggingFaceFamily()
