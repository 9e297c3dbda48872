"""Arguments that become headers: which annotations are valid, and what each argument is spelled like."""

from typing import Any

import pytest

from mcp_runtime.transports.http.tool_headers import BadAnnotation, ToolHeader, text_of, tool_headers

STRING = {"type": "string"}
REGION = {"type": "string", "x-mcp-header": "Region"}


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def test_each_annotated_argument_is_a_header() -> None:
    found = tool_headers(
        schema(
            region=REGION,
            where=schema(floor={"type": "integer", "x-mcp-header": "Floor"}),
            hot={"type": "boolean", "x-mcp-header": "hot!"},
            tea=STRING,
        )
    )
    assert {header.name: (header.path, header.type) for header in found} == {
        "mcp-param-region": (("region",), "string"),
        "mcp-param-floor": (("where", "floor"), "integer"),
        "mcp-param-hot!": (("hot",), "boolean"),
    }


def test_values_are_read_at_the_exact_path() -> None:
    header = ToolHeader("mcp-param-floor", ("where", "floor"), "integer")
    assert header.value({"where": {"floor": 3}, "floor": 4}) == 3
    for arguments in ({}, {"where": None}, {"where": [3]}, {"where": {"floor": None}}, None):
        assert header.value(arguments) is None


@pytest.mark.parametrize("value", [{"default": REGION}, {"const": REGION}, {"enum": [REGION]}, {"examples": [REGION]}])
def test_values_are_no_annotations(value: dict[str, Any]) -> None:
    assert tool_headers(schema(tea={"type": "object", **value})) == ()


def test_a_property_may_have_the_name_of_the_annotation() -> None:
    assert tool_headers(schema(**{"x-mcp-header": STRING})) == ()


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
def test_bad_annotations(name: str) -> None:
    with pytest.raises(BadAnnotation):
        tool_headers(BAD[name])


@pytest.mark.parametrize("value", [None, True, 7, "text", []])
def test_what_is_no_schema_has_none(value: Any) -> None:
    assert tool_headers(value) == () == tool_headers(schema(a=value))


def test_a_deep_schema_is_no_recursion() -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(5_000):
        deep = {"properties": {"a": deep}}
    assert tool_headers(deep) == ()


@pytest.mark.parametrize(
    ("value", "text"),
    [("us", "us"), ("", ""), (42, "42"), (-7, "-7"), (42.0, "42"), (True, "true"), (False, "false")],
)
def test_spelling(value: Any, text: str) -> None:
    assert text_of(value) == text


@pytest.mark.parametrize("value", [None, [], {}, 1.5])
def test_what_has_no_spelling(value: Any) -> None:
    assert text_of(value) is None


@pytest.mark.parametrize("value", [1 << 53, -(1 << 53), 1e20])
def test_integers_that_are_not_exact_everywhere(value: Any) -> None:
    assert text_of((1 << 53) - 1) == "9007199254740991"
    with pytest.raises(ValueError, match="at most 9,007,199,254,740,991"):
        text_of(value)
