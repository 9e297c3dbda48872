"""The laws of the repository, which no reviewer should have to remember."""

import ast
import dataclasses
import hashlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from jinja2 import Environment, nodes

from mcp_bindgen.bridge.emit import FOLDER as BRIDGES
from mcp_bindgen.bridge.emit import emit_bridges
from mcp_bindgen.diagnostics import Diagnostics
from mcp_bindgen.emit import view
from mcp_bindgen.emit.header import HEADER_MARK
from mcp_bindgen.emit.package import emit, emit_root, revision_folder
from mcp_bindgen.emit.tree import Tree, compare
from mcp_bindgen.emit.types import PRELUDE
from mcp_bindgen.ingest.revisions import released
from mcp_bindgen.load import load_released
from mcp_runtime import binding

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = sorted((ROOT / "templates").glob("*.j2"))
REPORTS = sorted(path for folder in ("report", "tools") for path in (ROOT / "templates" / folder).glob("*.j2"))
"""Templates of reports and of tool clients; users may replace those of bindings, so only they are documented."""
MAX_LINES = 400
LONGER = {
    "tests/ingest/test_json_schema.py": "one test per keyword of JSON Schema",
    "tests/ingest/test_typescript.py": "one test per construct of TypeScript",
    "tests/ir/test_methods.py": "one test per rule by which methods are derived",
    "tests/merge/test_reconcile.py": "one test per rule by which the two schemas are merged",
}
"""Files that may be longer, and why."""
NODES = {nodes.Template, nodes.Output, nodes.TemplateData, nodes.For, nodes.Name, nodes.Getattr}
"""What a template is made of: nothing here decides anything."""
OUR_PACKAGES = {"mcp_bindgen", "mcp_bindings", "mcp_runtime"}
LEANING = {
    "live": "talks to a server, so it loads the runtime and the bindings when it is used",
    "bridge": "spells its tables in the classes of the runtime that reads them",
}
"""The folders of the generator that do not work while the generated tree is broken, and why; all others must."""


def python_files(*folders: str) -> list[Path]:
    """List the Python files of some folders, caches and environments left out."""
    found = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    return [path for path in found if "__pycache__" not in path.parts]


def handwritten() -> Iterator[Path]:
    for path in python_files("codegen", "runtime", "tests", "benchmarks", "examples", "scripts"):
        if not path.read_text("utf-8").startswith(HEADER_MARK):
            yield path


def committed() -> Iterator[Path]:
    """Iterate over the files of the repository, as far as they are not made by tools."""
    for path in sorted(ROOT.rglob("*")):
        inner = path.relative_to(ROOT)
        made = any((part.startswith(".") and part != ".ci") or part in ("__pycache__", "dist") for part in inner.parts)
        if path.is_file() and not made:
            yield path


