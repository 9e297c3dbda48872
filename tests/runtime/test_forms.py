"""What fits the schema of a form, and what does not."""

from typing import Any

import pytest

from mcp_runtime.forms import choices, defaults, problems

CONTACT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2, "maxLength": 5, "default": "Ada"},
        "email": {"type": "string", "format": "email"},
        "age": {"type": "integer", "minimum": 18, "maximum": 130},
        "share": {"type": "number", "minimum": 0.5},
        "agreed": {"type": "boolean", "default": False},
        "color": {"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]},
        "size": {"type": "string", "oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]},
        "days": {
            "type": "array",
            "minItems": 1,
            "maxItems": 2,
            "items": {"type": "string", "enum": ["mo", "tu", "we"]},
        },
        "tags": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}},
        "born": {"type": "string", "format": "date"},
        "at": {"type": "string", "format": "date-time"},
        "home": {"type": "string", "format": "uri"},
        "code": {"type": "string", "pattern": "^[a-z]+$"},
    },
    "required": ["name"],
}


class TestForms:
    """client/elicitation, "Requested Schema"."""

    @pytest.mark.parametrize(
        "content",
        [
            {"name": "Ada"},
            {"name": "Ådä€😀"},
            {"name": "Ada", "email": "ada@example.com", "age": 18, "share": 0.5, "agreed": True, "color": "r"},
            {"name": "Ada", "age": 20.0, "share": 10**30, "size": "l", "days": ["mo", "we"], "tags": []},
            {
                "name": "Ada",
                "born": "2024-02-29",
                "at": "2025-11-25T10:00:00.123456789Z",
                "home": "https://x.org/a?b#c",
            },
            {"name": "Ada", "at": "2025-11-25t10:00:00+01:30", "home": "urn:isbn:1", "code": "abc", "more": 1},
        ],
    )
    def test_what_fits(self, content: dict[str, Any]) -> None:
        assert problems(CONTACT, content, patterns=True) == []

    @pytest.mark.parametrize(
        ("field", "value", "what"),
        [
            ("name", "A", "shorter than 2"),
            ("name", "Agatha", "longer than 5"),
            ("name", 7, "not a text"),
            ("email", "ada", "email"),
            ("email", "a b@c", "email"),
            ("email", "a@b@c", "email"),
            ("age", 17, "less than 18"),
            ("age", 131, "more than 130"),
            ("age", 18.5, "whole"),
            ("age", True, "not a number"),
            ("age", "18", "not a number"),
            ("share", 0.4, "less than 0.5"),
            ("agreed", 1, "neither"),
            ("color", "Red", "none of"),
            ("size", "m", "none of"),
            ("days", [], "fewer"),
            ("days", ["mo", "tu", "we"], "more than 2"),
            ("days", ["su"], "none of"),
            ("days", "mo", "list"),
            ("tags", [1], "list"),
            ("born", "2025-02-29", "date"),
            ("born", "20250228", "date"),
            ("at", "2025-11-25 10:00:00Z", "date-time"),
            ("at", "2025-11-25T10:00:00", "date-time"),
            ("at", "2025-11-25T25:00:00Z", "date-time"),
            ("home", "no uri", "uri"),
            ("home", "/path", "uri"),
            ("home", "http://[", "uri"),
            ("code", "ABC", "match"),
        ],
    )
    def test_what_does_not(self, field: str, value: Any, what: str) -> None:
        [problem] = problems(CONTACT, {"name": "Ada", field: value}, patterns=True)
        assert problem.startswith(f"/{field}: ") and what in problem

    def test_what_is_missing(self) -> None:
        assert problems(CONTACT, {}) == ["/name: is required"]

    def test_an_expression_of_the_peers_is_not_tried(self) -> None:
        evil = {"properties": {"x": {"type": "string", "pattern": "(a+)+$"}}}
        assert problems(evil, {"x": "a" * 60 + "!"}) == []

    @pytest.mark.parametrize("schema", [{}, {"properties": 1}, {"properties": {"x": 1}, "required": 7}])
    def test_a_schema_that_is_none_does_no_harm(self, schema: dict[str, Any]) -> None:
        assert len(problems(schema, {"x": 1})) <= 1

    def test_what_a_form_starts_with_and_offers(self) -> None:
        assert defaults(CONTACT) == {"name": "Ada", "agreed": False}
        fields = CONTACT["properties"]
        assert choices(fields["color"]) == {"r": "Red", "g": "Green"}
        assert choices(fields["size"]) == {"s": "Small", "l": "Large"}
        assert choices(fields["days"]) == {"mo": "mo", "tu": "tu", "we": "we"}
        assert choices(fields["tags"]) == {"a": "A"}
        assert choices(fields["name"]) == {}
