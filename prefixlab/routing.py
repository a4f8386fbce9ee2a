"""Which server a request goes to, where several do not share a cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heapreplace

from prefixlab.errors import PrefixlabError
from prefixlab.prefix_tree import Match
from prefixlab.records import Prompt

LIKE_ENOUGH = 0.5
"""Share of a prompt that must be known to a server for prefix routing to choose it, as in SGLang's router."""


def replicas_of(prompts: Sequence[Prompt], matches: Sequence[Match], replicas: int, routing: str) -> list[int]:
    """The server of each request, from 0.

    - `round-robin`: the next one each time.
    - `session`, `tag:NAME`: requests of one value of the tag go to one server; a new value goes to the next one.
      Requests without the tag go round.
    - `prefix`: to the server that served the longest shared prefix, where that is more than half of the prompt; else to
      the one that was given the fewest prompt tokens so far.

    Raises:
        PrefixlabError: there is no such routing, or no request has the tag.
    """
    # A server that nothing is sent to changes nothing, and no more of them get anything than there are requests.
    replicas = min(replicas, max(len(prompts), 1))
    if routing == "prefix":
        return _by_prefix(prompts, matches, replicas)
    if routing == "round-robin":
        return [number % replicas for number in range(len(prompts))]
    kind, _, name = routing.partition(":")
    tag = "session" if routing == "session" else name if kind == "tag" else ""
    if not tag:
        raise PrefixlabError(
            f"--routing {routing} is not known", "Give round-robin, session, prefix or tag:NAME, such as tag:tenant"
        )
    if prompts and not any([tag in prompt.tags for prompt in prompts]):
        raise PrefixlabError(
            f"--routing {routing}: no request has the tag {tag}", f"Name where it lies with --tag {tag}=json.path"
        )
    turn = _turns(replicas)
    server_of: dict[str, int] = {}
    chosen = []
    for prompt in prompts:
        value = prompt.tags.get(tag)
        if value is None:
            chosen.append(turn())
            continue
        if value not in server_of:
            server_of[value] = turn()
        chosen.append(server_of[value])
    return chosen


def _turns(replicas: int) -> Callable[[], int]:
    given = -1

    def turn() -> int:
        nonlocal given
        given = (given + 1) % replicas
        return given

    return turn


def _by_prefix(prompts: Sequence[Prompt], matches: Sequence[Match], replicas: int) -> list[int]:
    load = [0] * replicas
    # Servers by load; where that has grown since, it is put right when the server comes to the front.
    idlest = [(0, server) for server in range(replicas)]
    chosen: list[int] = []
    for prompt, match in zip(prompts, matches, strict=True):
        shared = match.shared * prompt.unit
        if match.matched is not None and shared > LIKE_ENOUGH * prompt.token_count:
            server = chosen[match.matched]
        else:
            while idlest[0][0] != load[idlest[0][1]]:
                server = idlest[0][1]
                heapreplace(idlest, (load[server], server))
            server = idlest[0][1]
        load[server] += prompt.token_count
        chosen.append(server)
    return chosen
