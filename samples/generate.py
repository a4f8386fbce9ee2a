"""Writes the sample logs beside this file: `python samples/generate.py`.

The logs are invented; their texts lie in `wording/`. They have the form of the logs that a gateway in front of an
inference server writes: one request a line, an OpenAI chat body, the time of its arrival. Each run writes the same
bytes.
"""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

Record = dict[str, Any]
HERE = Path(__file__).parent
START = datetime(2026, 3, 17, 8, 2, 11, tzinfo=UTC)
ITEMS = (
    "rain jacket",
    "touring bike",
    "child seat",
    "helmet",
    "gravel bike",
    "pannier set",
    "floor pump",
    "hub dynamo",
)
CITIES = ("Ghent", "Lyon", "Aarhus", "Bremen", "Kraków", "Porto")
INCIDENTS = (
    ("checkout", "p99 latency of checkout above 2 s for ten minutes"),
    ("mail-relay", "queue depth of mail-relay grows by 900 messages a minute"),
    ("image-resizer", "image-resizer was killed by the kernel for the third time today"),
)
METRICS = {"memory": 8192, "p99_latency": 4000, "queue_depth": 40000}
USAGE = {
    2: (363, 96),
    5: (395, 96),
    8: (363, 96),
    11: (363, 144),
    14: (395, 160),
    17: (395, 160),
    20: (395, 160),
    23: (365, 160),
    26: (369, 96),
    29: (336, 96),
}
"""Prompt and cached tokens that the server reported, by question: two of them after other traffic took blocks away."""
WARNINGS = ("connection reset by peer", "slow query 1874 ms", "pool exhausted, waited 5000 ms", "exit 137")


def wording(name: str) -> str:
    return (HERE / "wording" / name).read_text(encoding="utf-8").strip()


def iso(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def message(role: str, content: str) -> Record:
    return {"role": role, "content": content}


def support(*, clock_on_top: bool) -> Iterator[Record]:
    """A support bot: several customers at a time, each turn sends the whole conversation again.

    The time and the session stand on lines 2 and 3 of the system prompt, or (the same conversations, repaired) at the
    end of each user message; later turns send the earlier messages as they were.
    """
    rng = random.Random(11)
    opening, rules = wording("support_system.md").split("\n{stamp}\n")
    turns = []
    for number, script in enumerate(wording("support_conversations.txt").split("\n\n")):
        time = START + timedelta(seconds=95 * number + rng.randrange(60))
        session = uuid.UUID(int=rng.getrandbits(128), version=4)
        customer = f"customer-{rng.randrange(1000, 9999)}"
        spoken = script.format(
            order=f"NC-{rng.randrange(40000, 99999)}",
            item=rng.choice(ITEMS),
            city=rng.choice(CITIES),
            number=rng.randrange(120, 2900),
        ).split("\n")
        history = []
        for turn in range(0, len(spoken), 2):
            stamp = f"Current time: {iso(time)}\nSession: {session}"
            if turn:
                history.append(message("assistant", spoken[turn - 1]))
            if clock_on_top:
                history.append(message("user", spoken[turn]))
                system = f"{opening}\n{stamp}\n{rules}"
            else:
                history.append(message("user", f"{spoken[turn]}\n\n{stamp}"))
                system = f"{opening}\n{rules}"
            turns.append((time, customer, [message("system", system), *history]))
            time += timedelta(seconds=rng.randrange(40, 150))
    turns.sort(key=lambda turn: turn[0])
    for number, (time, customer, messages) in enumerate(turns, start=1):
        yield {
            "id": f"chat-{number:03d}",
            "timestamp": iso(time),
            "model": "gpt-4o-mini",
            "user": customer,
            "temperature": 0.2,
            "messages": messages,
        }


def tool_result(rng: random.Random, name: str, arguments: Record) -> Record:
    if name == "read_metrics":
        scale = METRICS[arguments["metric"]]
        return {
            "unit": "per minute",
            "rows": [[-minute, round(rng.random() * scale, 1)] for minute in range(11, -1, -1)],
        }
    if name == "search_log":
        warnings = [warning for warning in WARNINGS if arguments["contains"] in f"WARN {warning}"]
        lines = [
            f"{iso(START - timedelta(seconds=rng.randrange(900)))} {arguments['service']}-{rng.randrange(1, 5)} "
            f"WARN {rng.choice(warnings)} (request {rng.getrandbits(40):010x})"
            for _ in range(arguments["limit"])
        ]
        return {"lines": sorted(lines)}
    if name == "list_deployments":
        ages = ((3, "mira"), (27, "joost"), (75, "mira"))
        return {
            "deployments": [
                {"at": iso(START - timedelta(hours=hours)), "commit": f"{rng.getrandbits(28):07x}", "author": author}
                for hours, author in ages
            ]
        }
    return {"restarted": 4, "seconds": rng.randrange(40, 80), "healthy": True}


def agent() -> Iterator[Record]:
    """An agent loop: each turn appends a tool call and its result, and sends everything again. Sessions overlap."""
    rng = random.Random(12)
    system, tools = wording("agent_system.md"), json.loads(wording("agent_tools.json"))
    turns = []
    for number, (service, alarm) in enumerate(INCIDENTS, start=2107):
        calls: list[tuple[str, Record]] = [
            ("read_metrics", {"service": service, "metric": "p99_latency", "minutes": 12}),
            ("read_metrics", {"service": service, "metric": "memory", "minutes": 12}),
            ("search_log", {"service": service, "contains": "WARN", "limit": 6}),
            ("list_deployments", {"service": service}),
            ("read_metrics", {"service": service, "metric": "queue_depth", "minutes": 12}),
            ("search_log", {"service": service, "contains": "pool", "limit": 4}),
            ("restart", {"service": service, "reason": "memory grows, last deployment is three hours old"}),
        ]
        task = f"Incident {number}, opened by the alarm '{alarm}'. Service: {service}."
        messages = [message("system", system), message("user", task)]
        time = START + timedelta(seconds=19 * (number - 2107))
        turns.append((time, f"incident-{number}", list(messages)))
        for name, arguments in calls:
            time += timedelta(milliseconds=rng.randrange(6000, 30000))
            call_id = f"call_{rng.getrandbits(48):012x}"
            function = {"name": name, "arguments": json.dumps(arguments)}
            messages += [
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [{"id": call_id, "type": "function", "function": function}],
                },
                {"role": "tool", "tool_call_id": call_id, "content": json.dumps(tool_result(rng, name, arguments))},
            ]
            turns.append((time, f"incident-{number}", list(messages)))
    turns.sort(key=lambda turn: turn[0])
    for time, session, messages in turns:
        yield {
            "timestamp": round(time.timestamp(), 3),
            "session_id": session,
            "model": "Qwen/Qwen3-8B",
            "messages": messages,
            "tools": tools,
            "chat_template_kwargs": {"enable_thinking": False},
        }


