"""Texts of templates in varied styles, as lists of lines."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random

from tests.planted.words import PARTS, sentence, sentences

Lines = list[str]


def rules(rng: Random, language: str, size: int) -> Lines:
    """Numbered rules under a first sentence."""
    form = rng.choice(["{}. {}", "{}) {}", "Rule {}: {}", "§{} {}"])
    return [sentence(rng, language), *[form.format(n, sentence(rng, language)) for n in range(1, size)]]


def prose(rng: Random, language: str, size: int) -> Lines:
    """Paragraphs, each one line, with empty lines between them."""
    lines: Lines = []
    while len(lines) < size:
        lines += [sentences(rng, language, rng.randint(2, 5)), ""]
    return lines[:-1]


def markdown(rng: Random, language: str, size: int) -> Lines:
    """Sections with headings and bullets."""
    lines: Lines = []
    section = 0
    while len(lines) < size:
        section += 1
        lines += [f"{'#' * rng.randint(1, 3)} {section} {sentence(rng, language)[:24]}", ""]
        lines += [f"* {sentence(rng, language)}" for _ in range(rng.randint(2, 6))]
        lines += [""] if rng.random() < 0.7 else ["---"]
    return lines


def blocks(rng: Random, language: str, size: int) -> Lines:
    """XML-like blocks."""
    lines: Lines = []
    while len(lines) < size:
        name = rng.choice(["policy", "tone", "example", "scope", "limits"])
        lines += [f'<{name} id="{rng.randint(1, 99)}">']
        lines += ["  " * rng.randint(0, 1) + sentence(rng, language) for _ in range(rng.randint(1, 5))]
        lines += [f"</{name}>"]
    return lines


def config(rng: Random, language: str, size: int) -> Lines:
    """A JSON object, indented."""
    entries = {f"{rng.choice(['rule', 'step', 'note'])}_{n}": sentence(rng, language) for n in range(size // 2)}
    entries |= {f"limit_{n}": rng.randint(1, 500) for n in range(size // 4)}  # type: ignore[misc]
    return json.dumps(entries, ensure_ascii=False, indent=2).split("\n")


def bullets(rng: Random, language: str, size: int) -> Lines:
    """A bullet list in two levels."""
    mark = rng.choice("-*•")
    return [f"{'  ' * (rng.random() < 0.3)}{mark} {sentence(rng, language)}" for _ in range(size)]


STYLES: dict[str, Callable[[Random, str, int], Lines]] = {
    "rules": rules,
    "prose": prose,
    "markdown": markdown,
    "blocks": blocks,
    "config": config,
    "bullets": bullets,
}


def language_of(rng: Random) -> str:
    """English as often as all others together."""
    return "en" if rng.random() < 0.5 else rng.choice(sorted(PARTS))


def static_lines(rng: Random, size: int) -> tuple[str, Lines]:
    """The style's name and the lines of a system text."""
    style = rng.choice(sorted(STYLES))
    return style, STYLES[style](rng, language_of(rng), size)


def tool(rng: Random, name: str) -> dict[str, object]:
    """A function as chat bodies declare it."""
    parameters = {
        word: {"type": rng.choice(["string", "integer"]), "description": sentence(rng, "en")}
        for word in rng.sample(["query", "limit", "since", "place", "kind", "depth"], rng.randint(1, 3))
    }
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": sentences(rng, "en", rng.randint(1, 3)),
            "parameters": {"type": "object", "properties": parameters, "required": sorted(parameters)[:1]},
        },
    }


def tools(rng: Random, number: int) -> list[dict[str, object]]:
    """Tools of different names, in no order of names."""
    names = [
        "track_parcel",
        "find_locker",
        "open_ticket",
        "read_file",
        "search_web",
        "send_mail",
        "book_slot",
        "get_rate",
    ]
    return [tool(rng, name) for name in rng.sample(names, number)]
