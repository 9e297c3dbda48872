"""A server of any legacy revision with the tools of a test, and the client generated for it."""

import importlib.util
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

from jsonschema import Draft7Validator, Draft202012Validator

from mcp_bindgen.ir.diagnostics import Diagnostics, Location
from mcp_bindgen.tool_clients.calling.module import module
from mcp_bindgen.tool_clients.contract import Contract, make_contract
from support.checkers import mypy, pyright
from support.once import unformatted, work_once

_NUMBERS = count()


def contract(tools: Sequence[Any], *, server: str = "test", diagnostics: Diagnostics | None = None) -> Contract:
    """Make a contract from tools as a server lists them."""
    return make_contract(
        tools,
        server=server,
        version="1.0",
        where=Location(source="tools.json"),
        diagnostics=Diagnostics() if diagnostics is None else diagnostics,
    )


def tool(name: str, input_: Any, output: Any = None, **members: Any) -> dict[str, Any]:
    """Make a tool as a server lists it."""
    found = {"name": name, "inputSchema": input_, **members}
    return found if output is None else {**found, "outputSchema": output}


def objects(properties: Mapping[str, Any], *required: str, **keywords: Any) -> dict[str, Any]:
    """Make a schema of objects."""
    return {"type": "object", "properties": dict(properties), "required": list(required), **keywords}


def text_of(
    tools: Sequence[Any],
    *,
    client: str = "TestTools",
    diagnostics: Diagnostics | None = None,
    is_formatted: bool = False,
) -> str:
    """Return the module that is generated for tools, by default without formatting, which takes most of the time."""
    found = Diagnostics() if diagnostics is None else diagnostics
    work_once()
    with nullcontext() if is_formatted else unformatted():
        return module(contract(tools, diagnostics=found), client, found)


def load(text: str, folder: Path) -> ModuleType:
    """Import a module from its text."""
    name = f"generated_tools_{next(_NUMBERS)}"
    path = folder / f"{name}.py"
    path.write_text(text, "utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader
    found = importlib.util.module_from_spec(spec)
    sys.modules[name] = found
    spec.loader.exec_module(found)
    return found


def saved(tools: Sequence[Any], folder: Path, name: str = "tools.json") -> Path:
    """Save tools as a result of tools/list."""
    path = folder / name
    path.write_text(json.dumps({"tools": list(tools)}), "utf-8")
    return path


def validator(schema: Any) -> Any:
    """Return a validator for a schema, in the dialect that it names."""
    old = json.dumps(schema).find("draft-07") >= 0
    return Draft7Validator(schema) if old else Draft202012Validator(schema)


def check_types(folder: Path, *files: str) -> str:
    """Return the errors of strict type checkers."""
    settings: dict[str, object] = {"typeCheckingMode": "strict", "include": list(files), "extraPaths": ["."]}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    done = (pyright(folder), mypy(folder, *files))
    return "\n".join(one.stdout for one in done if one.returncode)
