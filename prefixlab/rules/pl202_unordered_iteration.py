"""A set, or a mapping as it came, is gone through ahead of stable text.

The order of a set differs from process to process, that of a mapping with whoever filled it. Go through it sorted:
`sorted(...)` in Python, `| dictsort` or `| sort` in Jinja2.
"""

from __future__ import annotations

from collections.abc import Iterator

from prefixlab.lint_findings import LintFinding
from prefixlab.lint_rules import Example, Rule
from prefixlab.misplacement import finding, severity_of, shown, strands
from prefixlab.prompt_templates import Choice, Hole, Volatility
from prefixlab.template_measures import Measured, Sight
from prefixlab.tool_names import is_about_tools

FIX = "Go through it sorted: sorted(...) in Python, | dictsort or | sort in Jinja2."


def unordered(template: Measured) -> Iterator[Sight]:
    """Loops, and values joined from a loop, over what has no fixed order; each place once."""
    if template.template.is_chat_template:
        # It goes through what the request holds, in the order in which that is written.
        return
    seen = set()
    for sight in template.sights:
        orders = {"set", "mapping", "directory"}.intersection(sight.expression.orders)
        if not orders or isinstance(sight.part, Choice) or sight.at in seen or not strands(template, sight):
            continue
        if isinstance(sight.part, Hole) and any(loop.over.orders for loop in sight.inside):
            continue
        seen.add(sight.at)
        yield sight


def check(template: Measured) -> Iterator[LintFinding]:
    for sight in unordered(template):
        if is_about_tools(sight.expression):
            continue
        order = next(one for one in ("set", "directory", "mapping") if one in sight.expression.orders)
        own = Volatility.SESSION if order == "set" else Volatility.DEPLOYMENT
        what = {"set": "a set, which has no order", "mapping": "a mapping in whatever order it came",
                "directory": "files in whatever order the folder has them"}[order]  # fmt: skip
        message = f"{shown(sight)} goes through {what}"
        grave = severity_of(max(own, sight.judged.volatility))
        yield finding("PL202", "unordered-iteration", template, sight, message, FIX, grave)


RULE = Rule(
    "PL202",
    "unordered-iteration",
    "A set or an unsorted mapping gone through ahead of stable text",
    check,
    bad=Example(
        "prompt.j2",
        """\
{% for key, value in prefs.items() %}{{ key }}: {{ value }}
{% endfor %}You are the assistant of a small bookshop. Answer in two
sentences, quote the order number, and never promise a refund date.
If you are unsure, ask one question.
""",
    ),
    good=Example(
        "prompt.j2",
        """\
You are the assistant of a small bookshop. Answer in two
sentences, quote the order number, and never promise a refund date.
If you are unsure, ask one question.
{% for key, value in prefs | dictsort %}{{ key }}: {{ value }}
{% endfor %}""",
    ),
)
