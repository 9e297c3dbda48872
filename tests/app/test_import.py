"""Importing a decorated server loads only what it needs, not the code that serves clients."""

import subprocess
import sys

import pytest

from mcp_bindings import App, testing

LATER = (
    "pydantic",
    "asyncio",
    "griffe",
    "uritemplate",
    "jsonschema",
    "logging",
    "mcp_runtime.core.connection",
    "mcp_runtime.app.elicitation",
)

SERVER = """
import sys
from mcp_bindings.v2025_11_25 import App
app = App("test", version="1.0")

@app.tool()
def search(text: str, labels: list[str] | None = None, limit: int = 10) -> list[str]:
    "Search."
    return []

@app.resource("acme://one")
def one() -> str:
    return "1"

@app.prompt()
def ask(what: str) -> str:
    return what

print(*(name for name in sys.modules if name.startswith(LATER)))
"""


def test_plain_signatures_wait_for_a_client() -> None:
    code = SERVER.replace("LATER", repr(LATER))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


async def test_without_griffe_a_server_works_without_descriptions_of_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "griffe", None)
    app = App("test")

    @app.tool()
    def forecast(city: str) -> str:
        """Look ahead.

        Args:
            city: Its name.
        """
        return city

    async with testing.connect(app) as client:
        with pytest.warns(UserWarning, match="griffe is not installed, so descriptions of arguments"):
            [tool] = (await client.list_tools()).tools
    assert tool.description == "Look ahead." and "description" not in tool.input_schema.model_dump_json()
