"""A text written as another shows it: nothing is lost, documents stay whole, values stay this text's own."""

from __future__ import annotations

import random
import unicodedata
from collections import Counter

import pytest

from prefixlab.attribution.shown_texts import KINDS, as_shown


def test_a_document_moves_with_the_lines_that_others_have_too() -> None:
    shown = "Docs:\n[A] one\nsame\n---\n[B] two\nsame\n---\n[C] three\nsame\n---\nRules.\nsame"
    text = "Docs:\n[C] three\nsame\n---\n[A] one\nsame\n---\n[B] two\nsame\n---\nRules.\nsame"
    found = as_shown(text, shown, KINDS)
    assert found is not None
    assert found == (shown, "permuted")


@pytest.mark.parametrize(
    ("text", "shown", "wanted"),
    [
        # A value between documents keeps its turn, one that stands at a line goes with it.
        ("a b c\nnow 7\nd e f\nthe end", "d e f\nnow 1\na b c\nthe end", "d e f\nnow 7\na b c\nthe end"),
        ("[A] alpha\nscore 1\n[B] beta\nscore 2", "[B] beta\nscore 8\n[A] alpha\nscore 9",
         "[B] beta\nscore 2\n[A] alpha\nscore 1"),
        # A question and a clock do not trade places, whatever they stand behind.
        ("[B] beta beta\nAt 7\n[A] alpha alpha\nQ: why?", "[A] alpha alpha\nAt 1\n[B] beta beta\nQ: who?",
         "[A] alpha alpha\nAt 7\n[B] beta beta\nQ: why?"),
        # Numbers of places stay in place.
        ("Doc 1:\nbeta\nDoc 2:\nalpha", "Doc 1:\nalpha\nDoc 2:\nbeta", "Doc 1:\nalpha\nDoc 2:\nbeta"),
    ],
)  # fmt: skip
def test_values_stay_its_own(text: str, shown: str, wanted: str) -> None:
    found = as_shown(text, shown, ["permuted"])
    assert found is not None
    assert found.text == wanted


@pytest.mark.parametrize(
    ("text", "shown", "kind"),
    [
        ("one two \nthree\r\n", "one two\nthree\n", "whitespace"),
        ("\n\none two", "one two", "whitespace"),
        ("one\ntwo three", "one two\nthree", "whitespace"),
        (unicodedata.normalize("NFD", "caf\u00e9 na\u00efve\nAt 1"), "caf\u00e9 na\u00efve\nAt 2", "unicode_form"),
    ],
)
def test_forms(text: str, shown: str, kind: str) -> None:
    found = as_shown(text, shown, KINDS)
    assert found is not None
    assert found.kind == kind
    assert as_shown(text, shown, [other for other in KINDS if other != kind]) is None


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Now 1\nRules here.", "Now 2\nRules here."),
        ("Where is my parcel?", "Who pays the fee?"),
        ("a\nb\nmy own long line\nanother long one", "b\na\nof somebody else\nwho said more than I"),
        ("alpha\nvalue\nbeta\nvalue too", "beta\nalpha\nvalue"),
    ],
)
def test_what_says_something_else_stays(text: str, shown: str) -> None:
    assert as_shown(text, shown, KINDS) is None


@pytest.mark.parametrize("seed", range(200))
def test_nothing_is_lost_and_what_is_left_is_equal(seed: int) -> None:
    rng = random.Random(seed)
    common = ["Source: the archive", "---", ""]
    documents = [
        [f"[{name}] opens", *[f"{name} says {line}" for line in range(rng.randint(1, 4))], *common[: rng.randint(0, 3)]]
        for name in "ABCDE"[: rng.randint(2, 5)]
    ]
    clock_at = rng.randint(0, len(documents))

    def written(order: list[int], clock: int) -> str:
        blocks = [documents[at] for at in order]
        blocks.insert(clock_at, [f"Read at {clock}"])
        return "\n".join(["Head", *[line for block in blocks for line in block], "Tail of rules"])

    first, other = list(range(len(documents))), list(range(len(documents)))
    rng.shuffle(other)
    shown, text = written(first, 1), written(other, 2)
    found = as_shown(text, shown, KINDS)
    new = text if found is None else found.text
    assert Counter(line.strip() for line in new.split("\n") if line.strip()) == Counter(
        line.strip() for line in text.split("\n") if line.strip()
    )
    assert new.replace("Read at 2", "Read at 1") == shown
