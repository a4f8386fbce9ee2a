"""After Haystack's prompt builder: a template of Jinja2 in Python."""

from datetime import datetime

from jinja2 import Template
from openai import OpenAI

TEMPLATE = """As of {{ moment }}, answer from the documents.
- Read the whole file before you change a line of it, and keep to the style that you find there.
- Make one change at a time, run the tests after each, and say in one sentence what they told you.
- Never delete what you did not write; ask first when a change touches more than three files.
- When two readings of the task are possible, name both and choose the one that is easier to undo.
{% for document in documents %}{{ document.content }}
{% endfor %}Question: {{ query }}
"""


def answer(documents, query):
    text = Template(TEMPLATE).render(moment=datetime.now().isoformat(), documents=documents, query=query)
    return OpenAI().chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": text}])
