import datetime
import random
import uuid

from langchain_core.prompts import ChatPromptTemplate

EXAMPLES = ["a parcel that never came", "a jammed door", "a wrong fee", "a lost code"]
TAGS = {"heavy", "fragile", "cold"}


def build(user, docs):
    shots = "\n".join(random.sample(EXAMPLES, 3))
    tags = ", ".join(TAGS)
    system = f"""Run {uuid.uuid4()} at {datetime.datetime.now():%H:%M}.
You help at Kvarn Lockers. Allowed tags: {tags}.
Examples:
{shots}
Rules follow and never change."""
    return ChatPromptTemplate.from_messages([("system", system), ("human", "{question}")])
