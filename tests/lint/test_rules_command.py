"""`prefixlab rules`, and that each rule does what its documentation says."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from pathlib import Path

import pytest

from prefixlab.lint_rules import Rule
from prefixlab.registry import known_rules
from tests.command import prefixlab

RULES = list(known_rules().values())
MODULES = sorted((Path(__file__).parents[2] / "prefixlab" / "rules").glob("pl*.py"))


def found(rule: Rule, name: str, text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    monkeypatch.chdir(folder)
    Path(name).write_text(text, encoding="utf-8")
    # A rule that is not looked for by default is asked for beside those that are.
    chosen = [] if rule.is_default else ["--select", f"PL,{rule.code}"]
    run = prefixlab("lint", name, *chosen, *shlex.split(rule.asked), "--format", "json", "--fail-on", "never")
    assert (run.returncode, run.stderr) == (0, b"")
    return {one["code"] for one in json.loads(run.stdout)["findings"]}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_the_bad_example_is_found_and_the_good_one_is_not(
    rule: Rule, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert rule.code in found(rule, *rule.bad, tmp_path, monkeypatch)
    assert rule.code not in found(rule, *rule.good, tmp_path, monkeypatch)


def test_codes_and_names_are_of_one_rule_each() -> None:
    assert len(RULES) == len(MODULES)
    for rule, module in zip(RULES, MODULES, strict=True):
        assert module.stem == f"{rule.code.lower()}_{rule.name.replace('-', '_')}"
    codes = re.findall(r'RULE = Rule\(\s*"(PL\d{3})"', "".join([module.read_text("utf-8") for module in MODULES]))
    assert Counter(codes).most_common(1)[0][1] == 1
    assert len({rule.name for rule in RULES}) == len(RULES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_documentation_is_there(rule: Rule) -> None:
    sheet = rule.sheet
    first, *more = sheet.documentation.split("\n\n")
    assert first.endswith(".")
    assert more, "why it matters and what to do"
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.name)
    assert not rule.summary.endswith(".")


def test_the_list() -> None:
    run = prefixlab("rules")
    assert run.returncode == 0
    lines = run.stdout.decode().split("\n")
    assert max(map(len, lines)) <= 80
    for rule in RULES:
        (line,) = [line for line in lines if line.startswith(f"  {rule.code}  ")]
        assert line.split()[1] == rule.name


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_a_sheet(rule: Rule) -> None:
    run = prefixlab("rules", rule.code)
    assert run.returncode == 0
    said = run.stdout.decode()
    assert said.startswith(f"{rule.code} {rule.name}: ")
    assert " ".join(rule.sheet.documentation.split()) in " ".join(said.split())
    for example in (rule.bad, rule.good):
        assert "".join([f"  {line}".rstrip() + "\n" for line in example.text.rstrip("\n").split("\n")]) in said
    assert prefixlab("rules", rule.name).stdout == run.stdout
    assert prefixlab("rules", rule.code.lower()).stdout == run.stdout


def test_json_and_a_group(tmp_path: Path) -> None:
    document = json.loads(prefixlab("rules", "PL1", "--format", "json").stdout)
    assert document["schema"] == "prefixlab.rules/1"
    assert [row["code"] for row in document["rules"]] == [one.code for one in RULES if one.code.startswith("PL1")]
    assert {"documentation", "bad", "good", "summary", "is_default"} <= set(document["rules"][0])
    target = tmp_path / "rules.json"
    assert prefixlab("rules", "-o", str(target)).returncode == 0
    assert [row["code"] for row in json.loads(target.read_bytes())["rules"]] == [one.code for one in RULES]


@pytest.mark.parametrize("code", ["PL999", "", "clock", "PL1022"])
def test_no_such_rule(code: str) -> None:
    run = prefixlab("rules", code)
    assert (run.returncode, run.stdout, run.stderr.count(b"\n")) == (2, b"", 1)
