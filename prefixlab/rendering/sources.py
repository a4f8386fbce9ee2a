"""Where a chat template comes from: a file, a model folder, or a name that prefixlab knows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prefixlab.errors import PrefixlabError

TEMPLATES = Path(__file__).parent / "templates"

BUILT_IN: Mapping[str, Mapping[str, str]] = {
    "chatml": {"bos_token": "", "eos_token": "<|im_end|>"},
    "llama3": {"bos_token": "<|begin_of_text|>", "eos_token": "<|eot_id|>"},
    "qwen3": {"bos_token": "", "eos_token": "<|im_end|>"},
    "harmony": {"bos_token": "<|startoftext|>", "eos_token": "<|return|>"},
    "openai": {},
}
"""Templates shipped with prefixlab, and the special tokens that they may name."""

NOTES = {
    "openai": (
        "OpenAI's own chat template is not published: requests are laid out ChatML-style, tools first, then messages",
    )
}


@dataclass(frozen=True, slots=True)
class TemplateSource:
    """A chat template's text, and what belongs to it. `tool_text` is used in place of `text` where tools are given."""

    name: str
    text: str
    path: str
    tool_text: str | None = None
    special_tokens: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def sha256(self) -> str:
        return hashlib.sha256((self.text + (self.tool_text or "")).encode("utf-8", "surrogatepass")).hexdigest()


def built_in(name: str) -> TemplateSource:
    """A template that is shipped with prefixlab."""
    path = TEMPLATES / f"{name}.jinja"
    return TemplateSource(
        name, path.read_text("utf-8"), path.name, special_tokens=BUILT_IN[name], notes=NOTES.get(name, ())
    )


def from_path(wanted: str) -> TemplateSource:
    """The template of a file (`.jinja`, `tokenizer_config.json`, `chat_template.json`) or of a model folder."""
    path = Path(wanted)
    if path.is_dir():
        return _from_folder(path, wanted)
    if path.name == "tokenizer.json":
        return _from_folder(path.parent, wanted)
    if path.suffix == ".json":
        folder = path.parent
        if path.name == "tokenizer_config.json" and (folder / "chat_template.jinja").is_file():
            return _from_folder(folder, wanted)
        return _source(wanted, str(path), _read_json(path).get("chat_template"), _special_tokens(folder))
    return _source(wanted, str(path), _read(path), _special_tokens(path.parent))


def _from_folder(folder: Path, wanted: str) -> TemplateSource:
    tokens = _special_tokens(folder)
    named = folder / "chat_template.jinja"
    if named.is_file():
        extra = folder / "additional_chat_templates" / "tool_use.jinja"
        template: Any = _read(named)
        if extra.is_file():
            template = {"default": template, "tool_use": _read(extra)}
        return _source(wanted, str(named), template, tokens)
    for name in ("chat_template.json", "tokenizer_config.json"):
        path = folder / name
        if path.is_file() and (template := _read_json(path).get("chat_template")):
            return _source(wanted, str(path), template, tokens)
    raise PrefixlabError(
        "this folder has no chat template",
        "Name one with --chat-template (a .jinja file, a folder with tokenizer_config.json, or a built-in name)",
        path=wanted,
    )


def _source(wanted: str, path: str, template: Any, tokens: Mapping[str, str]) -> TemplateSource:
    if isinstance(template, list):
        template = {entry.get("name"): entry.get("template") for entry in template if isinstance(entry, dict)}
    tool_text = None
    if isinstance(template, dict):
        tool_text = template.get("tool_use")
        template = template.get("default", tool_text)
    if not isinstance(template, str) or not isinstance(tool_text, str | None):
        raise PrefixlabError("there is no chat template in this file", "Name a file that has one", path=path)
    return TemplateSource(Path(wanted).name or wanted, template, path, tool_text, tokens)


def _special_tokens(folder: Path) -> dict[str, str]:
    """The strings of the special tokens that a model folder names (`bos_token`, `eos_token`, ...)."""
    found: dict[str, str] = {}
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        path = folder / name
        if not path.is_file():
            continue
        for key, value in _read_json(path).items():
            if key.endswith("_token"):
                text = value.get("content") if isinstance(value, dict) else value
                if isinstance(text, str):
                    found[key] = text
    return found


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise PrefixlabError(
            f"the file is not UTF-8 (byte {error.start})", "Save it as UTF-8", path=str(path)
        ) from error
    except OSError as error:
        raise PrefixlabError(
            f"the file cannot be read: {error.strerror or error}", "Check the path", path=str(path)
        ) from error


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(_read(path))
    except ValueError as error:
        line = getattr(error, "lineno", None)
        raise PrefixlabError("the file is not JSON", "Check the file", path=str(path), line=line) from error
    if not isinstance(value, dict):
        raise PrefixlabError("the file is not a JSON object", "Check the file", path=str(path))
    return value
