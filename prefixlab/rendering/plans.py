"""Plans: what a template does for one shape of request, as a function that only fills in the texts."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

from prefixlab.records import TEMPLATE, Origin, Segment
from prefixlab.rendering.filters import to_json
from prefixlab.rendering.shapes import Expected
from prefixlab.rendering.tracing import Guard, Pads, Rope, Step, Untraceable

PLANS_PER_SHAPE = 16
STORED_PIECES = 500_000
"""Pieces and guards of all stored plans together; the shapes that were used least lately go first."""


class Filled(NamedTuple):
    """A request filled into a plan: its segments, and the paths of the contents that the template leaves out."""

    segments: tuple[Segment, ...]
    dropped: tuple[str, ...]


class Hole(NamedTuple):
    """A place of the output that a step fills, with its text or, for an image, with the identity of its pads."""

    step: Step
    origin: Origin
    pads: str | None = None


class Plan:
    """The recording of one run of a template: guards, pieces, and contents that did not come out.

    It is compiled to a function when a second request of its shape comes; many shapes come once.
    """

    __slots__ = ("_dropped", "_fill", "_guards", "_image_tokens", "_pieces", "first", "reads_clock", "size", "uses")

    def __init__(
        self,
        output: Any,
        guards: list[Guard],
        contents: list[Expected],
        place: Callable[[str], str],
        *,
        image_tokens: int,
        reads_clock: bool,
    ) -> None:
        parts = output.parts if isinstance(output, Rope) else [output]
        self._pieces, segments = _pieces(parts, place, image_tokens)
        seen = {piece.origin.path for piece in self._pieces}
        missing = [expected._replace(path=place(expected.path)) for expected in contents if expected.path not in seen]
        self._dropped = [
            expected for expected in missing if not any([path.startswith(expected.path) for path in seen])
        ]
        self.first = Filled(segments, tuple([expected.path for expected in self._dropped if expected.there]))
        """The request that was traced."""
        self._guards = guards
        self._image_tokens = image_tokens
        self._fill: Callable[[Any, Any, Any], Filled | None] | None = None
        self.reads_clock = reads_clock
        self.size = len(self._pieces) + len(guards)
        self.uses = 0

    def fill(self, messages: Any, documents: Any, now: Any) -> Filled | None:
        """A request of this plan's shape filled in, or None where the template would decide otherwise on it."""
        fill = self._fill
        if fill is None:
            fill = self._fill = _compile(self._guards, self._pieces, self._dropped, self._image_tokens)
            self._guards, self._pieces, self._dropped = [], [], []
        try:
            return fill(messages, documents, now)
        except Exception:  # an operation that fails here fails in the template too, which then tells how
            return None


class PlanBook:
    """The plans of a template by shape; a shape that cannot be traced has none."""

    def __init__(self) -> None:
        self._plans: OrderedDict[Hashable, list[Plan]] = OrderedDict()
        self._pieces = 0

    def plans(self, shape: Hashable) -> list[Plan] | None:
        """The plans of a shape, the one used last first; None for a shape that was not met before."""
        return self._plans.get(shape)

    def refuse(self, shape: Hashable) -> None:
        """Keep in mind that the shape cannot be traced."""
        self._plans[shape] = []

    def add(self, shape: Hashable, plan: Plan) -> None:
        plans = self._plans.setdefault(shape, [])
        plans.insert(0, plan)
        self._pieces += plan.size
        if len(plans) > PLANS_PER_SHAPE:
            self._pieces -= plans.pop().size
        self._plans.move_to_end(shape)
        while self._pieces > STORED_PIECES and len(self._plans) > 1:
            _, old = self._plans.popitem(last=False)
            self._pieces -= sum([plan.size for plan in old])


