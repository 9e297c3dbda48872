"""The compiler stays small: lines and files in all and of its command line, entries of its package, parameters."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from support.code_lines import code_lines

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "codegen" / "mcp_bindgen"
MAX_CODE: Final = 26_168
"""Lines of code. A change that needs more says why, after it has simplified what it touches."""
MAX_FILES: Final = 228
"""Files, without those that only document a folder."""
MAX_ENTRIES: Final = 21
"""Folders and files in the package."""
MAX_COMMANDS: Final = 1_778
"""Lines of code of the command line, without the commands that write projects and configurations."""
MAX_PARAMETERS: Final = 10
"""Parameters of a function; those of a command are its options."""
APART: Final = ("openapi",)
"""Rooms that are not counted, with their commands: servers from an API's description."""
SCAFFOLDING: Final = ("new.py", "install.py")


def modules() -> list[Path]:
    found = sorted(PACKAGE.rglob("*.py"))
    return [path for path in found if not {path.relative_to(PACKAGE).parts[0], path.stem} & {*APART}]


def commands() -> list[Path]:
    return [path for path in modules() if path.parent.name == "cli"]


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_it_has_few_lines_of_code() -> None:
    assert 20_000 < sum(map(code_lines, modules())) <= MAX_CODE


def test_it_has_few_files() -> None:
    assert 200 < sum(path.name != "__init__.py" for path in modules()) <= MAX_FILES


def test_its_package_has_few_entries() -> None:
    entries = {path.relative_to(PACKAGE).parts[0] for path in modules()}
    assert 15 < len(entries) <= MAX_ENTRIES


def test_its_command_line_is_small() -> None:
    assert 1_000 < sum(code_lines(path) for path in commands() if path.name not in SCAFFOLDING) <= MAX_COMMANDS


def test_functions_have_few_parameters() -> None:
    for path in modules():
        for node in functions(path):
            is_command = path in commands() and not node.name.startswith("_")
            parameters = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
            assert is_command or len(parameters) <= MAX_PARAMETERS, f"{path.relative_to(ROOT)}: {node.name}"
