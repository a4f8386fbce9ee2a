"""The sandbox that chat templates run in: jinja2 as `transformers` sets it up, whose output keeps its values.

The environment is that of `transformers.utils.chat_template_utils` (trimmed blocks, loop controls, `generation` blocks,
a plain `tojson`, `raise_exception`, `strftime_now`). Two things differ: the time comes from the request, and a template
yields the values of its output expressions, not their `str()`, so that a traced value (see `tracing`) comes out whole.
All that it does is paid for from an allowance (see `limits`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import wraps
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame, has_safe_repr
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.runtime import Context, LoopContext, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

from prefixlab.rendering import limits, tracing
from prefixlab.rendering.filters import adapt_filter, adapt_test, join_filter, to_json_filter
from prefixlab.rendering.tracing import Rope, Traced

DICT_ATTRIBUTES = frozenset(dir(dict))
"""Names that a template finds on a mapping before its keys."""


LOOP_ATTRIBUTES = frozenset(
    {"index", "index0", "revindex", "revindex0", "first", "last", "length", "depth", "depth0", "previtem", "nextitem"}
)
"""What a template reads of a loop; known to be safe, which spares the sandbox's own look."""


class ValueGenerator(CodeGenerator):
    """Compiles templates that yield values as they are."""

    @staticmethod
    def _default_finalize(value: Any) -> Any:
        return value

    def _output_const_repr(self, group: Iterable[Any]) -> str:
        return repr("".join([str(value) for value in group]))

    def _output_child_to_const(self, node: nodes.Expr, frame: Frame, finalize: Any) -> str:
        const = node.as_const(frame.eval_ctx)
        if not has_safe_repr(const):
            raise nodes.Impossible()
        return str(const)

    def _output_child_pre(self, node: nodes.Expr, frame: Frame, finalize: Any) -> None:
        pass

    def _output_child_post(self, node: nodes.Expr, frame: Frame, finalize: Any) -> None:
        pass

    def blockvisit(self, nodes: Iterable[nodes.Node], frame: Frame) -> None:
        """Every loop, macro and branch has its statements compiled here: a block is paid for where it is entered."""
        block = list(nodes)
        self.writeline(f"environment.allowance.spend({limits.BLOCK + limits.EXPRESSION * sum(map(_length, block))})")
        super().blockvisit(block, frame)

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:  # noqa: N802 - jinja2 names its visitors so
        self.write("environment.concat((")
        for operand in node.nodes:
            self.visit(operand, frame)
            self.write(", ")
        self.write("))")


def _length(node: nodes.Node) -> int:
    """How many expressions a statement has, without those of the blocks in it."""
    return 1 + sum([_length(child) for child in node.iter_child_nodes() if isinstance(child, nodes.Expr)])


class GenerationBlock(Extension):
    """`{% generation %}...{% endgeneration %}`, which marks what the model wrote; it renders its body."""

    tags = {"generation"}  # noqa: RUF012 - as the base class has it

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller: Callable[[], Any]) -> Any:
        return caller()


class TemplateNamespace(Namespace):
    """`namespace()` without attributes that start with an underscore."""

    def __init__(*args: Any, **kwargs: Any) -> None:
        self, args = args[0], args[1:]
        attributes = dict(*args, **kwargs)
        for name in attributes:
            TemplateNamespace._check(name)
        Namespace.__init__(self, attributes)

    def __setitem__(self, name: str, value: Any) -> None:
        TemplateNamespace._check(name)
        Namespace.__setitem__(self, name, value)

    @staticmethod
    def _check(name: Any) -> None:
        if isinstance(name, str) and name.startswith("_"):
            raise jinja2.exceptions.SecurityError(f"a namespace cannot hold {name!r}")


