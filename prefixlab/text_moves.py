"""What a fix does to the texts of one request, in terms of its body: what is cut out and where it goes, what is written
in another form, what is put in another order."""

from __future__ import annotations

from typing import NamedTuple


class Cut(NamedTuple):
    """Characters `start:end` of `rendered`, which is the text at `path` as the prompt has it, or a part of it.

    `ahead` characters of the text at `path` stand in the prompt before `rendered`.
    """

    path: str
    rendered: str
    ahead: int
    start: int
    end: int


class TextMove(NamedTuple):
    """Texts cut out, and what is set behind the text at `target` for them.

    `steps` are the steps of the ladder, by number from 0, that the move belongs to.
    """

    steps: tuple[int, ...]
    cut: Cut
    target: str
    text: str


class Unmovable(NamedTuple):
    """Values that stand where no log can change them: in text of the chat template."""

    steps: tuple[int, ...]


class TextEdit(NamedTuple):
    """A stretch of a text that is written otherwise."""

    cut: Cut
    text: str


class ListOrder(NamedTuple):
    """Elements of the list at `path`, from number `first` on, in another order."""

    path: str
    first: int
    order: tuple[int, ...]
