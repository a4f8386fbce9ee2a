"""Where a model's `config.json` comes from: a file, a model folder, or a hub id."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any, NamedTuple

from prefixlab.errors import BadRecord, MissingExtra, PrefixlabError

CONFIG = "config.json"
HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+", re.ASCII)
HUB_TIMEOUT_SECONDS = 5
LARGEST_CONFIG = 16 * 2**20
LARGEST_INDEX = 256 * 2**20


class Document(NamedTuple):
    """A JSON object with the text that it was written as, for the lines of complaints."""

    name: str
    path: str
    text: str
    values: dict[str, Any]


def open_config(wanted: str, *, offline: bool = False) -> Document:
    """The config of a file, a folder that has a `config.json`, or a hub model (local cache first, then the hub).

    Raises:
        PrefixlabError: there is none, or it is not JSON.
    """
    if not wanted.strip():
        raise PrefixlabError("the CONFIG is an empty name", "Give a config.json, a model folder, or a hub id")
    path = Path(wanted)
    try:
        if path.is_dir():
            file = path / CONFIG
            if not file.is_file():
                raise PrefixlabError(f"the folder {wanted} has no {CONFIG}", "Name the file itself, or a model folder")
            return read_document(str(file), path.resolve().name)
        if path.exists():
            return read_document(wanted, path.resolve().parent.name if path.name == CONFIG else path.stem)
    except (OSError, ValueError) as error:
        raise PrefixlabError(f"{wanted[:200]!r} cannot be read ({error})", "Check the path") from None
    if not HUB_ID.fullmatch(wanted):
        raise PrefixlabError(
            f"there is no file {wanted[:200] if wanted.isprintable() else repr(wanted[:200])}",
            "Give a config.json, a model folder, or a hub id such as Qwen/Qwen3-8B",
        )
    return read_document(str(_hub_file(wanted, offline)), wanted)


def read_document(path: str, name: str, largest: int = LARGEST_CONFIG) -> Document:
    """The JSON object of a file.

    Raises:
        PrefixlabError: it cannot be read, or is no JSON object.
    """
    try:
        with open(path, "rb") as file:
            raw = file.read(largest + 1)
    except OSError as error:
        todo = "Check its permissions" if isinstance(error, PermissionError) else "Check the path"
        raise PrefixlabError(f"cannot be read ({error.strerror})", todo, path=path) from None
    except ValueError:
        raise PrefixlabError(f"{path[:200]!r} is no path", "Check it") from None
    todo = "Give the config.json of a model"
    if len(raw) > largest:
        raise PrefixlabError(f"is larger than {largest // 2**20} MiB", todo, path=path)
    try:
        text = raw.decode("utf-8-sig")
        values = json.loads(text)
    except json.JSONDecodeError as error:
        raise BadRecord(f"not JSON: {error.msg} at column {error.colno}", todo, path=path, line=error.lineno) from None
    except UnicodeDecodeError:
        raise BadRecord("not UTF-8 text", todo, path=path, line=1) from None
    except RecursionError:
        raise BadRecord("nested too deeply", todo, path=path, line=1) from None
    except ValueError:
        raise BadRecord("a number in it has too many digits", todo, path=path, line=1) from None
    if not isinstance(values, dict):
        raise BadRecord("not a JSON object", todo, path=path, line=1)
    return Document(name, path, text, values)


def _hub_file(hub_id: str, offline: bool) -> Path:
    file = _cached(hub_id)
    why = "--offline does not fetch it"
    if file is None and not (offline or os.environ.get("HF_HUB_OFFLINE") in ("1", "true", "True")):
        file, why = _fetch(hub_id)
    if file is None:
        raise PrefixlabError(
            f"the config of {hub_id} is not in the local Hugging Face cache and {why}",
            "Fetch the model's config.json (hf download) and name the file",
        )
    return file


def _cached(hub_id: str) -> Path | None:
    """The config in the local cache: of the revision that `main` was last, else of any."""
    folder = _hub_cache() / f"models--{hub_id.replace('/', '--')}"
    try:
        revision = (folder / "refs" / "main").read_text().strip()
    except (OSError, ValueError):
        revision = "*"
    found = sorted(folder.glob(f"snapshots/{revision or '*'}/{CONFIG}")) or sorted(folder.glob(f"snapshots/*/{CONFIG}"))
    return found[0] if found else None


def _hub_cache() -> Path:
    """The folder where hub libraries keep what they fetched."""
    explicit = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE")
    if explicit:
        return Path(explicit).expanduser()
    home = os.environ.get("HF_HOME")
    if home:
        return Path(home).expanduser() / "hub"
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "huggingface" / "hub"


def _fetch(hub_id: str) -> tuple[Path | None, str]:
    """The file from the hub, or why it cannot be had."""
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    try:
        from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url
    except ImportError:
        raise MissingExtra(f"fetching the config of {hub_id} from the hub", "hub") from None
    try:
        # Asks once; the download by itself would try again for half a minute.
        get_hf_file_metadata(hf_hub_url(hub_id, CONFIG), timeout=HUB_TIMEOUT_SECONDS)
        return Path(hf_hub_download(hub_id, CONFIG, etag_timeout=HUB_TIMEOUT_SECONDS)), ""
    except Exception as error:  # the hub's errors have no common base
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return None, f"fetching it failed ({type(error).__name__}: {lines[0][:200] if lines else 'no reason given'})"
