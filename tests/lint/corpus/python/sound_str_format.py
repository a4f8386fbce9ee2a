"""The same with the passages last."""

from openai import OpenAI

QA = """- Read the whole file before you change a line of it, and keep to the style that you find there.
- Make one change at a time, run the tests after each, and say in one sentence what they told you.
- Never delete what you did not write; ask first when a change touches more than three files.
- When two readings of the task are possible, name both and choose the one that is easier to undo.
Passages:
{context_str}
Question: {query_str}
Answer:"""


def answer(passages, query):
    prompt = QA.format(context_str="\n".join(passages), query_str=query)
    return OpenAI().chat.completions.create(model="gpt-4o-mini", messages=[{"role": "user", "content": prompt}])
