"""The GitHub Action and the pre-commit hook: their shell is run as a runner runs it, with `gh` played."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}
RULES = "You are the assistant of a small bookshop. Answer in two sentences and quote the order number.\n" * 3
CLOCK = "Time {{ now }}\n"

GH = """\
#!{python} -P
import json, os, sys
arguments = sys.argv[1:]
with open(os.environ["GH_LOG"], "a") as log:
    body = [open(one[6:]).read() for one in arguments if one.startswith("body=@")]
    log.write(json.dumps([arguments, body]) + "\\n")
if os.environ["GH_FAILS"]:
    sys.exit(1)
if "--jq" in arguments:
    # What the expression asks for, on comments of the service's form.
    for comment in json.loads(os.environ["GH_COMMENTS"]):
        if comment["login"] == os.environ["AUTHOR"] and comment["body"].startswith(os.environ["MARKER"]):
            print(comment["id"])
"""


class Runner:
    """A checkout, and the files and settings that a runner gives to the steps of a job."""

    def __init__(self, folder: Path) -> None:
        self.checkout, self.temp = folder / "checkout", folder / "temp"
        self.output, self.summary, self.log = folder / "output", folder / "summary", folder / "gh.log"
        bin = folder / "bin"
        for one in (self.checkout, self.temp, bin):
            one.mkdir()
        python = f'#!/bin/sh\nexec "{sys.executable}" "$@"\n'
        for name, script in (("gh", GH.format(python=sys.executable)), ("python", python)):
            (bin / name).write_text(script)
            (bin / name).chmod(0o755)
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
            "PATH": f"{bin}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "RUNNER_TEMP": str(self.temp),
            "GITHUB_OUTPUT": str(self.output),
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "GITHUB_ACTION_PATH": str(ROOT),
            "GH_LOG": str(self.log),
            "GH_FAILS": "",
            "GH_COMMENTS": "[]",
        }
        self.git("init", "-q")
        self.commit()

    def git(self, *arguments: str) -> str:
        settings = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main")
        command = ["git", *settings, *arguments]
        done = subprocess.run(
            command, cwd=self.checkout, env=self._environment, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def commit(self) -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "x")
        return self.git("rev-parse", "HEAD")

    def outputs(self) -> dict[str, str]:
        return dict(line.split("=", 1) for line in self.output.read_text().splitlines())

    def run(self, name: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """A step; its settings are those given, which stand for the expressions that the service fills in."""
        declared = STEPS[name].get("env", {})
        assert set(environment) <= {*declared, "GH_FAILS", "GH_COMMENTS"}
        fixed = {key: value for key, value in declared.items() if "${{" not in value}
        blank = dict.fromkeys(declared, "")
        script = self.temp / "step.sh"
        script.write_text(STEPS[name]["run"])
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=self.checkout,
            env={**self._environment, **blank, **fixed, **environment},
            capture_output=True,
            text=True,
            check=False,
        )

    def comment(self, **environment: str) -> list[Any]:
        """What `gh` was asked for."""
        self.log.write_text("")
        outputs = self.outputs()
        done = self.run(
            "Comment on the pull request",
            AUTHOR="github-actions[bot]",
            COMMENTS="repos/o/r/issues/7/comments",
            COMMENT="repos/o/r/issues/comments",
            FINDINGS=outputs["findings"],
            REPORT=outputs["report"],
            **environment,
        )
        assert done.returncode == 0
        self.said = done.stdout
        return [json.loads(line) for line in self.log.read_text().splitlines()]


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


def test_no_expression_stands_in_shell_and_nothing_of_the_checkout_is_imported() -> None:
    for step in ACTION["runs"]["steps"]:
        script = step.get("run", "")
        assert "${{" not in script
        assert "eval" not in script
        assert not re.search(r"\bpython (?!-P )", script)
        assert step.get("shell") == ("bash" if script else None)


def test_every_setting_is_of_an_input_that_there_is() -> None:
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    assert set(re.findall(r"inputs\.([\w-]+)", text)) == set(ACTION["inputs"])
    for step in ACTION["runs"]["steps"]:
        used = set(re.findall(r"\$\{?([A-Z_]+)", step.get("run", "")))
        given = {*step.get("env", {}), "RUNNER_TEMP", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_ACTION_PATH"}
        assert used <= given
    assert set(re.findall(r"steps\.lint\.outputs\.(\w+)", text)) == {"status", "report", "findings"}
    assert set(re.findall(r"steps\.base\.outputs\.(\w+)", text)) == {"commit"}


def test_a_pull_request_that_moves_a_clock_up(runner: Runner) -> None:
    (runner.checkout / "a.j2").write_text(RULES + CLOCK)
    (runner.checkout / "b.j2").write_text(CLOCK + RULES)
    base = runner.commit()
    (runner.checkout / "a.j2").write_text(CLOCK + RULES)
    runner.commit()
    assert runner.run("Fetch the base", BASE=base).returncode == 0
    assert runner.outputs() == {"commit": base}
    done = runner.run("Lint", PATHS=".", ONLY_CHANGED="true", BASE=base, SARIF_FILE="out.sarif")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("::error file=a.j2,line=1,endLine=1,col=6,endColumn=15,title=PL102 ")
    outputs = runner.outputs()
    assert (outputs["status"], outputs["findings"]) == ("1", "1")
    assert json.loads((runner.checkout / "out.sarif").read_text())["runs"][0]["results"]
    report = Path(outputs["report"]).read_text()
    assert "Requests share less in 1 template than before." in report
    assert re.search(r"\| `a\.j2` \| \d\d \| 1 \| 0 \| \d\d \|", report)
    (runner.checkout / "values.jsonl").write_text('{"now": "9:30"}\n{"now": "11:02"}\n')
    done = runner.run("Compare with values", PATHS=".", VALUES="values.jsonl", BASE=base, REPORT=outputs["report"])
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    report = Path(outputs["report"]).read_text()
    assert "`a.j2:1`" in report
    assert "b.j2:1" not in report
    assert report.count("### Before and after") == 1
    assert "Worse" in report.partition("### Before and after")[2]
    assert runner.run("Write the summary", REPORT=outputs["report"]).returncode == 0
    assert runner.summary.read_text() == report

    # The first comment is new, the next brings it up to date; those of others are left alone.
    marker = "<!-- prefixlab lint -->"
    (asked, posted) = runner.comment()
    assert asked[0][:3] == ["api", "--paginate", "repos/o/r/issues/7/comments"]
    assert posted[0][:5] == ["api", "--silent", "--method", "POST", "repos/o/r/issues/7/comments"]
    assert posted[1] == [f"{marker}\n{report}"]
    others = [
        {"id": 1, "login": "someone", "body": f"{marker} mine"},
        {"id": 2, "login": "github-actions[bot]", "body": f"quoted {marker}"},
    ]
    (_, posted) = runner.comment(GH_COMMENTS=json.dumps(others))
    assert posted[0][3] == "POST"
    own = {"id": 3, "login": "github-actions[bot]", "body": f"{marker}\nold"}
    (_, patched) = runner.comment(GH_COMMENTS=json.dumps([*others, own, {**own, "id": 4}]))
    assert patched[0][:5] == ["api", "--silent", "--method", "PATCH", "repos/o/r/issues/comments/3"]
    assert runner.said == ""
    runner.comment(GH_FAILS="1")
    assert runner.said.startswith("::warning title=prefixlab::The comment could not be written.")
    assert [runner.run("Pass or fail", STATUS=status).returncode for status in ("0", "1")] == [0, 1]


def test_where_nothing_is_found_no_comment_is_made_and_an_earlier_one_is_mended(runner: Runner) -> None:
    (runner.checkout / "a.j2").write_text(RULES)
    runner.commit()
    done = runner.run("Lint", PATHS=".", ONLY_CHANGED="true")
    assert done.returncode == 0
    assert (runner.outputs()["status"], runner.outputs()["findings"]) == ("0", "0")
    assert len(runner.comment()) == 1
    own = [{"id": 3, "login": "github-actions[bot]", "body": "<!-- prefixlab lint -->\nold"}]
    (_, patched) = runner.comment(GH_COMMENTS=json.dumps(own))
    assert "Nothing to mend in 1 template." in patched[1][0]
    # A file that cannot be read fails the job in the end, and the report is of the others as well.
    (runner.checkout / "bad.j2").write_text("{% if %}")
    done = runner.run("Lint", PATHS=".")
    assert (done.returncode, done.stdout.splitlines()[0][:23]) == (0, "::error file=bad.j2,lin")
    assert runner.outputs()["status"] == "2"
    assert "1 file could not be read." in Path(runner.outputs()["report"]).read_text()


def test_hostile_names_and_inputs_are_arguments(runner: Runner) -> None:
    hostile = "$(touch pwned) `touch pwned`; touch pwned #\n.j2"
    (runner.checkout / hostile).write_text(RULES + CLOCK)
    (runner.checkout / "jinja2.py").write_text("open('pwned', 'w')")
    (runner.checkout / "json.py").write_text("open('pwned', 'w')")
    base = runner.commit()
    (runner.checkout / hostile).write_text(CLOCK + RULES)
    runner.commit()
    done = runner.run(
        "Lint",
        PATHS=".\n\n",
        OPTIONS="--select=PL1\n--exclude=*.py\n--exclude=$(touch pwned)",
        ONLY_CHANGED="true",
        BASE=base,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n::") == 0
    assert runner.outputs()["findings"] == "1"
    report = runner.outputs()["report"]
    assert runner.run("Compare with values", PATHS=".", VALUES="v", BASE=base, REPORT=report).returncode == 0
    for value in ("$(touch pwned)", "; touch pwned", "-x", "--output=pwned"):
        runner.run("Lint", PATHS=value)
        runner.run("Lint", PATHS=".", FAIL_ON=value)
        runner.run("Fetch the base", BASE=value)
        runner.run("Compare with values", PATHS=value, VALUES=value, BASE=base, REPORT=report)
    assert not list(runner.checkout.parent.glob("**/pwned"))


def test_what_is_wrong_stops_the_job_with_its_message(runner: Runner) -> None:
    (runner.checkout / "a.j2").write_text("{% if %}")
    done = runner.run("Lint", PATHS=".")
    # The reports are made, and the job fails in its last step.
    assert "a.j2:1" in done.stderr
    assert (done.returncode, runner.outputs()["status"]) == (0, "2")
    assert runner.run("Pass or fail", STATUS="2").returncode == 2
    runner.output.unlink()
    done = runner.run("Lint", PATHS="nowhere")
    assert done.returncode == 2
    assert "nowhere: there is no such file or folder" in done.stderr
    assert not runner.output.exists()


def test_a_long_report_is_cut_to_what_a_comment_holds(runner: Runner) -> None:
    report = runner.temp / "long.md"
    report.write_text("日" * 30_000, encoding="utf-8")
    runner.output.write_text(f"findings=1\nreport={report}\n")
    (_, posted) = runner.comment()
    (body,) = posted[1]
    assert body.encode().decode("utf-8") == "<!-- prefixlab lint -->\n" + "日" * 20_000


def test_the_hook_takes_templates() -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert hook["entry"] == "prefixlab lint"
    assert hook["require_serial"] is True
    wanted = (
        "a.j2",
        "x/b.jinja",
        "b.jinja2",
        "a.mustache",
        "a.hbs",
        "a.prompty",
        "a.prompt",
        "Modelfile",
        "m/Modelfile.q4",
        "m/a.modelfile",
        "a.gotmpl",
        "a.tmpl",
        "Greet/skprompt.txt",
        "promptfooconfig.yaml",
        "evals/promptfooconfig.desk.json",
        "m/tokenizer_config.json",
        "m/chat_template.jinja",
    )
    assert all(re.search(hook["files"], path) for path in wanted)
    assert not any(
        re.search(hook["files"], path)
        for path in (
            *("a.py", "prompt.yaml", "a.j2.txt", "NotModelfile", "jinja", "prompt.txt"),
            *("Modelfiles", "promptfooconfig.js", "config.json", "myskprompt.txt"),
        )
    )
