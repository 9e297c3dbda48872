"""The laws of the repository, which no reviewer should have to remember."""

import ast
import hashlib
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from jinja2 import Environment, nodes

from functional.generated import emitted
from mcp_bindgen.bridge.derive import FORMAT as BRIDGE_FORMAT
from mcp_bindgen.emit.header import HEADER_MARK
from mcp_bindgen.emit.tree import compare
from mcp_bindgen.generate.plan import plan
from mcp_bindgen.ingest.extensions import shipped_extensions
from mcp_bindgen.ingest.revisions import released, revision_folder
from mcp_bindgen.ir.diagnostics import Diagnostics
from mcp_bindgen.load.protocol import load_released
from mcp_bindgen.project.request import settle
from mcp_bindgen.project.settings import Settings
from mcp_runtime.bridge import table as runtime_table
from mcp_runtime.core import binding

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = sorted((ROOT / "templates").rglob("*.j2"))
MAX_LINES = 400
LONGER = {
    "tests/ingest/test_json_schema.py": "one test per keyword of JSON Schema",
    "tests/ingest/test_typescript.py": "one test per construct of TypeScript",
    "tests/ir/test_methods.py": "one test per rule by which methods are derived",
    "tests/merge/test_reconcile.py": "one test per rule by which the two schemas are merged",
}
"""Files that may be longer, and why."""
NODES = {
    *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.Const, nodes.Name, nodes.NSRef, nodes.Getattr),
    *(nodes.Getitem, nodes.Tuple, nodes.For, nodes.If, nodes.CondExpr, nodes.And, nodes.Or, nodes.Not, nodes.Compare),
    *(nodes.Operand, nodes.Test, nodes.Filter, nodes.FilterBlock, nodes.Assign, nodes.AssignBlock, nodes.Include),
    *(nodes.FromImport, nodes.Macro, nodes.Call, nodes.Keyword, nodes.Concat),
}
"""What a template is made of: it repeats, tests flags, inserts and includes; it has no arithmetic and no state."""
FILTERS = {"attribute", "comment", "docstring", "groupby", "join", "map", "repr", "string", "summary", "trim"}
SPELLERS = tuple(f"codegen/mcp_bindgen/{folder}" for folder in ("emit", "bridge", "openapi", "tool_clients"))
SPELLING = ("spelling.py",)
"""The module that spells types, names and constants."""
SYNTAX = re.compile(
    r"^\s*(class|def|async def|import|from|return|if|raise) |^\s*(else:|@\w)" r'|^ {4}[^ ]|""|: _?[A-Z]\w+ = |\w\(.*='
)
PAGES = {"app", "models", "constants", "errors", "methods", "client", "server", "binding", "revision", "extension"}
"""The templates of pages whose names the emitter derives."""
PARSERS = {
    "codegen/mcp_bindgen/impact/names.py": "reads annotations in quotes in the code of a user",
    "codegen/mcp_bindgen/impact/modules.py": "reads the code of a user",
    "codegen/mcp_bindgen/openapi/models.py": "reads the code of another generator, which must be nothing but models",
}
"""The files that parse Python, and why: code that is not ours."""
LAYOUT = re.compile(r"[\s,()\"']+")
"""What black adds, removes or replaces."""
IMPORTS_A_ROOT = re.compile(r"\bimport[^\n]*\b(?:codegen|runtime|generated)\b|\bfrom\s+(?:codegen|runtime|generated)\b")
"""What a file that imports a source root contains, so that not all files are parsed."""
LEANING = {
    "check": "talks to a server and judges messages, so it loads the runtime and the bindings when it is used",
    "live": "talks to a server or judges messages, so it loads the runtime and the bindings when it is used",
    "mock": "is a server, so it loads the runtime and the bindings when it is used",
}
"""The folders of the generator that do not work while the generated tree is broken, and why; all others must."""


def python_files(*folders: str) -> list[Path]:
    """List the Python files of some folders, caches and environments left out."""
    found = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    return [path for path in found if "__pycache__" not in path.parts]


def handwritten() -> Iterator[Path]:
    for path in python_files("codegen", "runtime", "tests", "tools", "examples"):
        if not path.read_text("utf-8").startswith(HEADER_MARK):
            yield path


def committed() -> Iterator[Path]:
    """Iterate over the files of the repository, except those made by tools."""
    for path in sorted(ROOT.rglob("*")):
        inner = path.relative_to(ROOT)
        is_built = any(
            (part.startswith(".") and part != ".ci") or part in ("__pycache__", "dist") for part in inner.parts
        )
        if path.is_file() and not is_built:
            yield path


@cache
def imported(path: Path) -> set[str]:
    """Return the top-level packages that a file imports, wherever in it, type checking included."""
    return {name.partition(".")[0] for name in _modules(path)}


