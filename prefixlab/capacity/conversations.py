"""Which requests are turns of one conversation, and how much of the reuse stays within one.

Where the log has a `session` tag, a conversation is a session. Else a request belongs to the conversation of the prompt
it was matched with if it **continues** it: it is longer, and it shares all of that prompt but what the next turn may
write otherwise, the generation prompt at its end. That is

- of a rendered chat: text of the template alone, where the longer prompt does not go on with the same message;
- of logged token ids: at most `_GENERATION_PROMPT` tokens, and no more than a quarter of what is shared;
- of a block-hash trace: the last block, where it is not full; and it has a full block that no prompt before had, for
  what else would tell it from others that begin the same;
- of a plain prompt: nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from prefixlab.capacity.prompt_origins import origins_between
from prefixlab.prefix_tree import Match, PrefixTree
from prefixlab.records import TEMPLATE, Prompt

SESSION = "session"

_GENERATION_PROMPT = 8
"""Tokens; those of the published chat templates are 3 to 8 long."""
_LONGEST_TEMPLATE_END = 64
"""Tokens of a rendered prompt behind what is shared that are looked at."""


class Conversations:
    """The conversation of each request, by number, and the leading prompt tokens that it had sent before."""

    def __init__(self, prompts: Sequence[Prompt], matches: Sequence[Match]) -> None:
        self.numbers: list[int] = []
        self.known_tokens: list[int] = []
        """Prompt tokens equal to those of an earlier request of the same conversation, from the first on."""
        sessions: dict[object, int] = {}
        tree = PrefixTree(lambda number: prompts[number].tokens + prompts[number].output_tokens)
        count = 0
        for number, (prompt, match) in enumerate(zip(prompts, matches, strict=True)):
            session = prompt.tags.get(SESSION)
            known, shared, earlier = 0, match.shared * prompt.unit, match.matched
            if session is not None:
                key = (prompt.namespace, session)
                found = sessions.setdefault(key, count)
                known = tree.add(number, prompt.tokens, prompt.output_tokens, key).shared * prompt.unit
            elif earlier is not None and continues(
                prompt, prompts[earlier], shared, matches[earlier].shared * prompt.unit
            ):
                found, known = self.numbers[earlier], shared
            else:
                found = count
            count += found == count
            self.numbers.append(found)
            self.known_tokens.append(known)
        self.count = count
        self.are_sessions = bool(sessions)


def continues(later: Prompt, earlier: Prompt, shared: int, known_before: int) -> bool:
    """Whether `later`, which shares so many tokens with `earlier`, is a further turn of its conversation.

    `known_before` are the tokens that `earlier` in its turn shared with a prompt before.
    """
    rest = earlier.token_count - shared
    if not shared or later.token_count <= earlier.token_count:
        return False
    if rest <= 0:
        return True
    if later.unit > 1:
        full = earlier.token_count // later.unit * later.unit
        return shared >= full > known_before
    if rest > _LONGEST_TEMPLATE_END:
        return False
    ends = origins_between(earlier, shared, earlier.token_count)
    if not ends:
        return rest <= _GENERATION_PROMPT and rest * 4 <= shared
    if any([origin.role != TEMPLATE.role for origin in ends]):
        return False
    # A text that only grew is no further turn: that one begins with something of the template or another message.
    before = origins_between(earlier, shared - 1, shared)
    return origins_between(later, shared, shared + 1)[:1] != before[-1:]
