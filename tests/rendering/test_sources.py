"""Chat templates are found where models keep them, and mistakes are said in one line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jinja2
import pytest
from chat_strategies import TOOLS, asked, text_of

from prefixlab.errors import BadRecord, PrefixlabError
from prefixlab.records import Chat
from prefixlab.rendering import BUILT_IN_NAMES, load_renderer

HI = Chat([{"role": "user", "content": "hi"}])


def folder_with(tmp_path: Path, **files: Any) -> Path:
    for name, value in files.items():
        stem, _, ending = name.rpartition("_")
        text = value if isinstance(value, str) else json.dumps(value)
        (tmp_path / f"{stem}.{ending}").write_text(text, "utf-8")
    return tmp_path


def rendered(path: Path, chat: Chat = HI) -> str:
    return text_of(load_renderer(str(path)).render(asked(chat)))


def test_a_model_folder(tmp_path: Path) -> None:
    config = {
        "chat_template": "config {{ bos_token }}{{ eos_token }}",
        "bos_token": {"content": "<s>"},
        "pad_token": None,
    }
    folder_with(tmp_path, tokenizer_config_json=config, special_tokens_map_json={"eos_token": "</s>", "bos_token": "x"})
    assert rendered(tmp_path) == "config <s></s>"
    assert rendered(tmp_path / "tokenizer_config.json") == "config <s></s>"
    folder_with(tmp_path, chat_template_json={"chat_template": "json {{ bos_token }}"})
    assert rendered(tmp_path) == "json <s>"
    assert rendered(tmp_path / "chat_template.json") == "json <s>"
    folder_with(tmp_path, chat_template_jinja="jinja {{ bos_token }}", tokenizer_json="{}")
    assert rendered(tmp_path) == rendered(tmp_path / "tokenizer.json") == "jinja <s>"
    assert rendered(tmp_path / "tokenizer_config.json") == "jinja <s>"
    given = load_renderer(str(tmp_path), special_tokens={"bos_token": "<t>"})
    assert text_of(given.render(asked(HI))) == "jinja <t>"


def test_named_templates(tmp_path: Path) -> None:
    named = [{"name": "default", "template": "plain"}, {"name": "tool_use", "template": "tools"}]
    folder_with(tmp_path, tokenizer_config_json={"chat_template": named})
    assert rendered(tmp_path) == "plain"
    assert rendered(tmp_path, Chat(HI.messages, TOOLS)) == "tools"
    assert rendered(tmp_path, Chat(HI.messages, [])) == "plain"


def test_name_and_digest() -> None:
    renderer = load_renderer("chatml")
    assert renderer.name == "chatml"
    assert renderer.sha256 is not None
    assert len(renderer.sha256) == 64


@pytest.mark.parametrize(
    ("files", "name", "said"),
    [
        (
            {"t_jinja": "a\n{% if %}"},
            "t.jinja",
            r"t\.jinja:2: the chat template does not parse: .+\. Correct the template or give another --chat",
        ),
        ({"t_jinja": "{{ x | nothing }}"}, "t.jinja", r"t\.jinja:1: the chat template does not parse: No filter named"),
        ({"tokenizer_config_json": {}}, "", r"this folder has no chat template\. Name one"),
        ({"tokenizer_config_json": {}}, "tokenizer_config.json", r"there is no chat template in this file"),
        ({"tokenizer_config_json": "{\n"}, "tokenizer_config.json", r"tokenizer_config\.json:2: the file is not JSON"),
        ({"tokenizer_config_json": "[]"}, "tokenizer_config.json", r"the file is not a JSON object"),
        ({"tokenizer_config_json": {"chat_template": [1]}}, "", r"there is no chat template in this file"),
    ],
)
def test_mistakes(tmp_path: Path, files: dict[str, Any], name: str, said: str) -> None:
    folder_with(tmp_path, **files)
    with pytest.raises(PrefixlabError, match=said) as caught:
        load_renderer(str(tmp_path / name))
    assert "\n" not in str(caught.value)


def test_unknown_names_and_bytes(tmp_path: Path) -> None:
    with pytest.raises(PrefixlabError, match=r"there is no chat template 'qwen-9'.*chatml, llama3"):
        load_renderer("qwen-9")
    (tmp_path / "t.jinja").write_bytes(b"\xff\xfe")
    with pytest.raises(PrefixlabError, match=r"t\.jinja: the file is not UTF-8"):
        load_renderer(str(tmp_path / "t.jinja"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{{ raise_exception('roles\nmust alternate') }}", "roles must alternate"),
        ("{{ messages[3].content.x }}", "list object has no element 3"),
        ("{{ nothing.at.all }}", "'nothing' is undefined"),
        ("{{ messages[0].content + 1 }}", "can only concatenate str"),
        ("{{ ''.__class__.__mro__ }}", "access to attribute '__class__'"),
        ("{{ messages[0].content.strip.func('__class__') }}", "has no attribute 'func'"),
        ("{{ messages.append(1) }}", "access to attribute 'append' of 'list' object is unsafe"),
        ("{{ range(10 ** 9) | list }}", "Range too big"),
        ("{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}", "it goes too deep"),
        ("{{ 1 / 0 }}", "division by zero"),
        ("{% set ns = namespace(__class__=1) %}", "namespace cannot hold"),
        ("{% include 'x' %}", "no loader"),
        ("{{ cycler.__init__.__globals__ }}", "access to attribute '__init__'"),
    ],
)
def test_refused_requests_are_named_with_their_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "t.jinja").write_text(text, "utf-8")
    renderer = load_renderer(str(tmp_path / "t.jinja"))
    for _ in range(2):
        with pytest.raises(BadRecord) as caught:
            renderer.render(asked(HI))
        assert str(caught.value).startswith("log.jsonl:7: the chat template refuses this request: ")
        assert said in str(caught.value)
        assert caught.value.todo == "Correct the record, give another --chat-template, or use --skip-bad"


@pytest.mark.parametrize(
    "text", ["{{" + "(" * 5000 + "1" + ")" * 5000 + "}}", "{% for i in [1] %}" * 40 + "{% endfor %}" * 40]
)
def test_a_template_too_deep_to_compile(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.jinja").write_text(text, "utf-8")
    with pytest.raises(PrefixlabError, match=r"t\.jinja: the chat template does not parse: it goes too deep\. Correct"):
        load_renderer(str(tmp_path / "t.jinja"))


def test_what_is_missing_in_a_tool_call_is_named() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f"}}
    good = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    chat = Chat([*HI.messages, {"role": "assistant", "content": "", "tool_calls": [good, call]}])
    with pytest.raises(BadRecord) as caught:
        load_renderer("qwen3", tool_arguments="raw").render(asked(chat))
    assert str(caught.value) == (
        "log.jsonl:7: the chat template refuses this request: messages[1].tool_calls[1].function.arguments is missing. "
        "Correct the record, give another --chat-template, or use --skip-bad."
    )


def test_a_template_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    parse = jinja2.Environment._parse

    def counting(self: jinja2.Environment, source: str, *others: Any) -> Any:
        parsed.append(source)
        return parse(self, source, *others)

    monkeypatch.setattr(jinja2.Environment, "_parse", counting)
    load_renderer("qwen3")
    assert len(parsed) == 1


def test_jinja2_is_loaded_only_for_a_template() -> None:
    code = (
        "import sys; from prefixlab.rendering import load_renderer; load_renderer('anthropic'); load_renderer('none');"
        "assert 'jinja2' not in sys.modules; load_renderer('chatml'); assert 'jinja2' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", BUILT_IN_NAMES)
def test_every_name_loads(name: str) -> None:
    assert load_renderer(name).name == name
