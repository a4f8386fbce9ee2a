"""The reading of templates held against Jinja2 and tiktoken: what is rendered, and what all renderings begin with."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import jinja2
import pytest

from prefixlab.dialects import jinja2 as dialect
from prefixlab.lint_workflow import LintSettings, lint, model_of
from prefixlab.prompt_templates import Choice, Hole, Loop, Part, Text
from prefixlab.template_files import TemplateFile
from tests.lint.random_templates import RandomTemplate, random_template
from tests.tokenizers.references import encoding

SEEDS = 300


def written(made: RandomTemplate, folder: Path) -> Path:
    for name, text in made.files.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "values.jsonl").write_text("".join(json.dumps(row) + "\n" for row in made.rows), encoding="utf-8")
    return folder / "main.j2"


def rendered(made: RandomTemplate) -> list[str]:
    """By Jinja2 itself."""
    environment = jinja2.Environment(loader=jinja2.DictLoader(made.files))
    template = environment.get_template("main.j2")
    return [template.render(row) for row in made.rows]


@pytest.mark.parametrize("part", range(6))
def test_stable_tokens_are_the_common_prefix_of_the_renderings(tmp_path: Path, part: int) -> None:
    model = model_of(LintSettings(offline=True))
    for seed in range(part, SEEDS, 6):
        folder = tmp_path / str(seed)
        folder.mkdir()
        made = random_template(seed)
        main = written(made, folder)
        prompts = [encoding("o200k_base").encode_ordinary(text) for text in rendered(made)]
        common = 0
        while all(len(ids) > common for ids in prompts) and len({ids[common] for ids in prompts}) == 1:
            common += 1
        found = lint([str(main)], LintSettings(values=str(folder / "values.jsonl"), offline=True), model)
        assert [one.stable_tokens for one in found.templates] == [common], f"seed {seed}"


@pytest.mark.parametrize("part", range(2))
def test_parts_filled_with_values_are_what_jinja2_renders(tmp_path: Path, part: int) -> None:
    """Each part of a reading is evaluated by Jinja2 alone, by its expression, and put together by the reading."""
    for seed in range(part, SEEDS, 2):
        folder = tmp_path / str(seed)
        folder.mkdir()
        made = random_template(seed)
        template = dialect.read(TemplateFile.read(written(made, folder)))
        for row, text in zip(made.rows, rendered(made), strict=True):
            assert _put_together(template.parts, row) == text, f"seed {seed}"


def _put_together(parts: tuple[Part, ...], row: Mapping[str, Any]) -> str:
    environment = jinja2.Environment()
    made: list[str] = []
    for part in parts:
        if isinstance(part, Text):
            made.append(part.text)
        elif isinstance(part, Hole):
            made.append(environment.from_string("{{ " + part.expression.source + " }}").render(row))
        elif isinstance(part, Choice):
            arm = _arm(environment, part, row)
            made.append(_put_together(part.arms[arm], row) if arm < len(part.arms) else "")
        elif isinstance(part, Loop):
            for item in environment.compile_expression(part.over.source)(**row):
                made.append(_put_together(part.body, {**row, "item": item}))
    return "".join(made)


def _arm(environment: jinja2.Environment, part: Choice, row: Mapping[Hashable, Any]) -> int:
    return 0 if environment.compile_expression(part.condition.source)(**row) else 1
