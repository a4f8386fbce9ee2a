"""A served model: its tokenizer and its chat template together turn requests into prompts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from prefixlab.cache_marks import asked_lifetimes, marked_paths
from prefixlab.contracts import Renderer, TextTokenizer
from prefixlab.errors import BadRecord, PrefixlabError
from prefixlab.number_words import counted
from prefixlab.records import (
    TOKEN_BYTES,
    AnthropicChat,
    BlockHashes,
    Chat,
    Origin,
    Piece,
    Prompt,
    Request,
    Run,
    Segment,
    Serving,
    Span,
    Text,
    TokenIds,
)
from prefixlab.rendering import load_renderer
from prefixlab.tokenizers import SegmentEncoder, load_tokenizer
from prefixlab.tokenizers.own_templates import own_template

NAME_ONE = "Name the served model's tokenizer with --tokenizer, such as o200k_base, qwen3 or a model folder"

TRACE = Origin("hash_ids", "trace")


class ServedModel:
    """Makes prompts of one model's requests and counts what the report has to say about them."""

    def __init__(
        self, tokenizer: TextTokenizer, template: Callable[[bool], Renderer], *, keeps_marks: bool = False
    ) -> None:
        """`keeps_marks` says that prompts keep what their requests mark for a hosted provider's cache."""
        self.tokenizer = tokenizer
        self._keeps_marks = keeps_marks
        self.encoder = SegmentEncoder(tokenizer)
        self.dropped: Counter[str] = Counter()
        self.asked_lifetimes: Counter[str] = Counter()
        self.reencoded_outputs = 0
        self._template = template
        self._renderers: dict[bool, Renderer] = {}
        self._blocks: dict[int, bytes] = {}

    @property
    def renderers(self) -> Sequence[Renderer]:
        """The chat templates that were used."""
        return tuple(self._renderers.values())

    @property
    def logged_blocks(self) -> Sequence[int]:
        """The block ids of traces, by the number that stands for each in the prompts."""
        return tuple(self._blocks)

    def prompt(self, request: Request) -> Prompt:
        """The request's prompt in this model's tokens.

        Raises:
            BadRecord: the chat template refuses the request, or there is no text in it to tokenize.
        """
        body = request.body
        unit, token_count = 1, None
        if isinstance(body, Chat | AnthropicChat):
            pieces = self._chat(request, isinstance(body, AnthropicChat))
        elif isinstance(body, Text):
            pieces = self.encoder.encode_plain(body.prompt, Origin(body.path, "prompt"))
        elif isinstance(body, TokenIds):
            pieces = self.encoder.encode_ids(body.tokens)
        else:
            pieces = self._trace(body)
            unit, token_count = body.block_tokens, body.prompt_tokens
        generated, serving = self._generated(request)
        marked = marked_paths(body) if self._keeps_marks else ()
        if marked:
            self.asked_lifetimes.update(asked_lifetimes(body))
        return Prompt(
            request.id,
            request.location,
            pieces,
            namespace=request.namespace,
            arrived_at=request.arrived_at,
            ended_at=request.ended_at,
            tags=request.tags,
            output_tokens=generated,
            observed_cached_tokens=request.observed_cached_tokens,
            serving=serving,
            marked_paths=marked,
            unit=unit,
            token_count=token_count,
        )

    def encode(self, text: str, origin: Origin) -> tuple[Run, ...]:
        """The runs of a stretch of text that starts and ends where text may be cut."""
        return tuple([run for piece in self.encoder.encode((Segment(text, origin),)) for run in piece.runs])

    def renderer_of(self, body: Chat | AnthropicChat) -> Renderer:
        """The chat template for a body.

        Raises:
            PrefixlabError: it is not known, or cannot be loaded.
        """
        anthropic = isinstance(body, AnthropicChat)
        if anthropic not in self._renderers:
            self._renderers[anthropic] = self._template(anthropic)
        return self._renderers[anthropic]

    def _chat(self, request: Request, anthropic: bool) -> tuple[Piece, ...]:
        renderer = self._renderers.get(anthropic)
        if renderer is None:
            try:
                renderer = self._renderers[anthropic] = self._template(anthropic)
            except BadRecord as error:
                path, line = request.location
                raise BadRecord(error.what, error.todo, path=path, line=line) from None
        rendering = renderer.render(request)
        if rendering.dropped:
            self.dropped.update(rendering.dropped)
        return self.encoder.encode(rendering.segments)

    def _trace(self, body: BlockHashes) -> tuple[Piece, ...]:
        """One run of block numbers, for a trace has no text and its ids may be longer than a token."""
        blocks = self._blocks
        ids = [blocks.setdefault(block, len(blocks).to_bytes(TOKEN_BYTES, "little")) for block in body.hash_ids]
        return (Piece((Span(TRACE, 0),), (Run("", b"".join(ids)),)),) if ids else ()

    def _generated(self, request: Request) -> tuple[bytes, Serving]:
        """The generated tokens whose keys and values an engine has, all but the last one sampled; and how it ended."""
        output, serving = request.output, request.serving
        if output is None or isinstance(request.body, BlockHashes):
            return b"", serving
        if output.tokens is not None:
            sampled = len(output.tokens) // TOKEN_BYTES
            return output.tokens[:-TOKEN_BYTES], serving._replace(
                finish_reason=output.finish_reason, sampled_tokens=sampled
            )
        if not output.text or isinstance(request.body, TokenIds):
            return b"", serving
        self.reencoded_outputs += 1
        tokens = self.encoder.encode_output(output.text)
        sampled = len(tokens) // TOKEN_BYTES
        if output.finish_reason in ("length", "max_tokens"):
            tokens = tokens[:-TOKEN_BYTES]
        else:
            # Generation ended by itself: the last token sampled was the end of turn, which the text does not show.
            sampled += 1
        return tokens, serving._replace(finish_reason=output.finish_reason, sampled_tokens=sampled)


