"""No chat template: plain prompts only."""

from __future__ import annotations

from prefixlab.errors import BadRecord
from prefixlab.records import Origin, Rendering, Request, Segment, Text


class UntemplatedRenderer:
    """Passes plain prompts on; a chat needs a template."""

    name = "none"
    sha256: str | None = None
    notes: tuple[str, ...] = ()

    def render(self, request: Request) -> Rendering:
        """The prompt as it stands."""
        body = request.body
        if isinstance(body, Text):
            return Rendering((Segment(body.prompt, Origin(body.path, "prompt")),) if body.prompt else ())
        path, line = request.location
        raise BadRecord(
            "this is a chat, which needs a chat template", "Name one with --chat-template", path=path, line=line
        )
