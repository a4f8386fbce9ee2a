"""`prefixlab engines`: readable at 80 columns, complete as JSON, and one clear line for what is not there."""

import json
import subprocess
import sys

import pytest

from prefixlab.registry import engine_options, known_engines
from prefixlab.reporters.engine_catalogue import engine_sheet, span
from tests.command import prefixlab

NAMES = sorted(known_engines())


def test_the_list():
    run = prefixlab("engines")
    assert run.returncode == 0
    lines = run.stdout.decode().splitlines()
    assert max(len(line) for line in lines) <= 80
    words = {line.split()[0] for line in lines if line.startswith("  ")}
    assert set(NAMES) <= words
    own, hosted = lines.index("Engines that you run"), next(n for n, line in enumerate(lines) if "Hosted" in line)
    assert own < hosted
    row = next(line for line in lines if line.strip().startswith("openai-gpt-4o"))
    assert row.split() == ["openai-gpt-4o", "blocks", "1,024", "128?", "10", "min", "0.5", "-"]


@pytest.mark.parametrize("name", NAMES)
def test_a_sheet(name):
    run = prefixlab("engines", name)
    assert run.returncode == 0
    said = run.stdout.decode()
    assert max(len(line) for line in said.splitlines() if "https://" not in line) <= 80
    assert said.startswith(f"{name}: ")
    for option in engine_options(known_engines()[name]):
        assert f"  {option.name} " in said
    assert "\nRule\n  " in said


def test_a_sheet_of_a_profile():
    said = prefixlab("engines", "xai").stdout.decode()
    flat = " ".join(said.split())
    assert "stands for xai-grok-4.6" in flat
    assert "granularity 128 [3] not confirmed; measured by a gateway; the guide's example has 98" in flat
    assert "[3] https://docs.apiyi.com/en/api-capabilities/grok/prompt-caching.md 2026-08-19" in flat
    assert "usage.prompt_tokens_details.cached_tokens" in flat


def test_json():
    document = json.loads(prefixlab("engines", "--format", "json").stdout)
    assert document["schema"] == "prefixlab.engines/1"
    assert sorted(entry["name"] for entry in document["engines"]) == NAMES
    (anthropic,) = json.loads(prefixlab("engines", "anthropic", "--format", "json").stdout)["engines"]
    figures = {figure["name"]: figure for figure in anthropic["profile"]["figures"]}
    assert figures["min_tokens"]["value"] == 512
    assert figures["min_tokens"]["confirmed"] is True
    assert figures["write_1h"]["value"] == 2.0
    assert {option["name"]: option["default"] for option in anthropic["options"]}["ttl"] == 300
    (vllm,) = json.loads(prefixlab("engines", "vllm", "--format", "json").stdout)["engines"]
    assert vllm["profile"] is None
    assert vllm["block_option"] == "block_size"


def test_to_a_file(tmp_path):
    target = tmp_path / "engines.json"
    assert prefixlab("engines", "-o", str(target)).returncode == 0
    assert json.loads(target.read_bytes())["schema"] == "prefixlab.engines/1"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("antropic",), "there is no engine 'antropic'. Did you mean anthropic?"),
        (("vllm", "--format", "xml"), "there is no format 'xml'"),
        (("vllm", "sglang"), "unrecognized arguments"),
    ],
)
def test_what_is_not_there(arguments, said):
    run = prefixlab("engines", *arguments)
    assert run.returncode == 2
    assert run.stderr.decode().startswith("prefixlab: ")
    assert said in run.stderr.decode()
    assert len(run.stderr.decode().splitlines()) == 1


def test_a_rule_is_wrapped_with_its_lists_and_formulas():
    rule = (
        "Title.\n\n    short = one\n    longer_name = "
        + "word " * 20
        + "\n\n1. First item that goes\n   on.\n2. Second.\n- dash"
    )
    entry = {
        "name": "x",
        "summary": "s",
        "follows": "f",
        "block_option": None,
        "profile": None,
        "rule": rule,
        "options": [],
    }
    lines = engine_sheet(entry, 60).splitlines()
    assert max(len(line) for line in lines) <= 60
    assert "      short = one" in lines
    assert "                    word word word" in "\n".join(lines)
    assert "  1. First item that goes on." in lines
    assert lines[-1] == "  none"


def test_profiles_are_read_only_when_a_provider_is_asked_for():
    code = (
        "import sys; from prefixlab.registry import engine_named; engine_named('vllm', {}); "
        "assert 'prefixlab.engines.hosted' not in sys.modules and 'tomllib' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_spans():
    assert [span(seconds) for seconds in (300.0, 7200, 90.0, 1800)] == ["5 min", "2 h", "90 s", "30 min"]
