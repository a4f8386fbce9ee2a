"""A chat template writes an answer otherwise once it is history.

What the engine has in its cache is the prompt, the generation prompt behind it, and the answer. If the next request
renders that turn in another way, such as without the think block of the generation prompt, the prefix ends there, turn
after turn. It is tried: a conversation is rendered as the server does, and once more with one turn more.
"""

from __future__ import annotations

from collections.abc import Iterator

from prefixlab.lint_findings import LintFinding
from prefixlab.lint_rules import Example, Rule
from prefixlab.template_measures import Measured

FIX = "Write history as the generation prompt and the answer were written."


def check(template: Measured) -> Iterator[LintFinding]:
    parting = template.template.parting
    if parting is None:
        return
    was, now = parting.was[:40], parting.now[:40]
    yield LintFinding(
        code="PL403",
        name="history-rerendered",
        severity="high",
        at=parting.at,
        rendered_at=parting.at,
        message=f"an answer is written otherwise once it is history: {was!r} becomes {now!r}, turn after turn",
        field="add_generation_prompt",
        stable_tokens_before=template.stable_tokens,
        stable_tokens_after=0,
        blocks_before=template.stable_tokens // template.block_size,
        template=template.template.called,
        fix=FIX,
    )


RULE = Rule(
    "PL403",
    "history-rerendered",
    "A chat template that writes answers otherwise once they are history",
    check,
    bad=Example(
        "prompt.jinja",
        """\
{% for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
<think>

</think>

{% endif %}""",
    ),
    good=Example(
        "prompt.jinja",
        """\
{% for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}""",
    ),
    is_of_template=True,
)
