"""Headers that repeat parts of a request: how values are encoded, and which tool parameters have one."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_runtime.core.transports.http.mirrored import Parameter, decode, encode, parameters

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
@pytest.mark.requirement("posting.name-encoded", "posting.values-encoded")
def test_encoding(value: str) -> None:
    assert encode(value) == ENCODED[value]


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_round_trip(value: str) -> None:
    carried = encode(value)
    assert decode(carried) == value
    assert carried.isascii() and (not carried or carried.isprintable()) and carried == carried.strip()


@pytest.mark.parametrize("value", ["=?base64?a?=", "=?base64?%%%%?=", "=?base64?/w==?=", "=?base64?YR==?="])
def test_broken_base64_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="Base64"):
        decode(value)


STRING = {"type": "string"}
REGION = {"type": "string", "x-mcp-header": "Region"}


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def test_each_annotated_argument_is_a_header() -> None:
    found = parameters(
        schema(
            region=REGION,
            where=schema(floor={"type": "integer", "x-mcp-header": "Floor"}),
            hot={"type": "boolean", "x-mcp-header": "hot!"},
            tea=STRING,
        )
    )
    assert {header.header: (header.path, header.type) for header in found} == {
        "mcp-param-region": (("region",), "string"),
        "mcp-param-floor": (("where", "floor"), "integer"),
        "mcp-param-hot!": (("hot",), "boolean"),
    }


def test_values_are_read_at_the_exact_path() -> None:
    parameter = Parameter("mcp-param-floor", ("where", "floor"), "integer")
    assert parameter.value_in({"where": {"floor": 3}, "floor": 4}) == 3
    for arguments in ({}, {"where": None}, {"where": [3]}, {"where": {"floor": None}}, None):
        assert parameter.value_in(arguments) is None


@pytest.mark.parametrize("value", [{"default": REGION}, {"const": REGION}, {"enum": [REGION]}, {"examples": [REGION]}])
def test_values_are_not_annotations(value: dict[str, Any]) -> None:
    assert parameters(schema(tea={"type": "object", **value})) == ()


def test_a_property_may_have_the_name_of_the_annotation() -> None:
    assert parameters(schema(**{"x-mcp-header": STRING})) == ()


BAD: dict[str, dict[str, Any]] = {
    "empty": schema(a={"type": "string", "x-mcp-header": ""}),
    "a blank": schema(a={"type": "string", "x-mcp-header": "My Region"}),
    "a colon": schema(a={"type": "string", "x-mcp-header": "Region:"}),
    "a line end": schema(a={"type": "string", "x-mcp-header": "Region\r\nX: y"}),
    "a last line end": schema(a={"type": "string", "x-mcp-header": "Region\n"}),
    "not ASCII": schema(a={"type": "string", "x-mcp-header": "Región"}),
    "no string": schema(a={"type": "string", "x-mcp-header": 7}),
    "null": schema(a={"type": "string", "x-mcp-header": None}),
    "twice": schema(a=REGION, b={"type": "string", "x-mcp-header": "REGION"}),
    "twice, nested": schema(a=REGION, b=schema(a=REGION)),
    "a number": schema(a={"type": "number", "x-mcp-header": "A"}),
    "an object": schema(a={"type": "object", "x-mcp-header": "A"}),
    "two types": schema(a={"type": ["string", "null"], "x-mcp-header": "A"}),
    "no type": schema(a={"x-mcp-header": "A"}),
    "the root": {**schema(), **REGION},
    "items": schema(a={"type": "array", "items": REGION}),
    "properties of items": schema(a={"type": "array", "items": schema(b=REGION)}),
    "$defs": {**schema(a={"$ref": "#/$defs/b"}), "$defs": {"b": REGION}},
    **{keyword: {**schema(), keyword: [schema(a=REGION)]} for keyword in ("oneOf", "anyOf", "allOf", "prefixItems")},
    **{keyword: {**schema(), keyword: schema(a=REGION)} for keyword in ("not", "if", "then", "else")},
    "patternProperties": {**schema(), "patternProperties": {"^a": REGION}},
    "additionalProperties": {**schema(), "additionalProperties": REGION},
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.requirement("posting.tool-invalid")
def test_bad_annotations(name: str) -> None:
    with pytest.raises(ValueError, match="x-mcp-header"):
        parameters(BAD[name])


@pytest.mark.parametrize("value", [None, "text"])
def test_invalid_schemas_have_no_parameters(value: Any) -> None:
    assert parameters(value) == () == parameters(schema(a=value))


@pytest.mark.slow
def test_a_deep_schema_causes_no_recursion_error() -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(5_000):
        deep = {"properties": {"a": deep}}
    assert parameters(deep) == ()


@pytest.mark.parametrize(
    ("value", "text"),
    [("us", "us"), ("", ""), (42, "42"), (-7, "-7"), (42.0, "42"), (True, "true"), (False, "false")],
)
def test_spelling(value: Any, text: str) -> None:
    assert Parameter("mcp-param-a", ("a",), "string").text_of(value) == text


@pytest.mark.parametrize("value", [None, []])
def test_what_has_no_spelling(value: Any) -> None:
    assert Parameter("mcp-param-a", ("a",), "string").text_of(value) is None
