"""Comments that accept findings: told from text of the prompt, with the lines that they are about."""

from __future__ import annotations

from pathlib import Path

import pytest

from prefixlab.errors import PrefixlabError
from prefixlab.lint_findings import LintFinding
from prefixlab.prompt_templates import Place, Volatility
from prefixlab.suppressions import Suppressions
from prefixlab.template_comments import comments_of
from prefixlab.template_files import TemplateFile

IGNORE = "prefixlab: ignore[PL102] why"

ABOUT = [
    # Name of the file, text, lines that its comments are about.
    ("a.j2", f"{{# {IGNORE} #}}\nx", [{2}]),
    ("a.j2", f"x {{{{ y }}}} {{#- {IGNORE} -#}}\nx", [{1}]),
    ("a.j2", f"{{#\n {IGNORE}\n#}}\nx", [{4}]),
    ("a.j2", f"# {IGNORE}\nx {IGNORE}", []),
    ("a.hbs", f"{{{{!-- {IGNORE} --}}}}\n{{{{! {IGNORE} }}}} x\n# {IGNORE}", [{2}, {2}]),
    ("a.mustache", f"{{{{! {IGNORE} }}}}\nx", [{2}]),
    ("a.tmpl", f"{{{{- /* {IGNORE} */ -}}}}\nx", [{2}]),
    ("a.yaml", f"a: x # {IGNORE}\n# {IGNORE}\nb: |\n  # {IGNORE}\n  y\nc: 'z # {IGNORE}'\n", [{1}, {3, 4, 5}]),
    ("a.yaml", f"a: |\n  x\n  {{# {IGNORE} #}}\n  y\n", [{4} | {1, 2, 3, 4}]),
    ("a.json", f'{{"a": "# {IGNORE}", "b": "{{# {IGNORE} #}} x"}}', [{1}]),
    ("a.prompty", f"---\nname: x # {IGNORE}\n---\nsystem:\n# {IGNORE}\n{{# {IGNORE} #}}\n{{{{ now }}}}\n", [{2}, {7}]),
    ("Modelfile", f'FROM x\n# {IGNORE}\nTEMPLATE """a\n# {IGNORE}\nb"""\n', [{3, 4, 5}]),
    ("a.py", f"s = f'x'  # {IGNORE}\n# {IGNORE}\nt = 'y # {IGNORE}'\n", [{1}, {3}]),
    ("a.py", f'# {IGNORE}\ns = f"""a\n# {IGNORE}\n{{b}}"""\nt = """c\nd"""  # {IGNORE}\n', [{2, 3, 4}, {5, 6}]),
    ("a.py", f"s = '''{{# {IGNORE} #}}'''  # prefixlab: x", [{1}]),
    ("a.py", f"def broken(:\n    x = 1  # {IGNORE}\n    '''", [{2}]),
    ("a.txt", f"# {IGNORE}\n{{# {IGNORE} #}}", [{3}]),
]


@pytest.mark.parametrize(("name", "text", "about"), ABOUT)
def test_what_comments_are_about(name: str, text: str, about: list[set[int]]) -> None:
    found = [one for one in comments_of(TemplateFile(name, text)) if "prefixlab" in one.text]
    assert [set(one.lines) for one in found] == about
    assert all(text.startswith(one.text, one.at) for one in found)


def accepts(text: str, code: str, line: int) -> bool:
    suppressions = Suppressions()
    suppressions.of(TemplateFile("a.j2", text))
    at = Place("a.j2", line, 1)
    return suppressions.accepts(LintFinding(code, "", "high", at, at, "", "", 0, 0, 0, ""))


@pytest.mark.parametrize("codes", ["PL102", "pl102", "PL1", "PL", "PL301, PL102", " PL102 "])
def test_codes_and_their_families(codes: str) -> None:
    assert accepts(f"x {{# prefixlab: ignore[{codes}] #}}", "PL102", 1)
    assert accepts(f"\n\n{{# prefixlab: ignore-file[{codes}] #}} x", "PL102", 1)
    assert not accepts(f"x {{# prefixlab: ignore[{codes}] #}}", "PL102", 2)


@pytest.mark.parametrize("said", ["ignore", "ignore[]", "ignore[PL999]", "ignore-file", "ignore[all]"])
def test_what_accepts_nothing_is_said(said: str) -> None:
    suppressions = Suppressions()
    suppressions.of(TemplateFile("a.j2", f"x\n {{# prefixlab: {said} because #}}"))
    (note,) = suppressions.notes
    assert note.startswith("a.j2:2: ")
    assert not accepts(f"x {{# prefixlab: {said} because #}}", "PL102", 1)


def test_declarations() -> None:
    comments = Suppressions().of(TemplateFile("a.py", "# prefixlab: volatility a.b=user  c-d=tenant\ns = 'x'\n"))
    assert comments.volatility == {"a.b": Volatility.USER, "c-d": Volatility.TENANT}
    with pytest.raises(PrefixlabError, match=r"a\.j2:2:26: volatility a=often cannot be"):
        Suppressions().of(TemplateFile("a.j2", "\n{# prefixlab: volatility a=often #}"))


def test_comments_of_a_file_that_is_included(tmp_path: Path) -> None:
    path = tmp_path / "head.j2"
    path.write_text("{# prefixlab: ignore[PL1] #}\n")
    at = Place(str(path), 2, 1)
    assert Suppressions().accepts(LintFinding("PL103", "", "high", at, at, "", "", 0, 0, 0, ""))