class ServedModels:
    """The served model of each request: the one named for the whole run, or for its `model`, or known by that name."""

    def __init__(
        self,
        tokenizers: Sequence[str],
        *,
        chat_template: str = "auto",
        tool_arguments: Literal["parsed", "raw"] = "parsed",
        image_tokens: int = 64,
        offline: bool = False,
        keeps_marks: bool = False,
    ) -> None:
        self._keeps_marks = keeps_marks
        self._default: str | None = None
        self._named: dict[str, str] = {}
        for tokenizer in tokenizers:
            model, equals, name = tokenizer.partition("=")
            if not tokenizer or (equals and not (model and name)):
                raise PrefixlabError(f"--tokenizer {tokenizer!r} names none", "Give it as NAME or as MODEL=NAME")
            if equals:
                self._named[model] = name
            elif self._default is not None:
                raise PrefixlabError("two tokenizers are named for the same models", "Give them as MODEL=NAME")
            else:
                self._default = tokenizer
        self._chat_template = chat_template
        self._options: dict[str, Any] = {"tool_arguments": tool_arguments, "image_tokens": image_tokens}
        self._offline = offline
        self._of_model: dict[str, ServedModel] = {}
        self._of_tokenizer: dict[str, ServedModel] = {}
        self._unknown: dict[str, PrefixlabError] = {}
        """Models that the log names and nobody knows: they are asked for once."""
        if self._default is not None:
            self._served(self._default)
        if chat_template not in ("auto", "none"):
            load_renderer(chat_template, **self._options)

    @property
    def loaded(self) -> Mapping[str, ServedModel]:
        """The models in use, by the name of their tokenizer as it was asked for."""
        return self._of_tokenizer

    def encode(self, text: str, origin: Origin) -> tuple[Run, ...]:
        """The runs of a stretch of text, by the first model in use; a log of one model has no other."""
        return next(iter(self._of_tokenizer.values())).encode(text, origin)

    @property
    def cuts(self) -> bool:
        """Whether text may be encoded piecewise at white space, in all models in use."""
        return all([served.tokenizer.cuts_at_whitespace for served in self._of_tokenizer.values()])

    def decode(self, tokens: bytes) -> bytes:
        """The bytes that tokens stand for, by the first model in use."""
        return next(iter(self._of_tokenizer.values())).tokenizer.decode(tokens)

    def decode_of(self, model: str) -> Callable[[bytes], bytes]:
        """What gives the bytes that the tokens of one model's requests stand for."""
        return self._of_model[model].tokenizer.decode

    def blocks_of(self, model: str) -> Sequence[int]:
        """The block ids of a trace as logged, by the number that stands for each in its prompts."""
        return self._of_model[model].logged_blocks

    def described(self) -> dict[str, Any]:
        """The tokenizers in use, for the report."""
        used = [served.tokenizer for served in self._of_tokenizer.values()]
        return {
            "name": ", ".join([tokenizer.name for tokenizer in used]) or "none",
            "source": ", ".join([tokenizer.source for tokenizer in used]) or "none",
            "sha256": used[0].sha256 if len(used) == 1 else None,
        }

    def described_template(self) -> dict[str, Any] | None:
        """The chat templates in use, for the report; None where nothing was templated."""
        used = {one.name: one for served in self._of_tokenizer.values() for one in served.renderers}
        if not used:
            return None
        return {
            "name": ", ".join(used),
            "sha256": next(iter(used.values())).sha256 if len(used) == 1 else None,
        }

    @property
    def asked_lifetimes(self) -> Mapping[str, int]:
        """How many requests ask a hosted provider to keep what they mark for so long."""
        return sum([served.asked_lifetimes for served in self._of_tokenizer.values()], Counter[str]())

    def notes(self) -> list[str]:
        """Sentences about how the text was made and read."""
        notes = [
            f"No request is of the model `{model}` that a tokenizer was named for."
            for model in self._named
            if model not in self._of_model
        ]
        for served in self._of_tokenizer.values():
            for renderer in served.renderers:
                notes.extend(renderer.notes)
            notes.extend(_dropped(served.dropped))
            notes.extend(_lookalikes(served))
            if served.reencoded_outputs:
                requests = counted(served.reencoded_outputs, "request")
                notes.append(
                    f"The answers of {requests} are logged as text; they count as cached with the tokens of that text, "
                    "which may not be those that were sampled."
                )
        return list(dict.fromkeys(notes))

    def of(self, request: Request) -> ServedModel:
        """The model that serves a request.

        Raises:
            BadRecord: nobody said which tokenizer its model has.
        """
        served = self._of_model.get(request.namespace.model)
        has_text = isinstance(request.body, Chat | AnthropicChat | Text)
        if served is None or (has_text and served.tokenizer.name == "none"):
            served = self._of_model[request.namespace.model] = self._find(request)
            if has_text and served.tokenizer.name == "none":
                raise BadRecord(
                    "--tokenizer none takes token ids alone, and this record has text",
                    NAME_ONE,
                    path=request.location.path,
                    line=request.location.line,
                )
        return served

    def _find(self, request: Request) -> ServedModel:
        model = request.namespace.model
        name = self._named.get(model, self._default)
        if name is not None:
            return self._served(name)
        if isinstance(request.body, TokenIds | BlockHashes):
            return self._served("none")
        path, line = request.location
        todo = NAME_ONE
        if not model:
            raise BadRecord("the record names no model, so its tokenizer is not known", todo, path=path, line=line)
        if model not in self._unknown:
            try:
                return self._served(model)
            except PrefixlabError as error:
                self._unknown[model] = error
        what = f"the tokenizer of model {model[:60]!r} cannot be had: {self._unknown[model]}"
        raise BadRecord(what, todo, path=path, line=line)

    def _served(self, name: str) -> ServedModel:
        if name not in self._of_tokenizer:
            tokenizer = load_tokenizer(name, offline=self._offline)
            self._of_tokenizer[name] = ServedModel(
                tokenizer, partial(self._renderer, name), keeps_marks=self._keeps_marks
            )
        return self._of_tokenizer[name]

    def _renderer(self, asked: str, anthropic: bool) -> Renderer:
        wanted = self._chat_template
        if wanted == "auto":
            wanted = "anthropic" if anthropic else own_template(asked) or ""
        if not wanted:
            # A model that only the record names is the record's own trouble.
            trouble = PrefixlabError if asked in (self._default, *self._named.values()) else BadRecord
            raise trouble(
                f"the chat template of {asked} is not known",
                "Name one with --chat-template: chatml, llama3, qwen3, harmony, a template file or a model folder",
            )
        return load_renderer(wanted, **self._options)


def _lookalikes(served: ServedModel) -> list[str]:
    """One sentence for messages that hold the text of a special token."""
    count = served.encoder.special_lookalikes
    if not count:
        return []
    taken = "a special token" if served.tokenizer.specials_in_content else "ordinary text"
    example = served.encoder.lookalike_example
    hold = counted(count, "text holds", "texts hold")
    return [f"{hold} what looks like a special token (`{example}`); as in the served tokenizer, it is {taken}."]


def _dropped(dropped: Counter[str]) -> list[str]:
    """One sentence for what the chat template left out, with the places that it happened at most."""
    if not dropped:
        return []
    places = ", ".join([f"{path} ({count})" for path, count in dropped.most_common(3)])
    more = f" and {counted(len(dropped) - 3, 'more place')}" if len(dropped) > 3 else ""
    return [f"The chat template leaves out content of {counted(sum(dropped.values()), 'message')}: {places}{more}."]
