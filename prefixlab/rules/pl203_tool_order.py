"""Tools are listed in an order that is not fixed.

Tools stand at the head of a prompt, so another order loses all of it. Sort them by name where they are collected.
"""

from __future__ import annotations

from collections.abc import Iterator

from prefixlab.lint_findings import LintFinding
from prefixlab.lint_rules import Example, Rule
from prefixlab.misplacement import finding, severity_of, shown, strands
from prefixlab.prompt_templates import Choice, Volatility
from prefixlab.template_measures import Measured
from prefixlab.tool_names import is_about_tools

FIX = "Sort the tools by name."
_ORDERS = frozenset(("set", "mapping", "random", "directory"))


def check(template: Measured) -> Iterator[LintFinding]:
    if template.template.is_chat_template:
        # It takes the tools as the request has them.
        return
    seen = set()
    for sight in template.sights:
        if isinstance(sight.part, Choice) or sight.at in seen or not is_about_tools(sight.expression):
            continue
        inner = any(is_about_tools(loop.over) and loop.over.orders for loop in sight.inside)
        if _ORDERS.intersection(sight.expression.orders) and not inner and strands(template, sight):
            seen.add(sight.at)
            is_random = {"set", "random"}.intersection(sight.expression.orders)
            grave = severity_of(Volatility.REQUEST if is_random else Volatility.DEPLOYMENT)
            message = f"{shown(sight)} lists tools in an order that is not fixed"
            yield finding("PL203", "tool-order", template, sight, message, FIX, grave)


RULE = Rule(
    "PL203",
    "tool-order",
    "Tools listed in an order that is not fixed",
    check,
    bad=Example(
        "prompt.j2",
        """\
{% for name, tool in tools.items() %}{{ name }}: {{ tool }}
{% endfor %}You are the assistant of a small bookshop. Answer in two
sentences, quote the order number, and never promise a refund date.
If you are unsure, ask one question.
""",
    ),
    good=Example(
        "prompt.j2",
        """\
{% for name, tool in tools | dictsort %}{{ name }}: {{ tool }}
{% endfor %}You are the assistant of a small bookshop. Answer in two
sentences, quote the order number, and never promise a refund date.
If you are unsure, ask one question.
""",
    ),
)
