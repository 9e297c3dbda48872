"""What users import is public: examples and pages need nothing that no module exports."""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.documents import ROOT, programs
from support.public_api import binding_packages, public_objects, runtime_modules

EXCERPTS = "docs/templates.md"  # Its code blocks are pieces of generated modules.
PAGES = sorted(
    name
    for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    if (name := path.relative_to(ROOT).as_posix()) != EXCERPTS
)
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("page", PAGES)
def test_pages_import_public_names_only(page: str) -> None:
    code = [text for program in programs(page) for text in program.files.values()]
    assert [name for text in code for name in _private_imports(text)] == []


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_examples_import_public_names_only(example: Path) -> None:
    assert [*_private_imports(example.read_text("utf-8"))] == []


def test_private_imports_are_found() -> None:
    code = "import mcp_runtime.core.functions\nfrom mcp_runtime.client_features.roots import UnsafePath, Roots"
    assert [*_private_imports(code)] == ["mcp_runtime.core.functions", "mcp_runtime.client_features.roots.UnsafePath"]


def test_every_exported_name_exists() -> None:
    assert len(public_objects()) > 100
    assert all(len(names) > 100 for names in binding_packages().values())


def test_no_exported_class_or_function_comes_from_elsewhere() -> None:
    """What other libraries export is documented there."""
    for name, value in public_objects().items():
        if inspect.isclass(value) or inspect.isfunction(value):
            assert value.__module__.startswith("mcp_runtime"), name


def _private_imports(code: str) -> Iterator[str]:
    public = runtime_modules()
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Import(names=names):
                modules = (alias.name for alias in names)
                yield from (name for name in modules if name.startswith("mcp_runtime") and name not in public)
            case ast.ImportFrom(module=str(module), names=names) if module.startswith("mcp_runtime"):
                for alias in names:
                    name = f"{module}.{alias.name}"
                    if alias.name not in public.get(module, ()) and name not in public:
                        yield name
            case _:
                pass
