"""What users import is public: examples, pages and docstrings need nothing but the doors and the bindings."""

import ast
import inspect
import re
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import get_type_hints

import pytest

import mcp_bindings
from mcp_bindgen.generate.plan import plan
from mcp_bindgen.ingest.revisions import released, revision_folder
from mcp_bindgen.ir.diagnostics import Diagnostics, InputError
from mcp_bindgen.load.protocol import Door, door
from mcp_bindgen.project.request import settle
from mcp_bindgen.project.settings import Settings
from support.documents import ROOT, programs
from support.public_api import DOORS, binding_packages, doors, public_objects

EXCERPTS = "docs/templates.md"  # Its code blocks are pieces of generated modules.
PAGES = sorted(
    name
    for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    if (name := path.relative_to(ROOT).as_posix()) != EXCERPTS and not name.startswith("docs/decisions/")
)
EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))
RUNTIME = sorted((ROOT / "runtime" / "mcp_runtime").rglob("*.py"))
FOR_BINDINGS = {
    *(
        "mcp_runtime",
        "mcp_runtime.app",
        "mcp_runtime.asking",
        "mcp_runtime.calling",
        "mcp_runtime.bridge.Bridging",
        "mcp_runtime.bridge.table",
    ),
    *("mcp_runtime.core.binding.Binding", "mcp_runtime.core.errors", "mcp_runtime.core.method"),
    *(
        "mcp_runtime.core.model",
        "mcp_runtime.core.json.binary",
        "mcp_runtime.core.stub",
    ),
    *("mcp_runtime.extensions.binding.ExtensionBinding",),
}
"""The modules and names of the runtime that the committed bindings import."""
NEWEST = binding_packages()[f"mcp_bindings.{revision_folder(max(released()))}"]
REFERENCE = re.compile(r"(?<!`)(?<!logger )`(mcp_runtime(?:\.\w+)+)`(?!`)")
"""A reference from a docstring or a page; loggers have names of modules."""
SHOWN = re.compile(r"^[>. ]*((?:from|import) mcp_runtime[\w.]*(?: import [\w, ]+)?)$", re.MULTILINE)
"""An import that a page or a docstring shows."""


@pytest.mark.parametrize("page", PAGES)
def test_pages_import_public_names_only(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    code = [text for program in programs(page) for text in program.files.values()]
    assert [name for text in code for name in _private_imports(text)] == []
    assert [*_private(text)] == []


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_examples_import_public_names_only(example: Path) -> None:
    assert [*_private_imports(example.read_text("utf-8"))] == []


def test_docstrings_name_public_names_only() -> None:
    for path in RUNTIME:
        text = path.read_text("utf-8")
        docstrings = [node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)]
        found = [name for doc in docstrings if isinstance(doc, str) for name in _private(doc)]
        assert found == [], path


def test_private_imports_are_found() -> None:
    code = "import mcp_runtime.core.functions\nfrom mcp_runtime.client_features import Roots, UnsafePath"
    assert [*_private_imports(code)] == ["mcp_runtime.core.functions", "mcp_runtime.client_features.UnsafePath"]
    assert [*_private_imports("from mcp_runtime.core.errors import PeerError")] == ["mcp_runtime.core.errors.PeerError"]
    assert SHOWN.findall(">>> from mcp_runtime.app import Raw, Depends\n") == [
        "from mcp_runtime.app import Raw, Depends"
    ]


def test_every_exported_name_exists() -> None:
    assert len(public_objects()) > 100
    assert all(len(names) > 100 for names in binding_packages().values())


def test_no_exported_class_or_function_comes_from_elsewhere() -> None:
    """What other libraries export is documented there."""
    for name, value in public_objects().items():
        if inspect.isclass(value) or inspect.isfunction(value):
            assert value.__module__.startswith("mcp_runtime"), name


def test_annotations_of_exported_classes_and_functions_can_be_evaluated() -> None:
    """Programs that document or inject them do so, on the oldest Python too."""
    bindings = (
        getattr(import_module(package), name) for package, names in binding_packages().items() for name in names
    )
    for value in chain(public_objects().values(), bindings):
        if inspect.isclass(value) or inspect.isfunction(value):
            with suppress(NameError):  # a name that only type checkers import
                get_type_hints(value)


