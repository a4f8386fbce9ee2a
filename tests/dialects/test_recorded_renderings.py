"""Renderings equal those that the languages' own libraries gave; the recordings name library and version."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from prefixlab.prompt_templates import Choice, Hole, Loop, Text, walk
from tests.dialects.outlines import DATA, written


def recording(name: str) -> dict[str, Any]:
    return json.loads((DATA / f"{name}.json").read_text("utf-8"))


@pytest.mark.parametrize(("name", "ending"), [("handlebars", ".hbs"), ("mustache", ".mustache")])
def test_languages(tmp_path: Path, name: str, ending: str) -> None:
    recorded = recording(name)
    for partial, text in recorded["partials"].items():
        (tmp_path / f"{partial}{ending}").write_text(text)
    for template, rendered in recorded["cases"]:
        made = written(tmp_path, f"case{ending}", template)
        assert made.render is not None
        assert made.render(recorded["values"]) == (("prompt", rendered),), template


@pytest.mark.parametrize("case", recording("langchain")["cases"], ids=lambda case: case["label"])
def test_langchain(tmp_path: Path, case: dict[str, Any]) -> None:
    made = written(tmp_path, case["file"], case["text"])
    assert made.dialect == "langchain"
    assert made.render is not None
    assert [list(one) for one in made.render(recording("langchain")["values"])] == case["messages"]


@pytest.mark.parametrize("case", recording("prompty")["cases"], ids=range(len(recording("prompty")["cases"])))
def test_prompty(tmp_path: Path, case: dict[str, Any]) -> None:
    made = written(tmp_path, "case.prompty", case["text"])
    assert made.render is not None
    assert [list(one) for one in made.render(recording("prompty")["values"])] == case["messages"]


@pytest.mark.parametrize(("name", "ending"), [("handlebars", ".hbs"), ("mustache", ".mustache")])
def test_every_text_stands_where_its_place_says(tmp_path: Path, name: str, ending: str) -> None:
    recorded = recording(name)
    for partial, text in recorded["partials"].items():
        (tmp_path / f"{partial}{ending}").write_text(text)
    for template, _ in recorded["cases"]:
        made = written(tmp_path, f"case{ending}", template)
        lines = template.split("\n")
        for part in walk(made.parts):
            if part.at.path != made.path:
                continue
            here = "\n".join([lines[part.at.line - 1][part.at.column - 1 :], *lines[part.at.line :]])
            if isinstance(part, Text):
                # The indentation of a partial stands ahead of its call.
                assert here.startswith(part.text) or part.text.isspace()
            elif isinstance(part, Hole | Choice | Loop):
                assert here.startswith(("{{", "<%"))
