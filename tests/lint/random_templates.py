"""Random Jinja2 templates with values for them: text, holes, conditions, loops, set, macros, includes, white space."""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

WORDS = """Answer in two sentences . Quote the order number : never promise a refund date ; if unsure ask one question
größer 価格 договор {policy} <tag> "quoted" 100% it's""".split()  # noqa: SIM905 - easier to read
NAMES = ("now", "user_name", "request_id", "tone", "region", "question", "docs")


class RandomTemplate(NamedTuple):
    """The files of a template, `main.j2` among them, and rows of values."""

    files: dict[str, str]
    rows: list[dict[str, Any]]


def random_template(seed: int) -> RandomTemplate:
    """The template of a seed."""
    return _Maker(Random(seed)).template()


class _Maker:
    def __init__(self, random: Random) -> None:
        self._random = random
        self._files: dict[str, str] = {}
        self._macros: list[str] = []

    def template(self) -> RandomTemplate:
        random = self._random
        body = self._body(random.randint(3, 9), depth=0)
        self._files["main.j2"] = "".join(self._macros) + body
        constant = {name for name in NAMES if random.random() < 0.4}
        first = self._row()
        rows = []
        for _ in range(random.randint(2, 5)):
            row = self._row()
            rows.append({name: first[name] if name in constant else row[name] for name in NAMES})
        return RandomTemplate(self._files, rows)

    def _row(self) -> dict[str, Any]:
        random = self._random
        row: dict[str, Any] = {name: self._text(random.randint(1, 3)) for name in NAMES}
        row["now"] = f"{random.randint(0, 23):02}:{random.randint(0, 59):02}"
        row["tone"] = random.choice((True, False))
        row["docs"] = [self._text(2) for _ in range(random.randint(0, 3))]
        return row

    def _text(self, count: int) -> str:
        return " ".join(self._random.choice(WORDS) for _ in range(count))

    def _body(self, count: int, depth: int) -> str:
        return "".join(self._part(depth) for _ in range(count))

    def _part(self, depth: int) -> str:
        random = self._random
        kind = random.choice(("text", "text", "text", "hole", "hole", "if", "for", "set", "macro", "include", "raw"))
        if depth > 2 and kind in ("if", "for", "include", "macro"):
            kind = "text"
        left, right = random.choice(("", "-")), random.choice(("", "-"))
        if kind == "text":
            return self._text(random.randint(1, 12)) + random.choice(("\n", " ", "\n\n", ""))
        if kind == "hole":
            name = random.choice(NAMES[:6])
            shape = random.choice((name, f"{name} | upper", f"'<' ~ {name} ~ '>'", f"{name} if tone else 'none'"))
            return "{{" + left + f" {shape} " + right + "}}" + random.choice(("\n", " ", ""))
        if kind == "if":
            test = random.choice(("tone", "not tone", "docs", "1 == 1", "region == question"))
            other = f"{{%{left} else %}}{self._body(1, depth + 1)}" if random.random() < 0.5 else ""
            return f"{{%{left} if {test} {right}%}}{self._body(2, depth + 1)}{other}{{% endif %}}"
        if kind == "for":
            items = random.choice(("docs", "['a', 'b']", "range(2)"))
            return f"{{% for item in {items} {right}%}}- {{{{ item }}}}{self._body(1, depth + 1)}\n{{%{left} endfor %}}"
        if kind == "set":
            name = random.choice(NAMES[1:6])
            value = random.choice(("now", "'fixed ' ~ now", "'constant'", "region"))
            # A name of its own: what is set in a branch or a loop may not be seen behind it.
            return f"{{% set own_{name} = {value} %}}{{{{ own_{name} }}}}"
        if kind == "macro":
            number = len(self._macros)
            self._macros.append("")
            inner = self._body(2, depth + 2)
            self._macros[number] = f"{{% macro m{number}(x) %}}[{{{{ x }}}}{inner}]{{% endmacro %}}"
            return f"{{{{ m{number}({random.choice(NAMES[:6])}) }}}}"
        if kind == "include":
            name = f"part{len(self._files)}.j2"
            self._files[name] = ""
            self._files[name] = self._body(2, depth + 1)
            return f'{{% include "{name}" %}}'
        return "{% raw %}{{ not_a_hole }}{% endraw %}"