class TestDoors:
    def test_the_data_file_lists_the_names_of_the_runtime(self) -> None:
        table = tomllib.loads((ROOT / "schema" / "door.toml").read_text("utf-8"))
        assert sorted(table["names"].split()) == sorted(doors()["mcp_runtime"])

    @pytest.mark.parametrize("door", DOORS)
    def test_type_checkers_see_the_names_that_programs_get(self, door: str) -> None:
        module = import_module(door)
        body = ast.parse(inspect.getsource(module)).body
        typed = [node.body for node in body if isinstance(node, ast.If)]
        imports = [node for node in chain(body, *typed) if isinstance(node, ast.ImportFrom)]
        seen = {
            alias.name: getattr(import_module(str(node.module)), alias.name)
            for node in imports
            for alias in node.names
            if alias.name in module.__all__
        }
        assert seen == {name: getattr(module, name) for name in module.__all__}
        assert {*module.__all__} <= {*dir(module)}

    def test_a_name_that_a_door_lacks_is_an_error(self) -> None:
        with pytest.raises(ImportError, match="UnsafePath"):
            exec("from mcp_runtime import UnsafePath")
        with pytest.raises(AttributeError, match=r"module 'mcp_runtime\.middleware' has no attribute 'ratelimit'"):
            _ = import_module("mcp_runtime.middleware").ratelimit

    def test_the_bindings_pass_them_on(self) -> None:
        names = doors()["mcp_runtime"]
        exported: set[str] = set(getattr(mcp_bindings, "__all__"))  # noqa: B009 - type checkers see no __all__
        assert {*names, *NEWEST} == exported
        for name in names:
            assert getattr(mcp_bindings, name) is getattr(import_module("mcp_runtime"), name)

    @pytest.mark.parametrize(
        ("rows", "wrong"),
        [([], "Tool"), (["Tool", "ask"], "ask"), (["Client"], "Client, Tool"), (["Tool", "Missing"], "Missing")],
    )
    def test_names_of_both_the_runtime_and_the_revision_need_a_row(self, rows: list[str], wrong: str) -> None:
        made = Door(names=("ask", "Tool"), kept=dict.fromkeys(rows, "reason"))
        with pytest.raises(InputError) as raised:
            made.beside(NEWEST, "2026-07-28")
        (diagnostic,) = raised.value.diagnostics
        assert (diagnostic.where.source, ", ".join(diagnostic.lines)) == ("schema/door.toml", wrong)

    def test_a_name_of_both_with_a_row_is_that_of_the_revision(self) -> None:
        made = Door(names=("ask", "Tool"), kept={"Tool": "reason"})
        assert made.beside(NEWEST, "2026-07-28") == ("ask",)
        assert door().beside(NEWEST, "2026-07-28") == door().names

    @pytest.mark.slow
    def test_packages_in_other_places_have_the_names_of_their_revision_only(self, tmp_path: Path) -> None:
        (tree,) = plan(settle(Settings(out=tmp_path), Settings()), [], Diagnostics(), lambda _: None).trees
        assert "mcp_runtime" not in tree.files["__init__.py"]


def test_bindings_import_a_listed_part_of_the_runtime() -> None:
    files = sorted((ROOT / "generated").rglob("*.py"))
    found = {name for path in files for name in _imported(path.read_text("utf-8")) if name.startswith("mcp_runtime")}
    needless = {listed for listed in FOR_BINDINGS if not any(f"{name}.".startswith(f"{listed}.") for name in found)}
    assert needless == set()
    extra = {
        name
        for name in found
        if not any(f"{name}.".startswith(f"{listed}.") for listed in FOR_BINDINGS - {"mcp_runtime"})
    }
    assert extra == {f"mcp_runtime.{name}" for name in doors()["mcp_runtime"]}


def _private(text: str) -> Iterator[str]:
    """Yield the private modules and names that a text imports or refers to."""
    for code in SHOWN.findall(text):
        yield from _private_imports(code)
    yield from (name for name in REFERENCE.findall(text) if not _is_public(name))


def _imported(code: str) -> Iterator[str]:
    """Yield what code imports, each name of a module with the module's."""
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), names=names, level=0):
                yield from (f"{module}.{alias.name}" for alias in names)
            case _:
                pass


def _private_imports(code: str) -> Iterator[str]:
    yield from (name for name in _imported(code) if name.startswith("mcp_runtime") and not _is_public(name))


def _is_public(name: str) -> bool:
    """Return whether a dotted name is a door, or a name of one."""
    module, _, own = name.rpartition(".")
    return name in DOORS or own in doors().get(module, ()) or _is_public_attribute(module)


def _is_public_attribute(owner: str) -> bool:
    """Return whether a dotted name is that of a public class, whose attributes are public too."""
    module, _, own = owner.rpartition(".")
    return own in doors().get(module, ()) and own[:1].isupper()
