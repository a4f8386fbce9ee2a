"""JSON whose keys have no fixed order is rendered ahead of stable text.

The same object with its keys in another order is other text. Sort the keys where the JSON is made:
`json.dumps(value, sort_keys=True)`; Jinja2's own `tojson` does, the one of chat templates does not.
"""

from __future__ import annotations

from collections.abc import Iterator

from prefixlab.lint_findings import LintFinding
from prefixlab.lint_rules import Example, Rule
from prefixlab.misplacement import finding, shown, strands
from prefixlab.prompt_templates import Hole
from prefixlab.template_measures import Measured

FIX = "Sort the keys: json.dumps(value, sort_keys=True)."


def check(template: Measured) -> Iterator[LintFinding]:
    for sight in template.sights:
        if isinstance(sight.part, Hole) and "json" in sight.expression.orders and strands(template, sight):
            message = f"{shown(sight)} writes JSON whose keys have no fixed order"
            yield finding("PL201", "unsorted-json", template, sight, message, FIX)


RULE = Rule(
    "PL201",
    "unsorted-json",
    "JSON without sorted keys ahead of stable text",
    check,
    bad=Example(
        "prompt.j2",
        """\
Settings: {{ settings | tojson(sort_keys=false) }}
You are the assistant of a small bookshop. Answer in two
sentences, quote the order number, and never promise a refund date.
If you are unsure, ask one question.
""",
    ),
    good=Example(
        "prompt.j2",
        """\
Settings: {{ settings | tojson }}
You are the assistant of a small bookshop. Answer in two
sentences, quote the order number, and never promise a refund date.
If you are unsure, ask one question.
""",
    ),
)
