"""A nonce ahead of everything, in a class with a helper, sent with Anthropic's client."""

import uuid

import anthropic


class Desk:
    rules = """
1. Answer from the articles that are given to you, and say which one you used.
2. Never promise a refund, a date or a discount; offer to hand over to a colleague instead.
3. Keep answers under one hundred words unless the customer asks for more detail.
4. Reply in the language in which the customer writes, and keep product names as they are.
"""

    def __init__(self):
        self.client = anthropic.Anthropic()

    def _header(self):
        return "Request " + str(uuid.uuid4())

    def ask(self, question):
        system = self._header() + self.rules
        return self.client.messages.create(
            model="claude-sonnet-4-5",
            max_tokens=500,
            system=system,
            messages=[{"role": "user", "content": question}],
        )
