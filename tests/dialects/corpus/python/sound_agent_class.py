"""An agent that keeps its conversation."""

from openai import AsyncOpenAI

INSTRUCTIONS = """You are the agent of the lockers.
1. Answer from the articles that are given to you, and say which one you used.
2. Never promise a refund, a date or a discount; offer to hand over to a colleague instead.
3. Keep answers under one hundred words unless the customer asks for more detail.
4. Reply in the language in which the customer writes, and keep product names as they are.
"""


class Agent:
    def __init__(self, client: AsyncOpenAI):
        self.client = client
        self.messages = [{"role": "system", "content": INSTRUCTIONS}]

    async def ask(self, question):
        self.messages.append({"role": "user", "content": question})
        answer = await self.client.chat.completions.create(model="gpt-4o", messages=self.messages)
        self.messages.append(answer.choices[0].message)
        return answer
