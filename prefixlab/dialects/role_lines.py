"""Prompts whose messages begin with lines such as `system:` and `# user:`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from prefixlab.dialects.message_ends import has_turn, stripped
from prefixlab.prompt_templates import Choice, History, Hole, Loop, Message, Part, Place, Text, Turn, walk
from prefixlab.template_files import TemplateFile

FLOW = "flow.dag.yaml"
"""The file beside which Jinja2 files are prompts of Microsoft's prompt flow."""

_OF_HISTORY = ("history", "messages", "conversation", "thread", "turns")


def is_prompt_flow(file: TemplateFile) -> bool:
    """Whether a file is a prompt of prompt flow: Jinja2 beside a flow."""
    return file.path.endswith((".jinja2", ".j2", ".jinja")) and (Path(file.path).parent / FLOW).is_file()


def role_of(line: str, roles: Collection[str]) -> str:
    """The role that a line names; empty where it names none."""
    word = line.strip()
    if not word.endswith(":"):
        return ""
    word = word[:-1].strip().removeprefix("#").strip().lower()
    name, bracket, rest = word.partition("[")
    if bracket and not (rest.endswith("]") and "=" in rest):
        return ""
    return name if name in roles else ""


class RoleLines:
    """Cuts texts and parts at the lines that name a role."""

    def __init__(self, roles: Collection[str], blanks: str | None, first: str = "system") -> None:
        """`blanks` are stripped from the ends of a message, all where it is None; text before any role is `first`'s."""
        self._roles = roles
        self._blanks = blanks
        self._first = first

    def messages(self, text: str) -> list[Message]:
        """The messages of a rendered text."""
        messages: list[Message] = []
        role = self._first
        lines: list[str] = []
        for line in [*text.splitlines(), None]:
            named = role_of(line, self._roles) if line is not None else ""
            if line is not None and not named:
                lines.append(line)
                continue
            content = "\n".join(lines).strip(self._blanks)
            if lines and (content or messages):
                messages.append((role, content))
            role, lines = named, []
        return messages

    def parts(self, parts: Sequence[Part]) -> tuple[Part, ...]:
        """The parts with a turn where a line names a role; without any role they stay as they are."""
        cut = self._cut(parts, [True])
        turns = [part for part in walk(cut) if isinstance(part, Turn)]
        if not turns:
            return tuple(parts)
        made = stripped([self._as_history(part) for part in cut], self._blanks)
        is_headless = made and not isinstance(made[0], Turn) and not has_turn(made[0])
        return (Turn(self._first, made[0].at), *made) if is_headless else tuple(made)

    def _cut(self, parts: Sequence[Part], starts_line: list[bool]) -> list[Part]:
        """`starts_line` holds whether the next text starts a line, and is kept up to date."""
        made: list[Part] = []
        for number, part in enumerate(parts):
            if isinstance(part, Text):
                is_last = number == len(parts) - 1
                made += self._cut_text(part, starts_line[0], is_last=is_last)
                starts_line[0] = part.text.endswith("\n")
            elif isinstance(part, Choice):
                arms = []
                for arm in part.arms:
                    inner = list(starts_line)
                    arms.append(tuple(self._cut(arm, inner)))
                starts_line[0] = False
                made.append(part._replace(arms=tuple(arms)))
            elif isinstance(part, Loop):
                made.append(part._replace(body=tuple(self._cut(part.body, list(starts_line)))))
                starts_line[0] = False
            else:
                starts_line[0] = False
                made.append(part)
        return made

    def _cut_text(self, part: Text, starts_line: bool, *, is_last: bool) -> list[Part]:
        made: list[Part] = []
        kept: list[str] = []
        begin = at = part.at
        for number, line in enumerate(part.text.splitlines(keepends=True)):
            is_whole = (number or starts_line) and (line.endswith("\n") or is_last)
            role = role_of(line, self._roles) if is_whole else ""
            behind = (
                Place(at.path, at.line + 1, 1) if line.endswith("\n") else at._replace(column=at.column + len(line))
            )
            if role:
                if kept:
                    made.append(Text("".join(kept), begin))
                made.append(Turn(role, at._replace(column=at.column + len(line) - len(line.lstrip()))))
                kept, begin = [], behind
            else:
                kept.append(line)
            at = behind
        if kept:
            made.append(Text("".join(kept), begin))
        return made

    @staticmethod
    def _as_history(part: Part) -> Part:
        """A loop over earlier messages is where they go."""
        if isinstance(part, Loop) and (has_turn(part) or _writes_role(part)):
            name = part.over.names[0] if part.over.names else part.over.source
            if name.rpartition(".")[2].lower().endswith(_OF_HISTORY):
                return History(name, part.at)
        return part


def _writes_role(part: Loop) -> bool:
    """Whether a loop writes `{{ item.role }}:`."""
    holes = [one for one in walk(part.body) if isinstance(one, Hole)]
    return any([name.endswith(".role") for hole in holes for name in hole.expression.names])
