"""A Jinja chat template at work."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import jinja2
from jinja2 import nodes

from prefixlab.errors import BadRecord, PrefixlabError
from prefixlab.records import AnthropicChat, Chat, Origin, Rendering, Request, Segment, Text
from prefixlab.rendering import origins
from prefixlab.rendering.anthropic import as_conversation
from prefixlab.rendering.conversations import Conversation, Preparation, ToolArguments, path_of, plain
from prefixlab.rendering.filters import NotJson
from prefixlab.rendering.limits import TooMuch
from prefixlab.rendering.plans import Filled, Plan, PlanBook
from prefixlab.rendering.sandbox import ChatEnvironment
from prefixlab.rendering.shapes import Place, TracedConversation, pinned_key, shape_of
from prefixlab.rendering.sources import TemplateSource
from prefixlab.rendering.steps import Step, Untraceable
from prefixlab.rendering.tracing import Rope, concatenate

FIXED_DATE = datetime(2026, 1, 1, tzinfo=UTC)
"""What `strftime_now` tells for a record without a time."""

CHECKED_USES = 2
"""How often a plan is compared with plain rendering before it is trusted (in a log where nearly each request has a
shape of its own: for one request in eight)."""

FRESH_PLACES = 10_000
"""After so many plans the shared places are made anew, for a hostile log could make them grow without end."""

CONTINUE_MARK = "CONTINUE_FINAL_MESSAGE_TAG "
"""What `transformers` puts behind the final message to find its end again."""


CORRECT = "Correct the template or give another --chat-template"


class ChatTemplateRenderer:
    """Renders chats with a chat template."""

    def __init__(
        self, source: TemplateSource, *, tool_arguments: ToolArguments = "parsed", image_tokens: int = 64
    ) -> None:
        self.name = source.name
        self.sha256: str | None = source.sha256
        self.undated_requests = 0
        """Requests without a time whose template asked for it; they were rendered as of `FIXED_DATE`."""
        self.image_tokens = image_tokens
        self.notes: tuple[str, ...] = source.notes
        self._environment = ChatEnvironment()
        self._book = PlanBook()
        self._tracing = True
        self._traced = self._planned = self._checked = 0
        self._places: tuple[Place, Place]
        self._special_tokens = dict(source.special_tokens)
        self._default, parsed = self._compile(source.text, source.path)
        self._with_tools = self._compile(source.tool_text, source.path)[0] if source.tool_text else self._default
        lists = walks_over_parts(parsed)
        self._preparation = Preparation(tool_arguments=tool_arguments, image_tokens=image_tokens, lists=lists)

    def _count_undated(self) -> None:
        if not self.undated_requests:
            date = FIXED_DATE.strftime("%Y-%m-%d")
            self.notes += (f"requests without a time were rendered as of {date}, for the chat template asks for it",)
        self.undated_requests += 1

    def _compile(self, text: str, path: str) -> tuple[jinja2.Template, nodes.Template]:
        """The template, and its nodes."""
        environment = self._environment
        environment.allowance.renew(text)  # jinja2 works out some constants
        try:
            parsed = environment.parse(text)
            return environment.from_string(parsed), parsed
        except jinja2.TemplateSyntaxError as error:
            raise PrefixlabError(
                f"the chat template does not parse: {error.message}", CORRECT, path=path, line=error.lineno
            ) from error
        except (RecursionError, MemoryError, SyntaxError):
            raise PrefixlabError("the chat template does not parse: it goes too deep", CORRECT, path=path) from None

    def render(self, request: Request) -> Rendering:
        """The request's prompt: its text in segments that know where they came from."""
        body = request.body
        if isinstance(body, Text):
            return Rendering((Segment(body.prompt, Origin(body.path, "prompt")),) if body.prompt else ())
        if isinstance(body, Chat):
            conversation = self._preparation.conversation(body)
        elif isinstance(body, AnthropicChat):
            conversation = as_conversation(body, self._preparation)
        else:
            raise TypeError(f"{type(body).__name__} has no text to render")
        if not conversation.messages:
            path, line = request.location
            raise BadRecord("the request has no messages", "Remove the record or use --skip-bad", path=path, line=line)
        shape = self._shape(conversation)
        if shape is not None:
            rendering = self._render_planned(shape, conversation, request)
            if rendering is not None:
                return rendering
        rendering = self._render_plainly(conversation, request)
        if shape is not None and self._book.plans(shape) is None:
            self._book.refuse(shape)
        return rendering

    # --- with plans ---

    def _shape(self, conversation: Conversation) -> Any:
        """The shape of a request that may be rendered by a plan, or None."""
        if not self._tracing:
            return None
        kwargs = conversation.template_kwargs
        try:
            return shape_of(conversation, pinned_key(dict(kwargs)) if kwargs else None)
        except Untraceable:
            return None

    def _render_planned(self, shape: Any, conversation: Conversation, request: Request) -> Rendering | None:
        """The request by a plan of its shape, or traced for a new plan; None if that cannot be."""
        now = time_of(request)
        plans = self._book.plans(shape)
        if plans is not None and not plans:
            return None
        for index, plan in enumerate(plans or ()):
            filled = plan.fill(conversation.messages, conversation.documents, now)
            if filled is not None:
                if index and plans:
                    plans.insert(0, plans.pop(index))
                return self._compared(plan, filled, conversation, request)
        traced = self._trace(conversation, now)
        if traced is None:
            return None
        self._book.add(shape, traced[0])
        return self._compared(*traced, conversation, request)

    def _compared(self, plan: Plan, filled: Filled, conversation: Conversation, request: Request) -> Rendering | None:
        """What a plan gives, compared with plain rendering while the plan is new."""
        self._planned += 1
        if plan.uses < CHECKED_USES and self._checked * 8 < self._planned + 512:
            plan.uses += 1
            self._checked += 1
            text = "".join([segment.text for segment in filled.segments])
            if text != self._plain_text(conversation, request):
                self._tracing = False
                self.notes += ("the chat template cannot be recorded faithfully: requests are rendered plainly",)
                return None
        elif plan.reads_clock and request.arrived_at is None:
            self._count_undated()
        return Rendering(filled.segments, conversation.dropped + filled.dropped)

    def _trace(self, conversation: Conversation, now: datetime) -> tuple[Plan, Filled] | None:
        """A new plan, recorded on this conversation, and the conversation filled in; None if it cannot be recorded."""
        environment = self._environment
        try:
            if self._traced % FRESH_PLACES == 0:
                self._places = (Place(Step("messages"), "messages"), Place(Step("documents"), "documents"))
            self._traced += 1
            traced = TracedConversation(conversation, *self._places)
            environment.now, environment.clock_read = traced.now(now), False
            environment.allowance.renew(_values(conversation))
            template = self._with_tools if conversation.tools else self._default
            if conversation.continue_final_message:
                traced.messages[-1] = _marked(traced.messages[-1])
            variables = self._variables(
                conversation, traced.messages, traced.tools, traced.documents, traced.template_kwargs
            )
            output = environment.concat(template.root_render_func(template.new_context(variables)))
            if conversation.continue_final_message:
                output = _cut(output)
            return Plan.record(
                output,
                traced.guards,
                traced.contents,
                conversation.place,
                image_tokens=self.image_tokens,
                reads_clock=environment.clock_read,
            )
        except (Untraceable, Exception):  # if it is an error of the template, plain rendering tells it
            return None

    # --- plainly ---

    def _render_plainly(self, conversation: Conversation, request: Request) -> Rendering:
        text = self._plain_text(conversation, request)
        segments, dropped = origins.find(text, origins.contents(conversation), self.image_tokens)
        return Rendering(segments, conversation.dropped + dropped)

    def _plain_text(self, conversation: Conversation, request: Request) -> str:
        environment = self._environment
        environment.clock_read = False
        environment.allowance.renew(_values(conversation))
        if request.arrived_at is None:
            environment.now = FIXED_DATE
        else:
            environment.now = datetime.fromtimestamp(request.arrived_at, UTC)
        messages = [plain(message) for message in conversation.messages]
        if conversation.continue_final_message:
            messages[-1] = _marked(messages[-1])
        template = self._with_tools if conversation.tools else self._default
        try:
            text = template.render(
                self._variables(
                    conversation, messages, conversation.tools, conversation.documents, conversation.template_kwargs
                )
            )
        except TooMuch as error:
            path, line = request.location
            raise BadRecord(
                f"the chat template {error}", f"{CORRECT}, or use --skip-bad", path=path, line=line
            ) from None
        except RecursionError:
            raise self._refusal(request, "it goes too deep") from None
        except NotJson as error:
            raise self._refusal(request, _what_is_missing(error, conversation)) from None
        except Exception as error:  # whatever a template does is the template's or the record's fault
            raise self._refusal(request, str(error) or type(error).__name__) from error
        if environment.clock_read and request.arrived_at is None:
            self._count_undated()
        if not conversation.continue_final_message:
            return text
        place = text.rfind(CONTINUE_MARK.strip())
        if place < 0:
            raise self._refusal(request, "it leaves out the final message, which is to be continued")
        return text[:place] if text.startswith(CONTINUE_MARK, place) else text[:place].rstrip()

    def _variables(
        self, conversation: Conversation, messages: Any, tools: Any, documents: Any, template_kwargs: Mapping[str, Any]
    ) -> dict[str, Any]:
        return {
            **self._special_tokens,
            **template_kwargs,
            "messages": messages,
            "tools": tools,
            "documents": documents,
            "add_generation_prompt": conversation.add_generation_prompt,
        }

    def _refusal(self, request: Request, message: str) -> BadRecord:
        path, line = request.location
        todo = "Correct the record, give another --chat-template, or use --skip-bad"
        return BadRecord(f"the chat template refuses this request: {message}", todo, path=path, line=line)


