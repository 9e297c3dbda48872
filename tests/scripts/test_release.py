"""`make release` refuses what is not ready, and says what to do; tests/packaging checks what it builds."""

import json
import re
import subprocess
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from support.documents import ROOT
from support.scripts import script

PROJECT = {
    "version": "1.2.0",
    "license": "MIT",
    "dependencies": ["pydantic>=2,<3"],
    "optional-dependencies": {"http": ["httpx2>=2"]},
}
METADATA = """\
Metadata-Version: 2.4
Name: example
Version: 1.2.0
License-Expression: MIT
License-File: LICENSE
Classifier: Typing :: Typed
Requires-Dist: pydantic<3,>=2
Provides-Extra: http
Requires-Dist: httpx2>=2; extra == "http"
Description-Content-Type: text/markdown

# Example
"""


@pytest.fixture(scope="module")
def release() -> ModuleType:
    """The script, as a module."""
    return script("release")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository that is ready to release 1.2.0."""
    (tmp_path / "CHANGELOG.md").write_text(
        "# Changelog\n\n## 1.2.0 (2030-01-02)\n\n- New.\n\n## 1.1.0 (2029-01-02)\n\n- Old.\n", "utf-8"
    )
    git(tmp_path, "init", "--quiet")
    commit(tmp_path)
    return tmp_path


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def commit(folder: Path) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "All of it")


def refusal(release: ModuleType, repository: Path, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as caught:
        release.check_repository(repository, "1.2.0")
    assert caught.value.code == 2
    return capsys.readouterr().err


def test_the_section_of_a_version_is_its_notes(release: ModuleType, repository: Path) -> None:
    assert release.check_repository(repository, "1.2.0") == "## 1.2.0 (2030-01-02)\n\n- New."


def test_a_changed_tree_is_refused(release: ModuleType, repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "new.txt").write_text("new", "utf-8")
    assert refusal(release, repository, capsys) == (
        "release: the working tree has changes; commit or stash them first:\n?? new.txt\n"
    )


def test_a_released_version_is_refused(
    release: ModuleType, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(repository, "tag", "v1.2.0")
    assert refusal(release, repository, capsys) == (
        "release: the tag v1.2.0 exists; set a new version in pyproject.toml\n"
    )


@pytest.mark.parametrize("heading", ["Unreleased", "1.2.0rc1", "11.2.0", "1.2"])
def test_a_version_without_a_section_is_refused(
    release: ModuleType, repository: Path, capsys: pytest.CaptureFixture[str], heading: str
) -> None:
    (repository / "CHANGELOG.md").write_text(f"# Changelog\n\n## {heading}\n\n- New.\n", "utf-8")
    commit(repository)
    assert "CHANGELOG.md has no section for 1.2.0; rename 'Unreleased'" in refusal(release, repository, capsys)


def test_an_empty_section_is_refused(release: ModuleType, repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "CHANGELOG.md").write_text("# Changelog\n\n## 1.2.0\n\n## 1.1.0\n\n- Old.\n", "utf-8")
    commit(repository)
    assert "the section for 1.2.0 is empty" in refusal(release, repository, capsys)


def test_metadata_as_declared_has_no_problem(release: ModuleType) -> None:
    assert release.problems_of_metadata(METADATA, PROJECT) == []


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("Typing :: Typed", "Typing :: Sometimes", "unknown classifier 'Typing :: Sometimes'"),
        ('Provides-Extra: http\nRequires-Dist: httpx2>=2; extra == "http"\n', "", "the extra http is missing"),
        ('extra == "http"', 'extra == "https"', "is in no extra of pyproject.toml"),
        ("pydantic<3,>=2", "pydantic", "the dependencies are not those of pyproject.toml"),
        ("Version: 1.2.0", "Version: 1.2.1", "the version is 1.2.1, not 1.2.0"),
        ("Version: 1.2.0", "Version: one", "'one' is invalid for 'version'"),
        ("License-File: LICENSE\n", "", "the license, or its file, is missing"),
        ("text/markdown", "text/plain", "the README is missing, or not marked as Markdown"),
    ],
)
def test_problems_of_metadata_are_named(release: ModuleType, old: str, new: str, problem: str) -> None:
    assert old in METADATA
    found = release.problems_of_metadata(re.sub(re.escape(old), new, METADATA, count=1), PROJECT)
    assert problem in "\n".join(found)


def test_the_workflow_runs_every_declared_version_of_python() -> None:
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["classifiers"]
    declared = [name.rpartition(" ")[2] for name in classifiers if re.search(r"Python :: 3\.\d+$", name)]
    workflow = (ROOT / ".github" / "workflows" / "check.yml").read_text("utf-8")
    [matrix] = re.findall(r"python: (\[.*\])", workflow)
    assert json.loads(matrix) == declared
    assert "- run: .ci/run\n" in workflow
