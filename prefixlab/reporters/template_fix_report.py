"""What `fix` did with a template, for a person and for a script.

JSON (`"schema": "prefixlab.fix_template/1"`): `path`, `dialect`, `tokenizer`, `moved` (`line`, `text`, `field`),
`kept` (`path`, `line`, `field`, `why`), `before` and `after` (`stable_tokens`, and with values `raw` and `aligned`,
parts of warm prompts), `renderings`, `diff`, `written_to`, `notes`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict

from prefixlab.number_words import counted, number, percent
from prefixlab.reporters.neutral import neutral, without_surrogates, wrapped
from prefixlab.template_fix_summary import TemplateFixSummary

SCHEMA = "prefixlab.fix_template/1"


def text(found: TemplateFixSummary, width: int) -> bytes:
    """What was moved and what it gives, then what stays."""
    lines = wrapped(_answer(found), min(width, 120))
    for one in found.moved:
        lines.append(f"  line {one.line}: {neutral(one.text.strip())}")
    if found.kept:
        lines += ["Left where they are"]
        for kept in found.kept:
            said = wrapped(f"{neutral(kept.path)}:{kept.line} ({neutral(kept.field)}): {neutral(kept.why)}.",
                           min(width, 120) - 2)  # fmt: skip
            lines += [f"  {line}" for line in said]
    for note in found.notes:
        lines += wrapped(neutral(note), min(width, 120))
    return ("\n".join(lines) + "\n").encode()


def _answer(found: TemplateFixSummary) -> str:
    how = (
        f"Replayed with {counted(found.renderings, 'row')} of values"
        if found.renderings
        else "Without values, by the text alone"
    )
    before, after = found.before, found.after
    if not found.moved:
        return (
            f"Nothing to gain: {how[0].lower()}{how[1:]}, no line of {neutral(found.path)} that can be moved makes "
            f"more of it reusable, of which {counted(before.stable_tokens, 'token')} can be shared now."
        )
    said = f"{counted(len(found.moved), 'line')} of {neutral(found.path)} moved behind the stable text. {how}: "
    said += f"{counted(before.stable_tokens, 'stable token')} before, {number(after.stable_tokens)} after"
    if before.raw is not None and after.raw is not None and before.aligned is not None and after.aligned is not None:
        said += (
            f"; warm requests share {percent(before.raw)} of their tokens before, {percent(after.raw)} after, and "
            f"reuse {percent(before.aligned)} before, {percent(after.aligned)} after"
        )
    return f"{said}." + (f" Written to {neutral(found.written_to)}." if found.written_to else "")


def render_json(found: TemplateFixSummary, width: int) -> bytes:
    """The summary for programs."""
    document = {"schema": SCHEMA, **asdict(found)}
    document["moved"] = [one._asdict() for one in found.moved]
    document["kept"] = [one._asdict() for one in found.kept]
    document["before"], document["after"] = found.before._asdict(), found.after._asdict()
    return (without_surrogates(json.dumps(document, ensure_ascii=False, indent=1)) + "\n").encode()


FORMS: dict[str, Callable[[TemplateFixSummary, int], bytes]] = {"text": text, "json": render_json}
