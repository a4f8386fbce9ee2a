"""OpenAI Batch input: a request body with the route it goes to and an id of the user's own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from prefixlab.contracts import ReadOptions
from prefixlab.readers import openai_chat, openai_responses, plain
from prefixlab.readers.complaints import bad_record, shown
from prefixlab.readers.envelope import envelope_of
from prefixlab.records import Location, Request


class OpenAIBatch:
    name = "openai_batch"
    summary = "OpenAI Batch input (custom_id, method, url, body)"

    def recognises(self, record: Any) -> bool:
        return type(record) is dict and "custom_id" in record and "params" not in record and "result" not in record

    def requests(self, record: Any, where: Location, options: ReadOptions) -> Iterable[Request]:
        if type(record) is not dict:
            raise bad_record(where, f"a batch request must be a JSON object, not {shown(record)}")
        if "body" not in record and "response" in record:
            raise bad_record(where, "a batch result holds an answer and no prompt", "Give the file sent to the batch")
        envelope = envelope_of(record)
        body = envelope.body
        if "messages" in body:
            return (openai_chat.FORMAT.request(envelope, where, options),)
        if envelope.mentions_route("/embeddings"):
            raise bad_record(where, "an embeddings request has no prompt to cache", "Use --skip-bad to leave it out")
        if "input" in body:
            return (openai_responses.FORMAT.request(envelope, where, options),)
        return plain.FORMAT.of_object(envelope, where, options)


FORMAT = OpenAIBatch()
