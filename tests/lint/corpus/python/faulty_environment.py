"""After coding agents: where the program runs, ahead of how it is to work."""

import os
import platform

from anthropic import Anthropic

RULES = """
- Read the whole file before you change a line of it, and keep to the style that you find there.
- Make one change at a time, run the tests after each, and say in one sentence what they told you.
- Never delete what you did not write; ask first when a change touches more than three files.
- When two readings of the task are possible, name both and choose the one that is easier to undo.
"""


def system_prompt() -> str:
    return f"""You are Larch, a coding agent.
Working directory: {os.getcwd()}
Operating system: {platform.system()}
{RULES}"""


def ask(task: str):
    return Anthropic().messages.create(
        model="claude-sonnet-4", max_tokens=1024, system=system_prompt(), messages=[{"role": "user", "content": task}]
    )
