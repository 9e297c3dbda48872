"""Schemas of tools, compiled: dialects, references, and what a hostile schema can cost."""

import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from mcp_runtime.protocol.json_schema import Check, UnusableSchema


class TestSchemas:
    def test_no_reference_leads_to_the_network(self) -> None:
        for reference in ("http://127.0.0.1:9/schema", "file:///etc/passwd", "#/$defs/nowhere"):
            with pytest.raises(UnusableSchema, match="leads nowhere"):
                Check({"$ref": reference}).find(1)

    def test_a_server_that_a_reference_names_is_not_asked(self) -> None:
        asked: list[str] = []

        class Host(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"{}")

        with HTTPServer(("127.0.0.1", 0), Host) as host:
            threading.Thread(target=host.serve_forever, daemon=True).start()
            with pytest.raises(UnusableSchema, match="leads nowhere"):
                Check({"$ref": f"http://127.0.0.1:{host.server_port}/schema.json"}).find(1)
            host.shutdown()
        assert asked == []

    @pytest.mark.parametrize("is_trusted", [True, False])
    def test_a_small_schema_cannot_take_for_ever(self, is_trusted: bool) -> None:
        dialect = "https://json-schema.org/draft/2020-12/schema"
        halves: dict[str, Any] = {
            f"a{n}": {"$schema": dialect, "allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(60)
        }
        halves["a60"] = {}
        begun = time.perf_counter()
        with pytest.raises(UnusableSchema, match="too many steps"):
            Check({"$schema": dialect, "$ref": "#/$defs/a0", "$defs": halves}, is_trusted=is_trusted).find(1)
        assert time.perf_counter() - begun < 20

    def test_a_pattern_takes_linear_time(self) -> None:
        mismatch = Check({"pattern": "^(a+)+$"}, is_trusted=False).find("a" * 5000 + "b")
        assert mismatch is not None
        assert "does not match" in mismatch.reason

    def test_patterns_beyond_that_are_for_schemas_of_ones_own(self) -> None:
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
    def test_what_is_no_schema_is_refused(self, schema: dict[str, Any]) -> None:
        with pytest.raises(UnusableSchema):
            Check(schema)

    def test_without_the_library_one_line_says_what_to_install(self) -> None:
        program = (
            "import sys; sys.modules['jsonschema'] = None\n"
            "from mcp_runtime.middleware.validate import Validate\nValidate()\n"
            "from mcp_runtime.protocol.json_schema import Check\nCheck({})\n"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        assert "pip install 'mcp-bindgen[validation]'" in done.stderr.splitlines()[-1]
