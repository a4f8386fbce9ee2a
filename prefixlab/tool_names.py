"""Whether an expression is about tools, by the words of its names."""

from __future__ import annotations

import re

from prefixlab.prompt_templates import Expression

_TOOLS = re.compile(r"(?:^|[._])(?:tools?|functions?|toolkit|tool_\w+|\w+_tools)(?:$|[._])", re.IGNORECASE)


def is_about_tools(expression: Expression) -> bool:
    """Whether something that it reads is called tools or functions."""
    return any(_TOOLS.search(name) for name in (*expression.names, expression.source.partition("(")[0]))
