"""The sample files: each is of one dialect, and what is faulty in it is a hole where the file beside it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from prefixlab.prompt_templates import PLAIN, Choice, Hole, Loop, Text, walk
from tests.dialects.outlines import CORPUS, all_corpus_files, templates_of

NO_PROMPTS = {"_rules.prompt", "flow.dag.yaml", "config.json", "support.txt", "sound_no_prompt.py"}


@pytest.mark.parametrize("path", list(all_corpus_files()), ids=lambda path: str(path.relative_to(CORPUS)))
def test_sample(path: Path) -> None:
    templates = templates_of(path)
    assert bool(templates) is (path.name not in NO_PROMPTS)
    expected = Path(f"{path}.expected")
    assert expected.exists() is path.name.startswith("faulty")
    for template in templates:
        assert not template.notes
        for part in walk(template.parts):
            lines = Path(part.at.path).read_text("utf-8").split("\n")
            assert 1 <= part.at.line <= len(lines)
            assert 1 <= part.at.column <= len(lines[part.at.line - 1]) + 1
    if expected.exists():
        lines = {int(line.split()[1]) for line in expected.read_text().splitlines()}
        found = {
            part.at.line for one in templates for part in walk(one.parts) if isinstance(part, Hole | Choice | Loop)
        }
        assert lines <= found


@pytest.mark.parametrize("path", list(all_corpus_files()), ids=lambda path: str(path.relative_to(CORPUS)))
def test_a_rendering_begins_with_the_text_ahead_of_the_first_hole(path: Path) -> None:
    values = {"history": [], "chat_history": [], "documents": [], "articles": [], "session": None, "user": None}
    names = (
        "now question timestamp date today query context firstName request_id current_time current_datetime trace_id"
    )
    values |= dict.fromkeys((*names.split(), "session_id", "user_name", "run_id", "input"), "VALUE")
    for template in templates_of(path):
        if template.render is None:
            continue
        messages = list(template.render(values))
        first = next((part for part in template.parts if isinstance(part, Text | Hole)), None)
        if isinstance(first, Text):
            assert messages[0][1].startswith(first.text)
        assert [role for role, _ in messages] == [PLAIN] or template.has_roles
