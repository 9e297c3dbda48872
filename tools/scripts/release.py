"""Build the distributions of a release, and test them: `make release`.

Each wheel is built from its sdist, and the tests of the compiler's sdist run against both wheels, installed in an
environment of their own. Nothing is published and no tag is made; what to do next is printed.
"""

import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path
from typing import Any, NoReturn

from packaging.metadata import Metadata
from packaging.requirements import Requirement
from trove_classifiers import classifiers

ROOT = Path(__file__).resolve().parents[2]
# The tests of `make test`; those of the repository itself are about the checkout.
MARKS = "not slow and not packaging and not interop and not soak"


def main(root: Path, tests: list[str]) -> None:
    project = read_project(root)
    if project["version"] != read_project(root / "runtime")["version"]:
        fail("pyproject.toml and runtime/pyproject.toml have different versions")
    notes = check_repository(root, project["version"])
    built = [build(root, folder) for folder in (root / "runtime", root)]
    for folder, (_, wheel) in zip((root / "runtime", root), built, strict=True):
        for problem in problems_of_metadata(metadata_of(wheel), read_project(folder)):
            fail(f"{wheel.name}: {problem}")
    if not project.get("urls"):
        print("note: pyproject.toml has no [project.urls], because the project has no public address yet")
    test(root, built[1][0], [wheel for _, wheel in built], tests)
    files = [file.relative_to(root).as_posix() for pair in built for file in pair]
    print(f"\n{notes}\n\nready: {' '.join(files)}")
    print(f"next: git tag v{project['version']}, then publish the four files")


def read_project(folder: Path) -> dict[str, Any]:
    """Return the table [project] of a folder's pyproject.toml."""
    table: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
    return table


def check_repository(root: Path, version: str) -> str:
    """Return the section of the changelog on a version; exit if the repository is not ready to release it."""
    if changed := _git(root, "status", "--porcelain"):
        fail(f"the working tree has changes; commit or stash them first:\n{changed}")
    if _git(root, "tag", "--list", f"v{version}"):
        fail(f"the tag v{version} exists; set a new version in pyproject.toml")
    changelog = (root / "CHANGELOG.md").read_text("utf-8")
    section = re.search(rf"^## {re.escape(version)}(?: [^\n]*)?$(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    if section is None:
        fail(f"CHANGELOG.md has no section for {version}; rename 'Unreleased' to '{version} (YYYY-MM-DD)'")
    if not section[1].strip():
        fail(f"CHANGELOG.md: the section for {version} is empty")
    return section[0].strip()


def build(root: Path, folder: Path) -> tuple[Path, Path]:
    """Build the sdist of a folder, and the wheel from the sdist, in dist/."""
    dist, name = root / "dist", read_project(folder)["name"].replace("-", "_")
    for old in dist.glob(f"{name}-*"):
        old.unlink()
    _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", dist, folder, cwd=root)
    (sdist,), (wheel,) = dist.glob(f"{name}-*.tar.gz"), dist.glob(f"{name}-*.whl")
    return sdist, wheel


def metadata_of(wheel: Path) -> str:
    """Return the metadata of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return archive.read(name).decode()


def problems_of_metadata(text: str, project: dict[str, Any]) -> list[str]:
    """Return what is wrong with metadata: invalid, or not what pyproject.toml says."""
    try:
        found = Metadata.from_email(text, validate=True)
    except ExceptionGroup as group:
        return [str(error) for error in group.exceptions]
    headers = Parser().parsestr(text)
    extras = set(project["optional-dependencies"])
    problems = [f"unknown classifier {name!r}" for name in set(found.classifiers or ()) - classifiers]
    problems += [f"the extra {name} is missing" for name in sorted(extras - set(found.provides_extra or ()))]
    problems += [
        f"{requirement} is in no extra of pyproject.toml"
        for requirement in found.requires_dist or ()
        if requirement.marker and not any(f'extra == "{extra}"' in str(requirement.marker) for extra in extras)
    ]
    always = {str(each) for each in found.requires_dist or () if not each.marker}
    if always != {str(Requirement(each)) for each in project["dependencies"]}:
        problems.append("the dependencies are not those of pyproject.toml")
    if str(found.version) != project["version"]:
        problems.append(f"the version is {found.version}, not {project['version']}")
    if headers["License-Expression"] != project["license"] or headers["License-File"] is None:
        problems.append("the license, or its file, is missing")
    if found.description_content_type != "text/markdown" or not found.description:
        problems.append("the README is missing, or not marked as Markdown")
    return problems


def test(root: Path, sdist: Path, wheels: list[Path], tests: list[str]) -> None:
    """Run the tests of the sdist against the installed wheels."""
    with tempfile.TemporaryDirectory(prefix="mcp-bindgen-release-") as name:
        place = Path(name)
        with tarfile.open(sdist) as archive:
            archive.extractall(place, filter="data")
        (tree,) = place.iterdir()
        venv = place / "venv"
        _run(root / "tools" / "scripts" / "venv.sh", venv, root / "tools" / "requirements" / "dev.txt", cwd=place)
        python = venv / "bin" / "python"
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python)
        _run(*pip, "install", "-qq", "--no-deps", *wheels, cwd=place)
        for package in ("mcp_bindgen", "mcp_runtime", "mcp_bindings"):
            origin = _run(python, "-c", f"import {package}; print({package}.__file__)", cwd=tree).strip()
            if not Path(origin).is_relative_to(venv):
                fail(f"{package} would be imported from {origin}, not from the installed wheels")
        command = [python, "-m", "pytest", "-q", "-n", os.environ.get("JOBS", "2"), "-m", MARKS, *tests]
        if subprocess.run([str(word) for word in command], cwd=tree, check=False).returncode:
            fail(f"the tests of {sdist.name} fail with the wheels installed")


def fail(message: str) -> NoReturn:
    """Say why there is no release, and end with status 2."""
    print(f"release: {message}", file=sys.stderr)
    sys.exit(2)


def _git(root: Path, *words: str) -> str:
    return _run("git", *words, cwd=root).rstrip()


def _run(*command: str | Path, cwd: Path) -> str:
    """Run a command; return its output, or end the release with its errors."""
    done = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        fail(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}".rstrip())
    return done.stdout


if __name__ == "__main__":
    main(ROOT, sys.argv[1:] or ["tests"])