def rag() -> Iterator[Record]:
    """Questions about a handbook: passages that a search found, in the order of the day's scores, then the question.

    Every third record has the answer's usage, as the server reported it.
    """
    rng = random.Random(13)
    passages, questions = wording("rag_passages.txt").splitlines(), wording("rag_questions.txt").splitlines()
    found = {topic: [topic, *rng.sample([n for n in range(len(passages)) if n != topic], 3)] for topic in range(12)}
    time = START
    for number in range(1, 31):
        time += timedelta(seconds=rng.randrange(5, 240))
        topic = min(int(rng.expovariate(0.35)), len(questions) - 1)
        ranked = rng.sample(found[topic], 4)
        texts = "\n\n".join(f"[H{index + 1:02d}] {passages[index]}" for index in ranked)
        record: Record = {
            "id": f"ask-{number:03d}",
            "timestamp": iso(time),
            "request": {
                "model": "Qwen/Qwen3-8B",
                "messages": [
                    message("system", wording("rag_system.md")),
                    message("user", f"Passages:\n\n{texts}\n\nQuestion: {questions[topic]}"),
                ],
                "temperature": 0,
            },
        }
        if number in USAGE:
            prompt, cached = USAGE[number]
            usage = {"prompt_tokens": prompt, "prompt_tokens_details": {"cached_tokens": cached}}
            record["response"] = {"object": "chat.completion", "usage": usage}
        yield record


def logs() -> dict[str, bytes]:
    """The content of each log by its file's name."""
    records = {
        "agent_with_tools.jsonl": agent(),
        "rag.jsonl": rag(),
        "support_clock_at_end.jsonl": support(clock_on_top=False),
        "support_clock_on_top.jsonl": support(clock_on_top=True),
    }
    return {
        name: b"".join([json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in rows])
        for name, rows in records.items()
    }


if __name__ == "__main__":
    for name, content in logs().items():
        (HERE / name).write_bytes(content)
