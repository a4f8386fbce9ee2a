"""Logs of ids as engines are given them."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from prefixlab.engine_requests import EngineRequest, engine_requests
from prefixlab.intake import match_prompts
from prefixlab.records import Location, Namespace, Piece, Prompt, Run, Serving


def requests_of(log: Sequence[tuple[str, list[int], list[int]]]) -> Iterator[EngineRequest]:
    """Requests of (salt, prompt, generated tokens with the last)."""
    prompts = [
        Prompt(
            str(number),
            Location("log", number + 1),
            (Piece((), (Run("", _ids(prompt)),)),),
            namespace=Namespace(salt=salt),
            output_tokens=_ids(generated[:-1]),
            serving=Serving(sampled_tokens=len(generated)),
        )
        for number, (salt, prompt, generated) in enumerate(log)
    ]
    return engine_requests(prompts, match_prompts(prompts))


def _ids(tokens: Sequence[int]) -> bytes:
    return struct.pack(f"<{len(tokens)}I", *tokens)
