"""Messages that a client hands on are no prompt of its own; what it says itself is."""

from __future__ import annotations

import pytest

from prefixlab.prompt_templates import History, walk
from tests.dialects.python_reading import prompts, text, the_prompt

_COPY = """
def send(messages):
    out = []
    for m in messages:
        role = m.get('role')
        if role == 'tool':
            out.append({'role': 'user', 'content': f'The result of the tool is {m["content"]}'})
        else:
            out.append({'role': role, 'content': m['content']})
"""
_FILLER = "{'role': 'user', 'content': 'Please go on with your answer to me.'}"
_RULES = "'You are the desk of a shop. Answer in two sentences.'"
_SEND = "    return client.messages.create(messages=out)\n"


@pytest.mark.parametrize(
    "between",
    [
        "",
        f"    if not out:\n        out.append({_FILLER})\n",
        f"    if not out:\n        out.append({_FILLER})\n    elif out[0].role:\n        out.insert(0, {_FILLER})\n",
        f"    if out and out[-1]['role'] == 'assistant' and model == 'm':\n        out.append({_FILLER})\n",
    ],
)
def test_messages_of_a_caller_in_another_form_are_no_prompt(between: str) -> None:
    assert prompts(_COPY + between + _SEND) == []
    assert prompts(_COPY + between + "    return out\n") == []


def test_the_callers_system_message_is_no_prompt_of_the_client_either() -> None:
    source = """
def send(messages):
    system, out = None, []
    for m in messages:
        if m['role'] == 'system':
            system = m['content'] if system is None else system + m['content']
        else:
            out.append(m)
    if not out:
        out.append({'role': 'user', 'content': 'Hello, please help me.'})
    return client.messages.create(system=system, messages=out)
"""
    assert prompts(source) == []


@pytest.mark.parametrize(
    "between",
    [
        f"    out.insert(0, {{'role': 'system', 'content': {_RULES}}})\n",
        f"    if out[0]['role'] != 'system':\n        out.insert(0, {{'role': 'system', 'content': {_RULES}}})\n",
        f"    if self.is_strict:\n        out.append({{'role': 'user', 'content': {_RULES}}})\n",
        f"    out.append({{'role': 'user', 'content': {_RULES} if out else {_FILLER}['content']}})\n",
        f"    system = {_RULES}\n",
    ],
)
def test_what_a_client_says_itself_stays(between: str) -> None:
    send = _SEND.replace("(messages", "(system=system, messages") if "system = " in between else _SEND
    template = the_prompt(_COPY + between + send)
    assert "You are the desk" in text(list(walk(template.parts)))
    assert any(isinstance(part, History) for part in walk(template.parts))


def test_a_loop_that_writes_system_messages_stays_one() -> None:
    source = f"""
def send(messages):
    out = []
    for m in messages:
        out.append({{'role': 'system', 'content': {_RULES} + m['content']}} if m['role'] == 'system' else m)
    return client.messages.create(messages=out)
"""
    assert "You are the desk" in text(list(walk(the_prompt(source).parts)))


def test_examples_are_not_messages_that_came_in() -> None:
    source = """
def send(examples, question):
    out = []
    for one in examples:
        out.append({'role': 'user', 'content': f'Question: {one.question}'})
        out.append({'role': 'assistant', 'content': f'Answer: {one.answer}'})
    return client.messages.create(messages=[*out, {'role': 'user', 'content': question}])
"""
    assert "Question: " in text(list(walk(the_prompt(source).parts)))


def test_what_the_program_calls_itself_is_no_value_of_a_request() -> None:
    source = """
def prompt(self, name):
    doc = getattr(getattr(self, name), '__doc__', None)
    return f'You are {doc} and {getattr(self, "settings").tone}.'
"""
    assert text(the_prompt(source).parts) == "You are <self.__doc__> and <self.settings.tone>."
