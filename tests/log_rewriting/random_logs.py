"""Random logs with values at the head of stable text and with orders that change, in every shape that fix writes."""

from __future__ import annotations

import json
import random
from typing import Any

SHAPES = ("chat", "parts", "body", "encoded", "anthropic", "responses", "batch", "langfuse", "plain")

_RULES = [
    "Answer in the language of the question and keep to what the manual says.",
    "Quote part numbers as they are printed, with every leading zero and dash.",
    "Never promise a date of delivery; name the week in which it is planned.",
    "If a part is out of stock, offer the two nearest ones with their prices/fees.",
    "Ask for the serial number when the model alone does not tell the version.",
    "Prices are in euro \u20ac and include the tax of the country of delivery.",
    "A claim needs a photo, the order number and a sentence on what happened.",
    "Keep the answer under one hundred words unless a table was asked for.",
]
_DOCUMENTS = [
    "Valve V-100 fits pumps of the third series, caf\u00e9 machines and small boilers.",
    "Seal S-20 has to be wetted before it is pressed in; wait for ten minutes.",
    "Filter F-7 is washed weekly under running water and never with soap.",
    "Belt B-3 runs for two thousand hours and is then changed with its wheel.",
]
_ASKED = ["Which seal do I need?", "Is F-7 in stock?", "My belt squeaks \u2026 why?", "Who pays for the post/parcel?"]


class Log:
    """A log as bytes, and its records as the generator made them."""

    def __init__(self, seed: int) -> None:
        rng = self.rng = random.Random(seed)
        self.shape = rng.choice(SHAPES)
        self.whole_lines = rng.random() < 0.6
        """Whether values stand on lines of their own, which move as they are."""
        self._style = {
            "ensure_ascii": rng.random() < 0.5,
            "separators": rng.choice([None, (",", ":"), (",  ", ": ")]),
        }
        self._faults = {
            name: rng.random() < 0.5 for name in ("clock", "user", "tools", "documents", "arguments", "results", "json")
        }
        self._tools = [
            {
                "name": name,
                "description": f"{name} a part, 1.50 a call",
                "input_schema": {"type": "object", "properties": {}},
            }
            for name in ("find", "price", "order", "track")
        ]
        self.records = [
            record for talk in range(rng.randint(2, 4)) for record in self._conversation(talk, rng.randint(1, 3))
        ]
        lines = [json.dumps(record, **self._style) for record in self.records]
        if rng.random() < 0.3:
            lines.insert(rng.randrange(len(lines)), "")
        end = rng.choice(["\n", "\r\n"])
        self.is_array = rng.random() < 0.25
        if self.is_array:
            self.data = ("[" + f",{end}".join(filter(None, lines)) + "]").encode()
        else:
            self.data = (end.join(lines) + rng.choice(["", end])).encode()

    def _system(self, talk: int, turn: int) -> str:
        clock, user = f"2026-03-{10 + talk:02} {8 + talk:02}:{self.rng.randint(10, 59)}", f"{talk * 7919 + 1000:05}"
        head = []
        if self._faults["clock"]:
            head.append(
                f"Time: {clock}" if self.whole_lines else f"You work at {clock} in the shop of Nord & S\u00f6hne."
            )
        if self._faults["user"]:
            head.append(
                f"Customer: {user}" if self.whole_lines else f"The customer is {user}, so be kind to them today."
            )
        documents = [f"<doc>{text}</doc>" for text in _DOCUMENTS]
        if self._faults["documents"]:
            self.rng.shuffle(documents)
        return "\n".join([*head, *_RULES, "", *documents, "", "Work with these documents alone."])

    def _conversation(self, talk: int, turns: int) -> list[dict[str, Any]]:
        history: list[dict[str, Any]] = []
        made = []
        for turn in range(turns):
            history.append({"role": "user", "content": f"{self.rng.choice(_ASKED)} ({talk}.{turn})"})
            made.append(self._record(talk, turn, [self._logged(message) for message in history]))
            history += self._calls(talk, turn)
            history.append({"role": "assistant", "content": f"It is part {turn} of {talk}."})
        return made

    def _calls(self, talk: int, turn: int) -> list[dict[str, Any]]:
        calls = [{"id": f"c{talk}{turn}{n}", "name": "find", "arguments": {"part": f"V-{n}", "n": n}} for n in range(2)]
        results = [
            {"role": "tool", "id": call["id"], "content": {"found": index, "price": 1.5, "place": "shelf"}}
            for index, call in enumerate(calls)
        ]
        return [{"role": "calls", "calls": calls}, {"role": "results", "results": results}]

    def _logged(self, message: dict[str, Any]) -> dict[str, Any]:
        """The message as this request has it: calls and results in another form where that is the log's fault."""
        copy: dict[str, Any] = json.loads(json.dumps(message))
        if copy["role"] == "results":
            if self._faults["results"] and self.rng.random() < 0.5:
                copy["results"].reverse()
            for result in copy["results"]:
                items = list(result["content"].items())
                if self._faults["json"]:
                    self.rng.shuffle(items)
                result["content"] = json.dumps(dict(items))
        elif copy["role"] == "calls":
            for call in copy["calls"]:
                if self._faults["arguments"] and self.rng.random() < 0.5:
                    call["arguments"] = dict(reversed(call["arguments"].items()))
        return copy

    def _record(self, talk: int, turn: int, history: list[dict[str, Any]]) -> dict[str, Any]:
        tools = list(self._tools)
        if self._faults["tools"]:
            self.rng.shuffle(tools)
        system = self._system(talk, turn)
        around = {"id": f"r{talk}-{turn}", "temperature": 0.70, "big": 12345678901234567890}
        if self.shape == "plain":
            said = "\n".join([str(message.get("content", "")) for message in history])
            return {**around, "prompt": f"{system}\nQuestion: {said}\nAnswer:"}
        if self.shape == "anthropic":
            body = {
                "model": "claude-x",
                "tools": tools,
                "system": [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}],
                "messages": _anthropic(history),
                **around,
            }
            return self.rng.choice([body, {"params": body, "custom_id": around["id"]}]) if turn else body
        if self.shape == "responses":
            return {**around, "model": "m", "instructions": system, "input": _items(history), "tools": _flat(tools)}
        messages = [{"role": "system", "content": system}, *_chat(history)]
        functions = [
            {"type": "function", "function": {"name": tool["name"], "parameters": tool["input_schema"]}}
            for tool in tools
        ]
        if self.shape == "parts":
            for message in messages:
                if message["role"] in ("system", "user"):
                    message["content"] = [{"type": "text", "text": message["content"]}]
        body = {"messages": messages, "tools": functions, "model": "m"}
        if self.shape == "encoded":
            return {**around, "body": json.dumps(body)}
        if self.shape == "batch":
            return {"custom_id": around["id"], "method": "POST", "url": "/v1/chat/completions", "body": body}
        if self.shape == "langfuse":
            return {**around, "traceId": "t", "input": {"messages": messages, "tools": functions}, "output": "x"}
        return {**around, "request": {"body": body}} if self.shape == "body" else {**around, **body}


