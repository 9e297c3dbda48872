"""Which answers match the schema of a form."""

import subprocess
import sys
from typing import Any

import pytest

from mcp_runtime.client_features.forms import Form, choices, defaults, problems

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
    def test_valid_answers(self, content: dict[str, Any]) -> None:
        assert problems(CONTACT, content) == []

    @pytest.mark.parametrize(
        ("field", "value", "what"),
        [
            ("name", "A", "too short"),
            ("name", "Agatha", "too long"),
            ("name", 7, "not of type 'string'"),
            ("email", "ada", "email"),
            ("email", "a b@c", "email"),
            ("email", "a@b@c", "email"),
            ("age", 17, "less than the minimum of 18"),
            ("age", 131, "greater than the maximum of 130"),
            ("age", 18.5, "not of type 'integer'"),
            ("age", True, "not of type 'integer'"),
            ("age", "18", "not of type 'integer'"),
            ("share", 0.4, "less than the minimum of 0.5"),
            ("agreed", 1, "not of type 'boolean'"),
            ("color", "Red", "not one of ['r', 'g']"),
            ("size", "m", "not one of ['s', 'l']"),
            ("days", [], "non-empty"),
            ("days", ["mo", "tu", "we"], "too long"),
            ("days/0", ["su"], "not one of ['mo', 'tu', 'we']"),
            ("days", "mo", "not of type 'array'"),
            ("tags/0", [1], "not one of ['a']"),
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
    def test_invalid_answers(self, field: str, value: Any, what: str) -> None:
        [problem] = problems(CONTACT, {"name": "Ada", field.partition("/")[0]: value})
        assert problem.startswith(f"/{field}: ") and what in problem

    def test_missing_fields(self) -> None:
        assert problems(CONTACT, {}) == ["/name: is required"]

    def test_a_peers_pattern_cannot_freeze_the_program(self) -> None:
        evil = {"properties": {"x": {"type": "string", "pattern": "(a+)+$"}}}
        assert "does not match" in problems(evil, {"x": "a" * 60_000 + "!"})[0]
        cunning = {"properties": {"x": {"type": "string", "pattern": "(?=a)"}}}
        assert problems(cunning, {"x": "a"}) == ["the form cannot be checked: the pattern '(?=a)' is not supported"]
        assert Form(cunning, is_trusted=True).problems({"x": "a"}) == []

    @pytest.mark.parametrize("schema", [{}, {"properties": 1}, {"properties": {"x": 1}, "required": 7}])
    def test_an_invalid_schema_has_no_fields(self, schema: dict[str, Any]) -> None:
        assert problems(schema, {"x": 1}) == []

    def test_a_schema_that_cannot_be_used_says_why(self) -> None:
        [problem] = problems({"properties": {"x": {"type": "text"}}}, {"x": 1})
        reason = "not a valid JSON Schema: /properties/x/type must be the name of a type"
        assert problem == f"the form cannot be checked: {reason}"

    def test_defaults_and_choices_of_a_form(self) -> None:
        assert defaults(CONTACT) == {"name": "Ada", "agreed": False}
        fields = CONTACT["properties"]
        assert choices(fields["color"]) == {"r": "Red", "g": "Green"}
        assert choices(fields["size"]) == {"s": "Small", "l": "Large"}
        assert choices(fields["days"]) == {"mo": "mo", "tu": "tu", "we": "we"}
        assert choices(fields["tags"]) == {"a": "A"}
        assert choices(fields["name"]) == {}

    def test_without_the_library_the_user_is_not_asked(self) -> None:
        """A client would answer for nothing, so there is none here."""
        program = (
            "import asyncio, sys; sys.modules['jsonschema'] = None\n"
            "from mcp_runtime.client_features.forms import ask_form\n"
            "asyncio.run(ask_form(None, 'How many?', {'properties': {'n': {'type': 'integer'}}}))\n"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        assert "pip install 'mcp-bindings[validation]'" in done.stderr.splitlines()[-1]


NONE: dict[str, Any] = {}


@pytest.mark.parametrize("wrong", [NONE, {f"p{number}": NONE for number in range(100)}, {"p0": "x" * 100}])
def test_few_problems_are_reported(wrong: dict[str, Any]) -> None:
    names = [f"p{number}" for number in range(100)]
    schema = {"type": "object", "properties": {name: {"type": "integer"} for name in names}, "required": names}
    assert len(Form(schema, is_trusted=False).problems(wrong)) == 20
