"""The stable prefix is shorter than what the engine reuses at least, though there is text enough.

A hosted provider caches nothing below its minimum (OpenAI: 1,024 tokens), an engine of one's own nothing below a block.
Set the values behind the stable text, or put what all requests share first.
"""

from __future__ import annotations

from collections.abc import Iterator

from prefixlab.lint_findings import LintFinding
from prefixlab.lint_rules import Example, Rule
from prefixlab.misplacement import finding, severity_of
from prefixlab.number_words import counted
from prefixlab.template_measures import Measured

FIX = "Put what all requests share first."


def check(template: Measured) -> Iterator[LintFinding]:
    first, least = template.boundary_at, max(template.min_tokens, template.block_size)
    reachable = template.stable_tokens + template.stranded_tokens
    if first is None or not template.min_tokens or not template.stable_tokens < least <= reachable:
        return
    ends = counted(template.stable_tokens, "token")
    message = f"the stable prefix ends after {ends}, below the {least:,} that are reused at least"
    yield finding("PL301", "below-minimum", template, first, message, FIX, severity_of(first.judged.volatility))


_RULES = (
    """\
You are the assistant of a small bookshop. Answer in two
sentences, quote the order number, and never promise a refund date.
If you are unsure, ask one question.
"""
    * 14
)


RULE = Rule(
    "PL301",
    "below-minimum",
    "A stable prefix below the least that is reused",
    check,
    bad=Example(
        "prompt.j2",
        "Answer {{ user_name }} kindly.\n" + _RULES,
    ),
    good=Example(
        "prompt.j2",
        _RULES + "Answer {{ user_name }} kindly.\n",
    ),
    asked="--engine anthropic",
    is_of_template=True,
)
