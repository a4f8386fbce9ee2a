"""Chat templates: requests in, text that knows its origin out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

from prefixlab.contracts import Renderer
from prefixlab.errors import PrefixlabError

BUILT_IN_NAMES = ("chatml", "llama3", "qwen3", "harmony", "openai", "anthropic", "none")
"""What `--chat-template` knows beside paths."""


def load_renderer(
    wanted: str,
    *,
    special_tokens: Mapping[str, str] | None = None,
    tool_arguments: Literal["parsed", "raw"] = "parsed",
    image_tokens: int = 64,
) -> Renderer:
    """The renderer of a chat template: a built-in name, a template file, a `tokenizer_config.json` or a model folder.

    `special_tokens` (`bos_token`, `eos_token`, ...) go before those that stand beside the template. Tool-call
    arguments reach the template `parsed`, as servers hand them over, or `raw`. An image is `image_tokens` pads.

    Raises:
        PrefixlabError: there is no such template, or it does not parse.
    """
    from prefixlab.rendering.anthropic import AnthropicRenderer

    if wanted == "anthropic":
        return AnthropicRenderer(tool_arguments=tool_arguments, image_tokens=image_tokens)
    if wanted == "none":
        from prefixlab.rendering.untemplated import UntemplatedRenderer

        return UntemplatedRenderer()
    from prefixlab.rendering import sources

    if wanted in sources.BUILT_IN:
        source = sources.built_in(wanted)
    elif Path(wanted).exists():
        source = sources.from_path(wanted)
    else:
        raise PrefixlabError(
            f"there is no chat template {wanted!r}",
            f"Give a file, a model folder, or one of: {', '.join(BUILT_IN_NAMES)}",
        )
    from prefixlab.rendering.chat_templates import ChatTemplateRenderer

    if special_tokens:
        source = replace(source, special_tokens={**source.special_tokens, **special_tokens})
    return ChatTemplateRenderer(source, tool_arguments=tool_arguments, image_tokens=image_tokens)


__all__ = ["BUILT_IN_NAMES", "load_renderer"]
