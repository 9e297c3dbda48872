"""The generated packages: import cost, exported names, tables and errors."""

import ast
import importlib
import inspect
import json
import pickle
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pydantic import ValidationError

import mcp_bindings
import mcp_runtime
from functional.bindings import exports, methods_of, package, sample
from mcp_bindgen.ingest.revisions import released
from mcp_bindgen.load.protocol import load_released
from mcp_bindings import v2024_11_05
from mcp_bindings.v2025_11_25 import (
    BINDING,
    METHODS,
    CallToolRequestParams,
)
from mcp_runtime.core.binding import FORMAT, Binding
from mcp_runtime.core.errors import BindingFormatError, PeerError
from mcp_runtime.core.method import Direction, RequestMethod, WireType
from support.samples import LEGACY, REVISIONS

GENERATED = Path(inspect.getfile(mcp_bindings)).parent


class TestLazyPackage:
    def imported(self, statement: str) -> set[str]:
        """Return the modules that a statement imports in a fresh process."""
        code = f"import sys\n{statement}\nprint('\\n'.join(sys.modules))"
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        return set(run.stdout.split())

    def test_a_package_imports_nothing_yet(self) -> None:
        for revision in REVISIONS:
            name = package(revision).__name__
            found = self.imported(f"import {name}")
            assert "pydantic" not in found and "pydantic_core" not in found
            assert not any(module.startswith(("mcp_runtime", f"{name}.")) for module in found)

    def test_stubs_and_tables_need_no_pydantic(self) -> None:
        for revision in REVISIONS:
            found = self.imported(f"from {package(revision).__name__} import Client, Server, METHODS, BINDING")
            assert "pydantic" not in found and "mcp_runtime.core.model" not in found
            name = package(revision).__name__
            features = {module.removeprefix(f"{name}.") for module in found if module.startswith(f"{name}.")}
            assert features == {"client", "server", "methods", "models", "errors", "binding"}

    @pytest.mark.parametrize(
        ("name", "modules"),
        [
            ("Cursor", {"common"}),
            ("Resource", {"common", "resources"}),
            # A tool's result may embed resources.
            ("CallToolResult", {"common", "content", "resources", "tools"}),
            ("CreateMessageRequest", {"common", "content", "resources", "sampling", "tools"}),
        ],
    )
    def test_a_name_imports_what_it_needs(self, name: str, modules: set[str]) -> None:
        package = "mcp_bindings.v2025_11_25"
        found = self.imported(f"from {package} import {name}")
        assert {module.removeprefix(f"{package}.") for module in found if module.startswith(f"{package}.")} == modules

    @pytest.mark.parametrize("revision", REVISIONS)
    def test_dir_lists_every_export(self, revision: str) -> None:
        listed = dir(package(revision))
        definitions = {name for name in load_released(revision).definitions if name.isidentifier()}
        machinery = (
            "BINDING Client ClientContext ClientHandlers ConnectedClient Context METHODS REVISION Server".split()
        )
        constants = {constant.name for constant in load_released(revision).constants}
        assert definitions | constants | set(machinery) <= set(listed)
        assert listed == sorted(set(listed)), "a name is listed twice"

    def test_an_unknown_name_is_an_attribute_error(self) -> None:
        with pytest.raises(AttributeError, match=r"module 'mcp_bindings.v2024_11_05' has no attribute 'Tol'"):
            _ = v2024_11_05.Tol  # type: ignore[attr-defined] # pyright: ignore
        code = "from mcp_bindings.v2024_11_05 import AudioContent"
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert "ImportError: cannot import name 'AudioContent' from 'mcp_bindings.v2024_11_05'" in run.stderr

    def test_a_misspelt_name_is_answered_with_a_suggestion(self) -> None:
        code = "import mcp_bindings.v2025_11_25 as mcp; mcp.CallToolResul"
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert "Did you mean: 'CallToolResult'?" in run.stderr

    @pytest.mark.parametrize("revision", REVISIONS)
    def test_a_star_imports_what_dir_lists(self, revision: str) -> None:
        name = package(revision).__name__
        scope: dict[str, object] = {}
        exec(f"from {name} import *", scope)
        assert scope.keys() - {"__builtins__"} == set(exports(revision)) == set(package(revision).__all__)

    @pytest.mark.parametrize("revision", REVISIONS)
    def test_threads_may_decode_the_first_message_at_once(self, revision: str) -> None:
        tool = '{"name":"x","inputSchema":{"type":"object"}}'
        text = f'{{"tools":[{tool}],"resultType":"complete","ttlMs":0,"cacheScope":"private"}}'
        code = f"""
import gc, threading
from {package(revision).__name__} import METHODS
start, read = threading.Barrier(100), []
def decode() -> None:
    start.wait()
    read.append(METHODS["tools/list"].result.decode({text!r}))
threads = [threading.Thread(target=decode) for _ in range(100)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert len(read) == 100 and all(result == read[0] and type(result) is type(read[0]) for result in read)
assert gc.isenabled()
"""
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert (run.returncode, run.stderr) == (0, "")

    @pytest.mark.parametrize("revision", REVISIONS)
    def test_type_checkers_see_the_real_modules(self, revision: str) -> None:
        folder = GENERATED / f"v{revision.replace('-', '_')}"
        seen = {
            alias.asname: node.module
            for page in ("__init__.py", "models.py")
            for node in ast.walk(ast.parse((folder / page).read_text("utf-8")))
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
            if node.level == 1 and alias.name != "*"
        }
        homes = package(revision)._HOMES
        assert seen == homes
        for name, home in homes.items():
            module = importlib.import_module(f"{package(revision).__name__}.{home}")
            assert vars(module).get(name) is getattr(package(revision), name)


