"""Tags and tools in a fixed order."""

import json

from openai import OpenAI

TAGS = {"heavy", "fragile", "cold"}
TOOLS = {"search": "Finds articles.", "handover": "Hands over to a colleague."}


def build_prompt():
    return "\n".join([
        "You help at the lockers. Tags: " + ", ".join(sorted(TAGS)),
        json.dumps(TOOLS, sort_keys=True),
        """1. Answer from the articles that are given to you, and say which one you used.
2. Never promise a refund, a date or a discount; offer to hand over to a colleague instead.
3. Keep answers under one hundred words unless the customer asks for more detail.
4. Reply in the language in which the customer writes, and keep product names as they are.
""",
    ])


def ask(question):
    return OpenAI().responses.create(model="gpt-4.1", instructions=build_prompt(), input=question)
