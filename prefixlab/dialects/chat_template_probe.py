"""Whether a chat template writes a turn otherwise once it is history: it is tried on a small conversation.

What the engine holds is the prompt with the generation prompt behind it, and the answer. The next request has to begin
with that; how the answer itself is marked is the model's own matter, so only the generation prompt is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from os.path import commonprefix

from prefixlab.errors import PrefixlabError
from prefixlab.prompt_templates import Choice, Part, Parting, Place, walk
from prefixlab.rendering.prompts import PromptEnvironment

_SYSTEM = {"role": "system", "content": "You answer questions about a bookshop."}
_TURNS = (
    {"role": "user", "content": "Is the shop open on Sunday?"},
    {"role": "assistant", "content": "It is, from ten to four."},
    {"role": "user", "content": "And on Monday?"},
)


def parting_of(environment: PromptEnvironment, path: str, parts: Sequence[Part]) -> Parting | None:
    """Where the two renderings part; None where the second begins with the first, or the template takes neither."""
    for system in ((_SYSTEM,), ()):
        try:
            first, second = [
                environment.render(path, {"messages": [*system, *turns], "add_generation_prompt": True})
                for turns in (_TURNS[:1], _TURNS)
            ]
        except PrefixlabError:
            # Some templates take no system message, and some ask for more than there is here.
            continue
        if second.startswith(first):
            return None
        at = len(commonprefix([first, second]))  # noqa: RUF071 - texts, not paths
        return Parting(_generation_prompt(parts) or Place(path, 1, 1), first[at:], second[at:])
    return None


def _generation_prompt(parts: Sequence[Part]) -> Place | None:
    """Where the template asks for the generation prompt."""
    found = None
    for part in walk(parts):
        if isinstance(part, Choice) and any("add_generation_prompt" in name for name in part.condition.names):
            found = part.at
    return found
