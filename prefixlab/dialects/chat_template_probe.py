"""What a chat template writes otherwise once it is history: it is tried on small conversations of several kinds.

What an engine holds is a prompt, with the generation prompt at its end, and the answer. The next prompt has to begin
with that. What the model's answer looks like is what the template itself writes of an answer that is the last message,
for so the model was trained; of a thought inside the content it is the content.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from os.path import commonprefix
from typing import Any, NamedTuple

from jinja2 import nodes

from prefixlab.dialects.jinja_files import JinjaFile
from prefixlab.dialects.jinja_marks import MarkedEnvironment, Written
from prefixlab.errors import PrefixlabError
from prefixlab.prompt_templates import Kind, Parting, Place
from prefixlab.template_files import TemplateFile

_SYSTEM = {"role": "system", "content": "You answer questions about a bookshop."}
_QUESTIONS = [
    {"role": "user", "content": text}
    for text in ("Is the shop open on Sunday?", "And on Monday?", "When does it close?")
]
_ANSWERS = ("It is, from ten to four.", "On Monday it opens at nine.")
_THOUGHT = "The hours hang on the door."
_ARGUMENT = "Saturday"
_CALL = {"id": "call12345", "type": "function", "function": {"name": "hours", "arguments": {"day": _ARGUMENT}}}
_TOOL = {
    "type": "function",
    "function": {
        "name": "hours",
        "description": "Tells when the shop is open.",
        "parameters": {"type": "object", "properties": {"day": {"type": "string", "description": "A day."}}},
    },
}
_THINKING = dict.fromkeys(("reasoning_content", "reasoning", "thinking"), _THOUGHT)
"""A thought in the fields that servers and templates have for it."""

_SWITCHES = ("enable_thinking", "thinking")
"""What callers of templates call it whether the model is to think."""

_QUOTED = 60
"""Characters of a quote, to the end of the word."""
_WORDS = re.compile(r"<[^<>\s]*>|\[/?[A-Z_]+\]|\w+|\s|.", re.DOTALL)


class _Talk(NamedTuple):
    """A conversation."""

    messages: Sequence[Mapping[str, Any]]
    values: Mapping[str, Any]
    thought: str = ""
    """What the model thinks, where it is said in a field of its own."""
    tells_answer: bool = True
    """Whether the template's own writing of an answer tells what the model writes."""


def partings_of(
    file: TemplateFile, source: Callable[[str, str | None], tuple[str, str] | None], tree: JinjaFile
) -> tuple[Parting, ...]:
    """What is written otherwise, each place once."""
    probe = _Probe(MarkedEnvironment(file, source), file)
    names = {node.name for node in tree.tree.find_all(nodes.Name)}
    found: dict[Place, Parting] = {}
    switches = [one for one in _SWITCHES if one in names]
    for talk in _talks(switches, "</think>" in file.text, reads_thought=probe.reads_thought()):
        if probe.is_spent:
            break
        one = probe.parting(talk)
        # A thought that is dropped is one fault, wherever it is.
        if one is not None and not (one.kind == "thought" and any(other.kind == "thought" for other in found.values())):
            found.setdefault(one.at, one)
    return tuple(found.values())


def _talks(switches: Sequence[str], thinks_in_content: bool, *, reads_thought: bool) -> Iterator[_Talk]:
    settings: list[dict[str, Any]] = [{}, *[{one: is_on} for one in switches for is_on in (True, False)]]
    for values in settings:
        # A model that thinks does not answer without a thought, whatever the template writes of such an answer.
        yield _Talk(_turns([{"content": text} for text in _ANSWERS]), values, tells_answer=not reads_thought)
    for values in settings:
        if False in values.values():
            continue
        if reads_thought:
            yield _Talk(_turns([{"content": text, **_THINKING} for text in _ANSWERS]), values, _THOUGHT)
        elif thinks_in_content:
            thoughts = [f"<think>\n{_THOUGHT}\n</think>\n\n{text}" for text in _ANSWERS]
            yield _Talk(_turns([{"content": text} for text in thoughts]), values)
    thinking = _THINKING if reads_thought else {}
    called: list[Mapping[str, Any]] = [
        _QUESTIONS[0],
        {"role": "assistant", "content": "", "tool_calls": [_CALL], **thinking},
        {"role": "tool", "name": "hours", "tool_call_id": _CALL["id"], "content": "From ten to six."},
        {"role": "assistant", "content": _ANSWERS[0], **thinking},
        _QUESTIONS[1],
    ]
    yield _Talk(called, {"tools": [_TOOL]}, _THOUGHT if reads_thought else "")