def _pieces(
    parts: list[Any], place: Callable[[str], str], image_tokens: int
) -> tuple[list[Segment | Hole], tuple[Segment, ...]]:
    """The parts of an output as constant segments and holes, and the segments of the request at hand."""
    pieces: list[Segment | Hole] = []
    segments: list[Segment] = []
    literal: list[str] = []

    def flush() -> None:
        text = "".join(literal)
        literal.clear()
        if text:
            pieces.append(Segment(text, TEMPLATE))
            segments.append(pieces[-1])  # type: ignore[arg-type]

    for part in parts:
        if type(part) is str:
            literal.append(part)
            continue
        if part.origin is None:
            raise Untraceable("an image inside an operation")
        origin = Origin(place(part.origin.path), part.origin.role)
        if isinstance(part, Pads):
            flush()
            pieces.append(Hole(part.step, origin, part.value))
            segments.append(Segment(part.value, origin, part.identity, image_tokens))
            continue
        segment = Segment(part.value, origin)
        if part.step is not None:
            flush()
            pieces.append(Hole(part.step, origin))
            if part.value:
                segments.append(segment)
        elif part.value:
            flush()
            pieces.append(segment)
            segments.append(segment)
    flush()
    return pieces, tuple(segments)


def _compile(
    guards: list[Guard], pieces: list[Segment | Hole], dropped: list[Expected], image_tokens: int
) -> Callable[[Any, Any, Any], Filled | None]:
    """The function `fill(messages, documents, now)` of a plan."""
    source = _Source()
    for guard in guards:
        source.guard(guard)
    texts: list[str] = []
    segments: list[str] = []
    for piece in pieces:
        if isinstance(piece, Segment):
            segments.append(source.constant(piece))
            continue
        name, origin = source.value(piece.step), source.constant(piece.origin)
        if piece.pads is None:
            texts.append(name)
            segments.append(f"new(Segment, ({name}, {origin}, None, 0))")
        else:
            segments.append(f"new(Segment, ({source.constant(piece.pads)}, {origin}, {name}, {image_tokens}))")
    lines = source.lines
    lines.append(f"    segments = ({''.join([segment + ', ' for segment in segments])})")
    if texts:
        lines.append(f"    if not ({' and '.join(texts)}):")
        lines.append("        segments = tuple([segment for segment in segments if segment[0]])")
    left_out = "".join(
        [
            f"({'True' if expected.step is None else source.value(expected.step)}, {source.constant(expected.path)}), "
            for expected in dropped
        ]
    )
    paths = f"tuple([path for there, path in ({left_out}) if there])" if left_out else "()"
    lines.append(f"    return new(Filled, (segments, {paths}))")
    scope = {**source.constants, "Filled": Filled, "Segment": Segment, "new": tuple.__new__, "to_json": to_json}
    exec("\n".join(["def fill(messages, documents, now):", *lines]), scope)  # noqa: S102 - forms of this package only
    fill: Callable[[Any, Any, Any], Filled | None] = scope["fill"]
    return fill


class _Source:
    """Python source of a plan. Every constant is bound by a name; only names and forms of steps are source."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.constants: dict[str, Any] = {}
        self._names: dict[int, str] = {}

    def constant(self, value: Any) -> str:
        if type(value) is int:
            return f"({value})" if value < 0 else str(value)
        name = f"k{len(self.constants)}"
        self.constants[name] = value
        return name

    def value(self, step: Step) -> str:
        """The name of the variable that holds the step's value from here on."""
        if not step.operands:
            return step.form
        name = self._names.get(id(step))
        if name is None:
            expression = self._expression(step)
            name = self._names[id(step)] = f"v{len(self._names)}"
            self.lines.append(f"    {name} = {expression}")
        return name

    def guard(self, guard: Guard) -> None:
        expression, outcome = self._expression(guard.step), guard.outcome
        if outcome is True:
            test = f"not ({expression})"
        elif outcome is False:
            test = expression
        else:
            test = f"({expression}) != {self.constant(outcome)}"
        self.lines.append(f"    if {test}: return None")

    def _expression(self, step: Step) -> str:
        operands = [
            self.value(operand) if isinstance(operand, Step) else self.constant(operand) for operand in step.operands
        ]
        return step.form.format(*operands)
