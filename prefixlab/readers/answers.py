"""The generated text of a logged answer, where the log has it exactly.

An answer with tool calls, reasoning or several choices is left out: its text is not what the model generated.
"""

from __future__ import annotations

from typing import Any

from prefixlab.readers.facts import scalar
from prefixlab.readers.token_bytes import to_token_bytes
from prefixlab.records import Output

_NOT_TEXT = ("tool_calls", "function_call", "reasoning", "reasoning_content", "refusal", "audio")


def chat_output(response: dict[str, Any] | None) -> Output | None:
    """The answer of a chat or text completion: the text of its only choice."""
    choices = response.get("choices") if response else None
    if type(choices) is not list or len(choices) != 1 or type(choices[0]) is not dict:
        return None
    choice = choices[0]
    reason = scalar(choice.get("finish_reason"))
    tokens = to_token_bytes(choice.get("token_ids"))
    if tokens:
        return Output(tokens=tokens, finish_reason=reason)
    message = choice.get("message")
    if type(message) is not dict:
        text = choice.get("text")
        return Output(text, None, reason) if type(text) is str else None
    return message_output(message, reason)


def told_output(record: dict[str, Any]) -> Output | None:
    """The answer that stands as bare text beside a request."""
    for key in ("response_text", "output_text"):
        text = record.get(key)
        if type(text) is str and text:
            return Output(text, None, scalar(record.get("finish_reason")))
    return None


def message_output(message: dict[str, Any], finish_reason: str | None = None) -> Output | None:
    """The answer that an assistant message holds, if it is text alone."""
    text = message.get("content")
    if type(text) is not str or any(message.get(key) for key in _NOT_TEXT):
        return None
    return Output(text, None, finish_reason)


def blocks_output(blocks: Any, kind: str, finish_reason: str | None) -> Output | None:
    """The answer that a list of blocks holds, if all of them are of the text `kind`."""
    if type(blocks) is not list or not blocks:
        return None
    texts: list[str] = []
    for block in blocks:
        text = block.get("text") if type(block) is dict and block.get("type") == kind else None
        if type(text) is not str:
            return None
        texts.append(text)
    return Output("".join(texts), None, finish_reason)