def _values(conversation: Conversation) -> tuple[Any, ...]:
    return conversation.messages, conversation.tools, conversation.documents, conversation.template_kwargs


def _what_is_missing(error: NotJson, conversation: Conversation) -> str:
    """The place in the body of what a template would write as JSON and does not find."""
    places = {"messages": conversation.messages, "tools": conversation.tools, "documents": conversation.documents}
    path = path_of(error.owner, places)
    return str(error) if path is None else f"{conversation.place(Origin(f'{path}.{error.name}', '')).path} is missing"


def _marked(message: dict[str, Any]) -> dict[str, Any]:
    """The message with the mark behind its content, or behind the last text of it."""
    content: Any = message.get("content")
    if isinstance(content, list) and content:
        last = {**content[-1], "text": content[-1]["text"] + CONTINUE_MARK}
        return {**message, "content": [*content[:-1], last]}
    return {**message, "content": CONTINUE_MARK if content is None else content + CONTINUE_MARK}


def _cut(output: Any) -> Any:
    """A rope that ends where the mark stood; the blanks ahead of it go too where the template trimmed the mark."""
    parts = output.parts if isinstance(output, Rope) else [output]
    mark = CONTINUE_MARK.strip()
    for index in range(len(parts) - 1, -1, -1):
        part = parts[index]
        if type(part) is str and (place := part.rfind(mark)) >= 0:
            rest = part[place:] + "".join([part for part in parts[index + 1 : index + 2] if type(part) is str])
            ahead = concatenate([*parts[:index], part[:place]])
            if rest.startswith(CONTINUE_MARK):
                return ahead
            return ahead.stripped("rstrip") if isinstance(ahead, Rope) else ahead.rstrip()
    raise Untraceable("the final message did not come out by itself")