def imported(path: Path) -> set[str]:
    """Return the top-level packages that a file imports, wherever in it, type checking included."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add((node.module or "").partition(".")[0])
        elif isinstance(node, ast.Call) and _called(node) in ("__import__", "import_module"):
            found |= {str(a.value).partition(".")[0] for a in node.args[:1] if isinstance(a, ast.Constant)}
    return found


def _called(node: ast.Call) -> str:
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


class TestTemplates:
    @pytest.mark.parametrize("path", [*TEMPLATES, *REPORTS], ids=lambda path: path.name)
    def test_they_only_repeat_and_insert(self, path: Path) -> None:
        tree = Environment().parse(path.read_text("utf-8"))
        found = {type(node) for node in [tree, *tree.find_all(nodes.Node)]}
        assert found <= NODES, f"logic: {found - NODES}"
        for loop in tree.find_all(nodes.For):
            assert loop.test is None and not loop.else_ and not loop.recursive

    def test_the_documentation_names_everything_in_their_context(self) -> None:
        text = (ROOT / "docs" / "templates.md").read_text("utf-8")
        for path in TEMPLATES:
            assert f"| `{path.name}` |" in text
        for variable, class_ in (("page", view.Page), ("item", view.Item), ("import", view.Import)):
            own = {name for name, value in vars(class_).items() if isinstance(value, property)}
            names = {field.name for field in dataclasses.fields(class_)} | own
            assert names
            documented = set(re.findall(rf"^\| `{variable}\.(\w+)` \|", text, re.MULTILINE))
            assert documented == names, f"{variable}: {documented ^ names}"

    def test_there_is_nothing_else_among_them(self) -> None:
        ours = {"report/diff.css", "report/diff.js"} | {
            shown(path).removeprefix("templates/") for path in TEMPLATES + REPORTS
        }
        found = (path for path in (ROOT / "templates").rglob("*") if path.is_file())
        assert {path.relative_to(ROOT / "templates").as_posix() for path in found} == ours

    def test_they_use_nothing_else(self) -> None:
        known = {"page", "item", "import", "statement", "line", "name", "export"}
        for path in TEMPLATES:
            names = {node.name for node in Environment().parse(path.read_text("utf-8")).find_all(nodes.Name)}
            assert names <= known, path.name


class TestImports:
    def test_the_generator_stands_alone(self) -> None:
        package = ROOT / "codegen" / "mcp_bindgen"
        leaning = {
            parts[0]
            for path in python_files("codegen")
            if (parts := path.relative_to(package).parts) and imported(path) & {"mcp_runtime", "mcp_bindings"}
        }
        assert leaning == LEANING.keys()

    def test_what_talks_to_a_server_loads_the_rest_when_it_is_used(self) -> None:
        files = python_files("codegen/mcp_bindgen/live")
        assert any(imported(path) & {"mcp_runtime", "mcp_bindings"} for path in files)
        for path in files:
            tree = ast.parse(path.read_text("utf-8"))
            at_once = ast.Module([node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)], [])
            assert "mcp_runtime" not in ast.unparse(at_once) and "mcp_bindings" not in ast.unparse(at_once), shown(path)

    def test_the_runtime_knows_no_generated_module(self) -> None:
        for path in python_files("runtime"):
            assert not imported(path) & {"mcp_bindgen", "mcp_bindings"}, shown(path)

    def test_generated_code_needs_little(self) -> None:
        allowed = {"mcp_runtime", "pydantic", "typing_extensions"} | set(sys.stdlib_module_names)
        files = python_files("generated")
        assert len(files) > 80
        for path in files:
            assert imported(path) <= allowed, shown(path)

    def test_nobody_imports_a_source_root(self) -> None:
        for path in [*handwritten(), *python_files("generated")]:
            assert not imported(path) & {"codegen", "runtime", "generated"}, shown(path)


class TestFiles:
    def test_they_stay_small(self) -> None:
        lengths = {shown(path): len(path.read_text("utf-8").splitlines()) for path in handwritten()}
        longer = {name: length for name, length in lengths.items() if length > MAX_LINES}
        assert set(longer) == set(LONGER), "split what is new, and take back the exceptions that nothing needs"
        assert all(LONGER.values())

    @pytest.mark.parametrize("name", ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile"])
    def test_what_a_visitor_looks_for_is_there(self, name: str) -> None:
        assert (ROOT / name).read_text("utf-8").strip()

    def test_decision_records_have_their_parts(self) -> None:
        for path in sorted((ROOT / "docs" / "decisions").glob("*.md")):
            assert re.fullmatch(r"\d{4}-[a-z0-9-]+\.md", path.name), path.name
            parts = re.findall(r"^(?:#+ +|\*\*)(Context|Choice|Cost)\b", path.read_text("utf-8"), re.MULTILINE)
            assert parts == ["Context", "Choice", "Cost"], path.name

    def test_decision_records_are_numbered_without_gaps(self) -> None:
        numbers = [int(path.name[:4]) for path in sorted((ROOT / "docs" / "decisions").glob("*.md"))]
        assert numbers == list(range(1, len(numbers) + 1))

    def test_no_official_file_is_among_them(self) -> None:
        official = {pins.schema_json_sha256 for pins in released().values()}
        official |= {pins.schema_ts_sha256 for pins in released().values()}
        assert len(official) == 10
        found = [shown(path) for path in committed() if hashlib.sha256(path.read_bytes()).hexdigest() in official]
        assert found == []


class TestGenerated:
    def test_the_committed_tree_is_what_we_generate(self) -> None:
        files = dict(emit_root([revision_folder(revision) for revision in released()]))
        for revision in released():
            folder = revision_folder(revision)
            emitted = emit(
                load_released(revision),
                command=f"mcp-bindgen generate {revision}",
                templates=None,
                diagnostics=Diagnostics(),
            )
            files |= {f"{folder}/{name}": text for name, text in emitted.items()}
        bridges = emit_bridges([load_released(revision) for revision in released()], "mcp-bindgen generate")
        files |= {f"{BRIDGES}/{name}": text for name, text in bridges.items()}
        drift = compare(Tree(folder=ROOT / "generated" / "mcp_bindings", files=files))
        assert drift.paths == (), "run `make generate`"

    def test_every_alias_is_used(self) -> None:
        files = python_files("generated", "tests/golden/generate")
        used = {line.strip() for path in files for line in path.read_text("utf-8").splitlines() if " as _" in line}
        assert [alias for alias, statement in PRELUDE.items() if statement not in used] == []

    def test_every_file_says_so(self) -> None:
        for path in python_files("generated"):
            assert path.read_text("utf-8").startswith(HEADER_MARK), shown(path)

    def test_the_format_is_the_one_that_the_runtime_reads(self) -> None:
        from mcp_bindgen.emit.package import BINDING_FORMAT

        assert BINDING_FORMAT == binding.FORMAT
