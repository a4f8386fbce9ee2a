"""Templates that make a file of another kind, such as code or a page: nobody sends those to a model.

Told by the name, as people write it (`setup.py.jinja2` makes a `setup.py`), or by how the text begins. What makes text
(`.md.j2`, `.txt.j2`, `.xml.j2`) and what is called a prompt can be one.
"""

from __future__ import annotations

import re
from pathlib import Path

from prefixlab.template_files import TemplateFile

_ENDINGS = (".j2", ".jinja", ".jinja2", ".mustache", ".hbs", ".handlebars", ".tmpl", ".gotmpl")
"""Endings of template languages in which files of any kind are made."""


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_CODE = _set(
    "py pyi pyx ipynb js mjs cjs ts jsx tsx vue svelte java kt kts scala groovy gradle go rs c h cc cpp cxx hpp cs fs "
    "rb php pl lua r jl swift dart ex exs erl hs clj sh bash zsh fish ps1 bat cmd sql proto graphql css scss less html "
    "htm xhtml svg tf tfvars hcl nix bicep spec service socket timer plist desktop lock"
)
_DATA = _set("yaml yml json jsonc json5 toml ini cfg conf cnf env properties csv tsv")
_NAMES = _set("dockerfile containerfile makefile jenkinsfile vagrantfile procfile rakefile gemfile caddyfile")
_PROMPTS = _set("prompt prompts system instruction instructions message messages persona")
"""Words of names of files and of their folders that are prompts, whatever they are written in."""


def makes_another_file(file: TemplateFile) -> bool:
    """Whether a template makes code, settings, a script or a page."""
    path = Path(file.path)
    if path.suffix not in _ENDINGS:
        return False
    words = {word.lower() for name in (path.stem, path.parent.name) for word in re.split(r"[\W_]+", name)}
    if not words.isdisjoint(_PROMPTS):
        return False
    kind = Path(path.stem).suffix[1:].lower()
    if kind in _CODE or path.stem.lower() in _NAMES:
        return True
    if kind in _DATA:
        return not ("role" in file.text and "content" in file.text)
    return _begins_so(file.text)


def _begins_so(text: str) -> bool:
    """Whether it is a script or a whole page. What only has some marks in it can be a prompt."""
    head, tail = text[:200].lstrip("\ufeff \t\r\n").lower(), text[-200:].rstrip().lower()
    if re.match(r"#! ?/", head):
        return True
    return head.startswith(("<!doctype html", "<html")) and tail.endswith("</html>")
