"""Environments of Jinja2 in Python: texts they are given, and files they find by their names."""

from __future__ import annotations

from pathlib import Path

import pytest

from prefixlab.dialects.python_source import DIALECT
from prefixlab.prompt_templates import PromptTemplate
from prefixlab.template_files import TemplateFile
from tests.dialects.python_reading import holes, prompts, text

SENT = "client.chat.completions.create(messages=[{'role': 'system', 'content': TEXT}])"


@pytest.mark.parametrize(
    "made",
    [
        "T = jinja2.Environment().from_string('Be A {{ x }}')",
        "env = jinja2.Environment(trim_blocks=True)\nT = env.from_string('Be A {{ x }}')",
        "T = jinja2.sandbox.SandboxedEnvironment(loader=None).from_string('Be A {{ x }}')",
        "env = jinja2.Environment(loader=jinja2.DictLoader({'a': 'Be A {{ x }}'}))\nT = env.get_template('a')",
    ],
)
def test_a_text_is_rendered_with_what_it_is_given(made: str) -> None:
    (template,) = prompts(
        f"import jinja2, jinja2.sandbox, uuid\n{made}\ndef f():\n    return "
        + SENT.replace("TEXT", "T.render(x=uuid.uuid4())")
    )
    assert text(template.parts) == "Be A <uuid.uuid4()>"
    assert holes(template)[0].expression.calls == ("uuid.uuid4",)


def test_what_nobody_fills_in_is_rendered_only_with_the_usual_options() -> None:
    source = "from jinja2 import Environment\nSYSTEM_PROMPT = Environment(OPTIONS).from_string('You are {{ x }}\\n')\n"
    (usual,), (other,) = [prompts(source.replace("OPTIONS", one)) for one in ("", "trim_blocks=True")]
    assert usual.render is not None
    assert usual.render({"x": "A"}) == [("prompt", "You are A")] or usual.render({"x": "A"}) == (
        ("prompt", "You are A"),
    )
    assert text(other.parts).startswith("You are <x>")


def test_a_chat_template_is_no_prompt_of_the_module() -> None:
    chat = "{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}{% endfor %}You are A"
    source = f"import jinja2\nprompt = jinja2.Environment().from_string({chat!r})\n"
    assert prompts(f"{source}def f(messages): return prompt.render(messages=messages)\n") == []


LOADERS = [
    ("FileSystemLoader('prompts/system')", "prompts/system", "app/module.py"),
    ("FileSystemLoader(['other', 'prompts'])", "app/prompts", "app/module.py"),
    ("FileSystemLoader(Path(__file__).parent / 'templates')", "app/templates", "app/module.py"),
    ("PackageLoader('app', 'texts')", "app/texts", "app/inner/module.py"),
    ("PackageLoader('app')", "app/templates", "app/module.py"),
    ("ChoiceLoader([FileSystemLoader('none'), PackageLoader('app', 'texts')])", "app/texts", "app/module.py"),
]


@pytest.mark.parametrize(("loader", "folder", "module"), LOADERS)
def test_a_file_is_found_where_the_loader_says(tmp_path: Path, loader: str, folder: str, module: str) -> None:
    (template,) = _project(tmp_path, loader, folder, module)
    assert text(template.parts) == "Be A <uuid.uuid4()>. Rules."


def test_a_name_does_not_lead_out_of_the_folder(tmp_path: Path) -> None:
    assert _project(tmp_path, "FileSystemLoader('../..')", "..", "app/module.py") == []


def _project(at: Path, loader: str, folder: str, module: str) -> list[PromptTemplate]:
    at = at / "project"
    (at / folder).mkdir(parents=True, exist_ok=True)
    (at / module).parent.mkdir(parents=True, exist_ok=True)
    (at / "pyproject.toml").touch()
    for one in {at / "app", (at / module).parent}:
        (one / "__init__.py").touch()
    (at / folder / "sys.j2").write_text("Be A {{ x }}. {% include 'rules.j2' %}", encoding="utf-8")
    (at / folder / "rules.j2").write_text("Rules.", encoding="utf-8")
    source = (
        "from jinja2 import *\nfrom jinja2 import Environment, FileSystemLoader, PackageLoader, ChoiceLoader\n"
        f"import uuid\nfrom pathlib import Path\nenv = Environment(loader={loader})\ndef f(client):\n    return "
        + SENT.replace("TEXT", "env.get_template('sys.j2').render(x=uuid.uuid4())")
    )
    return list(DIALECT.templates(TemplateFile(str(at / module), source)))
