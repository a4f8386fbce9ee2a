"""Tags in the order of a set, posted without a client."""

import requests

TAGS = {"heavy", "fragile", "cold", "express"}


def ask(question):
    tags = ", ".join(TAGS)
    system = f"""Tags that you may use: {tags}.
1. Answer from the articles that are given to you, and say which one you used.
2. Never promise a refund, a date or a discount; offer to hand over to a colleague instead.
3. Keep answers under one hundred words unless the customer asks for more detail.
4. Reply in the language in which the customer writes, and keep product names as they are.
"""
    body = {
        "model": "qwen2.5",
        "messages": [{"role": "system", "content": system}, {"role": "user", "content": question}],
    }
    return requests.post("http://localhost:8000/v1/chat/completions", json=body, timeout=60).json()
