"""Kinds of values, as a person would call them."""

from __future__ import annotations

import pytest

from prefixlab.attribution.value_kinds import kind_of


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("clock", ["09:14", "09:15"]),
        ("clock", ["2026-11-02T08:00:00Z", "2026-11-02T08:00:01.250Z"]),
        ("clock", ["Mon, 2 Nov 2026 08:00:00 GMT", "Tue, 3 Nov 2026 09:10:00 GMT"]),
        ("clock", ["November 2, 2026 at 8:14 pm", "November 3, 2026 at 9:14 am"]),
        ("clock", ["1773478800", "1773478801"]),
        ("clock", ["1773478800123"]),
        ("date", ["2026-11-01", "2026-11-02"]),
        ("date", ["02/11/2026", "03/11/2026"]),
        ("date", ["2 November 2026"]),
        ("age", ["9m ago", "2 hours ago"]),
        ("uuid", ["3f2504e0-4f89-41d3-9a0c-0305e82c3301"]),
        ("email", ["anna@example.com"]),
        ("counter", ["7", "8", "9", "100"]),
        ("number", ["19.99", "7.50"]),
        ("number", ["12 %", "7 %"]),
        ("path", ["/home/anna/work", "/tmp/x-1"]),
        ("id", ["3fa1c", "07be2"]),
        ("id", ["ORD-1182", "ORD-1183"]),
        ("name", ["Anna Lee", "Tom Smith"]),
        ("json", ['{"a": 1}', '{"a": 2}']),
        ("text", ["the parcel is late", "a refund was asked for"]),
    ],
)
def test_kind(kind: str, values: list[str]) -> None:
    assert kind_of(values) == kind
