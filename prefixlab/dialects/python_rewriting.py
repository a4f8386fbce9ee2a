"""Lists of messages that are made out of messages which came in: those are the prompt of whoever sent them.

A client copies the messages of its caller into the form of a provider, and adds what that provider asks for where they
lack it: a first message of the user, a last one. Nothing of that is a prompt of the client's own. A system message is
one, also where it is added to messages that have none.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from prefixlab.dialects.python_literals import Piece
from prefixlab.dialects.python_values import TextPart
from prefixlab.prompt_templates import Choice, History, Loop, Turn, walk

_OWN_ROLES = ("system", "developer")


def hands_on(body: Sequence[TextPart]) -> bool:
    """Whether what a loop makes of each item is a message that came in."""
    return any([isinstance(part, History) for part in walk(body)]) and not _says(body, "", _OWN_ROLES)


def has_own_text(parts: Sequence[TextPart], handed_on: Collection[str], role: str = "") -> bool:
    """Whether a list of messages says something of its own, whatever the messages are that it hands on.

    `handed_on` are the names that are read to hand them on.
    """
    for part in parts:
        if isinstance(part, Turn):
            role = part.role
        elif isinstance(part, Choice):
            said = [has_own_text(arm, handed_on, role) for arm in part.arms]
            depends = not set(handed_on).isdisjoint(part.condition.names)
            if all(said) if depends else any(said):
                return True
            if depends and any([_says(arm, role, _OWN_ROLES) for arm in part.arms]):
                return True
        elif _says([part], role):
            return True
    return False


def _says(parts: Sequence[TextPart], role: str, roles: Collection[str] | None = None) -> bool:
    """Whether there is text of one of the roles; of any where none are named."""
    for part in parts:
        if isinstance(part, Turn):
            role = part.role
        elif isinstance(part, Piece):
            if part.text.strip() and (roles is None or role in roles):
                return True
        elif isinstance(part, Choice):
            if any([_says(arm, role, roles) for arm in part.arms]):
                return True
        elif isinstance(part, Loop) and _says(part.body, role, roles):
            return True
    return False
