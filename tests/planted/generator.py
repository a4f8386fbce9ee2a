"""Logs with holes planted at known places, from a seed: templates of all styles, values of all kinds.

A text is a tuple of strings and of holes' numbers; `drafts.body` fills it in, and can set a hole's value elsewhere.
"""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random

from tests.planted.drafts import Draft, Hole, Log, Message, Text
from tests.planted.layouts import static_lines, tools
from tests.planted.values import BARE, CONFIG, KINDS, LABELLED, PROSE, Kind, Moment, Values, schedule
from tests.planted.words import answer, question, sentence

SHAPES = ("single", "single", "conversation", "conversation", "plain", "header", "few_shots")


class _Template:
    """One template of a log: its texts with the holes in them, and the state of its conversations."""

    def __init__(self, rng: Random, shape: str, size: tuple[int, int]) -> None:
        self.rng, self.shape = rng, shape
        self.style, lines = static_lines(rng, rng.randint(*size))
        self.system: list[Text] = [(line,) for line in lines]
        self.tools = tools(rng, rng.randint(2, 6)) if shape != "plain" and rng.random() < 0.3 else []
        self.tool_texts: list[Text] = [(str(tool["function"]["description"]),) for tool in self.tools]  # type: ignore[index]
        self.header: list[Text] = []
        self.shots: list[Message] = []
        if shape == "header":
            self.header = [(line,) for line in static_lines(rng, rng.randint(8, 16))[1]]
        if shape == "few_shots":
            for _ in range(rng.randint(2, 5)):
                self.shots += [Message("user", (question(rng),)), Message("assistant", (answer(rng),))]
        self.histories: dict[str, list[Message]] = {}

    def plant(self, hole: int, kind: Kind, used: set[tuple[str, int]]) -> Hole:
        """Set a hole into one of the texts, in a line where none is yet."""
        rng = self.rng
        target = rng.random()
        if self.tools and target < 0.3 and not kind.loose:
            index = rng.randrange(len(self.tools))
            if ("tools", index) not in used:
                used.add(("tools", index))
                words = str(self.tool_texts[index][0])
                form = rng.choice(["{} Index of {{}}.", "Served for {{}}. {}", "{} Version {{}} of the data."]).format(
                    words
                )
                before, after = form.split("{}")
                self.tool_texts[index] = (before, hole, after)
                return Hole(hole, kind.name, f"tools[{index}]", form)
        part, lines, where = "system", self.system, "prompt" if self.shape == "plain" else "messages[0].content"
        if self.header and target < 0.7:
            part, lines, where = "header", self.header, "messages[1].content"
        spot = rng.choice([0, 1, rng.randrange(len(lines)), rng.randrange(len(lines)), len(lines) // 2])
        while (part, spot) in used:
            spot = (spot + 1) % len(lines)
        form, text = self._line(hole, kind, lines[spot], spot)
        lines[spot] = text
        used.add((part, spot))
        return Hole(hole, kind.name, where, form)

    def _line(self, hole: int, kind: Kind, old: Text, spot: int) -> tuple[str, Text]:
        """A line with the value in it. A line that was there is kept where the value is set into prose."""
        rng = self.rng
        label = rng.choice(kind.labels)
        words = str(old[0]) if len(old) == 1 else ""
        forms: tuple[str, ...] = LABELLED if rng.random() < 0.55 else PROSE if rng.random() < 0.6 else BARE
        if kind.loose:
            forms = LABELLED[:4]
        if self.style == "config" and spot and not kind.loose and rng.random() < 0.6:
            forms = CONFIG
        form = rng.choice(forms)
        tag = re.sub(r"\W+", "_", label).strip("_").lower() or "field"
        language = "en" if words.isascii() else "de"
        head = words if words.strip() else sentence(rng, language)
        line = form.replace("{label}", label).replace("{tag}", tag)
        line = line.replace("{head}", head).replace("{tail}", head if "{head}" not in form else sentence(rng, language))
        if kind.loose and rng.random() < 0.5:
            line = line.replace("{value}", "\n{value}" if kind.name == "text" else "{value}")
        before, after = line.split("{value}")
        return form, (before, hole, after)

    def control_at_end(self, hole: int, kind: Kind) -> Hole:
        """A value with nothing stable behind it: in the last line of the system text, the question behind it."""
        self.system.append(("It ends with ", hole))
        return Hole(hole, kind.name, "prompt" if self.shape == "plain" else "messages[0].content", "end", control=True)

    def draft(self, moment: Moment, values: dict[int, str]) -> Draft:
        rng = self.rng
        system = _joined(self.system)
        if self.shape == "plain":
            plain = (*system, "\n\n", question(rng))
            return Draft((Message("prompt", plain),), (), (), values, moment)
        messages = [Message("system", system), *self.shots]
        if self.shape == "conversation":
            history = self.histories.setdefault(moment.session, [])
            if history:
                history.append(Message("assistant", (answer(rng),)))
            history.append(Message("user", (question(rng),)))
            messages += history
        elif self.shape == "header":
            messages.append(Message("user", (*_joined(self.header), "\n\n", question(rng))))
        else:
            messages.append(Message("user", (question(rng),)))
        return Draft(tuple(messages), tuple(self.tools), tuple(self.tool_texts), values, moment)


def _joined(lines: list[Text]) -> Text:
    text: list[str | int] = []
    for line in lines:
        text += ["\n", *line] if text else [*line]
    return tuple(text)


def _patterns(rng: Random, kind: Kind) -> str:
    return rng.choice(kind.patterns)


SMALL_SEEDS = 10_000
"""Seeds from here on give small logs, for tests that have to be quick."""


def holes_log(seed: int) -> Log:
    """A log with 0 to 4 holes, controls beside them."""
    size, requests = ((10, 24), (20, 28)) if seed >= SMALL_SEEDS else ((10, 80), (20, 60))
    rng = Random(f"holes {seed}")
    shape = rng.choice(SHAPES)
    count = rng.randint(*requests)
    moments = schedule(rng, count, shape == "conversation")
    templates = [_Template(rng, shape, size) for _ in range(rng.choice([1, 1, 1, 1, 2, 3]))]
    holes: list[Hole] = []
    sources: list[Values] = []
    used: list[set[tuple[str, int]]] = [set() for _ in templates]
    owners: list[int] = []
    for number in range(rng.choice([0, 1, 1, 1, 2, 2, 2, 3, 3, 4])):
        owner = rng.randrange(len(templates))
        kind = rng.choice(KINDS)
        pattern = _patterns(rng, kind)
        holes.append(replace(templates[owner].plant(number, kind, used[owner]), pattern=pattern, template=owner))
        sources.append(Values(kind, pattern, f"{seed} {number}"))
        owners.append(owner)
    if rng.random() < 0.3 and shape in ("single", "few_shots"):
        number, owner = len(holes), rng.randrange(len(templates))
        kind = rng.choice([kind for kind in KINDS if not kind.loose])
        if shape == "single":
            made = templates[owner].control_at_end(number, kind)
            holes.append(replace(made, pattern=kind.patterns[0], template=owner))
            sources.append(Values(kind, kind.patterns[0], f"{seed} control"))
            owners.append(owner)
    template_of = {moment.session: rng.randrange(len(templates)) for moment in moments}
    drafts = []
    for moment in moments:
        owner = template_of[moment.session]
        values = {n: source(moment) for n, source in enumerate(sources) if owners[n] == owner}
        drafts.append(templates[owner].draft(moment, values))
    log = Log(seed, "", tuple(drafts), tuple(holes), None)
    holes = [replace(hole, control=hole.control or len(log.values_of(hole.number)) < 2) for hole in holes]
    styles = "/".join(template.style for template in templates)
    chat = None if shape == "plain" else rng.choice(["tools_first", "system_first"])
    return Log(seed, f"{shape}, {styles}, {count} requests", tuple(drafts), tuple(holes), chat)