def _turns(answers: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    messages: list[Mapping[str, Any]] = []
    for question, answer in zip(_QUESTIONS, answers, strict=False):
        messages += [question, {"role": "assistant", **answer}]
    return [*messages, _QUESTIONS[len(answers)]]


class _Probe:
    """Tries a template."""

    def __init__(self, environment: MarkedEnvironment, file: TemplateFile) -> None:
        self._environment = environment
        self._file = file

    @property
    def is_spent(self) -> bool:
        """Whether the template has taken all steps that it may."""
        return self._environment.is_spent

    def reads_thought(self) -> bool:
        """Whether the template writes a thought that a field of an answer has."""
        messages = _turns([{"content": _ANSWERS[0], **_THINKING}])[:2]
        for system in ((_SYSTEM,), ()):
            try:
                return _THOUGHT in self._render([*system, *messages], _Talk(messages, {}), asks=False).text
            except PrefixlabError:
                continue
        return False

    def parting(self, talk: _Talk) -> Parting | None:
        """The first place where a prompt of a conversation goes on otherwise; None where there is none, or the template
        refuses the conversation."""
        for system in ((_SYSTEM,), ()):
            messages = [*system, *talk.messages]
            asked = [at for at, one in enumerate(messages) if one["role"] == "assistant"] + [len(messages)]
            try:
                for now, later in pairwise(asked):
                    found = self._between(messages, now, later, talk)
                    if found is not None:
                        return found
            except PrefixlabError:
                # Some templates take no system message, and some ask for more than there is here.
                continue
            return None
        return None

    def _render(self, messages: Sequence[Mapping[str, Any]], talk: _Talk, *, asks: bool = True) -> Written:
        return self._environment.written({**talk.values, "messages": messages, "add_generation_prompt": asks})

    def _between(self, messages: Sequence[Mapping[str, Any]], now: int, later: int, talk: _Talk) -> Parting | None:
        prompt = self._render(messages[:now], talk)
        after = self._render(messages[:later], talk)
        answer = self._answer(messages, now, prompt.text, talk)
        if talk.thought and not answer:
            # Here the model does not think.
            return None
        held = prompt.text + answer
        if after.text.startswith(held):
            return None
        at = len(commonprefix([held, after.text]))  # noqa: RUF071 - texts, not paths
        start = max([found.start() for found in _WORDS.finditer(held) if found.start() <= at], default=at)
        if at < len(prompt.text):
            writer = _writer(prompt, after, at)
            bare = self._render(messages[:now], talk, asks=False).text
            asked = len(commonprefix([bare, prompt.text]))  # noqa: RUF071 - texts, not paths
            if bare == prompt.text:
                # It asks for an answer always: behind the last message.
                last = messages[now - 1]["content"]
                asked = prompt.text.rfind(last) + len(last)
            kind: Kind = "generation prompt" if at >= asked else _kind_in(prompt.text, messages[:now], at)
        else:
            writer = after.writer(at)
            kind = "tool call" if "tool_calls" in messages[now] else "answer"
            if _THOUGHT in held[at:] and _THOUGHT in answer:
                kind = "thought"
        place, source = writer if writer is not None else (Place(self._file.path, 1, 1), "")
        return Parting(
            place, source, kind, _quoted(held[start:]), _quoted(after.text[start:]), held[:at], held[at:]
        )  # fmt: skip

    def _answer(self, messages: Sequence[Mapping[str, Any]], at: int, prompt: str, talk: _Talk) -> str:
        """What the model writes, as far as the template tells."""
        answer = messages[at]
        content: str = answer["content"]
        if content.startswith("<think>"):
            if prompt.rstrip().endswith("</think>"):
                return ""
            return content.removeprefix("<think>\n") if prompt.rstrip().endswith("<think>") else content
        last = self._render(messages[: at + 1], talk, asks=False).text
        said = content or _ARGUMENT
        if not talk.tells_answer or not last.startswith(prompt) or talk.thought not in last[len(prompt) :]:
            return ""
        end = last.rfind(said)
        return last[len(prompt) : end + len(said)] if end >= len(prompt) else ""


def _writer(prompt: Written, after: Written, at: int) -> tuple[Place, str] | None:
    """What writes the text that is there in one of two prompts only; of two that write instead of one another, that of
    the first."""
    one, other = prompt.piece(at), after.piece(at)
    if one is None or other is None or one.end <= one.start:
        return prompt.writer(at)
    # The text goes on as the other one does, without that piece.
    is_more = after.text.startswith(prompt.text[other.start : other.start + 12], other.end)
    is_less = prompt.text.startswith(after.text[one.start : one.start + 12], one.end)
    return after.writer(at) if is_more and not is_less else prompt.writer(at)


def _kind_in(prompt: str, messages: Sequence[Mapping[str, Any]], at: int) -> Kind:
    """What of a prompt stands at an offset."""
    end = 0
    for message in messages:
        text = message["content"] or _ARGUMENT
        found = prompt.find(text, end)
        if found < 0:
            continue
        end = found + len(text)
        role = message["role"]
        if at < end or message is messages[-1]:
            if role == "assistant":
                thinks = 0 <= prompt.find(_THOUGHT, at) < end
                return "thought" if thinks else "tool call" if "tool_calls" in message else "answer"
            if message is messages[0] and at < found and (role == "system" or "\n" in prompt[:at].strip()):
                return "head"
            return {"system": "system", "user": "user turn"}.get(role, "tool result")  # type: ignore[return-value]
    return "head"


def _quoted(text: str) -> str:
    """The beginning of a text, to the end of a word."""
    end = 0
    for word in _WORDS.finditer(text):
        if word.end() > _QUOTED and end:
            return text[:end].rstrip(" ") + "…"
        end = word.end()
    return text
