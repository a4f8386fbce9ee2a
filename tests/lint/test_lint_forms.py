"""The forms of `lint`'s report: each read back with a reader of its own kind, hostile text and all."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import jsonschema
import pytest

import prefixlab as pl
from prefixlab.lint_findings import LintFinding, LintReport, TemplateFigures
from prefixlab.lint_workflow import rule_sheets
from prefixlab.prompt_templates import Place
from prefixlab.reporters.lint_report import FORMS
from prefixlab.template_files import BadTemplate
from tests.command import prefixlab

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((Path(__file__).parent / "sarif-schema-2.1.0.json").read_text(encoding="utf-8"))
RULES = "You are the assistant of a small bookshop. Answer in two sentences and quote the order number.\n" * 3

HOSTILE = [
    "plain.j2",
    "two words, comma.j2",
    "100%25:1::error file=x::boo.j2",
    "line\nbreak\r::warning::x.j2",
    "pipe|`tick`<b>&amp;]]>.j2",
    "esc\x1b[31m\x07bell.j2",
    "##[error]x.j2",
    "[a](https://example.com) @someone #1 GH-2.j2",
    "bidi\u202e\u200bhidden.j2",
    "lone\udc80byte.j2",
    "ünïcode/日本.j2",
    "{0} {{1}} \\[.j2",
    "-o.j2",
]


def report_on(path: str) -> LintReport:
    """A finding whose every text is hostile, and one about the whole template."""
    finding = LintFinding(
        code="PL102",
        name="clock-before-stable",
        severity="high",
        at=Place(path, 3, 7),
        rendered_at=Place("other.j2", 9, 1),
        message=f"`{path}` is a clock ahead of stable text",
        field=path,
        stable_tokens_before=5,
        stable_tokens_after=814,
        blocks_before=0,
        template=f"{path}:{path}",
        fix=f"Move {path} behind.",
        source=path,
        line_text=f"12345 {path} and more",
        ends_at=7 + len(path),
    )
    whole = LintFinding(
        "PL305",
        "over-budget",
        "info",
        Place(path, 1, 1),
        Place(path, 1, 1),
        "too few",
        "min",
        1,
        2,
        0,
        f"{path}:{path}",
    )
    figures = TemplateFigures(path, path, "jinja2", 5, 0, 814, 1)
    return LintReport(
        1,
        (finding, whole),
        (figures,),
        "o200k_base",
        "vllm",
        16,
        unread=(BadTemplate(f"{path} is not closed", f"Close {path}", path=path, line=4),),
        notes=(f"of {path}",),
        rules=tuple(rule_sheets(None)),
        version="1.2.3",
        since=path,
    )


def made(form: str, path: str) -> str:
    return FORMS[form](report_on(path), 80).decode("utf-8")


@pytest.mark.parametrize("path", HOSTILE)
@pytest.mark.parametrize("form", FORMS)
def test_nothing_acts_on_a_terminal_or_a_runner(form: str, path: str) -> None:
    said = made(form, path)
    assert not [char for char in said if char != "\n" and not char.isprintable() and char not in "\u00a0"] or form in (
        "json",
    )
    assert "##[" not in said or form in ("json", "sarif", "junit", "markdown")
    if form in ("text", "github"):
        commands = [line for line in said.split("\n") if line.lstrip().startswith("::")]
        assert len(commands) == (3 if form == "github" else 0)


@pytest.mark.parametrize("path", HOSTILE)
def test_text_fits_the_width(path: str) -> None:
    for line in made("text", path).split("\n"):
        # A place is one word that a terminal makes a link of.
        assert len(line) <= 80 or re.search(r":\d+:\d+", line), line


def read_command(line: str) -> tuple[str, dict[str, str], str]:
    """A workflow command as a runner takes it apart."""
    head, message = line[2:].split("::", 1)
    name, _, rest = head.partition(" ")
    properties = dict(pair.split("=", 1) for pair in rest.split(","))
    for escape, char in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        properties = {key: value.replace(escape, char) for key, value in properties.items()}
    return name, properties, message


@pytest.mark.parametrize("path", HOSTILE)
def test_github(path: str) -> None:
    commands = [read_command(line) for line in made("github", path).split("\n") if line.startswith("::")]
    unread, first, second = commands
    assert [one[0] for one in commands] == ["error", "error", "notice"]
    assert (unread[1]["title"], unread[1]["line"], unread[1]["file"]) == ("not read", "4", first[1]["file"])
    assert first[1] | {"file": ""} == {
        "file": "",
        "line": "3",
        "endLine": "3",
        "col": "7",
        "endColumn": str(7 + len(path)),
        "title": "PL102 clock-before-stable",
    }
    if path.isprintable() and "##[" not in path:
        assert first[1]["file"] == os.path.normpath(path)
    assert "endColumn" not in second[1]


@pytest.mark.parametrize("path", HOSTILE)
def test_json(path: str) -> None:
    document = json.loads(made("json", path))
    assert list(document) == [
        *("schema", "version", "tokenizer", "engine", "block_size", "files", "findings", "templates"),
        *("unread", "suppressed", "known", "since", "notes"),
    ]
    assert [(one["path"], one["line"]) for one in document["unread"]] == [(path.replace("\udc80", "\ufffd"), 4)]
    assert document["schema"] == "prefixlab.lint/1"
    one = document["findings"][0]
    assert list(one) == [
        *("code", "name", "severity", "path", "line", "column", "end_column", "message", "field"),
        *("stable_tokens_before", "stable_tokens_after", "blocks_before", "blocks_after", "rendered_at", "also_at"),
        *("template", "fix"),
    ]
    assert one["rendered_at"] == {"path": "other.j2", "line": 9, "column": 1}
    assert one["path"] == path.replace("\udc80", "\ufffd")
    assert (one["blocks_before"], one["blocks_after"]) == (0, 50)
    assert document["templates"] == [
        dict(
            zip(
                TemplateFigures._fields,
                (one["path"], one["path"], "jinja2", 5, 0, 814, 1, 0, None, None, []),
                strict=True,
            )
        )
    ]


def validated(document: Any) -> Any:
    jsonschema.Draft4Validator(SCHEMA, format_checker=jsonschema.FormatChecker()).validate(document)
    return document["runs"][0]


@pytest.mark.parametrize("path", HOSTILE)
def test_sarif(path: str) -> None:
    run = validated(json.loads(made("sarif", path)))
    rules = run["tool"]["driver"]["rules"]
    first, whole = run["results"]
    assert rules[first["ruleIndex"]]["id"] == first["ruleId"] == "PL102"
    assert (first["level"], whole["level"]) == ("error", "note")
    place = first["locations"][0]["physicalLocation"]
    assert place["region"] == {"startLine": 3, "startColumn": 7, "endColumn": 7 + len(path)}
    assert unquote(place["artifactLocation"]["uri"], errors="surrogateescape") == os.path.normpath(path)
    assert not re.search(r"[^\w./%~-]", place["artifactLocation"]["uri"])
    (related,) = first["relatedLocations"]
    assert related["physicalLocation"]["artifactLocation"]["uri"] == "other.j2"
    assert related["physicalLocation"]["region"]["startLine"] == 9
    assert "relatedLocations" not in whole
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    (unread,) = invocation["toolExecutionNotifications"]
    assert unread["locations"][0]["physicalLocation"]["region"] == {"startLine": 4}
    assert "](" not in first["message"]["text"].replace("\\]", "")


def test_sarif_rules_are_told_in_full() -> None:
    run = validated(json.loads(made("sarif", "a.j2")))
    for rule, sheet in zip(run["tool"]["driver"]["rules"], rule_sheets(None), strict=True):
        assert rule["id"] == sheet.code
        assert sheet.documentation in rule["help"]["text"]
        assert rule["shortDescription"]["text"] == sheet.summary


@pytest.mark.parametrize("path", HOSTILE)
def test_junit(path: str) -> None:
    root = ElementTree.fromstring(made("junit", path))
    (suite,) = root
    counts = [suite.get(name) for name in ("tests", "failures", "errors", "skipped")]
    assert counts == ["3", "1", "1", "1"]
    assert [one[0].tag for one in suite] == ["error", "failure", "skipped"]
    suite = suite[1:]
    (failure,) = suite[0]
    assert failure.tag == "failure"
    assert failure.get("type") == "PL102"
    assert suite[0].get("line") == "3"
    assert suite[1][0].tag == "skipped"
    if path.isprintable():
        assert suite[0].get("file") == os.path.normpath(path)


@pytest.mark.parametrize("path", HOSTILE)
def test_markdown(path: str) -> None:
    said = made("markdown", path)
    rows = [line for line in said.split("\n") if line.startswith("|")]
    assert {line.count("|") for line in rows[:4]} == {8}
    outside_code = re.sub(r"`[^`\n]*`|<code>[^<]*</code>", "", said)
    assert set(re.findall(r"<[^>]*>", outside_code)) == {"<details>", "<summary>", "</summary>", "</details>"}
    assert "](" not in outside_code
    assert "@" not in outside_code
    assert "#1" not in outside_code
    assert "GH-" not in outside_code


# --- from templates on ------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_text_is_as_it_should_be(folder: Path) -> None:
    (folder / "a.j2").write_text(f"Time {{{{ now() }}}}\n{RULES}Question: {{{{ question }}}}\n")
    (folder / "b.j2").write_text(f"{RULES}Question: {{{{ question }}}}\n")
    run = prefixlab("lint", ".")
    assert run.returncode == 1
    assert run.stdout.decode() == (
        "1 finding in 2 templates: 1 high. At worst 64 stable tokens (4 blocks) are lost\n"
        "behind one value.\n"
        "\n"
        "a.j2:1:6: PL102 high clock-before-stable\n"
        "  `now()` is a clock ahead of stable text: 64 stable tokens (4 blocks) behind it\n"
        "  are lost\n"
        "    1 | Time {{ now() }}\n"
        "      |      ^^^^^^^^^^^\n"
        "  before it 1 stable token (0 blocks), behind it 64 (4 blocks)\n"
        "  fix: Move it behind the stable text; if the model needs only the day, give the\n"
        "  day.\n"
        "\n"
        "Tokens that all requests share    tokens    blocks  stranded\n"
        "  a.j2                                 1         0        64\n"
        "  b.j2                                63         3         0\n"
        "\n"
        "Counted with o200k_base, in blocks of 16 as vllm has them.\n"
    )


def test_nothing_found_is_said_with_the_stable_tokens(folder: Path) -> None:
    (folder / "b.j2").write_text(f"{RULES}Question: {{{{ question }}}}\n")
    run = prefixlab("lint", "b.j2")
    assert run.returncode == 0
    assert run.stdout.decode().startswith("Nothing to mend in 1 template.\n\nTokens that all requests share")
    assert "  b.j2                                63         3         0\n" in run.stdout.decode()
    (folder / "empty").mkdir()
    run = prefixlab("lint", "empty")
    assert (run.returncode, run.stdout) == (0, b"No template was found.\n")


def test_one_bad_file_does_not_silence_the_others(folder: Path) -> None:
    (folder / "a.j2").write_text(f"Time {{{{ now() }}}}\n{RULES}")
    (folder / "bad.j2").write_text("{% if %}")
    (folder / "latin.j2").write_bytes(b"caf\xe9")
    (folder / "data.json").write_bytes(b'{"role": "\xe9"}')
    (folder / "z.j2").write_text(f"{RULES}Question: {{{{ question }}}}\n")
    run = prefixlab("lint", ".", "--format", "json")
    document = json.loads(run.stdout)
    assert run.returncode == 2
    assert [one["path"] for one in document["templates"]] == ["a.j2", "z.j2"]
    assert [one["code"] for one in document["findings"]] == ["PL102"]
    assert sorted(one["path"] for one in document["unread"]) == ["bad.j2", "latin.j2"]
    assert document["notes"] == ["Left out, for they cannot be read as text or are too large: data.json."]
    assert sorted(run.stderr.decode().splitlines()) == sorted(
        f"prefixlab: {one['message']}" for one in document["unread"]
    )
    said = prefixlab("lint", "a.j2", "bad.j2")
    assert said.returncode == 2
    assert said.stdout.startswith(b"1 finding in 1 template: 1 high. ")
    assert b" 1 file could not be read." in b" ".join(said.stdout.split())
    # What is written down as known must be all of it; a program is told at once.
    (folder / "pyproject.toml").write_text("")
    assert prefixlab("lint", ".", "--write-baseline", "known.json").returncode == 2
    assert not (folder / "known.json").exists()
    with pytest.raises(BadTemplate):
        pl.lint(".")
    assert len(pl.lint(".", keep_going=True).unread) == 2


def test_a_report_is_written_over_the_last_one_and_never_over_a_template(folder: Path) -> None:
    (folder / "a.j2").write_text(f"Time {{{{ now() }}}}\n{RULES}")
    for _ in range(2):
        assert prefixlab("lint", ".", "-o", "report.md").stderr == b""
    assert prefixlab("lint", ".", "-o", "report.sarif.json").stderr == b""
    for paths in ([".", "-o", "a.j2"], ["a.j2", "-o", "a.j2"]):
        run = prefixlab("lint", *paths, "--format", "json")
        assert (run.returncode, run.stdout) == (2, b"")
        assert b"a.j2 is one of the files to read" in run.stderr
    assert (folder / "a.j2").read_text().startswith("Time ")


def test_an_earlier_run_is_set_beside(folder: Path) -> None:
    (folder / "a.j2").write_text(f"{RULES}Time {{{{ now() }}}}\n")
    (folder / "b.j2").write_text(f"{RULES}Question: {{{{ question }}}}\n")
    assert prefixlab("lint", ".", "-o", "before.json").returncode == 0
    run = prefixlab("lint", ".", "--against", "before.json")
    assert run.stdout.startswith(b"Nothing to mend in 2 templates. Requests share as much as before.\n")
    (folder / "b.j2").write_text(f"Time {{{{ now() }}}}\n{RULES}")
    (folder / "c.j2").write_text(f"{RULES}Question: {{{{ question }}}}\n")
    run = prefixlab("lint", ".", "--against", "before.json", "--fail-on", "never")
    said = " ".join(run.stdout.decode().split())
    assert "1 high. At worst 61 stable tokens (3 blocks) are lost behind one value. Requests share less in 1 " in said
    assert "before tokens blocks stranded b.j2 63 1 0 61 a.j2 61 61 3 0 c.j2 - 63 3 0" in said
    assert max(map(len, run.stdout.decode().split("\n"))) <= 80
    document = json.loads(prefixlab("lint", ".", "--against", "before.json", "--format", "json").stdout)
    then = [(one["stable_tokens_then"], one["stranded_tokens_then"]) for one in document["templates"]]
    assert then == [(61, 0), (63, 0), (None, None)]
    markdown = prefixlab("lint", ".", "--against", "before.json", "--format", "markdown").stdout.decode()
    assert "| `b.j2` | 63 | 1 | 0 | 61 |" in markdown
    for content in (
        b"",
        b"[]",
        b'{"schema": "prefixlab.audit/1"}',
        b'{"schema": "prefixlab.lint/1", "templates": [1]}',
    ):
        (folder / "before.json").write_bytes(content)
        run = prefixlab("lint", ".", "--against", "before.json")
        assert (run.returncode, run.stdout, run.stderr.count(b"\n")) == (2, b"", 1)


@pytest.mark.parametrize("ahead", [0, 1, 30, 70, 400, 5000])
@pytest.mark.parametrize("text", ["x", "日", "\t", "\u0301"])
def test_a_long_line_shows_what_is_around_the_expression(folder: Path, text: str, ahead: int) -> None:
    (folder / "a.j2").write_text(f"{text * ahead}{{{{ now() }}}}{text * 300}{RULES}", encoding="utf-8")
    run = prefixlab("lint", "a.j2")
    said = run.stdout.decode().split("\n")
    at = next(number for number, line in enumerate(said) if "^" in line)
    from prefixlab.reporters.neutral import cells

    assert cells(said[at - 1]) <= 80
    start = said[at].index("^")
    assert said[at].count("^") == 11
    # The marks stand under the expression, counted in cells.
    shown = said[at - 1]
    front = next(cut for cut in range(len(shown)) if cells(shown[:cut]) == start and shown[cut:].startswith("{{"))
    assert shown[front:].startswith("{{ now() }}")


PLACES = {
    "{{ now() }}": (1, 12),
    "a {{- now() -}} b": (3, 16),
    "日本 {{ now() }}": (4, 15),
    "{{ now() }}}}": (1, 12),
    "{% if user.is_premium %}one{% else %}two{% endif %}": (1, 25),
}


@pytest.mark.parametrize("line", PLACES)
def test_columns(folder: Path, line: str) -> None:
    (folder / "a.j2").write_text(f"{line}\n{RULES}", encoding="utf-8")
    (one,) = json.loads(prefixlab("lint", "a.j2", "--format", "json").stdout)["findings"]
    assert (one["line"], one["column"], one["end_column"]) == (1, *PLACES[line])


def test_sarif_through_an_include_and_out_of_another_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "in ner").mkdir()
    (folder / "in ner" / "head.j2").write_text("Session\n\n  at {{ now() }}\n")
    (folder / "a.j2").write_text(f"\n{{% include 'in ner/head.j2' %}}\n{RULES}")
    paths = ("a.j2", "./a.j2", str(folder / "a.j2"))
    for path in paths:
        run = validated(json.loads(prefixlab("lint", path, "--format", "sarif").stdout))
        (one,) = run["results"]
        place = one["locations"][0]["physicalLocation"]
        assert place["artifactLocation"] == {"uri": "in%20ner/head.j2", "uriBaseId": "%SRCROOT%"}
        assert place["region"] == {"startLine": 3, "startColumn": 6, "endColumn": 17}
        related = one["relatedLocations"][0]["physicalLocation"]
        assert related["artifactLocation"]["uri"] == "a.j2"
        assert related["region"]["startLine"] == 2
    monkeypatch.chdir(folder / "in ner")
    (one,) = validated(json.loads(prefixlab("lint", "../a.j2", "--format", "sarif").stdout))["results"]
    related = one["relatedLocations"][0]["physicalLocation"]
    assert related["artifactLocation"] == {"uri": (folder / "a.j2").resolve().as_uri()}


def test_a_fingerprint_moves_with_its_line(folder: Path) -> None:
    def fingerprints() -> list[str]:
        run = json.loads(prefixlab("lint", "a.j2", "--format", "sarif").stdout)["runs"][0]
        return [one["partialFingerprints"]["prefixlab/v1"] for one in run["results"]]

    (folder / "a.j2").write_text(f"at {{{{ now() }}}}\nat {{{{ now() }}}}\n{RULES}")
    before = fingerprints()
    assert len(set(before)) == 2
    (folder / "a.j2").write_text(f"One line more.\n\n  at {{{{ now() }}}}\nat {{{{ now() }}}}\n{RULES}")
    assert fingerprints() == before
    (folder / "a.j2").write_text(f"At {{{{ now() }}}}\nat {{{{ now() }}}}\n{RULES}")
    assert len({*fingerprints(), *before}) == 3


@pytest.mark.parametrize(("ending", "starts"), [("json", b"{"), ("sarif", b"{"), ("sarif.json", b'{\n  "$schema"'),
                                                ("md", b"###"), ("xml", b"<?xml"), ("txt", b"1 finding")])  # fmt: skip
def test_the_ending_tells_the_form(folder: Path, ending: str, starts: bytes) -> None:
    (folder / "a.j2").write_text(f"Time {{{{ now() }}}}\n{RULES}")
    run = prefixlab("lint", "a.j2", "-o", f"out.{ending}")
    assert (run.returncode, run.stdout) == (1, b"")
    assert (folder / f"out.{ending}").read_bytes().startswith(starts)


def test_what_cannot_be_written(folder: Path) -> None:
    (folder / "a.j2").write_text(f"Time {{{{ now() }}}}\n{RULES}")
    for arguments in (
        ("-o", "out.odd"),
        ("--format", "html"),
        ("-o", "a.j2", "--format", "text"),
        ("-o", "no/out.json"),
    ):
        run = prefixlab("lint", "a.j2", *arguments)
        assert (run.returncode, run.stdout, run.stderr.count(b"\n")) == (2, b"", 1)
    assert (folder / "a.j2").read_text().startswith("Time")


def test_the_gate(folder: Path) -> None:
    template = {"high": "now()", "medium": "session_id"}
    for severity, expression in template.items():
        (folder / "a.j2").write_text(f"Time {{{{ {expression} }}}}\n{RULES}")
        for gate in ("high", "medium", "low", "info", "never"):
            fails = {"high": ("high", "medium", "low", "info"), "medium": ("medium", "low", "info")}[severity]
            run = prefixlab("lint", "a.j2", "--fail-on", gate)
            assert run.returncode == int(gate in fails)
    assert prefixlab("lint", "a.j2", "--fail-on", "most").returncode == 2
    assert prefixlab("lint", "none.j2").returncode == 2


def test_the_same_bytes_whatever_the_order_of_sets(folder: Path) -> None:
    (folder / "a.j2").write_text(
        f"{{% for a in {{1, 2}} %}}{{{{ b }}}}{{% endfor %}}Time {{{{ now() }}}}{{{{ uuid4() }}}}\n{RULES}"
    )
    for form in FORMS:
        command = [sys.executable, "-m", "prefixlab", "lint", ".", "--format", form]
        outputs = {
            subprocess.run(
                command,
                env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
                capture_output=True,
                check=False,
            ).stdout
            for seed in ("1", "2")
        }
        assert len(outputs) == 1
