"""A chat template writes the date or the time ahead of what the caller sends.

The caller's messages are the same and the prompt is not. Pass the date as a message, or pin it with a variable of the
template (`chat_template_kwargs`).
"""

from __future__ import annotations

from collections.abc import Iterator

from prefixlab.lint_findings import LintFinding
from prefixlab.lint_rules import Example, Rule
from prefixlab.misplacement import finding, shown
from prefixlab.prompt_templates import Hole, Loop
from prefixlab.template_measures import Measured

FIX = "Let the caller give the date in a message, or pin it in chat_template_kwargs."


def check(template: Measured) -> Iterator[LintFinding]:
    if not template.template.is_chat_template:
        return
    seen = set()
    last = max([at for at, one in enumerate(template.sights) if isinstance(one.part, Loop)], default=-1)
    for at, sight in enumerate(template.sights):
        if at > last and not sight.inside:
            # Behind all messages it costs nothing.
            continue
        if isinstance(sight.part, Hole) and sight.judged.sort in ("clock", "date") and sight.at not in seen:
            if sight.judged.by != "call":
                continue
            seen.add(sight.at)
            message = f"{shown(sight)} is written ahead of all messages, which are lost with it"
            yield finding("PL404", "date-in-chat-template", template, sight, message, FIX)


RULE = Rule(
    "PL404",
    "date-in-chat-template",
    "A chat template that writes the date ahead of the messages",
    check,
    bad=Example(
        "prompt.jinja",
        """\
Today Date: {{ strftime_now("%d %b %Y") }}
{% for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor %}""",
    ),
    good=Example(
        "prompt.jinja",
        """\
{% for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor %}""",
    ),
)
