"""`lint --fix`: each rewrite, what is refused, and that no other byte of a file changes."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from prefixlab.template_rewriting.day_formats import of_days
from prefixlab.template_rewriting.edits import Refused
from tests.command import prefixlab

RULES = """\
You are the assistant of a small bookshop. Answer in two sentences, quote the order
number, and never promise a refund date. If you are unsure, ask one question.
"""
IMPORTS = """\
import glob, json, os, time
import json as j
from json import dumps
from datetime import datetime
TAGS = {"b", "a", "ü"}
RULES = \"\"\"<RULES>\"\"\"


def system_prompt(q, prefs: dict, tools: dict):
""".replace("<RULES>", RULES)

JINJA = [
    ("{{ x | tojson(sort_keys=false) }}", "{{ x | tojson }}"),
    ("{{- x|tojson( indent=2,  sort_keys=False )-}}", "{{- x|tojson( indent=2 )-}}"),
    ("{{ x | tojson(sort_keys=false, indent=2) }}", "{{ x | tojson(indent=2) }}"),
    ("{% set s = x | tojson(sort_keys=false) %}{{ s }}", "{% set s = x | tojson %}{{ s }}"),
    (
        "{% for k, v in opts.items() %}{{ k }}={{ v }} {% endfor %}",
        "{% for k, v in opts | dictsort %}{{ k }}={{ v }} {% endfor %}",
    ),
    (
        "{%- for k, v in a.opts.items() if v -%}{{ k }}{% endfor %}",
        "{%- for k, v in a.opts | dictsort if v -%}{{ k }}{% endfor %}",
    ),
    ("{% for k in opts.keys() %}{{ k }}{% endfor %}", "{% for k in opts.keys() | sort %}{{ k }}{% endfor %}"),
    ("{% for k in set(tags) %}{{ k }}{% endfor %}", "{% for k in set(tags) | sort %}{{ k }}{% endfor %}"),
    ("{% for k in tags | set %}{{ k }}{% endfor %}", "{% for k in tags | set | sort %}{{ k }}{% endfor %}"),
    ("{{ set(tags) | join(', ') }}", "{{ set(tags) | sort | join(', ') }}"),
    ("{{ opts.keys() | join }}", "{{ opts.keys() | sort | join }}"),
    (
        "{% for t in tools.values() %}{{ t.name }}{% endfor %}",
        "{% for t in tools | dictsort | map(attribute=1) %}{{ t.name }}{% endfor %}",
    ),
    (
        "{% for n, t in tools.items() %}{{ n }}: {{ t }}{% endfor %}",
        "{% for n, t in tools | dictsort %}{{ n }}: {{ t }}{% endfor %}",
    ),
]
JINJA_REFUSED = [
    ("{% for k, v in opts.items() %}{{ loop.index }}. {{ k }}{% endfor %}", "numbered"),
    ("{{ set(tags) }}", "as a whole"),
    ("{% for k, v in (opts.items() | list) %}{{ k }}{% endfor %}", "elsewhere"),
    ("{% set o = opts.items() %}{% for k, v in o %}{{ k }}{% endfor %}", "elsewhere"),
]
PYTHON = [
    ('f"S: {json.dumps(prefs)} "', 'f"S: {json.dumps(prefs, sort_keys=True)} "'),
    ('"S: " + json.dumps(prefs, indent=2)', '"S: " + json.dumps(prefs, indent=2, sort_keys=True)'),
    ('"S: " + dumps(prefs, sort_keys=False)', '"S: " + dumps(prefs, sort_keys=True)'),
    ('"S: " + j.dumps((prefs))', '"S: " + j.dumps((prefs), sort_keys=True)'),
    ('"S: " + json.dumps(prefs, indent=2,)', '"S: " + json.dumps(prefs, indent=2, sort_keys=True,)'),
    (
        '"S: " + json.dumps(prefs, # as it is\n        )',
        '"S: " + json.dumps(prefs, sort_keys=True, # as it is\n        )',
    ),
    ('"ä: " + ", ".join(TAGS)', '"ä: " + ", ".join(sorted(TAGS))'),
    ('", ".join(f"{t}!" for t in TAGS)', '", ".join(f"{t}!" for t in sorted(TAGS))'),
    ('", ".join([t for t in (TAGS)])', '", ".join([t for t in (sorted(TAGS))])'),
    ('", ".join(TAGS | {"z"})', '", ".join(sorted(TAGS | {"z"}))'),
    ('"F: " + ", ".join(os.listdir("."))', '"F: " + ", ".join(sorted(os.listdir(".")))'),
    ("f\"F: {os.listdir('.')}\"", "f\"F: {sorted(os.listdir('.'))}\""),
    (
        '"\\n".join(f"{k}: {v}" for k, v in prefs.items())',
        '"\\n".join(f"{k}: {v}" for k, v in sorted(prefs.items(), key=str))',
    ),
    ('", ".join(f"{t.name}" for t in set(q))', '", ".join(sorted(f"{t.name}" for t in set(q)))'),
    ('", ".join([str(t) for t in set(q) | {None}])', '", ".join(sorted([str(t) for t in set(q) | {None}]))'),
    ('", ".join(map(str, set(q)))', '", ".join(sorted(map(str, set(q))))'),
]
PYTHON_REFUSED = [
    ('f"T: {TAGS}"', "as a whole"),
    ('"\\n".join(str(v) for v in prefs.values())', "comparable"),
    ('"S: " + json.dumps(prefs, **q)', "elsewhere"),
]


def fixed(path: Path, *options: str) -> tuple[bytes, list[str]]:
    run = prefixlab("lint", str(path), "--fix", "--format", "json", "--no-config", "--fail-on", "never", *options)
    assert (run.returncode, run.stderr) == (0, b"")
    return path.read_bytes(), json.loads(run.stdout)["notes"]


@pytest.fixture
def jinja(tmp_path: Path) -> Path:
    return tmp_path / "p.j2"


@pytest.mark.parametrize(("bad", "good"), JINJA)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_jinja(jinja: Path, bad: str, good: str, end: str) -> None:
    ahead, behind = (
        "# Ü {{ brand }} {# sort_keys=false #}\n  ",
        f"  \t\n{RULES}{{% for k in y %}}{{{{ k }}}}{{% endfor %}}",
    )
    before = (ahead + bad + behind).replace("\n", end)
    jinja.write_bytes(b"\xef\xbb\xbf" + before.encode())
    data, notes = fixed(jinja)
    assert data == b"\xef\xbb\xbf" + (ahead + good + behind).replace("\n", end).encode()
    assert notes[0].startswith("1 finding fixed; ")
    again, notes = fixed(jinja)
    assert again == data
    assert notes[0].startswith("0 findings fixed")


@pytest.mark.parametrize(("bad", "why"), JINJA_REFUSED)
def test_jinja_is_left(jinja: Path, bad: str, why: str) -> None:
    text = f"{bad}\n{RULES}"
    jinja.write_text(text)
    data, notes = fixed(jinja)
    assert data == text.encode()
    assert any(why in note and "is not fixed" in note for note in notes)


@pytest.mark.parametrize(("bad", "good"), PYTHON)
def test_python(tmp_path: Path, bad: str, good: str) -> None:
    path = tmp_path / "p.py"
    path.write_text(f"{IMPORTS}    return {bad} + RULES + q  # {bad[:9]}\n")
    data, notes = fixed(path)
    assert data.decode() == f"{IMPORTS}    return {good} + RULES + q  # {bad[:9]}\n"
    assert notes[0].startswith("1 finding fixed; ")


@pytest.mark.parametrize(("bad", "why"), PYTHON_REFUSED)
def test_python_is_left(tmp_path: Path, bad: str, why: str) -> None:
    path = tmp_path / "p.py"
    text = f"{IMPORTS}    return {bad} + RULES + q\n"
    path.write_text(text)
    data, notes = fixed(path)
    assert data == text.encode()
    assert any(why in note for note in notes), notes


def test_python_loop_and_own_sorted(tmp_path: Path) -> None:
    body = '    s = ""\n    for n, t in enumerate(TAGS):\n        s += f"{n} {t}"\n    return s + RULES + q\n'
    path = tmp_path / "p.py"
    path.write_text(IMPORTS + body)
    data, _ = fixed(path)
    assert data.decode() == IMPORTS + body.replace("enumerate(TAGS)", "enumerate(sorted(TAGS))")
    shadowed = f"def sorted(x):\n    return x\n\n\n{IMPORTS}{body}"
    path.write_text(shadowed)
    data, notes = fixed(path)
    assert data.decode() == shadowed
    assert any("of its own" in note for note in notes)


@pytest.mark.parametrize(
    "count", ["        n += 1\n", "        n = n + 1\n", "        n = next(c)\n", "        if n: break\n"]
)
def test_python_loops_that_number_their_items_are_left(tmp_path: Path, count: str) -> None:
    path = tmp_path / "p.py"
    loop = '        s += f"{n}. {k} {v}"\n    return s + RULES + q\n'
    path.write_text(f'{IMPORTS}    s, n = "", 0\n    for k, v in prefs.items():\n{count}{loop}')
    before = path.read_bytes()
    data, notes = fixed(path)
    assert data == before
    assert any("numbered" in note for note in notes)


def test_python_items_that_may_not_be_comparable(tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    body = '    s = ""\n    for t in set(q):\n        s += f"{t}"\n    return s + RULES\n'
    path.write_text(IMPORTS + body)
    assert fixed(path)[0].decode() == IMPORTS + body.replace("set(q):", "sorted(set(q), key=str):")
    path.write_text(IMPORTS + body.replace("{t}", "{t.name}"))
    data, notes = fixed(path)
    assert data.decode() == IMPORTS + body.replace("{t}", "{t.name}")
    assert any("comparable" in note for note in notes)


def test_python_prompts_no_longer_differ_between_processes(tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    names = ", ".join([f'"tag{number}"' for number in range(30)])
    path.write_text(
        f'TAGS = {{{names}}}\nRULES = """{RULES}"""\n\n\ndef prompt(q):\n    return " ".join(TAGS) + RULES + q\n'
    )

    def renderings() -> set[str]:
        code = "import runpy, sys; print(runpy.run_path(sys.argv[1])['prompt']('?'))"
        return {
            subprocess.run(
                [sys.executable, "-c", code, str(path)], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True
            ).stdout
            for seed in ("1", "2", "3")
        }

    assert len(renderings()) > 1
    fixed(path)
    assert len(renderings()) == 1


@pytest.mark.parametrize(
    ("format", "wanted"),
    [
        ("%Y-%m-%d %H:%M:%S", "%Y-%m-%d"),
        ("%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d"),
        ("%H:%M, %d %B %Y", "%d %B %Y"),
        ("%A, %d %B %Y at %H:%M UTC", "%A, %d %B %Y"),
        ("%Y-%m-%d %H:%M:%S.%f%z", "%Y-%m-%d"),
        ("%-d.%-m.%Y (%H:%M)", "%-d.%-m.%Y"),
        ("%H:%M", None),
        ("%c", None),
        ("%Y %H %m", None),
        ("%Y-%m-%d, the hour is %H", None),
        ("%Y-%m-%d", None),
        ("100%", None),
    ],
)
def test_formats_of_days(format: str, wanted: str | None) -> None:
    if wanted is None:
        with pytest.raises(Refused):
            of_days(format)
    else:
        assert of_days(format) == wanted


CLOCKS = [
    ("p.j2", '{{ now().strftime("%d %b %Y %H:%M") }}', '{{ now().strftime("%d %b %Y") }}'),
    ("p.j2", "{{ strftime_now('%Y-%m-%d %H:%M') }}", "{{ strftime_now('%Y-%m-%d') }}"),
    ("p.py", 'f"{datetime.now():%Y-%m-%d %H:%M} "', 'f"{datetime.now():%Y-%m-%d} "'),
    ("p.py", 'datetime.now().strftime("%d.%m.%Y %H:%M")', 'datetime.now().strftime("%d.%m.%Y")'),
    ("p.py", 'time.strftime("%d.%m.%Y %H:%M")', 'time.strftime("%d.%m.%Y")'),
]


@pytest.mark.parametrize(("name", "bad", "good"), CLOCKS)
def test_clocks_become_dates_only_when_asked(tmp_path: Path, name: str, bad: str, good: str) -> None:
    path = tmp_path / name

    def text(clock: str) -> bytes:
        if name == "p.j2":
            return f"Time: {clock}\n{RULES}".encode()
        return f"{IMPORTS}    now = {clock}\n    return 'Time: ' + now + RULES + q\n".encode()

    path.write_bytes(text(bad))
    assert fixed(path)[0] == text(bad)
    assert fixed(path, "--fix-clocks")[0] == text(good)


@pytest.mark.parametrize("clock", ["now()", "now().isoformat()", "now().strftime('%H:%M')", "now().strftime(form)"])
def test_clocks_without_a_day_in_sight_stay(jinja: Path, clock: str) -> None:
    jinja.write_text(f"Time: {{{{ {clock} }}}}\n{RULES}")
    before = jinja.read_bytes()
    assert fixed(jinja, "--fix-clocks")[0] == before


def test_dry_run_prints_a_diff_that_git_applies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for number, (bad, _) in enumerate(JINJA[:4]):
        Path(f"{number}.j2").write_text(f"{bad}\n{RULES}no break at the end")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    run = prefixlab("lint", ".", "--fix", "--dry-run")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert run.stderr.startswith(b"4 findings would be fixed; ")
    subprocess.run(["git", "apply"], input=run.stdout, check=True)
    applied = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for name, data in before.items():
        Path(name).write_bytes(data)
    prefixlab("lint", ".", "--fix")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == applied != before


def test_values_that_show_more_than_an_order_stop_a_fix(tmp_path: Path, jinja: Path) -> None:
    # The first item is taken apart from the others, which no static check can see.
    jinja.write_text(
        f"{{% for k, v in opts.items() %}}{{{{ 'first' if loop.first and k == 'b' }}}}{{% endfor %}}\n{RULES}"
    )
    values = tmp_path / "v.jsonl"
    values.write_text('{"opts": {"b": 1, "a": 2}}\n{"opts": {"a": 1, "b": 2}}\n')
    before = jinja.read_bytes()
    data, notes = fixed(jinja, "--values", str(values))
    assert data == before
    assert any("renders other text" in note for note in notes), notes


def test_values_that_show_an_order_let_a_fix_pass(tmp_path: Path, jinja: Path) -> None:
    jinja.write_text(f"{{% for k, v in opts.items() %}}{{{{ k }}}}={{{{ v }}}}, {{% endfor %}}\n{RULES}")
    values = tmp_path / "v.jsonl"
    values.write_text('{"opts": {"b": 1, "a": 2}}\n{"opts": {"a": 2, "b": 1}}\n')
    data, _ = fixed(jinja, "--values", str(values))
    assert b"opts | dictsort" in data


def test_what_is_suppressed_or_not_selected_or_included_from_elsewhere_stays(tmp_path: Path) -> None:
    bad = JINJA[0][0]
    one, two = tmp_path / "one.j2", tmp_path / "two.j2"
    one.write_text(f"{bad} {{# prefixlab: ignore[PL201] as it is #}}\n{RULES}")
    before = one.read_bytes()
    assert fixed(one)[0] == before
    one.write_text(f"{bad}\n{RULES}")
    before = one.read_bytes()
    assert fixed(one, "--select", "PL202")[0] == before
    one.write_text(f"{bad}\n")
    two.write_text(f"{{% include 'one.j2' %}}\n{RULES}")
    data, notes = fixed(two)
    assert data == f"{{% include 'one.j2' %}}\n{RULES}".encode()
    assert any("not among those" in note for note in notes)
    assert prefixlab("lint", str(tmp_path), "--fix", "--no-config", "--fail-on", "never").returncode == 0
    assert one.read_text() == f"{JINJA[0][1]}\n"


@pytest.mark.parametrize("seed", range(8))
def test_other_lines_are_what_they_were(tmp_path: Path, seed: int) -> None:
    drawn = random.Random(seed)
    path = tmp_path / "p.j2"
    plain = ["Brand: {{ brand }}", "{# a note #}", "", "Answer in two sentences.", "\tPrices are in euro: 3 €"]
    pairs = [*JINJA, *[(bad, bad) for bad, _ in JINJA_REFUSED]]
    lines = []
    for _ in range(12):
        lines.append(drawn.choice(pairs) if drawn.random() < 0.4 else (drawn.choice(plain),) * 2)
    end = drawn.choice(["\n", "\r\n"])
    path.write_bytes((end.join([bad for bad, _ in lines]) + end + RULES * 3).encode())
    data, _ = fixed(path)
    assert data.decode() == end.join([good for _, good in lines]) + end + RULES * 3


def test_a_clock_that_is_left_has_its_reason(tmp_path: Path) -> None:
    path = tmp_path / "p.j2"
    path.write_text(f'{{{{ strftime_now("%H:%M") }}}}\n{"Answer in two sentences, and be kind to all. " * 5}')
    found = prefixlab("lint", str(path), "--fix", "--dry-run", "--no-config")
    assert b"PL102 is not fixed: a clock becomes a date with --fix-clocks alone." in found.stderr


def test_the_format_of_a_format_call_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    call = '"On {:%Y-%m-%d %H:%M}\\n".format(datetime.now())'
    path.write_text(f"{IMPORTS}    return {call} + RULES + q\n")
    data, _ = fixed(path, "--fix-clocks")
    assert data.decode() == f"{IMPORTS}    return {call.replace(' %H:%M', '')} + RULES + q\n"


def test_a_module_keeps_the_encoding_that_it_names(tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    body = (
        "# -*- coding: latin-1 -*-\n" + IMPORTS.replace("ü", "é") + '    return f"é {json.dumps(prefs)}" + RULES + q\n'
    )
    path.write_bytes(body.encode("latin-1"))
    assert fixed(path)[0].decode("latin-1") == body.replace("dumps(prefs)", "dumps(prefs, sort_keys=True)")


def test_a_named_module_that_is_no_python_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("x = 1\ndef broken(:\n")
    run = prefixlab("lint", str(tmp_path / "plain.py"), "--no-config")
    assert (run.returncode, b"plain.py:2:12: is not Python" in run.stderr) == (2, True)
    assert prefixlab("lint", str(tmp_path), "--no-config").returncode == 0
