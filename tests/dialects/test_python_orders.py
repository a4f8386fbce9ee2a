"""Sets in Python source: whatever gives one, gone through ahead of stable text, is PL202 and ends what is shared."""

from __future__ import annotations

from pathlib import Path

import pytest

import prefixlab as pl

RULES = (
    "You are the assistant of a small bookshop. Answer in two sentences, quote the order number, and never promise a "
    "refund date. If you are unsure, ask one question."
)

OUT_OF_ORDER = [
    '", ".join({x for x in xs})',
    '", ".join(set(x for x in xs))',
    '", ".join(frozenset(x for x in xs))',
    '", ".join(frozenset(xs))',
    '", ".join({*a, *b})',
    '", ".join({*xs})',
    '", ".join([*{x for x in xs}])',
    '", ".join(["first", *set(xs)])',
    '", ".join(a | {"x", "y"})',
    '", ".join(set(a) | b)',
    '", ".join(set(a) & set(b))',
    '", ".join(set(a).union(b))',
    '", ".join({x for x in xs if x.ok})',
    '", ".join({x for x in ("a", "b") if x in xs})',
    '", ".join(tuple({x for x in xs}))',
    '", ".join(str(x) for x in {y for y in xs})',
    '", ".join(map(str, {y for y in xs}))',
    '", ".join(filter(None, set(xs)))',
    '", ".join(dict.fromkeys(set(xs)))',
    '", ".join({x: 1 for x in set(xs)})',
    '", ".join(f"{n}. {x}" for n, x in enumerate({*a, *b}))',
    '", ".join(f"{x}{y}" for x, y in zip({*a}, b))',
    "str({x for x in xs})",
    'f"{ {x for x in xs} }"',
]
IN_ORDER = [
    '", ".join(sorted({x for x in xs}))',
    '", ".join(sorted(set(x for x in xs)))',
    '", ".join(sorted(frozenset(xs), key=len))',
    '", ".join(sorted({*a, *b}))',
    '", ".join(sorted(set(a) | b))',
    '", ".join(x for x in sorted({y for y in xs}))',
    '", ".join(map(str, sorted(set(xs))))',
    '", ".join(sorted(x.upper() for x in set(xs)))',
    '", ".join(sorted({x.strip() for x in set(xs)}))',
    '", ".join(sorted(list({*xs})))',
    '", ".join(dict.fromkeys(xs))',
    '", ".join({"only"})',
    "str(len({x for x in xs}))",
    '("yes" if "a" in {x for x in xs} else "no")',
]
LOOPS = [
    "for x in {y for y in xs}:\n    text += x",
    "for x in {*a, *b}:\n    text += x",
    'for x in {"a", mode}:\n    text += x',
    "for x in set(a) | set(b):\n    text += x",
    "seen = set()\nfor x in xs:\n    seen.add(x)\ntext = str(seen)",
    "parts = []\nfor x in frozenset(xs):\n    parts.append(x)\ntext = ' '.join(parts)",
    "parts = []\nparts.extend({x for x in xs})\ntext = ' '.join(parts)",
]


def _module(body: str) -> str:
    inner = "\n".join(f"    {line}" for line in body.splitlines())
    return f'def system_prompt(xs, a, b, mode):\n    text = ""\n{inner}\n    return f"{{text}}\\n{RULES}"\n'


def _linted(path: Path, body: str) -> tuple[set[str], int]:
    path.write_text(_module(body))
    report = pl.lint([str(path)])
    assert len(report.templates) == 1
    return {finding.code for finding in report.findings}, report.templates[0].stable_tokens


@pytest.mark.parametrize("expression", OUT_OF_ORDER)
def test_a_set_has_no_order(expression: str, tmp_path: Path) -> None:
    codes, stable = _linted(tmp_path / "module.py", f"text = {expression}")
    assert codes == {"PL202"}
    assert stable < 5


@pytest.mark.parametrize("expression", IN_ORDER)
def test_what_is_sorted_or_one_value_has(expression: str, tmp_path: Path) -> None:
    codes, stable = _linted(tmp_path / "module.py", f"text = {expression}")
    assert not codes
    assert stable > 30


@pytest.mark.parametrize("body", LOOPS)
def test_loops(body: str, tmp_path: Path) -> None:
    codes, stable = _linted(tmp_path / "module.py", body)
    assert codes == {"PL202"}
    assert stable < 5


def test_a_loop_is_named_by_what_it_goes_through(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(_module("for x in {y for y in xs}:\n    text += x"))
    (finding,) = pl.lint([str(tmp_path)]).findings
    assert finding.line_text[finding.at.column - 1 : finding.ends_at - 1] == "{y for y in xs}" == finding.field
