"""Tools as JSON whose keys come as they are, ahead of the rules."""

import json

import litellm

RULES = """
1. Answer from the articles that are given to you, and say which one you used.
2. Never promise a refund, a date or a discount; offer to hand over to a colleague instead.
3. Keep answers under one hundred words unless the customer asks for more detail.
4. Reply in the language in which the customer writes, and keep product names as they are.
"""


def ask(tools, question):
    lines = ["Tools:"]
    lines.append(json.dumps(tools))
    lines.append(RULES)
    return litellm.completion(
        model="m",
        messages=[dict(role="system", content="\n".join(lines)), dict(role="user", content=question)],
    )
