"""Constants that a module has from others of its project: their text, at its place in their file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from prefixlab.dialects.python_source import DIALECT
from prefixlab.prompt_templates import Text
from prefixlab.template_files import TemplateFile
from tests.dialects.python_reading import text

_FILES = {
    "shop/__init__.py": "",
    "shop/texts/__init__.py": "from .desk import *\nfrom .desk import RULES\nHELLO = 'Hello. ' + RULES\n",
    "shop/texts/desk.py": "import os\nfrom ..chat.ask import LOOP\nclass Desk:\n    SYSTEM = 'You are the desk.'\n"
    "RULES = '''\nBe kind to {name}.'''\nTAIL_PROMPT = f'The end.'\nHOME = os.environ['HOME']\n",
    "shop/chat/__init__.py": "",
}


def _said(folder: Path, imports: str, value: str, roots: tuple[Path, ...] = ()) -> tuple[str, list[Text]]:
    for name, source in _FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(source)
    path = folder / "shop/chat/ask.py"
    path.write_text(
        f"from ..texts.desk import LOOP\n{imports}\ndef system_prompt(q):\n    return 'Say this: ' + {value}\n"
    )
    (template,) = DIALECT.templates(TemplateFile.read(path, roots))
    return text(template.parts), [part for part in template.parts if isinstance(part, Text)]


@pytest.mark.parametrize(
    ("imports", "value", "said"),
    [
        ("from ..texts.desk import RULES", "RULES.format(name=q)", "\nBe kind to <q>."),
        ("from shop.texts.desk import RULES as R", "R", "\nBe kind to {name}."),
        ("from ..texts import HELLO", "HELLO", "Hello. \nBe kind to {name}."),
        ("from .. import texts", "texts.RULES", "\nBe kind to {name}."),
        ("import shop.texts.desk", "shop.texts.desk.TAIL_PROMPT", "The end."),
        ("import shop.texts as t", "t.TAIL_PROMPT", "The end."),
        ("from ..texts.desk import Desk", "Desk.SYSTEM", "You are the desk."),
        ("from ..texts.desk import *", "TAIL_PROMPT", "The end."),
        ("from ..texts.desk import HOME", "HOME", "<texts.desk.HOME>"),
        ("from ..texts.gone import RULES", "RULES", "<texts.gone.RULES>"),
        ("from ....shop.texts import RULES", "RULES", "<shop.texts.RULES>"),
        ("from ..texts.desk import LOOP", "LOOP", "<texts.desk.LOOP>"),
        ("from os import LINESEP", "LINESEP", "<os.LINESEP>"),
    ],
)
def test_constants_of_other_modules(tmp_path: Path, imports: str, value: str, said: str) -> None:
    assert _said(tmp_path, imports, value)[0] == f"Say this: {said}"


def test_their_texts_stand_in_their_own_files(tmp_path: Path) -> None:
    _, texts = _said(tmp_path, "from ..texts.desk import RULES", "RULES.format(name=q)")
    path, line, column = texts[1].at
    assert (Path(path), line, column) == (tmp_path / "shop/texts/desk.py", 5, 12)


def test_a_module_below_a_root_is_found(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/house.py").write_text("TONE = 'Be brief.'\n")
    assert _said(tmp_path, "from house import TONE", "TONE")[0] == "Say this: <house.TONE>"
    assert _said(tmp_path, "from house import TONE", "TONE", (tmp_path / "lib",))[0] == "Say this: Be brief."


def test_a_module_is_read_again_once_it_changed_and_never_run(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    desk = tmp_path / "shop/texts/tone.py"
    desk.parent.mkdir(parents=True)
    for number, tone in enumerate(("soft", "loud")):
        desk.write_text(f"open({str(marker)!r}, 'w')\nTONE = 'Be {tone}.'\n")
        os.utime(desk, (number, number))
        assert _said(tmp_path, "from ..texts.tone import TONE", "TONE")[0] == f"Say this: Be {tone}."
    assert not marker.exists()


def test_a_module_that_stays_gives_what_others_say_now(tmp_path: Path) -> None:
    tone, middle = tmp_path / "shop/texts/tone.py", tmp_path / "shop/texts/middle.py"
    middle.parent.mkdir(parents=True)
    middle.write_text("from .tone import TONE\nBOTH = 'Be both. ' + TONE\n")
    for number, said in enumerate(("soft", "loud")):
        tone.write_text(f"TONE = 'Be {said}.'\n")
        os.utime(tone, (number, number))
        for value, text_ in (("BOTH", f"Be both. Be {said}."), ("TONE", f"Be {said}.")):
            assert _said(tmp_path, f"from ..texts.middle import {value}", value)[0] == f"Say this: {text_}"


def test_a_text_that_is_not_written_yet_counts(tmp_path: Path) -> None:
    _said(tmp_path, "from ..texts.desk import RULES", "RULES")
    texts = {os.path.realpath(tmp_path / "shop/texts/desk.py"): "RULES = 'Be new.'\n"}
    path = tmp_path / "shop/chat/ask.py"
    (template,) = DIALECT.templates(TemplateFile.read(path, texts=texts))
    assert text(template.parts) == "Say this: Be new."
