"""Plans: what a template does for one shape of request, as a function that only fills in the texts."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import compress, repeat
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

from prefixlab.records import TEMPLATE, Origin, Segment
from prefixlab.rendering.filters import to_json
from prefixlab.rendering.shapes import Expected
from prefixlab.rendering.steps import Guard, Step, Untraceable
from prefixlab.rendering.tracing import Pads, Rope

PLANS_PER_SHAPE = 16
STORED_PIECES = 100_000
"""Pieces, guards and shapes of all stored plans together; the shapes that got their plan first go first."""


LONGEST_EXPRESSION = 20_000
"""Characters of one step's source; a hostile template could make it double with every message."""


class Filled(NamedTuple):
    """A request filled into a plan: its segments, and the paths of the contents that the template leaves out."""

    segments: tuple[Segment, ...]
    dropped: tuple[str, ...]


class Hole(NamedTuple):
    """A place of the output that a step fills, with its text or, for an image, with the identity of its pads."""

    step: Step
    origin: Origin
    pads: str | None = None


Collected = TypeVar("Collected", Hole, Expected)


class Plan:
    """The recording of one run of a template: guards, pieces, and contents that did not come out.

    It is compiled to a function when a second request of its shape comes; many shapes come once.
    """

    __slots__ = ("_dropped", "_fill", "_guards", "_image_tokens", "_pieces", "reads_clock", "size", "uses")

    def __init__(
        self,
        pieces: list[Segment | Hole],
        guards: list[Guard],
        dropped: list[Expected],
        *,
        image_tokens: int,
        reads_clock: bool,
    ) -> None:
        self._pieces = pieces
        self._guards = guards
        self._dropped = dropped
        self._image_tokens = image_tokens
        self._fill: Callable[[Any, Any, Any], Filled | None] | None = None
        self.reads_clock = reads_clock
        self.size = len(pieces) + len(guards)
        self.uses = 0

    @classmethod
    def record(
        cls,
        output: Any,
        guards: list[Guard],
        contents: list[Expected],
        place: Callable[[Origin], Origin],
        *,
        image_tokens: int,
        reads_clock: bool,
    ) -> tuple[Plan, Filled]:
        """The plan of a run that gave this output, and the request that was traced, filled in."""
        parts = output.parts if isinstance(output, Rope) else [output]
        pieces, segments = _pieces(parts, place, image_tokens)
        seen = {piece.origin.path for piece in pieces}
        missing = [
            expected._replace(path=place(Origin(expected.path, "")).path)
            for expected in contents
            if expected.path not in seen
        ]
        dropped = [expected for expected in missing if not any([path.startswith(expected.path) for path in seen])]
        filled = Filled(segments, tuple([expected.path for expected in dropped if expected.there]))
        return cls(pieces, guards, dropped, image_tokens=image_tokens, reads_clock=reads_clock), filled

    def fill(self, messages: Any, documents: Any, now: Any) -> Filled | None:
        """A request of this plan's shape filled in, or None where the template would decide otherwise on it."""
        fill = self._fill
        if fill is None:
            try:
                fill = _compile(self._guards, self._pieces, self._dropped, self._image_tokens)
            except (ValueError, RecursionError, SyntaxError, MemoryError):  # steps upon steps, deeper than Python goes
                fill = _never
            self._fill = fill
            self._guards, self._pieces, self._dropped = [], [], []
        try:
            return fill(messages, documents, now)
        except Exception:  # an operation that fails here fails in the template too, which then tells how
            return None


def _never(*_: Any) -> None:
    """The `fill` of a plan that cannot be compiled: it fits no request."""


class PlanBook:
    """The plans of a template by shape; a shape that cannot be traced has none."""

    def __init__(self) -> None:
        self._plans: OrderedDict[tuple[Any, ...], list[Plan]] = OrderedDict()
        self._stored = 0

    def plans(self, shape: tuple[Any, ...]) -> list[Plan] | None:
        """The plans of a shape, the one used last first; None for a shape that was not met before."""
        return self._plans.get(shape)

    def refuse(self, shape: tuple[Any, ...]) -> None:
        """Keep in mind that the shape cannot be traced."""
        self._entry(shape)

    def add(self, shape: tuple[Any, ...], plan: Plan) -> None:
        plans = self._entry(shape)
        plans.insert(0, plan)
        self._stored += plan.size
        if len(plans) > PLANS_PER_SHAPE:
            self._stored -= plans.pop().size
        while self._stored > STORED_PIECES and len(self._plans) > 1:
            old_shape, old = self._plans.popitem(last=False)
            self._stored -= len(old_shape) + sum([plan.size for plan in old])

    def _entry(self, shape: tuple[Any, ...]) -> list[Plan]:
        plans = self._plans.get(shape)
        if plans is None:
            plans = self._plans[shape] = []
            self._stored += len(shape)
        else:
            self._plans.move_to_end(shape)
        return plans


def _pieces(
    parts: list[Any], place: Callable[[Origin], Origin], image_tokens: int
) -> tuple[list[Segment | Hole], tuple[Segment, ...]]:
    """The parts of an output as constant segments and holes, and the segments of the request at hand."""
    pieces: list[Segment | Hole] = []
    segments: list[Segment] = []
    literal = ""
    for part in parts:
        if type(part) is str:
            literal += part
            continue
        if part.origin is None:
            raise Untraceable("an image inside an operation")
        origin = place(part.origin)
        if isinstance(part, Pads):
            segment = Segment(part.value, origin, part.identity, image_tokens)
            piece: Segment | Hole = Hole(part.step, origin, part.value)
        else:
            segment = Segment(part.value, origin)
            piece = segment if part.step is None else Hole(part.step, origin)
        if not segment.text and piece is segment:
            continue
        if literal:
            ahead = Segment(literal, TEMPLATE)
            pieces.append(ahead)
            segments.append(ahead)
            literal = ""
        pieces.append(piece)
        if segment.text:
            segments.append(segment)
    if literal:
        ahead = Segment(literal, TEMPLATE)
        pieces.append(ahead)
        segments.append(ahead)
    return pieces, tuple(segments)


