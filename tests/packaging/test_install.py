"""The release as users get it: built from the sdist, and installed outside this tree."""

import json
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path, PurePosixPath

import pytest

from support.distributions import Distribution, Environment, empty_environment, run
from support.scripts import script

pytestmark = [pytest.mark.packaging, pytest.mark.timeout(600)]

REPOSITORY = Path(__file__).resolve().parents[2]
BINDINGS = REPOSITORY / "generated" / "mcp_bindings"
REVISIONS = tuple(row["revision"] for row in json.loads((REPOSITORY / "schema" / "revisions.json").read_text("utf-8")))
PACKAGES = ("mcp_bindgen", "mcp_runtime", "mcp_bindings")
# Where each folder of the tree arrives in the wheel.
PLACES = {
    "codegen/mcp_bindgen": "mcp_bindgen",
    "runtime/mcp_runtime": "mcp_runtime",
    "generated/mcp_bindings": "mcp_bindings",
    "templates": "mcp_bindgen/templates",
    "schema": "mcp_bindgen/schema",
    "docs": "mcp_bindgen/docs",
}

MAX_CLI_PACKAGES = 24
INSTALLED = "from importlib.metadata import distributions as d; print(*sorted(found.name.lower() for found in d()))"
SERVER = """
from mcp_bindings import App

app = App("test")

@app.tool()
def add(a: int) -> int:
    'Add one.'
    return a + 1

app.run()
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


def test_the_wheel_contains_the_three_packages_and_nothing_else(distribution: Distribution) -> None:
    expected = {
        f"{target}/{path}": (REPOSITORY / source / path).read_bytes()
        for source, target in PLACES.items()
        for path in files_below(REPOSITORY / source)
    }
    with zipfile.ZipFile(distribution.wheel) as archive:
        names = {name for name in archive.namelist() if not PurePosixPath(name).parts[0].endswith(".dist-info")}
        carried = {name: archive.read(name) for name in names}
    assert carried.keys() == expected.keys()
    assert [name for name in names if carried[name] != expected[name]] == []
    assert {f"{package}/py.typed" for package in PACKAGES} <= names


def test_the_wheel_carries_the_licence_and_the_readme(distribution: Distribution) -> None:
    with zipfile.ZipFile(distribution.wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        text = archive.read(metadata).decode()
        licences = [archive.read(name) for name in archive.namelist() if name.endswith("/licenses/LICENSE")]
    assert text.endswith((REPOSITORY / "README.md").read_text("utf-8"))
    assert licences == [(REPOSITORY / "LICENSE").read_bytes()]


def test_the_metadata_is_that_of_the_project(distribution: Distribution) -> None:
    release = script("release")
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
    assert release.problems_of_metadata(release.metadata_of(distribution.wheel), project) == []


def test_the_sdist_contains_what_builds_and_tests_need(distribution: Distribution) -> None:
    with tarfile.open(distribution.sdist) as archive:
        names = {PurePosixPath(name).parts[1] for name in archive.getnames()}
    assert {"codegen", "runtime", "generated", "templates", "schema", "tests", "Makefile", "requirements"} <= names
    assert not {name for name in names if name.startswith(".venv")}


@pytest.mark.parametrize("revision", REVISIONS)
def test_bindings_work_without_the_codegen_extra(bare: Environment, revision: str) -> None:
    program = (
        f"from {module_of(revision)} import REVISION, TextContent\n"
        "import importlib.util as util\n"
        "assert not [name for name in ('jinja2', 'black', 'typer') if util.find_spec(name)]\n"
        "print(REVISION, TextContent(text='x').model_dump_json())\n"
    )
    done = bare.run("python", "-c", program)
    assert done.stdout == revision + ' {"type":"text","text":"x"}\n'


@pytest.mark.parametrize("arguments", [(), ("generate",), ("diff", "2025-11-25", "2026-07-28")])
def test_the_command_without_its_extra_says_in_one_line_what_to_install(
    bare: Environment, arguments: tuple[str, ...]
) -> None:
    done = bare.run("mcp-bindgen", *arguments, expect=2)
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert "mcp-bindgen[cli]" in line


def test_looking_at_servers_needs_a_small_extra(distribution: Distribution, tmp_path: Path) -> None:
    environment = empty_environment(tmp_path)
    environment.install(distribution.wheel, "[cli]")
    packages = environment.run("python", "-c", INSTALLED).stdout.split()
    assert len(packages) <= MAX_CLI_PACKAGES and not {"jinja2", "black", "datamodel-code-generator"} & {*packages}
    (tmp_path / "server.py").write_text(SERVER, "utf-8")
    python = environment.run("python", "-c", "import sys; print(sys.executable)").stdout.strip()
    said = environment.run("mcp-bindgen", "inspect", "--call", "add", "a=1", "--", python, str(tmp_path / "server.py"))
    assert said.stdout.splitlines()[0] == "2"
    assert "tools/call" in environment.run("mcp-bindgen", "show", "tools/call").stdout
    assert environment.run("mcp-bindgen", "diff", "2025-06-18", "2025-11-25", expect=2).stderr == (
        "mcp-bindgen: this command needs jsonschema: pip install 'mcp-bindgen[codegen]'\n"
    )


def test_what_needs_another_extra_says_in_one_line_what_to_install(bare: Environment) -> None:
    program = "from mcp_runtime.sealed import InputState; InputState(keys=[bytes(32)])"
    done = bare.run("python", "-c", program, expect=1)
    assert done.stderr.splitlines()[-1] == (
        "ModuleNotFoundError: sealed states need cryptography: pip install 'mcp-bindgen[sealed]'"
    )


def test_sealed_states_need_one_extra(distribution: Distribution, tmp_path: Path) -> None:
    environment = empty_environment(tmp_path)
    environment.install(distribution.wheel, "[sealed]")
    program = (
        "from mcp_runtime.sealed.seal import Seal\n"
        "seal = Seal([bytes(32)])\n"
        "print(seal.open(seal.close(b'text', b'bound'), b'bound').decode())\n"
    )
    assert environment.run("python", "-c", program).stdout == "text\n"


def test_the_command_without_its_extra_answers_what_it_can(bare: Environment) -> None:
    assert bare.run("mcp-bindgen", "--version").stdout.startswith("mcp-bindgen ")
    lines = bare.run("mcp-bindgen", "--help").stdout.splitlines()
    assert any("mcp-bindgen[cli]" in line for line in lines)
    assert max(map(len, lines)) <= 80
    assert lines[-2] == "Example:  mcp-bindgen run server.py"
    assert lines[-1] == "See also: mcp-bindgen docs start/server (extra cli)"


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
