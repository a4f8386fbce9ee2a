"""A value is written right behind a letter, digit or blank, so that the last token of the stable text depends on it.

`Order:{{ order }}` and `Order: {{ order }}` both end in a token that merges with the value. A line break between stable
text and value keeps the boundary. It costs a token, and a block where the boundary is one of blocks.
"""

from __future__ import annotations

from collections.abc import Iterator

from prefixlab.lint_findings import LintFinding
from prefixlab.lint_rules import Example, Rule
from prefixlab.misplacement import finding, shown
from prefixlab.prompt_templates import Hole
from prefixlab.template_measures import Measured

FIX = "Put the value on a line of its own."


def check(template: Measured) -> Iterator[LintFinding]:
    first = template.boundary_at
    if first is not None and isinstance(first.part, Hole) and first.merges:
        message = f"the last token ahead of {shown(first)} depends on the value"
        yield finding("PL303", "glued-hole", template, first, message, FIX, "info")


RULE = Rule(
    "PL303",
    "glued-hole",
    "A value that merges with the last token of the stable text",
    check,
    bad=Example(
        "prompt.j2",
        """\
You are the assistant of a small bookshop. Answer in two
sentences, quote the order number, and never promise a refund date.
If you are unsure, ask one question.
Question: {{ question }}
""",
    ),
    good=Example(
        "prompt.j2",
        """\
You are the assistant of a small bookshop. Answer in two
sentences, quote the order number, and never promise a refund date.
If you are unsure, ask one question.
Question:
{{ question }}
""",
    ),
    is_default=False,
)
