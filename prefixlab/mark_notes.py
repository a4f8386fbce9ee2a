"""What to say of a log's marks for a hosted cache: a longer lifetime asked for, what a first mark would give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy

from prefixlab.bill import PromptTokens
from prefixlab.cache_marks import MARKS, POINT
from prefixlab.deployments import Deployment, Served, seconds_of, serve
from prefixlab.engine_requests import engine_requests
from prefixlab.engines.breakpoints import Breakpoints
from prefixlab.number_words import counted, percent, span
from prefixlab.prefix_tree import Match
from prefixlab.records import Prompt

SYSTEM_ROLES = ("system", "developer")
LEAST_GAIN = 0.01
"""Share of the prompt tokens from which on a mark is worth a sentence."""
_MARK_OF = {"OpenAI": MARKS[1], "Azure OpenAI": MARKS[1], "AWS Bedrock": f"{MARKS[0]}` or `{POINT}"}


def mark_notes(
    deployment: Deployment,
    prompts: Sequence[Prompt],
    matches: Sequence[Match],
    served: Served,
    lifetimes: Mapping[str, int],
) -> list[str]:
    """Sentences for the report; none for other engines. `lifetimes` counts the requests that ask for each."""
    engine = deployment.engine
    if not isinstance(engine, Breakpoints):
        return []
    return [*_shorter(engine, lifetimes), *_unmarked(engine, deployment, prompts, matches, served)]


def _shorter(engine: Breakpoints, lifetimes: Mapping[str, int]) -> list[str]:
    """Lifetimes that requests ask for and that are longer than the one that counts."""
    if engine.ttl is None:
        return []
    return [
        f"{counted(count, 'request asks', 'requests ask')} for a lifetime of {span(seconds_of(asked))}, and "
        f"{span(engine.ttl)} count for all; give --ttl {asked} to count that, with the price of its writes."
        for asked, count in lifetimes.items()
        if seconds_of(asked) > engine.ttl
    ]


def _unmarked(
    engine: Breakpoints,
    deployment: Deployment,
    prompts: Sequence[Prompt],
    matches: Sequence[Match],
    served: Served,
) -> list[str]:
    """What a mark at the end of the system text would give to a log without marks: the log is served again with it."""
    if any([prompt.marked_paths for prompt in prompts]):
        return []
    marked = [_marked(prompt) for prompt in prompts]
    if not any([prompt.marked_paths for prompt in marked]):
        return []
    reuse = serve(engine, engine_requests(marked, matches), deployment.replica_of)
    whole = sum([prompt.token_count for prompt in prompts])
    cached, then = sum([marks.cached for marks in served.marks]), sum(reuse.tokens)
    if then - cached < LEAST_GAIN * whole:
        return []
    paid, paid_then = [
        PromptTokens.of(whole, *tokens).cost(engine.rates) / whole
        for tokens in ((cached, served.written_tokens), (then, reuse.written))
    ]
    mark = _MARK_OF.get(engine.profile.provider, MARKS[0])
    said = f"No request marks what is to be cached. With a mark at the end of the system text (`{mark}`)"
    said += f" {percent(then / whole)} of the prompt tokens would be reused, not {percent(cached / whole)}"
    return [f"{said}, and the bill would be {percent(paid_then)} of that without a cache, not {percent(paid)}."]


def _marked(prompt: Prompt) -> Prompt:
    """The prompt with a mark at the end of its system text; the prompt itself where it has none."""
    path = ""
    for piece in prompt.pieces:
        for origin, chars in piece.spans:
            if chars and origin.role in SYSTEM_ROLES:
                path = origin.path
    if not path:
        return prompt
    marked = copy(prompt)
    marked.marked_paths = (path,)
    return marked
