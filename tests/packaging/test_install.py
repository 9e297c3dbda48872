"""The release as users get it: built from the sdist, and installed outside this tree."""

import json
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path, PurePosixPath

import pytest

from support.distributions import Distribution, Environment, Release, empty_environment, run
from support.scripts import script

pytestmark = [pytest.mark.packaging, pytest.mark.timeout(600)]

REPOSITORY = Path(__file__).resolve().parents[2]
BINDINGS = REPOSITORY / "generated" / "mcp_bindings"
REVISIONS = tuple(row["revision"] for row in json.loads((REPOSITORY / "schema" / "revisions.json").read_text("utf-8")))
PACKAGES = ("mcp_bindgen", "mcp_runtime", "mcp_bindings")
# Where each folder of the tree arrives in the wheels.
PLACES = {
    "mcp-bindings": {"runtime/mcp_runtime": "mcp_runtime", "generated/mcp_bindings": "mcp_bindings"},
    "mcp-bindgen": {
        "codegen/mcp_bindgen": "mcp_bindgen",
        "templates": "mcp_bindgen/templates",
        "schema": "mcp_bindgen/schema",
        "docs": "mcp_bindgen/docs",
    },
}
PROJECTS = {"mcp-bindings": REPOSITORY / "runtime", "mcp-bindgen": REPOSITORY}
MAX_PACKAGES, MAX_BYTES = 11, 15 << 20
"""How much the base installation may take, on disk and without byte code."""
INSTALLED = "from importlib.metadata import distributions as d; print(*sorted(found.name.lower() for found in d()))"
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
SERVER = """
from mcp_bindings import App

app = App("test")

@app.tool()
def add(a: int) -> int:
    'Add one.'
    return a + 1
"""


def module_of(revision: str) -> str:
    """Return the package with the bindings of a revision."""
    return f"mcp_bindings.v{revision.replace('-', '_')}"


def files_below(folder: Path) -> set[str]:
    """Return the paths of the files that belong to a folder, without what running it leaves behind."""
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def typed_program(environment: Environment) -> Path:
    """Write a program that uses every revision and asserts the type that a checker must see for each value."""
    lines = ["from typing import assert_type"]
    for number, revision in enumerate(REVISIONS):
        lines += [
            f"import {module_of(revision)} as r{number}",
            f'content{number} = r{number}.TextContent(text="x")',
            f"assert_type(content{number}.text, str)",
            f"tool{number} = r{number}.Tool.model_validate_json(b'{{}}')",
            f"assert_type(tool{number}, r{number}.Tool)",
            f"assert_type(tool{number}.name, str)",
        ]
    program = environment.folder / "program.py"
    program.write_text("\n".join(lines) + "\n", "utf-8")
    return program


@pytest.fixture(params=PROJECTS)
def distribution(request: pytest.FixtureRequest, release: Release) -> Distribution:
    return release.bindgen if request.param == "mcp-bindgen" else release.bindings


def test_a_wheel_contains_its_packages_and_nothing_else(distribution: Distribution) -> None:
    places = PLACES[distribution.name]
    expected = {
        f"{target}/{path}": (REPOSITORY / source / path).read_bytes()
        for source, target in places.items()
        for path in files_below(REPOSITORY / source)
    }
    with zipfile.ZipFile(distribution.wheel) as archive:
        names = {name for name in archive.namelist() if not PurePosixPath(name).parts[0].endswith(".dist-info")}
        carried = {name: archive.read(name) for name in names}
    assert carried.keys() == expected.keys()
    assert [name for name in names if carried[name] != expected[name]] == []
    assert {f"{target}/py.typed" for target in places.values() if target in PACKAGES} <= names


