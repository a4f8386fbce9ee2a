"""Examples drawn by lot ahead of the rules, in a Jinja2 object."""

import random

from jinja2 import Template
from openai import OpenAI

EXAMPLES = ["a parcel that never came", "a jammed door", "a wrong fee", "a lost code"]
PROMPT = Template("""Examples:
{% for example in examples %}- {{ example }}
{% endfor %}
1. Answer from the articles that are given to you, and say which one you used.
2. Never promise a refund, a date or a discount; offer to hand over to a colleague instead.
3. Keep answers under one hundred words unless the customer asks for more detail.
4. Reply in the language in which the customer writes, and keep product names as they are.

Question: {{ question }}""")


def ask(question):
    shots = random.sample(EXAMPLES, 3)
    text = PROMPT.render(examples=shots, question=question)
    return OpenAI().responses.create(model="gpt-4.1", input=text)
