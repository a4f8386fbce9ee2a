"""Requests for the tests of engines: recorded ones, and random ones that share beginnings."""

from __future__ import annotations

import gzip
import json
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import strategies as st

from prefixlab.engine_requests import EngineRequest
from prefixlab.records import Namespace, Serving

ORACLE = Path(__file__).parent.parent / "oracle"


def names_of(start: str, folder: Path = ORACLE) -> list[str]:
    return sorted(path.name.removesuffix(".jsonl.gz") for path in folder.glob(f"{start}*.jsonl.gz"))


def meta_of(name: str, folder: Path = ORACLE) -> dict[str, Any]:
    return dict(json.loads((folder / f"{name}.meta.json").read_text()))


def recorded(name: str, folder: Path = ORACLE) -> tuple[list[EngineRequest], list[int]]:
    """The requests of a recording, and what the engine took from its cache for each."""
    requests, cached = [], []
    with gzip.open(folder / f"{name}.jsonl.gz") as lines:
        for number, line in enumerate(lines):
            row = json.loads(line)
            namespace = Namespace("", row.get("extra_key") or "", row.get("cache_salt") or "")
            more: dict[str, Any] = {"namespace": namespace, "cache_prompt": row.get("cache_prompt", True)}
            more |= {"priority": row.get("priority", 0), "prompt_logprobs": row.get("prompt_logprobs", False)}
            requests.append(request(number, row["prompt_token_ids"], row["output_token_ids"][:-1], **more))
            cached.append(row["cached_tokens"])
    return requests, cached


def packed(ids: Sequence[int]) -> bytes:
    return struct.pack(f"<{len(ids)}I", *ids)


def request(number: int, prompt: Sequence[int], generated: Sequence[int] = (), **more: Any) -> EngineRequest:
    """A request whose `generated` ids are all but the last one sampled."""
    serving = Serving(sampled_tokens=len(generated) + 1)
    for name in ("priority", "prompt_logprobs", "cache_prompt"):
        if name in more:
            serving = serving._replace(**{name: more.pop(name)})
    return EngineRequest.of_ids(number, packed(prompt), packed(generated), serving=serving, **more)


class Ask(NamedTuple):
    """A request as lists of ids, for the naive engines."""

    prompt: list[int]
    generated: list[int]
    namespace: Namespace
    priority: int
    prompt_logprobs: bool
    cache_prompt: bool

    def as_request(self, number: int) -> EngineRequest:
        return request(
            number,
            self.prompt,
            self.generated,
            namespace=self.namespace,
            priority=self.priority,
            prompt_logprobs=self.prompt_logprobs,
            cache_prompt=self.cache_prompt,
        )


def shared_length(one: Sequence[int], other: Sequence[int]) -> int:
    length = 0
    for left, right in zip(one, other):
        if left != right:
            break
        length += 1
    return length


@st.composite
def workloads(draw: st.DrawFn, *, most: int = 30, priorities: Sequence[int] = (0, 0, 1, 2)) -> list[Ask]:
    """Requests of few different ids, most of which go on from a part of an earlier request."""
    ids = st.integers(1, draw(st.integers(2, 4)))
    asks: list[Ask] = []
    for _ in range(draw(st.integers(1, most))):
        start: list[int] = []
        namespace = Namespace("", "", draw(st.sampled_from(("", "", "a"))))
        if asks and draw(st.booleans()):
            earlier = draw(st.sampled_from(asks))
            whole = earlier.prompt + earlier.generated
            start = whole[: draw(st.integers(0, len(whole)))]
            namespace = earlier.namespace
        prompt = start + draw(st.lists(ids, min_size=0 if start else 1, max_size=14))
        generated = draw(st.lists(ids, max_size=8))
        asks.append(
            Ask(
                prompt,
                generated,
                namespace,
                draw(st.sampled_from(priorities)),
                draw(st.integers(0, 9)) == 0,
                draw(st.integers(0, 9)) != 0,
            )
        )
    return asks