def test_a_wheel_carries_the_licence_and_the_readme(distribution: Distribution) -> None:
    with zipfile.ZipFile(distribution.wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        text = archive.read(metadata).decode()
        licences = [archive.read(name) for name in archive.namelist() if name.endswith("/licenses/LICENSE")]
    assert text.endswith((PROJECTS[distribution.name] / "README.md").read_text("utf-8"))
    assert licences == [(REPOSITORY / "LICENSE").read_bytes()]


def test_the_metadata_is_that_of_the_project(distribution: Distribution) -> None:
    script_ = script("release")
    project = tomllib.loads((PROJECTS[distribution.name] / "pyproject.toml").read_text("utf-8"))["project"]
    assert script_.problems_of_metadata(script_.metadata_of(distribution.wheel), project) == []


def test_the_compiler_needs_the_bindings_of_its_own_version(release: Release) -> None:
    projects = {
        name: tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
        for name, folder in PROJECTS.items()
    }
    (version,) = {project["version"] for project in projects.values()}
    assert f"mcp-bindings[http,validation]=={version}" in projects["mcp-bindgen"]["dependencies"]
    assert f"-{version}-" in release.bindings.wheel.name and f"-{version}-" in release.bindgen.wheel.name


def test_the_sdist_of_the_compiler_contains_what_builds_and_tests_need(release: Release) -> None:
    with tarfile.open(release.bindgen.sdist) as archive:
        names = {PurePosixPath(name).parts[1] for name in archive.getnames()}
    assert {"codegen", "runtime", "generated", "templates", "schema", "tests", "Makefile", "tools"} <= names
    assert not {name for name in names if name.startswith(".venv")}


def test_the_sdist_of_the_bindings_contains_them(release: Release) -> None:
    with tarfile.open(release.bindings.sdist) as archive:
        names = {PurePosixPath(name).parts[1] for name in archive.getnames()}
    files = {"hatch_build.py", "LICENSE", "PKG-INFO", "pyproject.toml", "README.md"}
    assert names - {".gitignore"} == {"mcp_runtime", "mcp_bindings", *files}


def test_the_base_installation_is_small(bare: Environment) -> None:
    packages = bare.run("python", "-c", INSTALLED).stdout.split()
    assert "mcp-bindings" in packages and "mcp-bindgen" not in packages
    assert len(packages) <= MAX_PACKAGES, packages
    places = (path for path in bare.python.parents[1].rglob("site-packages/*") if path.name != "__pycache__")
    files = (file for place in places for file in [place, *place.rglob("*")] if file.is_file())
    assert sum(file.stat().st_size for file in files if file.suffix != ".pyc") <= MAX_BYTES


@pytest.mark.parametrize("revision", REVISIONS)
def test_bindings_work_without_the_compiler(bare: Environment, revision: str) -> None:
    program = (
        f"from {module_of(revision)} import REVISION, TextContent\n"
        "import importlib.util as util\n"
        "assert not [name for name in ('jinja2', 'black', 'typer', 'mcp_bindgen') if util.find_spec(name)]\n"
        "print(REVISION, TextContent(text='x').model_dump_json())\n"
    )
    done = bare.run("python", "-c", program)
    assert done.stdout == revision + ' {"type":"text","text":"x"}\n'


def test_a_server_is_served_without_the_compiler(bare: Environment) -> None:
    (bare.folder / "server.py").write_text(SERVER, "utf-8")
    params = {"name": "add", "arguments": {"a": 1}, "_meta": META}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    command = [str(bare.python), "-m", "mcp_runtime", "server.py"]
    done = subprocess.run(
        command, cwd=bare.folder, input=json.dumps(message) + "\n", capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["result"]["structuredContent"] == 2
    help_ = bare.run("python", "-m", "mcp_runtime", "--help").stdout
    assert "--http" in help_ and "--reload" not in help_
    refused = bare.run("python", "-m", "mcp_runtime", "server.py", "--http", expect=2).stderr
    assert refused.splitlines()[-1].endswith(": pip install 'mcp-bindings[http]'")


def test_what_needs_another_extra_says_in_one_line_what_to_install(bare: Environment) -> None:
    program = "from mcp_bindings import InputState; InputState(keys=[bytes(32)])"
    done = bare.run("python", "-c", program, expect=1)
    assert done.stderr.splitlines()[-1] == (
        "ModuleNotFoundError: sealed states need cryptography: pip install 'mcp-bindings[sealed]'"
    )


def test_sealed_states_need_one_extra(release: Release, tmp_path: Path) -> None:
    environment = empty_environment(tmp_path)
    environment.install(release.bindings.requirement("sealed"))
    program = (
        "from mcp_runtime.sealed.seal import Seal\n"
        "seal = Seal([bytes(32)])\n"
        "print(seal.open(seal.close(b'text', b'bound'), b'bound').decode())\n"
    )
    assert environment.run("python", "-c", program).stdout == "text\n"


def test_the_installed_generator_writes_the_committed_bindings(complete: Environment) -> None:
    complete.run("mcp-bindgen", "generate")
    out = complete.folder / "generated" / "mcp_bindings"
    written = {path: (out / path).read_bytes() for path in files_below(out)}
    committed = {path: (BINDINGS / path).read_bytes() for path in files_below(BINDINGS)}
    assert written.keys() == committed.keys()
    assert [path for path in committed if written[path] != committed[path]] == []


def test_pyright_sees_the_types_of_the_installed_bindings(bare: Environment) -> None:
    program = typed_program(bare)
    (bare.folder / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}\n', "utf-8")
    run(sys.executable, "-m", "pyright", "--pythonpath", bare.python, program, cwd=bare.folder)


def test_mypy_is_strict_about_every_installed_package_and_sees_its_types(complete: Environment) -> None:
    mypy = (sys.executable, "-m", "mypy", "--strict", "--python-executable", complete.python, "--cache-dir", "cache")
    packages = (word for package in PACKAGES for word in ("-p", package))
    run(*mypy, *packages, "-m", typed_program(complete).stem, cwd=complete.folder)