def _compile(
    guards: list[Guard], pieces: list[Segment | Hole], dropped: list[Expected], image_tokens: int
) -> Callable[[Any, Any, Any], Filled | None]:
    """The function `fill(messages, documents, now)` of a plan.

    Steps that differ only in the numbers of messages are one loop, so that the source does not grow with the chat.
    """
    source = _Source()
    by_outcome: dict[tuple[type, Any], list[Step]] = {}
    for step, outcome in guards:
        by_outcome.setdefault((type(outcome), outcome), []).append(step)
    for (_, outcome), steps in by_outcome.items():
        source.check(steps, outcome)
    constants = [piece for piece in pieces if isinstance(piece, Segment)]
    texts = source.collect("texts", [piece for piece in pieces if isinstance(piece, Hole) and piece.pads is None])
    images = source.collect("images", [piece for piece in pieces if isinstance(piece, Hole) and piece.pads is not None])
    left_out = source.collect("left_out", dropped)
    order = {id(piece): place for place, piece in enumerate([*constants, *texts, *images])}
    scope = {
        **source.constants,
        "Filled": Filled,
        "Segment": Segment,
        "arrange": _arrangement([order[id(piece)] for piece in pieces]),
        "compress": compress,
        "constant_segments": constants,
        "dropped_paths": [expected.path for expected in left_out],
        "image_origins": [hole.origin for hole in images],
        "image_pads": [hole.pads for hole in images],
        "image_tokens": image_tokens,
        "new": tuple.__new__,
        "repeat": repeat,
        "text_origins": [hole.origin for hole in texts],
        "to_json": to_json,
    }
    exec("\n".join(["def fill(messages, documents, now):", *source.lines, *_FILLING]), scope)  # noqa: S102 - own forms
    fill: Callable[[Any, Any, Any], Filled | None] = scope["fill"]
    return fill


_FILLING = (
    "    segments = arrange([*constant_segments,",
    "        *map(new, repeat(Segment), zip(texts, text_origins, repeat(None), repeat(0))),",
    "        *map(new, repeat(Segment), zip(image_pads, image_origins, images, repeat(image_tokens)))])",
    "    if not all(texts):",
    "        segments = tuple([segment for segment in segments if segment[0]])",
    "    return new(Filled, (segments, tuple(compress(dropped_paths, left_out))))",
)


def _arrangement(order: list[int]) -> Callable[[list[Segment]], tuple[Segment, ...]]:
    return itemgetter(*order) if len(order) > 1 else tuple


class _Source:
    """Python source of a plan. Every constant is bound by a name; only names and forms of steps are source."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.constants: dict[str, Any] = {}
        self._texts: dict[str, str] = {}

    def constant(self, value: Any) -> str:
        if type(value) is str and value in self._texts:
            return self._texts[value]
        name = f"k{len(self.constants)}"
        self.constants[name] = value
        if type(value) is str:
            self._texts[value] = name
        return name

    def check(self, steps: list[Step], outcome: Any) -> None:
        """Leave the function if a step has another outcome."""
        for expression, places in self._loops(steps).items():
            if outcome is True:
                test = f"not ({expression})"
            elif outcome is False:
                test = expression
            else:
                test = f"({expression}) != {self.constant(outcome)}"
            loop = self._loop([numbers for numbers, _ in places])
            if loop:
                self.lines += (f"    {loop}:", f"        if {test}: return None")
            else:
                self.lines.append(f"    if {test}: return None")

    def collect(self, name: str, items: list[Collected]) -> list[Collected]:
        """Assign the values of the items' steps to a list; the items come back in the order of that list."""
        ordered: list[Collected] = []
        lists: list[str] = []
        for expression, places in self._loops([item.step for item in items]).items():
            loop = self._loop([numbers for numbers, _ in places])
            lists.append(f"*[{expression} {loop}]" if loop else f"*[{expression}] * {len(places)}")
            ordered += [items[index] for _, index in places]
        self.lines.append(f"    {name} = [{', '.join(lists)}]")
        return ordered

    def _loops(self, steps: Sequence[Step | None]) -> dict[str, list[tuple[tuple[int, ...], int]]]:
        """The steps by their expression; each with the numbers that stand for `i0`, `i1`... in it, and its index."""
        loops: dict[str, list[tuple[tuple[int, ...], int]]] = {}
        for index, step in enumerate(steps):
            numbers: list[int] = []
            expression = "True" if step is None else self._expression(step, numbers)
            loops.setdefault(expression, []).append((tuple(numbers), index))
        return loops

    def _loop(self, numbers: list[tuple[int, ...]]) -> str:
        width = len(numbers[0])
        if not width:
            return ""
        variables = ", ".join([f"i{index}" for index in range(width)])
        return f"for {variables} in {self.constant([row[0] for row in numbers] if width == 1 else numbers)}"

    def _expression(self, step: Step, numbers: list[int]) -> str:
        if not step.operands:
            return step.form
        operands: list[str] = []
        for operand in step.operands:
            if type(operand) is Step:
                operands.append(self._expression(operand, numbers))
            elif type(operand) is int:
                operands.append(f"i{len(numbers)}")
                numbers.append(operand)
            else:
                operands.append(self.constant(operand))
        expression = step.form.format(*operands)
        if len(expression) > LONGEST_EXPRESSION:
            raise ValueError("a step of too many steps")
        return expression