class TemplateDict:
    """`dict(...)` in a template, without the type itself."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict(*args, **kwargs)

    def fromkeys(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict.fromkeys(*args, **kwargs)


class ChatEnvironment(ImmutableSandboxedEnvironment):
    """The sandbox; `now` is the time of the request at hand, `clock_read` says whether a template asked for it."""

    code_generator_class = ValueGenerator
    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self, *, trim: bool = True, extensions: Sequence[type[Extension]] = ()) -> None:
        """`trim` drops the line break behind a statement and the blanks ahead of it, as chat templates expect."""
        super().__init__(trim_blocks=trim, lstrip_blocks=trim, extensions=[GenerationBlock, loopcontrols, *extensions])
        self.now: datetime | Traced
        self.clock_read = False
        self.allowance = limits.Allowance()
        self.concat = self._concatenate  # type: ignore[method-assign]
        self.filters = {name: adapt_filter(name, filter) for name, filter in self.filters.items()}
        self.filters.update(join=join_filter, tojson=to_json_filter)
        self.filters = {name: self._paid(name, filter) for name, filter in self.filters.items()}
        self.filters.update({_WALKED: self.allowance.walk, _READ: self._read})
        self.tests = {name: adapt_test(name, test) for name, test in self.tests.items()}
        self.globals.update(
            raise_exception=_raise, strftime_now=self._strftime_now, dict=TemplateDict(), namespace=TemplateNamespace
        )
        del self.globals["lipsum"]  # random text of any length

    def parse(self, source: str, name: str | None = None, filename: str | None = None) -> nodes.Template:
        """The template's nodes; where an operator goes through a value, the value passes through what it is paid by."""
        template = super().parse(source, name, filename)
        for loop in template.find_all(nodes.For):
            loop.iter = _passed(loop.iter, _WALKED)
        for item in template.find_all(nodes.Getitem):
            if isinstance(item.arg, nodes.Slice):
                item.node = _passed(item.node, _WALKED)
        for comparison in template.find_all(nodes.Compare):
            operands = comparison.ops
            if any([operand.op in ("in", "notin") for operand in operands]):
                comparison.expr = _passed(comparison.expr, _READ)
                for operand in operands:
                    operand.expr = _passed(operand.expr, _WALKED)
            elif not isinstance(comparison.expr, nodes.Const) and not isinstance(operands[0].expr, nodes.Const):
                comparison.expr = _passed(comparison.expr, _READ)
        for pair in template.find_all(nodes.Pair):
            pair.key = _passed(pair.key, _READ)
        return template

    # --- what is paid for ---

    def _read(self, value: Any) -> Any:
        self.allowance.read(value)
        return value

    def _concatenate(self, values: Iterable[Any]) -> Any:
        values = list(values)
        limits.pay_for_text(self.allowance, values)
        return tracing.concatenate(values)

    def _paid(self, name: str, filter: Callable[..., Any]) -> Callable[..., Any]:
        own = 1 if hasattr(filter, "jinja_pass_arg") else 0

        @wraps(filter)
        def paid(*arguments: Any, **options: Any) -> Any:
            if name == "join":
                environment, values, *others = arguments
                return filter(environment, self._paid_items(values, *others, *options.values()), *others, **options)
            limits.pay_for_filter(self.allowance, name, arguments[own], (*arguments[own + 1 :], *options.values()))
            return filter(*arguments, **options)

        return paid

    def _paid_items(self, values: Iterable[Any], *separators: Any) -> Iterable[Any]:
        """Values that are joined with a separator, each paid for with the separator as it comes."""
        separator = limits.CALL + sum(map(limits.extent, separators))
        for value in values:
            self.allowance.spend(separator)
            self.allowance.read(value)
            yield value

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if operator == "+":
            self.allowance.spend(limits.extent(left) + limits.extent(right))
            return left + right
        limits.pay_for_operator(self.allowance, operator, left, right)
        return self.binop_table[operator](left, right)

    # --- what a template finds ---

    def _strftime_now(self, format: str) -> Any:
        self.clock_read = True
        now = self.now
        return tracing.strftime(now, format) if isinstance(now, Traced) else now.strftime(format)

    def getattr(self, obj: Any, attribute: str) -> Any:
        kind = type(obj)
        if kind is dict and attribute not in DICT_ATTRIBUTES:
            try:
                return obj[attribute]
            except KeyError:
                return self.undefined(obj=obj, name=attribute)
        if kind is Traced or kind is Rope:
            found = obj.attribute(attribute)
            return self.undefined(obj=obj.value, name=attribute) if found is tracing.MISSING else found
        if kind is LoopContext and attribute in LOOP_ATTRIBUTES:
            return getattr(obj, attribute)
        if kind is TemplateNamespace and not attribute.startswith("_"):
            try:
                return getattr(obj, attribute)
            except AttributeError:
                return self.undefined(obj=obj, name=attribute)
        return super().getattr(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        kind = type(obj)
        if kind is Traced or kind is Rope:
            found = obj.item(argument)
            return self.undefined(obj=obj.value, name=argument) if found is tracing.MISSING else found
        if kind is dict and type(argument) is str and argument in obj:
            return obj[argument]
        if type(argument) is tuple:
            self.allowance.read(argument)
        return super().getitem(obj, argument)

    def call(__self, __context: Any, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805 - as the base class
        method = getattr(__obj, "__name__", "")
        owner = getattr(getattr(__obj, "__wrapped__", __obj), "__self__", None)  # the sandbox wraps `format`
        if method == "join" and args and isinstance(owner, str):
            return tracing.join(__self._paid_items(args[0], owner), owner)
        if isinstance(__obj, Macro | LoopContext) or __obj is TemplateNamespace:
            __self.allowance.spend(limits.MACRO)
        else:
            limits.pay_for_method(__self.allowance, owner, method, (*args, *kwargs.values()))
        return super().call(__context, __obj, *args, **kwargs)


_WALKED = "(walked)"
_READ = "(read)"
"""Filters that no template can name: they pay for a value and give it back."""


def _passed(node: nodes.Node, name: str) -> Any:
    if isinstance(node, nodes.Const):
        return node
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno, environment=node.environment)


def _raise(message: Any) -> Any:
    raise jinja2.exceptions.TemplateError(str(message))
