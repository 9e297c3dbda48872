"""Compiled schemas of tools: dialects, references, and the cost of hostile schemas."""

import random
import subprocess
import sys
import threading
from contextlib import nullcontext
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, cast

import pytest
from jsonschema import Draft202012Validator

from mcp_runtime.json_schema.check import Check, ExhaustedSchema, UnusableSchema
from mcp_runtime.json_schema.meter import states


class TestSchemas:
    def test_no_reference_leads_to_the_network(self) -> None:
        for reference in ("http://127.0.0.1:9/schema", "file:///etc/passwd", "#/$defs/nowhere"):
            with pytest.raises(UnusableSchema, match="cannot be resolved"):
                Check({"$ref": reference}).find(1)

    @pytest.mark.requirement("messages.schema-not-fetched")
    def test_a_server_named_in_a_reference_is_not_contacted(self) -> None:
        asked: list[str] = []

        class Host(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"{}")

        with HTTPServer(("127.0.0.1", 0), Host) as host:
            threading.Thread(target=host.serve_forever, daemon=True).start()
            with pytest.raises(UnusableSchema, match="cannot be resolved"):
                Check({"$ref": f"http://127.0.0.1:{host.server_port}/schema.json"}).find(1)
            host.shutdown()
        assert asked == []

    @pytest.mark.parametrize("is_trusted", [True, False])
    def test_a_small_schema_cannot_run_forever(self, is_trusted: bool) -> None:
        dialect = "https://json-schema.org/draft/2020-12/schema"
        halves: dict[str, Any] = {
            f"a{n}": {"$schema": dialect, "allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(60)
        }
        halves["a60"] = {}
        with pytest.raises(UnusableSchema, match="too many steps"):
            Check({"$schema": dialect, "$ref": "#/$defs/a0", "$defs": halves}, is_trusted=is_trusted).find(1)

    def test_a_pattern_takes_linear_time(self) -> None:
        mismatch = Check({"pattern": "^(a+)+$"}, is_trusted=False).find("a" * 5000 + "b")
        assert mismatch is not None
        assert "does not match" in mismatch.reason

    @pytest.mark.parametrize("piece", ["[", "{1,", *(pytest.param(p, marks=pytest.mark.slow) for p in ("[\\", "("))])
    def test_a_pattern_that_is_cut_off_takes_linear_time(self, piece: str) -> None:
        for pattern in (piece * 300_000, piece + "1" * 300_000, piece + "1" * 300_000 + "}"):
            with pytest.raises(UnusableSchema):
                Check({"pattern": pattern}, is_trusted=False).find("x")

    def test_other_patterns_need_a_trusted_schema(self) -> None:
        assert Check({"pattern": "^(?!x)"}).find("xy") is not None
        with pytest.raises(UnusableSchema, match="not supported"):
            Check({"pattern": "^(?!x)"}, is_trusted=False).find("xy")

    def test_a_schema_without_end_is_refused(self) -> None:
        with pytest.raises(UnusableSchema, match="nested too deep"):
            Check({"$ref": "#"}).find(1)
        nested: dict[str, Any] = {}
        for _ in range(200):
            nested = {"not": nested}
        with pytest.raises(UnusableSchema, match="too deep"):
            Check(nested)

    @pytest.mark.parametrize(
        ("dialect", "is_whole"),
        [("http://json-schema.org/draft-04/schema#", False), ("http://json-schema.org/draft-07/schema#", True)],
    )
    def test_the_dialect_is_the_one_that_is_named(self, dialect: str, is_whole: bool) -> None:
        assert (Check({"$schema": dialect, "type": "integer"}).find(1.0) is None) == is_whole

    def test_the_dialect_is_2020_12_where_none_is_named(self) -> None:
        assert Check({"prefixItems": [{"type": "string"}]}).find([1]) is not None

    @pytest.mark.parametrize("schema", [{"type": "nothing"}, {"$schema": 5}, {"multipleOf": 0}, {"pattern": "("}])
    def test_invalid_schemas_are_refused(self, schema: dict[str, Any]) -> None:
        with pytest.raises(UnusableSchema):
            Check(schema)

    def test_without_the_library_one_line_says_what_to_install(self) -> None:
        program = (
            "import sys; sys.modules['jsonschema'] = None\n"
            "from mcp_runtime.middleware.validate import Validate\nValidate()\n"
            "from mcp_runtime.json_schema.check import Check\nCheck({})\n"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        assert "pip install 'mcp-bindings[validation]'" in done.stderr.splitlines()[-1]


OBJECTS = [{"a": number} for number in range(20_000)]
MANY_DEFINITIONS = {**{f"d{number}": {"type": "string"} for number in range(3_000)}, "named": {"$anchor": "named"}}
COSTLY: dict[str, tuple[dict[str, Any], Any]] = {
    "errors that print a large value": ({"anyOf": [{"type": "string"}] * 1_000}, OBJECTS),
    "errors that print a large schema": ({"not": {"not": {"anyOf": [{"items": {"enum": OBJECTS}}]}}}, [1] * 10_000),
    "constants compared again and again": ({"items": {"const": OBJECTS}}, [1] * 10_000),
    "anchors searched for in a large schema": (
        {"items": {"$ref": "#named"}, "$defs": MANY_DEFINITIONS},
        [1] * 1_000,
    ),
    "many names asked of many objects": (
        {"items": {"allOf": [{"required": [f"p{number}" for number in range(1_000)]}] * 10}},
        [{f"p{number}": 1 for number in range(1_000)}] * 1_000,
    ),
    "a small pattern with many states": ({"pattern": "[ab]*a[ab]{20000}c"}, "ab" * 50_000),
    "nested repetitions": ({"pattern": "((a{0,99}b?){0,99}c?){0,99}$"}, "ab" * 5_000),
    "values looked for one by one": ({"allOf": [{"contains": {"const": 1}}] * 10}, list(range(2, 100_000))),
}
VERY_COSTLY = {"anchors searched for in a large schema": pytest.mark.slow}
LARGE: list[dict[str, Any]] = [
    {"properties": {f"p{number}": {"title": "x"} for number in range(50_000)}},
    {"required": [[number] for number in range(49_000)]},
]


class TestCost:
    @pytest.mark.parametrize("name", [pytest.param(name, marks=VERY_COSTLY.get(name, ())) for name in COSTLY])
    def test_costly_schemas_are_aborted(self, name: str) -> None:
        schema, value = COSTLY[name]
        with pytest.raises(UnusableSchema, match=r"too many steps|const and enum"):
            Check(schema, is_trusted=False).find(value)

    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["errors that print a large value", "nested repetitions"])
    def test_so_are_those_of_the_program_itself(self, name: str) -> None:
        schema, value = COSTLY[name]
        with pytest.raises(UnusableSchema, match="too many steps"):
            Check(schema).find(value)

    @pytest.mark.slow
    @pytest.mark.parametrize("schema", LARGE, ids=["properties", "names"])
    def test_a_peers_large_schema_is_not_checked_completely(self, schema: dict[str, Any]) -> None:
        with pytest.raises(UnusableSchema, match=r"too large|not a valid JSON Schema"):
            Check(schema, is_trusted=False)

    @pytest.mark.parametrize("name", ["const", "enum"])
    def test_a_peers_constants_are_short(self, name: str) -> None:
        for number, is_usable in ((6_000, True), (7_000, False)):
            schema: dict[str, Any] = {"items": {name: [123_456_78] * number}}
            with nullcontext() if is_usable else pytest.raises(UnusableSchema, match="65,536 characters"):
                Check(schema, is_trusted=False)

    def test_a_peers_schema_has_little_time(self) -> None:
        schema, value = {"items": {"type": "integer"}}, list(range(2_000))
        check = Check(schema, is_trusted=False)
        assert check.find(value) is None
        for expensive in (lambda: check.find(value, seconds=0), lambda: Check(schema, is_trusted=False, seconds=0)):
            with pytest.raises(UnusableSchema, match="too many steps"):
                expensive()
        assert Check(schema, seconds=0).find(value, seconds=0) is None, "one's own has time"

    @pytest.mark.slow
    def test_values_are_compared_in_linear_time(self) -> None:
        for schema in ({"uniqueItems": True}, {"items": {"enum": OBJECTS}}):
            assert Check(schema).find(OBJECTS) is None
        assert Check({"uniqueItems": True}, is_trusted=False).find([*OBJECTS, OBJECTS[0]]) is not None

    def test_ordinary_schemas_and_values_are_far_from_the_limit(self) -> None:
        date = {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?Z$"}
        row = {"type": "object", "properties": {"at": date, "n": {"type": "integer"}}, "required": ["at", "n"]}
        rows = [{"at": "2026-07-28T12:00:00.5Z", "n": number} for number in range(10_000)]
        assert Check({"type": "array", "items": row}, is_trusted=False).find(rows) is None

    @pytest.mark.parametrize("pattern", ["[" * 60_000, "(" * 60_000, "a" * 60_000 + "{"])
    def test_a_long_pattern_that_cannot_be_compiled_is_read_a_few_times_at_most(self, pattern: str) -> None:
        check = Check({"items": {"pattern": pattern}}, is_trusted=False)
        refusals: list[UnusableSchema] = []
        while not (refusals and isinstance(refusals[-1], ExhaustedSchema)):
            with pytest.raises(UnusableSchema) as caught:
                check.find_in(check.schema, ["a"])
            refusals.append(caught.value)
            assert len(refusals) < 20

    @pytest.mark.parametrize(
        ("pattern", "expected"),
        [
            ("abc", 3),
            ("[a-z]{8}", 8),
            (r"(a|\{){3}b+", 10),
            ("(a{10}b){10}", 110),
            ("[]a]{3,}", 3),
            ("a{,5}", 5),
            ("((", 0),
        ],
    )
    def test_the_states_of_a_pattern(self, pattern: str, expected: int) -> None:
        assert states(pattern) == expected


SCALARS = (0, 1, 1.0, True, False, None, "", "a", "1", -0.0, 0.5, 10**20, 1e20)


def _value(source: random.Random, depth: int = 2) -> Any:
    kind = source.randrange(4 if depth else 2)
    if kind < 2:
        return source.choice(SCALARS)
    if kind == 2:
        return [_value(source, depth - 1) for _ in range(source.randrange(3))]
    return {name: _value(source, depth - 1) for name in source.sample("ab", source.randrange(3))}


def test_equality_is_that_of_the_library(cases: int) -> None:
    source, library = random.Random(15), cast("Any", Draft202012Validator)
    for _ in range(cases // 6):
        values = [_value(source) for _ in range(3)]
        for schema in ({"enum": values[1:]}, {"const": values[1]}, {"prefixItems": [{"const": values[1]}]}):
            assert (Check(schema).find(values[0]) is None) == library(schema).is_valid(values[0]), values
        unique = {"uniqueItems": True}
        assert (Check(unique).find(values) is None) == library(unique).is_valid(values), values
