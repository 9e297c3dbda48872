"""Values of headers: what HTTP carries goes as it is, all else in base64, and both sides mean the same."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_runtime.transports.http.mirrored import decoded, encoded, standard_headers

ENCODED = {
    "us-west1": "us-west1",
    "": "",
    "two words": "two words",
    "file:///a%20b.json": "file:///a%20b.json",
    "Hello, 世界": "=?base64?SGVsbG8sIOS4lueVjA==?=",
    " padded ": "=?base64?IHBhZGRlZCA=?=",
    "line1\nline2": "=?base64?bGluZTEKbGluZTI=?=",
    "a\tb": "=?base64?YQli?=",
    "=?base64?literal?=": "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
    "=?BASE64?literal?=": "=?BASE64?literal?=",
}


@pytest.mark.parametrize("value", ENCODED)
def test_encoding(value: str) -> None:
    assert encoded(value) == ENCODED[value]


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_round_trip(value: str) -> None:
    carried = encoded(value)
    assert decoded(carried) == value
    assert carried.isascii() and (not carried or carried.isprintable()) and carried == carried.strip()


@pytest.mark.parametrize("value", ["=?base64?a?=", "=?base64?%%%%?=", "=?base64?/w==?=", "=?base64?YR==?="])
def test_broken_base64_is_no_value(value: str) -> None:
    with pytest.raises(ValueError, match="not base64"):
        decoded(value)


@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        ("tools/call", {"name": "brew"}, "brew"),
        ("prompts/get", {"name": "Tee für zwei"}, "=?base64?VGVlIGbDvHIgendlaQ==?="),
        ("resources/read", {"uri": "file:///tea", "name": "other"}, "file:///tea"),
        ("tools/list", {"name": "brew"}, None),
    ],
)
def test_standard_headers(method: str, params: dict[str, Any], name: str | None) -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    wanted = {"mcp-protocol-version": "2026-07-28", "mcp-method": method} | ({} if name is None else {"mcp-name": name})
    assert standard_headers(method, {**params, "_meta": meta}) == wanted
