"""`fix TEMPLATE`: which lines are moved and where to, which are refused and why, and what is measured."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest

from tests.command import Run, prefixlab

RULES = """\
You are the assistant of a small bookshop. Answer in two sentences, quote the order
number, and never promise a refund date. If you are unsure, ask one question.
"""
INDENTED = indent(RULES, "    ")
PROMPTY = "---\nname: shop\nmodel:\n  api: chat\n---\n"

MOVED = {
    "end of the prompt": ("p.j2", f"Current time: {{{{ now() }}}}\n{RULES}", f"{RULES}Current time: {{{{ now() }}}}\n"),
    "without a last line break": (
        "p.j2",
        f"Current time: {{{{ now() }}}}\n{RULES.rstrip()}",
        f"{RULES}Current time: {{{{ now() }}}}",
    ),
    "the blank line goes with it": (
        "p.j2",
        f"Time: {{{{ now() }}}}\n\n{RULES}",
        f"{RULES}\nTime: {{{{ now() }}}}\n",
    ),
    "ahead of the question and its heading": (
        "p.j2",
        f"Time: {{{{ now() }}}}\n{RULES}## Question\n{{{{ question }}}}\n",
        f"{RULES}Time: {{{{ now() }}}}\n## Question\n{{{{ question }}}}\n",
    ),
    "ahead of what is to be gone on from": (
        "p.j2",
        f"Time: {{{{ now() }}}}\n{RULES}Question: {{{{ question }}}}\nAnswer:",
        f"{RULES}Time: {{{{ now() }}}}\nQuestion: {{{{ question }}}}\nAnswer:",
    ),
    "ahead of the last value, which is the question where none is called so": (
        "p.j2",
        f"Time: {{{{ now() }}}}\n{RULES}Q: {{{{ q }}}}\n",
        f"{RULES}Time: {{{{ now() }}}}\nQ: {{{{ q }}}}\n",
    ),
    "behind a mark of the byte order": (
        "p.j2",
        f"\ufeffTime: {{{{ now() }}}}\n{RULES}",
        f"\ufeff{RULES}Time: {{{{ now() }}}}\n",
    ),
    "what differs least stands first": (
        "p.j2",
        f"Request {{{{ request_id }}}}\nUser: {{{{ user_name }}}}\n{RULES}{{{{ question }}}}\n",
        f"{RULES}User: {{{{ user_name }}}}\nRequest {{{{ request_id }}}}\n{{{{ question }}}}\n",
    ),
    "the line where a value enters": (
        "p.j2",
        f"{{% set t = now() %}}\nTime: {{{{ t }}}}\n{RULES}",
        f"{{% set t = now() %}}\n{RULES}Time: {{{{ t }}}}\n",
    ),
    "behind a condition": (
        "p.j2",
        f"Time: {{{{ now() }}}}\n{RULES}{{% if beta %}}\nBe brief.\n{{% endif %}}\n",
        f"{RULES}{{% if beta %}}\nBe brief.\n{{% endif %}}\nTime: {{{{ now() }}}}\n",
    ),
    "other line breaks": (
        "p.j2",
        f"Time: {{{{ now() }}}}\n\n{RULES}".replace("\n", "\r\n"),
        f"{RULES}\nTime: {{{{ now() }}}}\n".replace("\n", "\r\n"),
    ),
    "mustache": (
        "p.mustache",
        f"{{{{#big}}}}\nHi\n{{{{/big}}}}\nTime: {{{{now}}}}\n{RULES}{{{{question}}}}\n",
        f"{{{{#big}}}}\nHi\n{{{{/big}}}}\n{RULES}Time: {{{{now}}}}\n{{{{question}}}}\n",
    ),
    "its own message": (
        "p.prompty",
        f"{PROMPTY}system:\nTime: {{{{ now() }}}}\n{RULES}\nuser:\n{{{{ question }}}}\n",
        f"{PROMPTY}system:\n{RULES}Time: {{{{ now() }}}}\n\nuser:\n{{{{ question }}}}\n",
    ),
    "a message in YAML": (
        "p.yaml",
        f"- role: system\n  content: |\n    Time: {{{{ now }}}}\n{INDENTED}- role: user\n  content: hello\n",
        f"- role: system\n  content: |\n{INDENTED}    Time: {{{{ now }}}}\n- role: user\n  content: hello\n",
    ),
}

KEPT = {
    "inside a condition": ("p.j2", "{% if x %}\nTime: {{ now() }}\n{% endif %}\n" + RULES, "condition"),
    "inside a loop of constants": ("p.j2", "{% for x in [1] %}\nTime: {{ now() }}\n{% endfor %}\n" + RULES, "`for`"),
    "inside a block": ("p.j2", "{% block a %}\nTime: {{ now() }}\n{% endblock %}\n" + RULES, "`block`"),
    "a macro": ("p.j2", "{% macro m() %}Time: {{ now() }}{% endmacro %}\n{{ m() }}\n" + RULES, "macro"),
    "a statement beside it": ("p.j2", "Time: {{ now() }}{% if x %}!{% endif %}\n" + RULES, "on its line"),
    "a sentence beside it": ("p.j2", "You are Ben. It is {{ now() }}.\n" + RULES, "sentence without a value"),
    "many words": (
        "p.j2",
        "You are Ben who helps all who come to the shop with their books at {{ now() }}\n" + RULES,
        "more words",
    ),
    "spoken of": ("p.j2", "Time: {{ now() }}\n" + RULES + "Use the time above.\n", "line 4 speaks of it"),
    "an item": ("p.j2", "Facts:\n- Time: {{ now() }}\n- Town: Kiel\n" + RULES, "item of a list"),
    "JSON": ("p.j2", '{\n"time": "{{ now() }}",\n"a": "' + RULES + '"}\n', "JSON"),
    "code": ("p.j2", "```\nTime: {{ now() }}\n```\n" + RULES, "block of code"),
    "a tag": ("p.j2", "<a>\nTime: {{ now() }}\n</a>\n" + RULES, "tag <a>"),
    "a heading": ("p.j2", "## Time\n{{ now() }}\n" + RULES, "says what it is"),
    "a section": ("p.mustache", "{{#x}}\nTime: {{now}}\n{{/x}}\n" + RULES, "condition"),
    "whitespace control": ("p.j2", "Time: {{ now() -}}\n" + RULES, "form"),
    "a key beside it": ("p.yaml", '- role: system\n  content: "Time: {{ now }} ' + RULES[:-1] + '"\n', "form"),
}


def run(path: Path, text: str, *options: str) -> Run:
    path.write_bytes(text.encode())
    found = prefixlab("fix", str(path), "--no-config", *options)
    assert found.returncode == 0, found.stderr
    assert path.read_bytes() == text.encode()
    return found


def summary(path: Path, text: str, *options: str) -> Any:
    return json.loads(run(path, text, "--format", "json", *options).stdout)


@pytest.mark.parametrize("case", MOVED)
def test_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    name, text, wanted = MOVED[case]
    monkeypatch.chdir(tmp_path)
    found = run(Path(name), text, "-o", "new")
    assert Path("new").read_bytes() == wanted.encode()
    assert b"moved behind the stable text. Without values, by the text alone: " in b" ".join(found.stderr.split())
    subprocess.run(["git", "apply"], input=found.stdout, check=True)
    assert Path(name).read_bytes() == wanted.encode()
    # Nothing is left to do then.
    nothing = run(Path(name), wanted)
    assert (nothing.stdout, nothing.stderr.startswith(b"Nothing to gain")) == (b"", True)


@pytest.mark.parametrize("case", KEPT)
def test_kept(tmp_path: Path, case: str) -> None:
    name, text, why = KEPT[case]
    found = summary(tmp_path / name, text, "-o", str(tmp_path / "new"))
    assert (found["moved"], found["diff"], found["written_to"]) == ([], "", None)
    assert not (tmp_path / "new").exists()
    assert [one for one in found["kept"] if why in one["why"]], found["kept"]


def test_an_include_is_mended_where_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "head.j2").write_text("Time: {{ now() }}\n")
    found = summary(tmp_path / "p.j2", "{% include 'head.j2' %}\n" + RULES)
    assert not found["moved"]
    assert "includes" in found["kept"][0]["why"]


def test_replayed_with_values(tmp_path: Path) -> None:
    values = tmp_path / "v.jsonl"
    rows = [{"now": f"2026-05-01 10:00:0{n}", "question": f"{n} books?"} for n in range(4)]
    values.write_text("".join([json.dumps(row) + "\n" for row in rows]))
    text = f"Time: {{{{ now }}}}\n{RULES}{{{{ question }}}}\n"
    found = summary(tmp_path / "p.j2", text, "--values", str(values), "--block-size", "16")
    assert found["renderings"] == 4
    assert (found["before"]["aligned"], found["before"]["raw"] < found["after"]["raw"]) == (0.0, True)
    # The same figures as `compare` gives for the two files.
    new = tmp_path / "new.j2"
    run(tmp_path / "p.j2", text, "--values", str(values), "-o", str(new))
    compared = prefixlab("compare", str(tmp_path / "p.j2"), str(new), "--values", str(values), "--format", "json")
    sides = json.loads(compared.stdout)
    for side in ("before", "after"):
        assert sides[side]["warm"]["aligned_reuse"] == pytest.approx(found[side]["aligned"])
        assert sides[side]["warm"]["raw_reuse"] == pytest.approx(found[side]["raw"])


def test_nothing_is_offered_that_values_show_to_gain_nothing(tmp_path: Path) -> None:
    values = tmp_path / "v.jsonl"
    values.write_text('{"now": "noon", "question": "a"}\n{"now": "noon", "question": "b"}\n')
    text = f"Time: {{{{ now }}}}\n{RULES}{{{{ question }}}}\n"
    found = run(tmp_path / "p.j2", text, "--values", str(values))
    assert found.stderr.startswith(b"Nothing to gain: replayed with 2 rows of values, ")
    assert found.stdout == b""


def test_templates_and_logs_are_told_apart(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}]}
    log.write_text((json.dumps(body) + "\n") * 2)
    assert json.loads(run(log, log.read_text(), "--format", "json").stdout)["schema"] == "prefixlab.fix/1"
    one = tmp_path / "one.json"
    assert json.loads(run(one, json.dumps(body), "--format", "json").stdout)["schema"] == "prefixlab.fix/1"
    found = summary(one, json.dumps(body), "--dialect", "messages")
    assert (found["schema"], found["dialect"]) == ("prefixlab.fix_template/1", "messages")
    source = tmp_path / "p.py"
    source.write_text(f'def prompt(q):\n    return """{RULES}""" + q\n')
    refused = prefixlab("fix", str(source), "--no-config")
    assert (refused.returncode, b"is of python, where fix moves nothing" in refused.stderr) == (2, True)
    assert prefixlab("fix", str(tmp_path / "p.j2")).returncode == 2
    listed = tmp_path / "desk.json"
    listed.write_text(json.dumps([{"role": "system", "content": f"Time: {{{{ now }}}} {RULES}"}]))
    refused = prefixlab("fix", str(listed), "--no-config")
    assert (refused.returncode, b"If it is a template: --dialect messages." in refused.stderr) == (2, True)


def test_never_in_place(tmp_path: Path) -> None:
    path = tmp_path / "p.j2"
    path.write_text(MOVED["end of the prompt"][1])
    refused = prefixlab("fix", str(path), "-o", str(path))
    assert (refused.returncode, path.read_text()) == (2, MOVED["end of the prompt"][1])


@pytest.mark.parametrize("seed", range(12))
def test_lines_are_the_same_in_another_order_and_the_others_in_theirs(tmp_path: Path, seed: int) -> None:
    drawn = random.Random(seed)
    volatile = ["Time: {{ now() }}", "Request {{ request_id }}", "User: {{ user_name }}, at {{ now() }}"]
    others = ["Prices are in euro.", "", "{% if beta %}", "{# note #}", "Shop: {{ brand }}", "{% set a = 1 %}"]
    lines = []
    for _ in range(drawn.randrange(4, 14)):
        line = drawn.choice(volatile if drawn.random() < 0.3 else others)
        lines += [line, "Be brief.", "{% endif %}"] if line == "{% if beta %}" else [line]
    text = "\n".join([*lines, *([RULES.rstrip()] * 2), *(["{{ question }}"] * drawn.randrange(2))])
    text += "\n" * drawn.randrange(2)
    new = tmp_path / "new"
    found = summary(tmp_path / "p.j2", text, "-o", str(new))
    after = new.read_text() if found["moved"] else text
    moved = [one["text"] for one in found["moved"]]
    filled = [[line for line in one.split("\n") if line] for one in (text, after)]
    assert sorted(filled[0]) == sorted(filled[1])
    assert [line for line in filled[0] if line not in moved] == [line for line in filled[1] if line not in moved]
    assert found["before"]["stable_tokens"] < found["after"]["stable_tokens"] or not moved
    assert text.endswith("\n") == after.endswith("\n")
