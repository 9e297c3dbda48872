"""Constructors take JSON Schemas as mappings: at run time, and for strict type checkers."""

import re
from pathlib import Path
from typing import Any

import pytest

from functional.bindings import package
from mcp_bindgen.emit.python import views
from mcp_bindgen.emit.python.package import package_view
from mcp_bindgen.ir.diagnostics import Diagnostics
from mcp_bindgen.ir.leaves import is_json_schema
from mcp_bindgen.ir.nodes import Struct
from mcp_bindgen.load.protocol import load_released
from support.checkers import mypy, pyright
from support.samples import REVISIONS

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
GOOD = """
from typing import Any
from mcp_bindings.{package} import Tool, ToolInputSchema

SCHEMA: dict[str, Any] = {schema}
tool = Tool(name="forecast", input_schema={schema})
again = Tool(name="forecast", input_schema=SCHEMA)
typed = Tool(name="forecast", input_schema=ToolInputSchema(type="object"))
read: ToolInputSchema = tool.input_schema


class Priced(Tool):
    price: float = 0


priced = Priced(name="forecast", input_schema=ToolInputSchema(), price=1.5)
"""
BAD = {
    'Tool(name="x", input_schema=3)': "ToolInputSchema | Mapping",
    'Tool(input_schema={"type": "object"})': "name",
    'Tool(name="x", input_schema={"type": "object"}, titel="x")': "titel",
}


def folder(revision: str) -> str:
    return f"v{revision.replace('-', '_')}"


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_mapping_is_read_as_the_model(revision: str) -> None:
    bindings: Any = package(revision)
    tool = bindings.Tool(name="forecast", input_schema=SCHEMA)
    assert type(tool.input_schema) is bindings.ToolInputSchema
    assert tool.model_dump(mode="json", by_alias=True)["inputSchema"] == SCHEMA
    with pytest.raises(ValueError, match="input_schema"):
        bindings.Tool(name="forecast", input_schema={"type": "array"})


@pytest.mark.parametrize("revision", REVISIONS)
def test_each_class_with_a_json_schema_has_a_typed_constructor(revision: str) -> None:
    protocol = load_released(revision)
    home = Path(package(revision).__file__ or "").parent
    written = "\n".join(path.read_text("utf-8") for path in home.glob("*.py"))
    holders = {
        struct.name
        for struct in protocol.structs()
        for field in struct.fields
        if isinstance(target := protocol.resolve(field.type), Struct) and is_json_schema("properties", target)
    }
    assert "Tool" in holders
    modules = package_view(protocol, {}, Diagnostics()).modules
    classes = [each for module in modules for each in module.definitions if isinstance(each, views.Class)]
    assert {each.definition for each in classes if each.takes_mappings} == holders
    for name in holders:
        body = written.split(f"\nclass {name}(")[1].split("\nclass ")[0]
        assert re.search(r"if TYPE_CHECKING:\n\n        def __init__\(", body), name


@pytest.mark.slow
def test_strict_checkers_accept_mappings_and_refuse_mistakes(tmp_path: Path) -> None:
    for revision in (REVISIONS[0], REVISIONS[-1]):
        good = GOOD.format(package=folder(revision), schema=SCHEMA)
        (tmp_path / f"good_{folder(revision)}.py").write_text(good, "utf-8")
    lines = [f"from mcp_bindings.{folder(REVISIONS[-1])} import Tool", *BAD]
    (tmp_path / "bad.py").write_text("\n".join(lines) + "\n", "utf-8")
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}', "utf-8")
    for done in (mypy(tmp_path, "."), pyright(tmp_path)):
        found = re.findall(r"(\w+)\.py:(\d+).*? error: (.*)", done.stdout)
        assert [row for row in found if row[0] != "bad"] == [], done.stdout
        for number, words in enumerate(BAD.values(), 2):
            assert any(int(line) == number and words in text for _, line, text in found), (words, done.stdout)
