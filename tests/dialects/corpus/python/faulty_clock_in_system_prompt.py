"""After the support bots of OpenAI's cookbook: a clock in the first line of the system prompt."""

from datetime import datetime

from openai import OpenAI

client = OpenAI()

RULES = """\
1. Answer from the articles that are given to you, and say which one you used.
2. Never promise a refund, a date or a discount; offer to hand over to a colleague instead.
3. Keep answers under one hundred words unless the customer asks for more detail.
4. Reply in the language in which the customer writes, and keep product names as they are.
"""


def system_prompt() -> str:
    stamp = datetime.now().strftime("%Y-%m-%d %H:%M:%S")
    return f"It is {stamp}.\n{RULES}"


def answer(question: str):
    return client.chat.completions.create(
        model="gpt-4o-mini",
        messages=[
            {"role": "system", "content": system_prompt()},
            {"role": "user", "content": question},
        ],
    )
