"""Where comments can stand: the marks `yes` and `no` in files say it."""

from __future__ import annotations

import pytest

from prefixlab.dialects.comment_places import can_be_comment, text_spans
from prefixlab.template_files import TemplateFile

YAML = (
    "# yes\n- role: system\n  content: |  # yes\n    # no\n    {# yes #} no {{! yes }} no\n    {#\n    yes #}\n"
    "  # yes\n- role: user  # yes\n  content: 'a # no'  # yes\n- content: >-\n    # no\n\n    no\n# yes\n"
)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (
            "a.yaml",
            YAML,
        ),
        ("a.json", '[{"role": "system",\n "content": "# no\\n{# yes #} no {{/* yes */}} no"}]'),
        ("Modelfile", 'FROM x\n# yes\nSYSTEM """\n# no\n"""\nTEMPLATE {{ .System }} # no {{- /* yes */}} no\n# yes\n'),
        ("a.prompty", "---\n# yes\nname: a # yes\nsample:\n  b: 'no'\n---\nsystem:\n# no\n{# yes #}\n<!-- no -->"),
        ("a.prompt", "{{#if a}} # no {{/if}} {{!-- yes --}} no"),
        ("a.j2", "# yes"),
        ("a.yaml", "- [# yes"),
    ],
)
def test_comments(path: str, text: str) -> None:
    file = TemplateFile(path, text)
    spans = text_spans(file)
    at = 0
    for word in text.split():
        at = text.index(word, at)
        for mark, expected in (("yes", True), ("no", False)):
            if word.strip("'\"}]\\n{/#*") == mark or word.startswith(mark):
                assert can_be_comment(file, spans, at) is expected, text[:at]
        at += len(word)
