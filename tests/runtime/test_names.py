"""The method names in the runtime are those of the generated tables."""

import ast
import re
from pathlib import Path

from mcp_runtime.core.protocol import names
from support.samples import REVISIONS
from support.talk import bindings

RUNTIME = Path(names.__file__).resolve().parents[2]
CONSTANTS = {
    name: value
    for name, value in vars(names).items()
    if name.isupper() and isinstance(value, str) and not value.startswith(names.PREFIX)
}
TABLES = [__import__(f"{bindings(revision).__name__}.methods", fromlist=["METHODS"]) for revision in REVISIONS]
METHODS = {method for table in TABLES for method in table.METHODS}


def test_each_constant_is_the_name_of_its_method() -> None:
    found = {
        name: {record.name for table in TABLES if (record := getattr(table, name, None)) is not None}
        for name in CONSTANTS
    }
    assert found == {name: {value} for name, value in CONSTANTS.items()}


def test_names_derived_from_an_area_are_methods() -> None:
    assert {name for area in names.AREAS for name in (names.listing(area), names.list_changed(area))} <= METHODS


def test_no_other_file_of_the_runtime_spells_a_method_name() -> None:
    spelled = {
        (path.relative_to(RUNTIME).as_posix(), node.value)
        for path in RUNTIME.rglob("*.py")
        if path != Path(names.__file__)
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in METHODS
    }
    assert spelled == set()


def test_each_constant_is_used() -> None:
    text = "".join(path.read_text("utf-8") for path in RUNTIME.rglob("*.py") if path != Path(names.__file__))
    assert [name for name in CONSTANTS if not re.search(rf"\b{name}\b", text)] == []
