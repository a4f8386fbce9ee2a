"""Templates in a folder that make code or pages are no prompts; prompts with code or tags in them are."""

from __future__ import annotations

from pathlib import Path

import pytest

from prefixlab.template_discovery import TemplateFiles

_MADE = (
    "setup.py.jinja2",
    "k8s/deploy.yaml.j2",
    "Dockerfile.jinja2",
    "start.sh.j2",
    "page.html.jinja",
    "nginx.conf.tmpl",
    "index.html.mustache",
    "flow.tools.json.jinja2",
    "Makefile.j2",
)
_PROMPTS = (
    "answer.j2",
    "answer.txt.j2",
    "rules.md.j2",
    "rules.xml.j2",
    "desk.system.j2",
    "desk.prompt.jinja2",
    "desk.en.j2",
    "gpt-4.1.j2",
    "prompts/agent.yaml.j2",
    "coding_prompt.py.j2",
    "system.html.j2",
)


def _found(folder: Path, **options: str) -> list[str]:
    return [Path(file.path).relative_to(folder).as_posix() for file, _ in TemplateFiles.found([str(folder)], **options)]


def test_names_tell_what_a_template_makes(tmp_path: Path) -> None:
    for name in (*_MADE, *_PROMPTS):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("Name: {{ name }}\n")
    assert _found(tmp_path) == sorted(_PROMPTS)
    assert "setup.py.jinja2" in _found(tmp_path, dialect="jinja2")
    assert len(TemplateFiles.found([str(tmp_path / "setup.py.jinja2")])) == 1


@pytest.mark.parametrize(
    ("text", "is_prompt"),
    [
        ("#!/bin/bash\necho {{ name }}\n", False),
        ("\n<!DOCTYPE html>\n<html><body>{{ name }}</body></html>\n", False),
        ("<html>{{ page }}</html>\nSum up the page above.\n", True),
        ("# Rules\n```sh\n#!/bin/sh\n```\n{{ question }}\n", True),
        ("<rules>\nBe kind.\n</rules>\n<question>{{ question }}</question>\n", True),
        ("name: {{ name }}\nsteps:\n  - run: you\n", True),
        ("import os\nSay what this program does: {{ code }}\n", True),
    ],
)
def test_heads_tell_scripts_and_pages(tmp_path: Path, text: str, is_prompt: bool) -> None:
    (tmp_path / "one.j2").write_text(text)
    assert _found(tmp_path) == (["one.j2"] if is_prompt else [])


def test_messages_written_out_are_a_prompt(tmp_path: Path) -> None:
    (tmp_path / "chat.json.j2").write_text('[{"role": "user", "content": {{ question | tojson }}}]')
    assert _found(tmp_path) == ["chat.json.j2"]