def time_of(request: Request) -> datetime:
    """When the request came, or the fixed date."""
    try:
        return FIXED_DATE if request.arrived_at is None else datetime.fromtimestamp(request.arrived_at, UTC)
    except (ValueError, OverflowError, OSError):  # no year of the calendar
        return FIXED_DATE


def walks_over_parts(template: nodes.Template) -> bool:
    """Whether a template loops over the parts of a content, so that it is given a list and not the joined text."""
    messages = {"messages"}
    for assignment in template.find_all(nodes.Assign):
        if isinstance(assignment.target, nodes.Name) and _root(assignment.node) in messages:
            messages.add(assignment.target.name)
    loops = list(template.find_all(nodes.For))
    items = {loop.target.name for loop in loops if isinstance(loop.target, nodes.Name) and _root(loop.iter) in messages}
    contents = {
        assignment.target.name
        for assignment in template.find_all(nodes.Assign)
        if isinstance(assignment.target, nodes.Name) and _is_content(assignment.node, items)
    }
    return any(
        _is_content(loop.iter, items) or (isinstance(loop.iter, nodes.Name) and loop.iter.name in contents)
        for loop in loops
    )


def _root(node: nodes.Node) -> str | None:
    """The variable that an expression takes elements, slices or filtered values of."""
    while isinstance(node, nodes.Getitem | nodes.Filter):
        node = node.node  # type: ignore[assignment]
    return node.name if isinstance(node, nodes.Name) else None


def _is_content(node: nodes.Node, items: set[str]) -> bool:
    while isinstance(node, nodes.Filter):
        node = node.node  # type: ignore[assignment]
    if isinstance(node, nodes.Getattr):
        return node.attr == "content" and _root(node.node) in items
    return (
        isinstance(node, nodes.Getitem)
        and isinstance(node.arg, nodes.Const)
        and node.arg.value == "content"
        and _root(node.node) in items
    )