def _modules(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add(node.module or "")
        elif isinstance(node, ast.Call) and _called(node) in ("__import__", "import_module"):
            found |= {str(a.value) for a in node.args[:1] if isinstance(a, ast.Constant)}
    return found


def _called(node: ast.Call) -> str:
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


class TestTemplates:
    @pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
    def test_they_contain_no_logic(self, path: Path) -> None:
        tree = Environment().parse(path.read_text("utf-8"))
        found = {type(node) for node in [tree, *tree.find_all(nodes.Node)]}
        assert found <= NODES, f"logic: {found - NODES}"
        for loop in tree.find_all(nodes.For):
            assert loop.test is None and not loop.else_ and not loop.recursive
        filters = {node.name for node in tree.find_all(nodes.Filter)}
        assert filters <= FILTERS, f"filters: {filters - FILTERS}"

    def test_the_emitter_spells_no_python(self) -> None:
        """Outside the module that spells types, no string is a piece of Python: templates write it."""
        for path in python_files(*SPELLERS):
            if path.name in SPELLING:
                continue
            for text in _strings(ast.parse(path.read_text("utf-8"))):
                assert not SYNTAX.search(text), f"{shown(path)}: {text!r}"

    def test_nothing_parses_what_is_emitted(self) -> None:
        for path in python_files("codegen"):
            parses = "ast" in imported(path) and any(
                isinstance(node, ast.Attribute)
                and node.attr == "parse"
                and isinstance(node.value, ast.Name)
                and node.value.id == "ast"
                for node in ast.walk(ast.parse(path.read_text("utf-8")))
            )
            assert not parses or shown(path) in PARSERS, shown(path)
        for name in PARSERS:
            assert "ast." in (ROOT / name).read_text("utf-8"), f"{name} no longer parses anything"

    def test_every_template_is_used(self) -> None:
        sources = "".join(path.read_text("utf-8") for path in [*TEMPLATES, *python_files("codegen")])
        for path in TEMPLATES:
            spelled = path.name if path.parent.name == "report" else path.name.removesuffix(".py.j2")
            assert f'"{path.name}"' in sources or spelled in PAGES, path.name


def _strings(tree: ast.AST) -> Iterator[str]:
    """Iterate over the strings of a module, docstrings left out."""
    statements = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in statements:
            yield node.value


def _imported_at_once(path: Path) -> set[str]:
    """Return the modules that a file imports when it is imported."""
    body = ast.parse(path.read_text("utf-8")).body
    named = {alias.name for node in body if isinstance(node, ast.Import) for alias in node.names}
    return named | {node.module or "" for node in body if isinstance(node, ast.ImportFrom)}


class TestImports:
    def test_only_live_commands_of_the_generator_need_the_runtime(self) -> None:
        """The others take only the evaluator of schemas, and its meter, which need no generated module."""
        package, live = ROOT / "codegen" / "mcp_bindgen", re.compile(r"mcp_(bindings|runtime(?!\.json_schema\.))")
        leaning = {
            path.relative_to(package).parts[0]
            for path in python_files("codegen")
            if any(map(live.match, _modules(path)))
        }
        assert leaning == LEANING.keys()

    def test_live_commands_load_the_runtime_when_it_is_used(self) -> None:
        """A module that needs it at once is imported in functions only."""
        live = {path: _imported_at_once(path) for path in python_files("codegen/mcp_bindgen/live")}
        late = {
            path for path, names in live.items() if any(re.match(r"mcp_(runtime|bindings)\b", name) for name in names)
        }
        assert any(imported(path) & {"mcp_runtime", "mcp_bindings"} for path in live.keys() - late)
        names = {".".join(path.relative_to(ROOT / "codegen").with_suffix("").parts) for path in late}
        for path in set(python_files("codegen")) - late:
            assert not _imported_at_once(path) & names, shown(path)

    def test_the_runtime_imports_no_generated_module(self) -> None:
        for path in python_files("runtime"):
            assert not imported(path) & {"mcp_bindgen", "mcp_bindings"}, shown(path)

    def test_generated_code_imports_little(self) -> None:
        allowed = {"mcp_runtime", "pydantic", "typing_extensions"} | set(sys.stdlib_module_names)
        files = python_files("generated")
        assert len(files) > 80
        for path in files:
            shared = {"mcp_bindings"} if path.name == "revision.py" else set[str]()
            assert imported(path) <= allowed | shared, shown(path)

    def test_no_file_imports_a_source_root(self) -> None:
        names = {"codegen", "runtime", "generated"}
        for path in [*handwritten(), *python_files("generated")]:
            if IMPORTS_A_ROOT.search(path.read_text("utf-8")):
                assert not imported(path) & names, shown(path)


class TestFiles:
    def test_they_stay_small(self) -> None:
        lengths = {shown(path): len(path.read_text("utf-8").splitlines()) for path in handwritten()}
        longer = {name: length for name, length in lengths.items() if length > MAX_LINES}
        assert set(longer) == set(LONGER), "split the new files, and remove the exceptions that nothing needs"
        assert all(LONGER.values())

    @pytest.mark.parametrize("name", ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile"])
    def test_what_a_visitor_looks_for_is_there(self, name: str) -> None:
        assert (ROOT / name).read_text("utf-8").strip()

    def test_the_makefile_has_what_contributors_need(self) -> None:
        text = (ROOT / "Makefile").read_text("utf-8")
        assert len(text.splitlines()) <= 120
        targets = "help setup generate diff test test-all check format docs site lock clean"
        assert re.findall(r"^([a-z-]+):.*##", text, re.MULTILINE) == targets.split()

    def test_decision_records_have_their_parts(self) -> None:
        for path in sorted((ROOT / "docs" / "decisions").glob("*.md")):
            assert re.fullmatch(r"\d{4}-[a-z0-9-]+\.md", path.name), path.name
            parts = re.findall(r"^(?:#+ +|\*\*)(Context|Choice|Cost)\b", path.read_text("utf-8"), re.MULTILINE)
            assert parts == ["Context", "Choice", "Cost"], path.name

    def test_decision_records_have_distinct_numbers(self) -> None:
        numbers = [path.name[:4] for path in (ROOT / "docs" / "decisions").glob("*.md")]
        assert sorted(numbers) == sorted(set(numbers))

    def test_no_official_file_is_committed(self) -> None:
        official = {pins.schema_json_sha256 for pins in released().values()}
        official |= {pins.schema_ts_sha256 for pins in released().values()}
        official |= {table.sha256 for table in shipped_extensions().values()}
        assert len(official) == 2 * len(released()) + len(shipped_extensions())
        found = [shown(path) for path in committed() if hashlib.sha256(path.read_bytes()).hexdigest() in official]
        assert found == []


class TestGenerated:
    @pytest.mark.parametrize("revision", released())
    def test_the_committed_code_is_what_we_generate(self, revision: str) -> None:
        """Formatting takes nearly all of the time, so what black may change is left out."""
        files = emitted(load_released(revision), command=f"mcp-bindgen generate {revision}")
        folder = ROOT / "generated" / "mcp_bindings" / revision_folder(revision)
        committed = {path.name: path.read_text("utf-8") for path in folder.iterdir() if path.is_file()}
        unformatted, formatted = ({name: LAYOUT.sub("", text) for name, text in t.items()} for t in (files, committed))
        assert unformatted == formatted, "run `make generate`"

    @pytest.mark.parametrize("id", shipped_extensions())
    def test_the_committed_code_of_extensions_is_what_we_generate(
        self, id: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(ROOT)
        (tree,) = plan(settle(Settings(), Settings(), id), [], Diagnostics(), lambda _: None).trees
        committed = {path.name: path.read_text("utf-8") for path in tree.folder.iterdir() if path.is_file()}
        assert {name: text for name, text in tree.files.items() if text} == committed, "run `make generate`"

    @pytest.mark.slow
    def test_the_committed_tree_is_what_we_generate(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(ROOT)
        (tree,) = plan(settle(Settings(), Settings()), [], Diagnostics(), lambda _: None).trees
        assert tree.folder == Path("generated/mcp_bindings")
        assert compare(tree).paths == (), "run `make generate`"

    def test_every_file_has_the_header(self) -> None:
        for path in python_files("generated"):
            assert path.read_text("utf-8").startswith(HEADER_MARK), shown(path)

    def test_the_format_is_the_one_that_the_runtime_reads(self) -> None:
        from mcp_bindgen.emit.python.package import BINDING_FORMAT

        assert BINDING_FORMAT == binding.FORMAT

    def test_conversions_have_the_format_that_the_runtime_reads(self) -> None:
        assert BRIDGE_FORMAT == runtime_table.FORMAT


CLOCKS = {"time", "random", "secrets", "uuid"}
"""Modules that programs get time and randomness from."""


def test_time_and_randomness_come_from_one_module() -> None:
    found: set[tuple[str, str]] = set()
    package = ROOT / "runtime" / "mcp_runtime"
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module in CLOCKS:
                # The CPU time of a thread is not the time of day.
                names = [str(node.module)] if {alias.name for alias in node.names} != {"thread_time"} else []
            found |= {(path.relative_to(package).as_posix(), name) for name in names if name in CLOCKS}
    assert found == {("core/sources.py", name) for name in ("random", "secrets", "time")}
