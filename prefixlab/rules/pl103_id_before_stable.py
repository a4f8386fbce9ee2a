"""An id or a nonce stands ahead of stable text.

A request id, a UUID or a trace id is another one in each request, so nothing behind it is ever shared. A model does not
need it: leave it to the metadata of the request, or put it behind the text that stays.
"""

from __future__ import annotations

from collections.abc import Iterator

from prefixlab.lint_findings import LintFinding
from prefixlab.lint_rules import Example, Rule
from prefixlab.misplacement import finding, misplaced, shown
from prefixlab.template_measures import Measured

FIX = "Leave it to the request's metadata, or move it behind the stable text."


def check(template: Measured) -> Iterator[LintFinding]:
    for sight in misplaced(template, ("id",)):
        yield finding(
            "PL103",
            "id-before-stable",
            template,
            sight,
            f"{shown(sight)} is an id of its own for each request, ahead of stable text",
            FIX,
        )


RULE = Rule(
    "PL103",
    "id-before-stable",
    "An id or nonce ahead of stable text",
    check,
    bad=Example(
        "prompt.j2",
        """\
Request {{ request_id }}
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
Request {{ request_id }}
Question: {{ question }}
""",
    ),
)
