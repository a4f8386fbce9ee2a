"""The stable prefix ends one or two tokens short of a block.

The started block is computed again for every request. A word more in the stable text, or a word less ahead of it, wins
the whole block.
"""

from __future__ import annotations

from collections.abc import Iterator

from prefixlab.lint_findings import LintFinding
from prefixlab.lint_rules import Example, Rule
from prefixlab.misplacement import finding
from prefixlab.template_measures import Measured

FIX = "Lengthen the stable text by a word or two, or shorten it by as much as stands in its last block."
SHORT = 2
"""Tokens that may be missing."""


def check(template: Measured) -> Iterator[LintFinding]:
    first, missing = template.boundary_at, -template.stable_tokens % template.block_size
    if first is not None and template.stable_tokens > template.block_size > 2 * SHORT and 0 < missing <= SHORT:
        message = f"the stable prefix of {template.stable_tokens:,} tokens ends {missing} short of a block"
        yield finding("PL302", "just-short-of-block", template, first, message, FIX, "info")


RULE = Rule(
    "PL302",
    "just-short-of-block",
    "A stable prefix that ends one or two tokens short of a block",
    check,
    bad=Example(
        "prompt.j2",
        """\
You are the assistant of a small bookshop. Answer in two
sentences, quote the order number, and never promise a refund date.
If you are unsure, ask one question. Speak
well of all the other shops.
{{ question }}
""",
    ),
    good=Example(
        "prompt.j2",
        """\
You are the assistant of a small bookshop. Answer in two
sentences, quote the order number, and never promise a refund date.
If you are unsure, ask one question. Speak
well of all the other shops. Be kind to all.
{{ question }}
""",
    ),
    is_default=False,
    is_of_template=True,
)
