"""Functions of other modules, and what a program makes once when it starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from prefixlab.dialects.python_source import DIALECT
from prefixlab.prompt_templates import Hole, Volatility
from prefixlab.template_files import TemplateFile
from prefixlab.volatility.judging import judged
from tests.dialects.python_reading import holes, text, the_prompt

HELPERS = (
    "import uuid\nfrom datetime import datetime\n\n\n"
    "def header(name='x'):\n    return f'Hello {name} {uuid.uuid4()}.'\n\n\n"
    "STARTED = f'Since {datetime.now()}.'\n\n\ndef loop():\n    return again()\n\n\nfrom prompts import again\n"
)
AHEAD = "import helpers\nfrom helpers import STARTED, header, loop\n\n\ndef again():\n    return 'a ' + loop()\n\n\n"


@pytest.mark.parametrize(
    ("value", "said", "line"),
    [
        ("header() + q", "Hello x <uuid.uuid4()>.<q>", 6),
        ("f'{header(q)}'", "Hello <q> <uuid.uuid4()>.", 6),
        ("helpers.header(name='y') + q", "Hello y <uuid.uuid4()>.<q>", 6),
        ("' '.join([header(), q])", "Hello x <uuid.uuid4()>. <q>", 6),
        ("STARTED + q", "Since <datetime.now()>.<q>", 9),
    ],
)
def test_functions_and_texts_of_other_modules(tmp_path: Path, value: str, said: str, line: int) -> None:
    (tmp_path / "helpers.py").write_text(HELPERS)
    path = tmp_path / "prompts.py"
    path.write_text(f"{AHEAD}def system_prompt(q):\n    return 'Say this: ' + {value}\n")
    template = next(one for one in DIALECT.templates(TemplateFile.read(path)) if one.name == "system_prompt")
    assert text(template.parts) == f"Say this: {said}"
    found = next(part for part in template.parts if isinstance(part, Hole) and part.expression.calls)
    assert (Path(found.at.path).name, found.at.line) == ("helpers.py", line)


def test_functions_that_call_one_another_end(tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text(HELPERS)
    path = tmp_path / "prompts.py"
    path.write_text(f"{AHEAD}def system_prompt(q):\n    return 'Say this now: ' + loop() + q\n")
    assert [one for one in DIALECT.templates(TemplateFile.read(path)) if one.name == "system_prompt"]


@pytest.mark.parametrize(
    "made",
    [
        "datetime.datetime.now()",
        "uuid.uuid4()",
        "random.Random(7).sample(['a', 'b'], 2)",
        "f'{uuid.uuid4()}'",
        "uuid.UUID('12345678123456781234567812345678')",
        "library.HUMAN_PROMPT",
    ],
)
def test_what_is_made_once_is_of_the_deployment(made: str) -> None:
    source = f"import datetime, library, random, uuid\nX = {made}\ndef prompt(q):\n    return 'Say this: ' + {{}} + q\n"
    once = the_prompt(source.replace("{}", "f'{X}'"))
    assert all([judged(one.expression).volatility <= Volatility.DEPLOYMENT for one in holes(once)[:-1]])
    if made.endswith("()"):
        each = the_prompt(source.replace("{}", f"str({made})"))
        assert judged(holes(each)[0].expression).volatility == Volatility.REQUEST


@pytest.mark.parametrize(
    "loop", ["for name in sorted(os.listdir('g'))", "for i, user in enumerate(sorted(pathlib.Path('g').glob('*')))"]
)
def test_files_of_a_folder_are_named_by_the_folder(loop: str) -> None:
    said = "user" if "user" in loop else "name"
    template = the_prompt(
        f"import os, pathlib\ndef system_prompt(q):\n    s = 'Know this: '\n    {loop}:\n        s += {said} + ' '\n"
        "    return s + q\n"
    )
    assert judged(holes(template)[0].expression).volatility == Volatility.DEPLOYMENT


def test_schemas_of_classes_have_an_order() -> None:
    template = the_prompt(
        "import json\ndef system_prompt(q):\n    return 'Say this: ' + json.dumps(S.model_json_schema()) + q\n"
    )
    assert not holes(template)[0].expression.orders