class TestRoot:
    """The package of all revisions has the names of the newest."""

    def test_it_has_the_names_of_the_newest(self) -> None:
        newest = max(REVISIONS)
        scope: dict[str, Any] = {}
        exec("from mcp_bindings import *", scope)
        assert scope.keys() - {"__builtins__"} == {*exports(newest), *mcp_runtime.__all__}
        assert all(getattr(mcp_bindings, name) is getattr(package(newest), name) for name in exports(newest))

    def test_other_names_are_refused(self) -> None:
        for name in ("Nothing", "nothing", "v2024_01_01"):
            with pytest.raises(AttributeError, match=name):
                getattr(mcp_bindings, name)

    def test_a_dated_package_does_not_load_the_newest(self) -> None:
        code = "from mcp_bindings import v2024_11_05; import sys; print([m for m in sys.modules if 'v2026' in m])"
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert run.stdout == "[]\n"


class TestAcrossRevisions:
    def test_a_class_keeps_its_name(self) -> None:
        for name in ("CallToolRequestParams", "CallToolResult", "InitializeRequestParams", "ToolInputSchema"):
            holders = [revision for revision in REVISIONS if name in exports(revision)]
            assert holders == list(LEGACY if name.startswith("Initialize") else REVISIONS), name

    @pytest.mark.parametrize("revision", REVISIONS)
    def test_no_definition_was_renamed(self, revision: str) -> None:
        for name in load_released(revision).definitions:
            assert name in exports(revision)


