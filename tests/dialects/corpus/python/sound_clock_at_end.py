"""The clock stands in the last user turn, behind all that stays."""

from datetime import datetime

from openai import OpenAI

RULES = """\
1. Answer from the articles that are given to you, and say which one you used.
2. Never promise a refund, a date or a discount; offer to hand over to a colleague instead.
3. Keep answers under one hundred words unless the customer asks for more detail.
4. Reply in the language in which the customer writes, and keep product names as they are.
"""


def answer(history, question):
    messages = [{"role": "system", "content": RULES}]
    messages.extend(history)
    messages.append({"role": "user", "content": f"{question}\n\n(asked {datetime.now():%H:%M})"})
    return OpenAI().chat.completions.create(model="gpt-4o-mini", messages=messages)
