"""Large logs of the kinds that production writes, from a seed: `python -m benchmarks.workloads KIND REQUESTS FILE`.

The prose is random phrases with some code, numbers and other scripts in it, so that a tokenizer has its usual work;
what matters is which text is sent again and which is new.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

Record = dict[str, Any]
START = datetime(2026, 5, 4, 6, 30, tzinfo=UTC)
MODEL = "served-model"

OPENINGS = (
    "As a rule, ",
    "In every case ",
    "Unless told otherwise, ",
    "If nothing else fits, ",
    "Before closing, ",
    "",
    "",
    "",
)
SUBJECTS = (
    "the assistant",
    "a second reviewer",
    "the harbour office",
    "our night shift",
    "the tenant",
    "each branch library",
    "the greenhouse controller",
    "a returning visitor",
    "the ferry operator",
    "whoever holds the key",
    "the archive",
    "the billing run",
    "an external auditor",
    "the turbine crew",
)
VERBS = (
    "checks",
    "postpones",
    "quotes",
    "rewrites",
    "never forwards",
    "keeps",
    "compares",
    "cannot release",
    "measures",
    "signs for",
    "re-opens",
    "should translate",
    "may reject",
    "labels",
)
OBJECTS = (
    "the loading plan",
    "a borrowed volume",
    "every open invoice",
    "the tide table",
    "two unrelated complaints",
    "the humidity reading",
    "a half-finished form",
    "the spare gearbox",
    "any photograph with faces",
    "the winter timetable",
    "an unpaid deposit",
    "the maintenance window",
    "the oldest claim",
    "a broken seal",
)
TAILS = (
    "until the pilot has answered",
    "within the same working day",
    "without naming a colleague",
    "as soon as the sensor is back",
    "and notes the reason in one line",
    "even when the customer insists",
    "because the contract says so",
    "unless it rains",
    "in the order of arrival",
    "and leaves the rest untouched",
    "at the north gate only",
    "with both signatures",
)
OTHER_SCRIPTS = (
    "Ĉiuj dokumentoj restas en la arkivo.",
    "请在周五之前归还所有借出的书籍。",
    "潮位表は毎朝六時に更新されます。",
    "Порт закрыт до утра из-за шторма.",
    "الرجاء إغلاق البوابة الشمالية بعد الساعة العاشرة.",
    "Die Überprüfung der Getriebe läuft noch — bitte Geduld.",
    "보증금은 열흘 안에 돌려드립니다.",
    "¿Quién firmó el plan de carga del martes?",
    "सभी पाठकों से निवेदन है कि शांति बनाए रखें।",
)
SNIPPETS = (
    "```python\ndef tide(height: float, *, datum: float = 1.42) -> float:\n    return round(height - datum, 3)\n```",
    '```json\n{"berth": 7, "vessel": null, "cranes": ["K2", "K5"], "open": true}\n```',
    "```sql\nSELECT reader, count(*) AS loans FROM loans WHERE returned IS NULL GROUP BY reader;\n```",
    "```sh\nfor f in readings/*.csv; do tail -n +2 \"$f\" | cut -d';' -f3 >> humidity.txt; done\n```",
)


def sentence(rng: random.Random) -> str:
    end = rng.choice((".", ".", ".", "?", "!", f" (see {rng.randrange(1, 30)}.{rng.randrange(9)})."))
    words = (rng.choice(OPENINGS) + rng.choice(SUBJECTS), rng.choice(VERBS), rng.choice(OBJECTS), rng.choice(TAILS))
    text = " ".join(words) + end
    return text[0].upper() + text[1:]


def paragraph(rng: random.Random, sentences: int) -> str:
    parts = []
    for _ in range(sentences):
        chance = rng.random()
        if chance < 0.08:
            parts.append(rng.choice(OTHER_SCRIPTS))
        elif chance < 0.12:
            parts.append(f"\n{rng.choice(SNIPPETS)}\n")
        else:
            parts.append(sentence(rng))
    return " ".join(parts)


def rules(rng: random.Random, count: int) -> str:
    return "\n".join([f"{number}. {paragraph(rng, 4)}" for number in range(1, count + 1)])


def random_uuid(rng: random.Random) -> str:
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


def message(role: str, content: str) -> Record:
    return {"role": role, "content": content}


def arrivals(rng: random.Random) -> Iterator[datetime]:
    time = START
    while True:
        time += timedelta(milliseconds=int(rng.expovariate(1 / 700)))
        yield time


def chat(time: datetime, messages: list[Record], **more: Any) -> Record:
    return {"model": MODEL, "timestamp": round(time.timestamp(), 3), **more, "messages": messages}


def support(rng: random.Random, requests: int, *, clock_on_top: bool) -> Iterator[Record]:
    """One long system prompt, a clock and a session id in it, short questions."""
    opening = "You are the help desk of Saltmarsh Harbour and Library Services. Keep to all of the rules below."
    body = rules(rng, 22)
    for time in itertools.islice(arrivals(rng), requests):
        stamp = f"Current time: {time:%Y-%m-%dT%H:%M:%SZ}\nSession: {random_uuid(rng)}"
        question = " ".join([sentence(rng) for _ in range(3)])
        if clock_on_top:
            messages = [message("system", f"{opening}\n{stamp}\n{body}"), message("user", question)]
        else:
            messages = [message("system", f"{opening}\n{body}"), message("user", f"{question}\n\n{stamp}")]
        yield chat(time, messages, temperature=0.2)


def tool(rng: random.Random, number: int) -> Record:
    properties = {
        f"{rng.choice(OBJECTS).split()[-1]}_{index}": {
            "type": rng.choice(("string", "integer", "boolean")),
            "description": sentence(rng),
        }
        for index in range(rng.randrange(2, 6))
    }
    return {
        "type": "function",
        "function": {
            "name": f"{rng.choice(OBJECTS).split()[-1]}_tool_{number}",
            "description": sentence(rng),
            "parameters": {"type": "object", "properties": properties, "required": list(properties)[:1]},
        },
    }


def observation(rng: random.Random) -> str:
    rows = [{"id": rng.randrange(10**6), "berth": f"B-{rng.randrange(9999)}", "note": sentence(rng)} for _ in range(13)]
    return f"Observation: {json.dumps({'rows': rows}, ensure_ascii=False)}\n{paragraph(rng, 6)}"


def agents(rng: random.Random, requests: int) -> Iterator[Record]:
    """Sessions of 30 turns that run side by side; every turn sends all that came before it."""
    turns = 30
    sessions = -(-requests // turns)
    system, tools = rules(rng, 14), [tool(rng, number) for number in range(12)]
    histories = [
        [message("system", system), message("user", f"Task {session}: {paragraph(rng, 6)}")]
        for session in range(sessions)
    ]
    order = [session for session in range(sessions) for _ in range(turns)]
    rng.shuffle(order)
    for session, time in zip(order[:requests], arrivals(rng)):
        history = histories[session]
        yield chat(time, history, session_id=f"run-{session}", tools=tools)
        history.append(message("assistant", f"Thought: {paragraph(rng, 4)}"))
        history.append(message("user", observation(rng)))


def rag(rng: random.Random, requests: int) -> Iterator[Record]:
    """Four documents of a pool of 200, a few of them wanted often, in random order ahead of the question."""
    system = rules(rng, 6)
    documents = [f"[document {number}] {paragraph(rng, 26)}" for number in range(200)]
    weights = [1 / (rank + 1) ** 0.9 for rank in range(200)]
    for time in itertools.islice(arrivals(rng), requests):
        found: set[int] = set()
        while len(found) < 4:
            found.update(rng.choices(range(200), weights))
        chosen = sorted(found)
        rng.shuffle(chosen)
        texts = "\n\n".join([documents[number] for number in chosen])
        yield chat(time, [message("system", system), message("user", f"{texts}\n\nQuestion: {sentence(rng)}")])


def few_shot(rng: random.Random, requests: int) -> Iterator[Record]:
    """Forty tenants behind one preamble, each with its own eight examples; a few tenants send most of the traffic."""
    preamble = rules(rng, 3)
    tenants = []
    for number in range(40):
        examples = "\n".join(
            [f"Example {index}:\nInput: {paragraph(rng, 2)}\nOutput: {rng.random():.2f}" for index in range(1, 9)]
        )
        tenants.append(f"{preamble}\nTenant: branch-{number}\nTone: {rng.choice(TAILS)}\n{examples}")
    weights = [1 / (rank + 1) for rank in range(40)]
    for time in itertools.islice(arrivals(rng), requests):
        (number,) = rng.choices(range(40), weights)
        messages = [message("system", tenants[number]), message("user", f"Input: {sentence(rng)} {sentence(rng)}")]
        yield chat(time, messages, metadata={"tenant": f"branch-{number}"})


def trace(rng: random.Random, requests: int) -> Iterator[Record]:
    """Chained block ids of 512 tokens in place of text: prefixes shared by some, tails of one's own."""
    lengths = [rng.randrange(2, 24) for _ in range(2000)]
    starts = list(itertools.accumulate(lengths, initial=0))
    weights = list(itertools.accumulate([1 / (rank + 1) ** 1.05 for rank in range(2000)]))
    fresh = starts[-1]
    for time in itertools.islice(arrivals(rng), requests):
        (group,) = rng.choices(range(2000), cum_weights=weights)
        own = rng.randrange(1, 12)
        blocks = [*range(starts[group], starts[group + 1]), *range(fresh, fresh + own)]
        fresh += own
        yield {
            "timestamp": int((time - START).total_seconds() * 1000),
            "input_length": (len(blocks) - 1) * 512 + rng.randrange(1, 513),
            "output_length": rng.randrange(10, 800),
            "hash_ids": blocks,
        }


KINDS: dict[str, Callable[[random.Random, int], Iterator[Record]]] = {
    "support": lambda rng, requests: support(rng, requests, clock_on_top=True),
    "support-repaired": lambda rng, requests: support(rng, requests, clock_on_top=False),
    "agents": agents,
    "rag": rag,
    "few-shot": few_shot,
    "trace": trace,
}


def write(kind: str, requests: int, file: Path, seed: int = 1) -> None:
    """Writes the log; the same arguments write the same bytes."""
    with file.open("w", encoding="utf-8", newline="\n") as log:
        for record in KINDS[kind](random.Random(seed), requests):
            log.write(json.dumps(record, ensure_ascii=False) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("requests", type=int)
    parser.add_argument("file", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    write(given.kind, given.requests, given.file, given.seed)


if __name__ == "__main__":
    main()