class TestBinding:
    def test_it_describes_its_package(self) -> None:
        for revision in REVISIONS:
            binding = package(revision).BINDING
            assert isinstance(binding, Binding)
            assert (binding.revision, binding.package) == (revision, package(revision).__name__)
            assert binding.era == released()[revision].era
            assert binding.methods is package(revision).METHODS
            assert package(revision).REVISION == revision == package(revision).LATEST_PROTOCOL_VERSION
            assert binding.has_batches is (revision == "2025-03-26")
            assert binding.has_errors_without_id is (revision >= "2025-11-25")
        assert repr(BINDING) == "Binding(mcp_bindings.v2025_11_25, revision='2025-11-25')"

    def test_another_format_names_the_command(self) -> None:
        with pytest.raises(BindingFormatError) as caught:
            Binding(
                format=FORMAT + 1,
                package="acme.mcp",
                revision="2025-11-25",
                era="legacy",
                methods=METHODS,
                errors={},
                bridging=BINDING.bridging,
            )
        assert str(caught.value) == (
            f"acme.mcp was generated in format {FORMAT + 1}, but this runtime reads format {FORMAT};"
            " regenerate it: mcp-bindgen generate 2025-11-25"
        )


class TestErrors:
    @pytest.mark.parametrize("revision", REVISIONS)
    def test_each_code_has_its_class(self, revision: str) -> None:
        binding = package(revision).BINDING
        codes = {c.value for c in load_released(revision).constants if isinstance(c.value, int)}
        assert set(binding.errors) == codes
        for code, expected in binding.errors.items():
            error = binding.error(code, "m", {"a": 1})
            assert type(error) is expected and issubclass(expected, PeerError)
            assert str(error) == f"m ({code})"
            copied = pickle.loads(pickle.dumps(error))
            assert (type(copied), copied.code, copied.message, copied.data) == (expected, code, "m", {"a": 1})
            assert f"Error code {code}." in (expected.__doc__ or "")
        assert type(binding.error(-1, "m")) is PeerError
        for name in {expected.__name__ for expected in binding.errors.values()}:
            assert getattr(package(revision), name) in binding.errors.values()
            assert name.casefold() not in {model.casefold() for model in load_released(revision).definitions}


class TestMethods:
    @pytest.mark.parametrize("revision", REVISIONS)
    def test_lookups_by_direction(self, revision: str) -> None:
        tables: ModuleType = importlib.import_module(f"{package(revision).__name__}.methods")
        lookups = {
            "CLIENT_REQUESTS": (True, {Direction.CLIENT_TO_SERVER, Direction.BOTH}),
            "SERVER_REQUESTS": (True, {Direction.SERVER_TO_CLIENT, Direction.BOTH}),
            "EMBEDDED_REQUESTS": (True, {Direction.EMBEDDED}),
            "CLIENT_NOTIFICATIONS": (False, {Direction.CLIENT_TO_SERVER, Direction.BOTH}),
            "SERVER_NOTIFICATIONS": (False, {Direction.SERVER_TO_CLIENT, Direction.BOTH}),
        }
        seen: set[str] = set()
        for name, (requests, directions) in lookups.items():
            expected = {
                method.name: method
                for method in tables.METHODS.values()
                if isinstance(method, RequestMethod) is requests and method.direction in directions
            }
            assert dict(getattr(tables, name)) == expected
            seen |= set(expected)
        assert seen == set(tables.METHODS)

    @pytest.mark.parametrize("revision", REVISIONS)
    def test_wire_types_load(self, revision: str) -> None:
        for name, method in methods_of(revision).items():
            assert method.name == name
            message = getattr(package(revision), method.message)
            assert message.model_fields["method"].default == name
            types: list[WireType[Any]] = [method.params] if method.params else []
            types += [method.result, *method.alternatives] if isinstance(method, RequestMethod) else []
            for wire_type in types:
                value = sample(revision, wire_type.name)
                assert json.loads(wire_type.encode(wire_type.decode(json.dumps(value)))) == value

    def test_tables_cannot_be_changed(self) -> None:
        with pytest.raises(TypeError):
            METHODS["x"] = METHODS["ping"]  # type: ignore[index] # pyright: ignore[reportIndexIssue]

    def test_build_takes_both_spellings(self) -> None:
        params = METHODS["tools/call"].params
        assert params is not None
        assert params.build({"name": "x", "meta": None}) == CallToolRequestParams(name="x")
        with pytest.raises(ValidationError):
            params.build({"name": 5})