def _chat(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for message in history:
        if message["role"] == "calls":
            calls = [
                {
                    "id": call["id"],
                    "type": "function",
                    "function": {"name": call["name"], "arguments": json.dumps(call["arguments"])},
                }
                for call in message["calls"]
            ]
            messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        elif message["role"] == "results":
            messages += [
                {"role": "tool", "tool_call_id": result["id"], "content": result["content"]}
                for result in message["results"]
            ]
        else:
            messages.append(dict(message))
    return messages


def _anthropic(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for message in history:
        if message["role"] == "calls":
            blocks = [
                {"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["arguments"]}
                for call in message["calls"]
            ]
            messages.append({"role": "assistant", "content": blocks})
        elif message["role"] == "results":
            blocks = [
                {"type": "tool_result", "tool_use_id": result["id"], "content": result["content"]}
                for result in message["results"]
            ]
            messages.append({"role": "user", "content": blocks})
        else:
            messages.append(dict(message))
    return messages


def _items(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    for message in history:
        if message["role"] == "calls":
            items += [
                {
                    "type": "function_call",
                    "call_id": call["id"],
                    "name": call["name"],
                    "arguments": json.dumps(call["arguments"]),
                }
                for call in message["calls"]
            ]
        elif message["role"] == "results":
            items += [
                {"type": "function_call_output", "call_id": result["id"], "output": result["content"]}
                for result in message["results"]
            ]
        else:
            items.append({"role": message["role"], "content": [{"type": "input_text", "text": message["content"]}]})
    return items


def _flat(tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"type": "function", "name": tool["name"], "parameters": tool["input_schema"]} for tool in tools]
